//! A receiver's acknowledgements: `receiver.tsv`.
//!
//! A line has steps: `in FROM:TO`, perhaps with `fin`, is a segment that arrives; `out ack N sack A:B …` is
//! the acknowledgement that must follow. Numbers count from the SYN, which has number 0. An acknowledgement
//! that is delayed is sent when a step asks for it.

use super::super::flows::{in_file, rows};
use parades_config::{ConfigError, quoted};
use parades_core::restore::Undoable;
use parades_core::time::{Delay, Time};
use parades_tcp::connection::{Connection, Ports};
use parades_tcp::environment::{Ecn, Environment, Notice, Timer};
use parades_tcp::header::{Flags, Header, SynOptions};
use parades_tcp::seq::Seq;
use parades_tcp::settings::Settings;
use serde_json::{Value, json};
use std::path::Path;

/// A line, and what ours gives.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) case: String,
    pub(super) ours: String,
    pub(super) expected: String,
}

impl Line {
    pub(super) fn agrees(&self) -> bool {
        self.ours == self.expected
    }

    pub(super) fn json(&self) -> Value {
        let Line { case, ours, expected } = self;
        let agrees = self.agrees();
        json!({"case": case, "quantity": "acknowledgements", "ours": ours, "low": expected, "high": expected, "agrees": agrees})
    }
}

/// Compares all lines of a folder. A folder without the file has none.
pub(super) fn compare(folder: &Path) -> Result<Vec<Line>, ConfigError> {
    let path = folder.join("receiver.tsv");
    if !path.exists() {
        return Ok(Vec::new());
    }
    let line = |[case, steps]: [String; 2]| {
        let ours = receive(&steps).map_err(|step| in_file(&path, format!("{} is no step", quoted(&step))))?;
        let expected = steps.split(';').map(str::trim).filter(|step| step.starts_with("out"));
        Ok(Line { case, ours: ours.join(" ; "), expected: expected.collect::<Vec<_>>().join(" ; ") })
    };
    rows(&path, ["case", "steps"])?.into_iter().map(line).collect()
}

/// The number of the SYN that the other end sends: numbers wrap soon after it.
const FIRST: Seq = Seq(u32::MAX - 300);

/// Lets a receiver receive the segments of all steps. Returns its acknowledgements. The error is the step
/// that cannot be read.
fn receive(steps: &str) -> Result<Vec<String>, String> {
    let settings = Settings { timestamps: false, quick_acks: 0, ..Settings::linux() };
    let mut receiver = Connection::listen(&settings, Ports { local: 1, remote: 2 }, Seq(7));
    let mut wire = Wire::default();
    let syn = SynOptions { mss: Some(1460), window_shift: Some(8), has_sack: true };
    let header = Header { source_port: 2, destination_port: 1, window: u16::MAX, ..Header::default() };
    let opening = Header { seq: FIRST, flags: Flags::SYN, syn, ..header };
    receiver.unrecorded().on_segment(&settings, &opening, 0, Ecn::NotCapable, &mut wire);
    let header = Header { ack: Seq(8), flags: Flags::ACK, ..header };
    let answer = Header { seq: FIRST.add(1), ..header };
    receiver.unrecorded().on_segment(&settings, &answer, 0, Ecn::NotCapable, &mut wire);
    wire.sent.clear();
    let mut expected = 0;
    for step in steps.split(';').map(str::trim) {
        if step.starts_with("out") {
            expected += 1;
            if wire.sent.len() < expected {
                receiver.unrecorded().on_timer(&settings, Timer::DelayedAck, &mut wire);
            }
            continue;
        }
        let (from, to, is_last) = segment(step).ok_or_else(|| step.to_owned())?;
        let flags = if is_last { Flags::ACK | Flags::FIN } else { Flags::ACK };
        let header = Header { seq: FIRST.add(from), flags, ..header };
        receiver.unrecorded().on_segment(&settings, &header, to - from, Ecn::NotCapable, &mut wire);
    }
    Ok(wire.sent)
}

/// Reads `in FROM:TO`, perhaps with `fin`.
fn segment(step: &str) -> Option<(u32, u32, bool)> {
    let mut words = step.split_whitespace().skip(1);
    let (from, to) = words.next()?.split_once(':')?;
    let (from, to): (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
    let is_last = words.any(|word| word == "fin");
    (from <= to).then_some((from, to, is_last))
}

/// The environment of a receiver: it notes acknowledgements, and time stands still.
#[derive(Debug, Default)]
struct Wire {
    sent: Vec<String>,
}

impl Environment for Wire {
    fn now(&self) -> Time {
        Time::from_ps(1_000_000_000_000)
    }

    fn transmit(&mut self, header: &Header, _: u64, _: u32, _: Ecn) {
        let number = |seq: Seq| seq.since(FIRST);
        let blocks = header.sack().iter().map(|block| format!(" {}:{}", number(block.from), number(block.to)));
        let blocks: String = blocks.collect();
        let sack = if blocks.is_empty() { String::new() } else { format!(" sack{blocks}") };
        self.sent.push(format!("out ack {}{sack}", number(header.ack)));
    }

    fn deliver(&mut self, bytes: u32) -> u32 {
        bytes
    }

    fn set_timer(&mut self, _: Timer, _: Delay) {}

    fn cancel_timer(&mut self, _: Timer) {}

    fn notify(&mut self, _: Notice) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_acknowledged_at_once_with_its_block() {
        let sent = receive("in 1:100 ; in 200:300 ; out ack 100 sack 200:300").expect("it is right");
        assert_eq!(sent, ["out ack 100 sack 200:300"]);
        assert_eq!(receive("in 9").unwrap_err(), "in 9");
    }
}
