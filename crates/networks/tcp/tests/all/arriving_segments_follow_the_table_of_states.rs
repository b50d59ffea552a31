//! The rules of RFC 9293, section 3.10.7, with RFC 5961, for a SYN, RST, FIN and ACK in each state.

use crate::script::{OURS, Script, THEIRS, plain};
use parades_core::time::Delay;
use parades_tcp::State::{
    self, CloseWait, Closed, Closing, Established, FinWait1, FinWait2, LastAck, Listen, SynReceived, SynSent, TimeWait,
};
use parades_tcp::environment::{Notice, Timer};
use parades_tcp::header::{Flags, Header};
use parades_tcp::seq::Seq;

const SYN: Flags = Flags::SYN;
const ACK: Flags = Flags::ACK;
const RST: Flags = Flags::RST;
const FIN: Flags = Flags::FIN;
const NO: Flags = Flags(0);
const SYN_ACK: Flags = Flags(Flags::SYN.0 | Flags::ACK.0);
const RST_ACK: Flags = Flags(Flags::RST.0 | Flags::ACK.0);
const FIN_ACK: Flags = Flags(Flags::FIN.0 | Flags::ACK.0);

/// A start: a state and the way to it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Start {
    In(State),
    /// SYN-RECEIVED by a simultaneous open.
    Crossed,
}
use Start::{Crossed, In};

/// The place of a segment relative to the receive window.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// The next number that is expected.
    Next,
    /// Within the window, but not the next one.
    Inside,
    /// Before the window.
    Old,
    /// Behind the window.
    Beyond,
}
use Place::{Beyond, Inside, Next, Old};

/// The place that a segment acknowledges.
#[derive(Clone, Copy, Debug)]
enum Acks {
    /// Everything that was sent.
    All,
    /// Everything but the FIN or the SYN: the last acknowledgement again.
    Same,
    /// More than was sent.
    Unsent,
    /// Less than the largest window ago.
    Ancient,
}
use Acks::{All, Ancient, Same, Unsent};

fn start(start: Start) -> Script {
    let fin = |script: &mut Script, byte: u32| {
        let header = Header { flags: FIN_ACK, ..script.ack_of(byte) };
        script.arrive(header, 0);
    };
    let mut script = match start {
        In(Closed | SynSent) | Crossed => Script::closed(plain()),
        In(Listen | SynReceived) => Script::listening(plain()),
        In(_) => Script::established(plain()),
    };
    match start {
        In(Closed | Listen | Established) => {}
        In(SynSent) => script.open(),
        In(SynReceived) => script.arrive(script.syn(), 0),
        Crossed => {
            script.open();
            script.arrive(script.syn(), 0);
        }
        In(FinWait1) => script.close(),
        In(FinWait2) => {
            script.close();
            script.ack(1, &[]);
        }
        In(CloseWait) => fin(&mut script, 0),
        In(Closing) => {
            script.close();
            fin(&mut script, 0);
        }
        In(LastAck) => {
            fin(&mut script, 0);
            script.close();
        }
        In(TimeWait) => {
            script.close();
            script.ack(1, &[]);
            fin(&mut script, 1);
        }
    }
    let expected = if let In(state) = start { state } else { SynReceived };
    assert_eq!(script.end.state(), expected, "the start");
    script.sent();
    script.env.notices.clear();
    script
}

/// The last acknowledgement, and the place after everything that was sent.
fn numbers(start: Start) -> (Seq, Seq) {
    match start {
        In(Closed | Listen) => (OURS, OURS),
        In(SynSent | SynReceived) | Crossed => (OURS, OURS.add(1)),
        In(Established | CloseWait) => (OURS.add(1), OURS.add(1)),
        In(FinWait1 | Closing | LastAck) => (OURS.add(1), OURS.add(2)),
        In(FinWait2 | TimeWait) => (OURS.add(2), OURS.add(2)),
    }
}

type Row = (Start, Flags, Place, Acks, State, Flags);

