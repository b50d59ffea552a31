//! Files of flows: a line `campus host server start_s` for each, separated by white space. Lines that begin
//! with `#` are comments.

use parades_config::{ConfigError, Fault, quoted, read_text};
use parades_core::time::Time;
use parades_packet::campus::Start;
use std::path::Path;

/// The largest file, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 30;

const FORM: &str = "write `campus host server start_s`, for example `0 17 3 1.25`";

/// Reads the flows of a campus.
pub(super) fn read(path: &Path) -> Result<Vec<Start>, ConfigError> {
    let text = read_text(path, FILE_BYTES_MAX).map_err(|error| {
        ConfigError::new(format!("the file cannot be read: {error}"))
            .with_help("check its name and permissions")
            .at(parades_config::Place::File(path.to_owned()))
    })?;
    parse(&text).map_err(|fault| fault.within(path, &text))
}

fn parse(text: &str) -> Result<Vec<Start>, Fault> {
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    let starts = lines.map(|line| start(text, line)).collect::<Result<Vec<_>, _>>()?;
    if starts.is_empty() { Err(Fault::new(0, "the file has no flow", FORM)) } else { Ok(starts) }
}

/// Reads the flow of a line, which is a slice of `text`.
fn start(text: &str, line: &str) -> Result<Start, Fault> {
    let place = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
    let words: Vec<&str> = line.split_whitespace().collect();
    let &[campus, host, server, start] = &words[..] else {
        let message = format!("the line has {} words, and a flow has four", words.len());
        return Err(Fault::new(place(line), message, FORM));
    };
    let number =
        |word: &str| word.parse().map_err(|_| Fault::new(place(word), format!("{} is no number", quoted(word)), FORM));
    let time = start.parse().ok().and_then(Time::try_from_secs_f64);
    let time =
        time.ok_or_else(|| Fault::new(place(start), format!("{} is no time in seconds", quoted(start)), FORM))?;
    Ok(Start { campus: number(campus)?, host: number(host)?, server: number(server)?, start: time })
}
