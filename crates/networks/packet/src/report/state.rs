//! The state of each flow at the end of a run, and the note about flows that could not complete.

use super::flows::{COPIES, DUPLICATED, ENDING, LOST, RECEIVED, SENT, Sums, lost};
use super::path::cut_since;
use crate::description::{AppKind, Unfinished};
use crate::flow;
use crate::network::{Layout, Vocabulary, has_end};
use crate::port::Loss;
use crate::protocols::tcp::Ending;
use parades_core::time::Time;

/// The state of a flow at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Everything that the flow sends has arrived.
    Complete,
    /// The source has sent everything, and some of it was lost.
    Incomplete,
    /// The flow starts after the end of the run.
    NotStarted,
    /// The flow would go on.
    GoingOn,
    /// A client that asks no more, before it has all responses.
    Stopped,
    /// The flow would go on, but it has no path.
    CutOff,
    /// The other end refused the connection.
    Refused,
    /// The other end reset the connection.
    Reset,
    /// The sender gave up, as its retransmissions had no answer.
    TimedOut,
}

impl State {
    /// Returns the words of the tables.
    pub(super) fn words(self) -> &'static str {
        match self {
            State::Complete => "complete",
            State::Incomplete => "incomplete",
            State::NotStarted => "not started",
            State::GoingOn => "going on",
            State::Stopped => "stopped",
            State::CutOff => "cut off",
            State::Refused => "refused",
            State::Reset => "reset",
            State::TimedOut => "timed out",
        }
    }

    /// Returns true if the connection has ended without all its data.
    pub(super) fn is_given_up(self) -> bool {
        matches!(self, State::Refused | State::Reset | State::TimedOut)
    }
}

/// The state of a flow, and the time since which it has no path, if it has none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fate {
    pub(super) state: State,
    pub(super) no_path_since: Option<Time>,
}

impl Fate {
    /// Returns the fate of a flow in a run that ends at `end`.
    pub(super) fn of(net: &Layout, flow: u32, sums: &Sums, is_complete: bool, end: Time) -> Fate {
        if is_complete {
            return Fate { state: State::Complete, no_path_since: None };
        }
        if net.flows[flow as usize].start >= end {
            return Fate { state: State::NotStarted, no_path_since: None };
        }
        let no_path_since = cut_since(net, flow, end);
        let ending = [Ending::Refused, Ending::Reset, Ending::TimedOut];
        let ending = ending.into_iter().find(|ending| *ending as u64 == sums[ENDING]);
        let has_sent_all = || match net.kind_of(flow) {
            AppKind::Datagrams(_) | AppKind::Multicast(_) => {
                sums[super::flows::DONE] == 1
                    && sums[RECEIVED] + sums[COPIES] + lost(sums) == sums[SENT] + sums[DUPLICATED]
            }
            _ => false,
        };
        let state = match (ending, net.kind_of(flow)) {
            (Some(Ending::Refused), _) => State::Refused,
            (Some(Ending::Reset), _) => State::Reset,
            (Some(Ending::TimedOut), _) => State::TimedOut,
            _ if has_sent_all() => State::Incomplete,
            (None, AppKind::Requests(requests)) if requests.stop < end => State::Stopped,
            _ if no_path_since.is_some() => State::CutOff,
            _ => State::GoingOn,
        };
        Fate { state, no_path_since }
    }
}

/// The most flows that a note names.
const NAMED_MAX: usize = 3;

/// Flows in the same state.
#[derive(Debug, Default)]
struct Listed {
    count: u64,
    /// The names of the first ones.
    names: Vec<String>,
}

impl Listed {
    fn add(&mut self, net: &Layout, flow: u32) {
        self.count += 1;
        if self.names.len() < NAMED_MAX {
            self.names.push(match net.vocabulary {
                Vocabulary::Apps => flow::name(&net.apps[net.app_of_flow[flow as usize] as usize].name, flow),
                Vocabulary::Flows => format!("flow {flow}"),
            });
        }
    }