/// Start; flags, place and acknowledgement of the segment; state afterwards; flags of the answer.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    // 3.10.7.1: everything but a reset is answered with a reset.
    (In(Closed), SYN, Next, All, Closed, RST_ACK),
    (In(Closed), ACK, Next, All, Closed, RST),
    (In(Closed), FIN, Next, All, Closed, RST_ACK),
    (In(Closed), RST, Next, All, Closed, NO),
    // 3.10.7.2
    (In(Listen), RST, Next, All, Listen, NO),
    (In(Listen), ACK, Next, All, Listen, RST),
    (In(Listen), SYN_ACK, Next, All, Listen, RST),
    (In(Listen), SYN, Next, All, SynReceived, SYN_ACK),
    (In(Listen), FIN, Next, All, Listen, NO),
    // 3.10.7.3
    (In(SynSent), ACK, Next, Same, SynSent, RST),
    (In(SynSent), ACK, Next, Unsent, SynSent, RST),
    (In(SynSent), ACK, Next, All, SynSent, NO),
    (In(SynSent), RST_ACK, Next, Unsent, SynSent, NO),
    (In(SynSent), RST_ACK, Next, All, Closed, NO),
    (In(SynSent), RST, Next, All, SynSent, NO),
    (In(SynSent), SYN, Next, All, SynReceived, SYN_ACK),
    (In(SynSent), SYN_ACK, Next, All, Established, ACK),
    (In(SynSent), SYN_ACK, Next, Unsent, SynSent, RST),
    (In(SynSent), FIN, Next, All, SynSent, NO),
    // 3.10.7.4, SYN-RECEIVED from LISTEN
    (In(SynReceived), RST, Next, All, Listen, NO),
    (In(SynReceived), RST, Inside, All, SynReceived, ACK),
    (In(SynReceived), RST, Beyond, All, SynReceived, NO),
    (In(SynReceived), SYN, Inside, All, Listen, NO),
    (In(SynReceived), SYN, Beyond, All, SynReceived, ACK),
    (In(SynReceived), ACK, Next, All, Established, NO),
    (In(SynReceived), ACK, Next, Same, SynReceived, RST),
    (In(SynReceived), ACK, Next, Unsent, SynReceived, RST),
    (In(SynReceived), FIN_ACK, Next, All, CloseWait, ACK),
    (In(SynReceived), FIN, Next, All, SynReceived, NO),
    // SYN-RECEIVED from SYN-SENT
    (Crossed, RST, Next, All, Closed, NO),
    (Crossed, SYN, Inside, All, SynReceived, ACK),
    (Crossed, ACK, Next, All, Established, NO),
    (Crossed, FIN_ACK, Next, All, CloseWait, ACK),
    // ESTABLISHED
    (In(Established), RST, Next, All, Closed, NO),
    (In(Established), RST, Inside, All, Established, ACK),
    (In(Established), RST, Old, All, Established, NO),
    (In(Established), RST, Beyond, All, Established, NO),
    (In(Established), SYN, Next, All, Established, ACK),
    (In(Established), SYN, Inside, All, Established, ACK),
    (In(Established), SYN, Beyond, All, Established, ACK),
    (In(Established), ACK, Next, All, Established, NO),
    (In(Established), ACK, Next, Unsent, Established, ACK),
    (In(Established), ACK, Next, Ancient, Established, ACK),
    (In(Established), FIN_ACK, Next, All, CloseWait, ACK),
    (In(Established), FIN_ACK, Inside, All, Established, ACK),
    (In(Established), FIN_ACK, Old, All, Established, ACK),
    (In(Established), FIN, Next, All, Established, NO),
    // FIN-WAIT-1
    (In(FinWait1), RST, Next, All, Closed, NO),
    (In(FinWait1), RST, Inside, All, FinWait1, ACK),
    (In(FinWait1), SYN, Next, All, FinWait1, ACK),
    (In(FinWait1), ACK, Next, Same, FinWait1, NO),
    (In(FinWait1), ACK, Next, All, FinWait2, NO),
    (In(FinWait1), ACK, Next, Unsent, FinWait1, ACK),
    (In(FinWait1), FIN_ACK, Next, Same, Closing, ACK),
    (In(FinWait1), FIN_ACK, Next, All, TimeWait, ACK),
    // FIN-WAIT-2
    (In(FinWait2), RST, Next, All, Closed, NO),
    (In(FinWait2), SYN, Next, All, FinWait2, ACK),
    (In(FinWait2), ACK, Next, All, FinWait2, NO),
    (In(FinWait2), FIN_ACK, Next, All, TimeWait, ACK),
    // CLOSE-WAIT
    (In(CloseWait), RST, Next, All, Closed, NO),
    (In(CloseWait), SYN, Next, All, CloseWait, ACK),
    (In(CloseWait), ACK, Next, All, CloseWait, NO),
    (In(CloseWait), ACK, Next, Unsent, CloseWait, ACK),
    (In(CloseWait), FIN_ACK, Old, All, CloseWait, ACK),
    // CLOSING
    (In(Closing), RST, Next, All, Closed, NO),
    (In(Closing), SYN, Next, All, Closing, ACK),
    (In(Closing), ACK, Next, Same, Closing, NO),
    (In(Closing), ACK, Next, All, TimeWait, NO),
    (In(Closing), FIN_ACK, Old, All, Closing, ACK),
    // LAST-ACK
    (In(LastAck), RST, Next, All, Closed, NO),
    (In(LastAck), SYN, Next, All, LastAck, ACK),
    (In(LastAck), ACK, Next, Same, LastAck, NO),
    (In(LastAck), ACK, Next, All, Closed, NO),
    (In(LastAck), FIN_ACK, Old, All, LastAck, ACK),
    // TIME-WAIT
    (In(TimeWait), RST, Next, All, Closed, NO),
    (In(TimeWait), SYN, Next, All, TimeWait, ACK),
    (In(TimeWait), ACK, Next, All, TimeWait, NO),
    (In(TimeWait), FIN_ACK, Old, All, TimeWait, ACK),
];

