//! Compares acknowledgements with those of another stack: `receiver FILE`.
//!
//! Each line of the file has a name and steps: `in FROM:TO` is a segment that arrives, with sequence numbers
//! from 1, and `out ack N sack FROM:TO …` is the acknowledgement that must follow. An acknowledgement that
//! may be delayed leaves when a step asks for it.

#![allow(clippy::print_stdout, reason = "a program")]

use parades_core::restore::Undoable;
use parades_core::time::{Delay, Time};
use parades_tcp::environment::{Ecn, Environment, Notice, Timer};
use parades_tcp::header::{Flags, Header, Range, SynOptions};
use parades_tcp::seq::Seq;
use parades_tcp::settings::Settings;
use parades_tcp::{Connection, Due, Ports};
use std::process::ExitCode;

/// An environment that keeps the segments that are sent.
#[derive(Default)]
struct Kept(Vec<Header>);

impl Environment for Kept {
    fn now(&self) -> Time {
        Time::ZERO
    }
    fn transmit(&mut self, header: &Header, _: u64, _: u32, _: Ecn) {
        self.0.push(*header);
    }
    fn set_timer(&mut self, _: Timer, _: Delay) {}
    fn cancel_timer(&mut self, _: Timer) {}
    fn deliver(&mut self, bytes: u32) -> u32 {
        bytes
    }
    fn notify(&mut self, _: Notice) {}
}

/// The initial sequence numbers: the other end's wraps within the stream.
const BASE: Seq = Seq(u32::MAX - 300);

struct Receiver {
    settings: Settings,
    connection: Connection,
    env: Kept,
}

impl Receiver {
    /// Returns a receiver whose connection is established.
    fn new() -> Receiver {
        let settings = Settings { timestamps: false, quick_acks: 0, ..Settings::linux() };
        let connection = Connection::listen(&settings, Ports { local: 80, remote: 0 }, Seq(5));
        let mut receiver = Receiver { settings, connection, env: Kept::default() };
        let syn = SynOptions { mss: Some(1460), window_shift: Some(7), has_sack: true };
        receiver.arrive(Header { seq: BASE, flags: Flags::SYN, window: 65535, syn, ..Header::default() }, 0);
        receiver.arrive(Header { seq: BASE.add(1), ..ack() }, 0);
        receiver.env.0.clear();
        receiver
    }

    fn arrive(&mut self, header: Header, bytes: u32) {
        let mut view = self.connection.unrecorded();
        view.on_segment(&self.settings, &header, bytes, Ecn::NotCapable, &mut self.env);
    }

    /// Returns the next acknowledgement as text.
    fn next_out(&mut self) -> String {
        if self.env.0.is_empty() && self.connection.receiver().due == Due::Delayed {
            self.connection.unrecorded().on_timer(&self.settings, Timer::DelayedAck, &mut self.env);
        }
        if self.env.0.is_empty() {
            return "nothing".to_owned();
        }
        let header = self.env.0.remove(0);
        let number = |seq: Seq| seq.since(BASE);
        let mut text = format!("ack {}", number(header.ack));
        if header.sack_blocks > 0 {
            text += " sack";
            for Range { from, to } in header.sack() {
                text += &format!(" {}:{}", number(*from), number(*to));
            }
        }
        text
    }
}

fn ack() -> Header {
    Header { ack: Seq(6), flags: Flags::ACK, window: 65535, ..Header::default() }
}

/// Returns the first difference of a case.
fn difference(steps: &str) -> Option<String> {
    let mut receiver = Receiver::new();
    for step in steps.split(" ; ") {
        if let Some(expected) = step.strip_prefix("out ") {
            let ours = receiver.next_out();
            if ours != expected.trim() {
                return Some(format!("expected `{}`, sent `{ours}`", expected.trim()));
            }
            continue;
        }
        if let Some(early) = receiver.env.0.first() {
            return Some(format!("an acknowledgement of {} that was not expected", early.ack.since(BASE)));
        }
        let words: Vec<&str> = step.split(' ').collect();
        let (from, to) = words[1].split_once(':').expect("a range");
        let (from, to): (u32, u32) = (from.parse().expect("a number"), to.parse().expect("a number"));
        let flags = if words.get(2) == Some(&"fin") { Flags::ACK | Flags::FIN } else { Flags::ACK };
        receiver.arrive(Header { seq: BASE.add(from), flags, ..ack() }, to - from);
    }
    None
}

fn main() -> ExitCode {
    let file = std::env::args().nth(1).expect("the file of the cases");
    let text = std::fs::read_to_string(file).expect("the file can be read");
    let (mut agree, mut all) = (0, 0);
    for line in text.lines().skip(1) {
        let (name, steps) = line.split_once('\t').expect("a name and steps");
        all += 1;
        match difference(steps) {
            None => agree += 1,
            Some(difference) => println!("{name}: {difference}"),
        }
    }
    println!("{agree} of {all} agree");
    if agree == all { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