    /// Returns `2 flows VERB: video#0, video#1`. The verb has a form for one flow, and one for several.
    fn clause(&self, [one, several]: [&str; 2]) -> String {
        let (noun, verb) = if self.count == 1 { ("flow", one) } else { ("flows", several) };
        format!("{} {noun} {verb}: {}", self.count, self.names())
    }

    /// Returns `video#0, video#1 and 5 more`.
    fn names(&self) -> String {
        let more = self.count - self.names.len() as u64;
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", self.names.join(", "))
    }
}

fn be(count: u64) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// The flows that could not complete, and those that are unfinished.
#[derive(Debug, Default)]
pub(super) struct Unable {
    /// The flows with an end that have started.
    with_end: u64,
    unfinished: Listed,
    /// Flows with a request that waits for its response.
    waiting: Listed,
    cut_off: Listed,
    /// The earliest time since which one of them has no path, and true if others lost theirs later.
    since: Option<(Time, bool)>,
    /// Their packets that were lost as links were down or no path led on.
    lost: u64,
    refused: Listed,
    reset: Listed,
    timed_out: Listed,
}

impl Unable {
    /// Adds a flow, if it could not complete or is unfinished.
    pub(super) fn add(&mut self, net: &Layout, flow: u32, fate: Fate, is_unfinished: bool, sums: &Sums) {
        self.with_end += u64::from(has_end(net.kind_of(flow)) && fate.state != State::NotStarted);
        if is_unfinished {
            self.unfinished.add(net, flow);
        }
        if sums[super::flows::WAITS] > 0 {
            self.waiting.add(net, flow);
        }
        if let Some(since) = fate.no_path_since {
            self.cut_off.add(net, flow);
            self.lost += sums[LOST + Loss::Down as usize] + sums[super::flows::BACK_LOST + Loss::Down as usize];
            self.since = Some(match self.since {
                None => (since, false),
                Some((before, is_mixed)) => (before.min(since), is_mixed || before != since),
            });
        }
        match fate.state {
            State::Refused => self.refused.add(net, flow),
            State::Reset => self.reset.add(net, flow),
            State::TimedOut => self.timed_out.add(net, flow),
            _ => {}
        }
    }

    /// Returns the note; `None` if there is nothing to say.
    pub(super) fn note(&self, net: &Layout) -> Option<String> {
        let mut clauses = Vec::new();
        if let Some((since, is_mixed)) = self.since {
            let since = format!("since {since}{}", if is_mixed { " or later" } else { "" });
            let verbs = ["has had no path", "have had no path"].map(|verb| format!("{verb} {since}"));
            let clause = self.cut_off.clause([&verbs[0], &verbs[1]]);
            let packets = if self.lost == 1 { "packet was" } else { "packets were" };
            clauses.push(format!("{clause} ({} {packets} lost where a link was down or no path led on)", self.lost));
        }
        let with_verbs = [
            (&self.timed_out, ["gave up, as its segments had no answer", "gave up, as their segments had no answer"]),
            (&self.reset, ["was reset by the other end", "were reset by the other end"]),
            (&self.refused, ["was refused by the other end", "were refused by the other end"]),
        ];
        let with_verbs = with_verbs.into_iter().filter(|(listed, _)| listed.count > 0);
        clauses.extend(with_verbs.map(|(listed, verbs)| listed.clause(verbs)));
        let effect = match net.measure.unfinished {
            Unfinished::LeftOut => "left out of completion times, response times and slowdowns",
            Unfinished::SoFar => "counted with the time so far, a lower bound",
        };
        if self.unfinished.count > 0 {
            let (count, all) = (self.unfinished.count, self.with_end);
            let names = self.unfinished.names();
            clauses.push(format!("{count} of {all} flows with an end {} unfinished: {names}", be(count)));
        }
        if self.waiting.count > 0 {
            let (count, names) = (self.waiting.count, self.waiting.names());
            let noun = if count == 1 { "request" } else { "requests" };
            clauses.push(format!("{count} {noun} {} unfinished: {names}", be(count)));
        }
        if self.unfinished.count + self.waiting.count > 0 {
            clauses.push(format!("what is unfinished is {effect}"));
        }
        (!clauses.is_empty()).then(|| clauses.join("; "))
    }
}