#[test]
fn each_segment_has_the_answer_and_the_next_state_of_the_table() {
    for &(from, flags, place, acks, then, answer) in TABLE {
        let what = format!("{from:?}: {flags:?} {place:?} {acks:?}");
        let mut script = start(from);
        let next = if matches!(from, In(Closed | Listen | SynSent)) { THEIRS } else { script.seq };
        let seq = match place {
            Next => next,
            Inside => next.add(10),
            Old => Seq(next.0 - 1),
            Beyond => next.add(100_000_000),
        };
        let (same, all) = numbers(from);
        let ack = match acks {
            All => all,
            Same => same,
            Unsent => all.add(1),
            Ancient => Seq(all.0.wrapping_sub(10_000_000)),
        };
        let ack = if flags.has(ACK) { ack } else { Seq(0) };
        let header = Header { seq, ack, flags, ..script.syn() };
        script.arrive(header, 0);
        assert_eq!(script.end.state(), then, "{what}");
        let sent = script.sent();
        let flags: Vec<Flags> = sent.iter().map(|out| out.header.flags).collect();
        let expected: Vec<Flags> = Some(answer).filter(|&flags| flags != NO).into_iter().collect();
        assert_eq!(flags, expected, "{what}");
        for out in sent {
            check_numbers(&out.header, &header, all, &what);
        }
    }
}

/// Checks the numbers of an answer.
fn check_numbers(answer: &Header, arrived: &Header, next: Seq, what: &str) {
    let len = u32::from(arrived.flags.has(SYN)) + u32::from(arrived.flags.has(FIN));
    if answer.flags == RST {
        assert_eq!(answer.seq, arrived.ack, "{what}");
    } else if answer.flags == RST_ACK {
        assert_eq!((answer.seq, answer.ack), (Seq(0), arrived.seq.add(len)), "{what}");
    } else if answer.flags == ACK {
        assert_eq!(answer.seq, next, "{what}");
    } else {
        assert_eq!((answer.seq, answer.ack), (OURS, THEIRS.add(1)), "{what}");
    }
}

#[test]
fn the_application_hears_of_a_reset_and_of_a_refusal() {
    let cases = [(In(SynSent), RST_ACK, Notice::Refused), (Crossed, RST, Notice::Refused)];
    let states = [Established, FinWait1, FinWait2, CloseWait, Closing, LastAck];
    let resets = states.map(|state| (In(state), RST, Notice::Reset));
    for (from, flags, notice) in cases.into_iter().chain(resets) {
        let mut script = start(from);
        let seq = if from == In(SynSent) { THEIRS } else { script.seq };
        script.arrive(Header { seq, ack: numbers(from).1, flags, ..script.syn() }, 0);
        assert_eq!(script.env.notices, [notice], "{from:?}");
        assert_eq!(script.timer(Timer::Retransmit), None);
    }
}

#[test]
fn a_second_challenge_within_half_a_second_is_not_answered() {
    let mut script = start(In(Established));
    let header = Header { seq: script.seq.add(10), flags: RST, ..script.syn() };
    script.arrive(header, 0);
    script.wait(Delay::from_ms(499));
    script.arrive(header, 0);
    assert_eq!(script.sent().len(), 1);
    script.wait(Delay::from_ms(1));
    script.arrive(header, 0);
    assert_eq!(script.sent().len(), 1);
    assert_eq!(script.end.counts().challenges, 2);
}

#[test]
fn a_repeated_fin_restarts_time_wait() {
    let mut script = start(In(TimeWait));
    assert_eq!(script.timer(Timer::Retransmit), Some(Delay::from_secs(60)));
    script.wait(Delay::from_secs(50));
    let header = Header { seq: Seq(script.seq.0 - 1), flags: FIN_ACK, ..script.ack_of(1) };
    script.arrive(header, 0);
    assert_eq!(script.timer(Timer::Retransmit), Some(Delay::from_secs(60)));
    script.wait(Delay::from_secs(60));
    assert_eq!(script.end.state(), Closed);
}

#[test]
fn ends_that_open_at_the_same_time_are_connected_by_the_repeated_syn() {
    let mut script = start(Crossed);
    let header = Header { flags: SYN_ACK, ack: OURS.add(1), ..script.syn() };
    script.arrive(header, 0);
    assert_eq!(script.end.state(), Established);
    assert_eq!(script.env.notices, [Notice::Connected]);
}

#[test]
fn an_abort_sends_a_reset_in_the_states_that_have_a_peer() {
    for state in [SynReceived, Established, FinWait1, FinWait2, CloseWait] {
        let mut script = start(In(state));
        script.abort();
        let sent = script.sent();
        assert_eq!(sent.len(), 1, "{state:?}");
        assert!(sent[0].has(RST));
        assert_eq!((sent[0].header.seq, script.end.state()), (numbers(In(state)).1, Closed), "{state:?}");
    }
    for state in [Closed, Listen, SynSent, Closing, LastAck, TimeWait] {
        let mut script = start(In(state));
        script.abort();
        assert_eq!((script.sent().len(), script.end.state()), (0, Closed), "{state:?}");
    }
}
