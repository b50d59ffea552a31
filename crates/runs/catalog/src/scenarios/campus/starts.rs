//! Files of flows: a line `campus host server start_s` for each, separated by white space. A `#` begins a
//! comment.

use parades_config::{ConfigError, Fault, inputs, quoted, read_text};
use parades_core::time::Time;
use parades_packet::campus::Start;
use std::path::Path;

/// The largest file, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 30;

const FORM: &str = "write `campus host server start_s`, for example `0 17 3 1.25`";

/// The numbers of campuses and of hosts of each.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub(super) campuses: u32,
    pub(super) hosts: u32,
}

/// Reads the flows of a campus.
pub(super) fn read(path: &Path, bounds: Bounds) -> Result<Vec<Start>, ConfigError> {
    let text = read_text(path, FILE_BYTES_MAX).map_err(|error| inputs::unreadable(path, &error))?;
    parse(&text, bounds).map_err(|fault| fault.within(path, &text))
}

fn parse(text: &str, bounds: Bounds) -> Result<Vec<Start>, Fault> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or(line));
    let lines = lines.filter(|line| !line.trim().is_empty());
    let starts = lines.map(|line| start(text, line, bounds)).collect::<Result<Vec<_>, _>>()?;
    if starts.is_empty() { Err(Fault::whole("the file has no flow", FORM)) } else { Ok(starts) }
}

/// Reads the flow of a line, which is a slice of `text`.
fn start(text: &str, line: &str, Bounds { campuses, hosts }: Bounds) -> Result<Start, Fault> {
    let place = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
    let words: Vec<&str> = line.split_whitespace().collect();
    let &[campus, host, server, start] = &words[..] else {
        let message = format!("the line has {} words, and a flow has four", words.len());
        return Err(Fault::new(place(line), message, FORM));
    };
    let number = |word: &str, (noun, least, most): (&str, u32, u32)| {
        let number =
            word.parse().map_err(|_| Fault::new(place(word), format!("{} is no number", quoted(word)), FORM))?;
        match (least..=most).contains(&number) {
            true => Ok(number),
            false => {
                let message = format!("there is no {noun} {number}: with these parameters they are {least} to {most}");
                Err(Fault::new(place(word), message, FORM))
            }
        }
    };
    let time = start.parse().ok().and_then(Time::try_from_secs_f64);
    let time =
        time.ok_or_else(|| Fault::new(place(start), format!("{} is no time in seconds", quoted(start)), FORM))?;
    Ok(Start {
        campus: number(campus, ("campus", 0, campuses - 1))?,
        host: number(host, ("host", 0, hosts - 1))?,
        server: number(server, ("server", 2, 5))?,
        start: time,
    })
}
