//! Keep-alive, the user timeout, and the bound of FIN-WAIT-2.

use crate::script::{OURS, Out, Script, plain};
use parades_core::time::Delay;
use parades_tcp::State;
use parades_tcp::environment::{Notice, Timer};
use parades_tcp::header::Flags;
use parades_tcp::settings::{KeepAlive, Settings};

fn keeping_alive() -> Settings {
    Settings { keep_alive: Some(KeepAlive::DEFAULT), ..plain() }
}

/// Returns the sequence number, counted from the SYN, and the bytes of the only segment that was sent.
fn only_probe(script: &mut Script) -> (u32, u32) {
    let sent: Vec<Out> = script.sent();
    assert!(sent.len() == 1 && sent[0].has(Flags::ACK), "{sent:?}");
    (sent[0].header.seq.since(OURS), sent[0].bytes)
}

/// RFC 9293, MUST-25: an implementation keeps connections alive only if the application asks for it.
#[test]
fn an_idle_connection_is_not_probed_by_default() {
    for settings in [plain(), Settings { mss: 1000, ..Settings::ns3() }] {
        assert_eq!(Script::established(settings).timer(Timer::Retransmit), None);
    }
}

/// RFC 9293, section 3.8.4: SEG.SEQ = SND.NXT - 1, no data, and at least two hours of silence before
/// (MUST-28).
#[test]
fn a_connection_is_probed_after_two_hours_without_a_segment() {
    let mut script = Script::established(keeping_alive());
    script.write(100);
    script.wait(Delay::from_ms(100));
    script.ack(100, &[]);
    script.sent();
    script.wait(Delay::from_secs(7199));
    assert!(script.sent().is_empty());
    script.wait(Delay::from_secs(1));
    assert_eq!(only_probe(&mut script), (100, 0));
    // An answer shows that the other end is alive, so two more hours pass.
    script.wait(Delay::from_secs(1));
    script.ack(100, &[]);
    script.wait(Delay::from_secs(7199));
    assert!(script.sent().is_empty());
    script.wait(Delay::from_secs(1));
    assert_eq!(only_probe(&mut script), (100, 0));
    assert_eq!(script.end.counts().keep_alives, 2);
}

/// RFC 9293, MUST-29: one probe without an answer does not mean that the other end is dead.
#[test]
fn a_connection_is_given_up_after_nine_probes_without_an_answer() {
    let mut script = Script::established(keeping_alive());
    script.wait(Delay::from_secs(7200 + 9 * 75 - 1));
    assert_eq!((script.end.state(), script.sent().len()), (State::Established, 9));
    script.wait(Delay::from_secs(1));
    assert_eq!((script.end.state(), script.env.notices.last()), (State::Closed, Some(&Notice::TimedOut)));
    assert!(script.sent().is_empty());
}

/// The probe is not acceptable, so it is answered with an acknowledgement (RFC 9293, section 3.10.7.4).
#[test]
fn a_probe_is_answered_with_the_expected_number() {
    let mut script = Script::established(plain());
    script.data(0, 100);
    script.wait(Delay::from_secs(7200));
    script.sent();
    let mut probe = script.ack_of(0);
    probe.seq = probe.seq.add(u32::MAX);
    script.arrive(probe, 0);
    let sent = script.sent();
    assert_eq!((sent.len(), sent[0].ack(), sent[0].bytes), (1, 100, 0));
}

/// RFC 9293, section 3.10.8: when the user timeout expires, the connection is closed.
#[test]
fn unacknowledged_data_end_a_connection_at_its_user_timeout() {
    let mut script = Script::established(Settings { user_timeout: Some(Delay::from_secs(5)), ..plain() });
    script.write(1000);
    script.wait(Delay::from_ms(4999));
    // Sent at 0 s, again at 1 s and at 3 s. The next one would be at 7 s.
    assert_eq!(script.sent_data(), [(0, 1000); 3]);
    assert_eq!(script.end.state(), State::Established);
    script.wait(Delay::from_ms(1));
    assert_eq!((script.end.state(), script.env.notices.last()), (State::Closed, Some(&Notice::TimedOut)));
    assert!(script.sent().is_empty());
}

/// RFC 5482, section 3: it limits the time without an acknowledgement, and may be longer than the usual
/// limit.
#[test]
fn a_user_timeout_replaces_the_number_of_retransmissions_and_starts_at_each_advance() {
    let settings = Settings { user_timeout: Some(Delay::from_secs(100)), data_retries: 1, ..plain() };
    let mut script = Script::established(settings);
    script.write(2000);
    script.wait(Delay::from_secs(90));
    script.ack(1000, &[]);
    script.wait(Delay::from_secs(99));
    assert_eq!(script.end.state(), State::Established);
    script.wait(Delay::from_secs(1));
    assert_eq!(script.end.state(), State::Closed);
}

/// RFC 9293, section 3.10.8, holds for any state, also for SYN-SENT.
#[test]
fn a_handshake_ends_at_the_user_timeout() {
    let mut script = Script::closed(Settings { user_timeout: Some(Delay::from_secs(10)), ..plain() });
    script.open();
    script.wait(Delay::from_ms(9999));
    assert_eq!(script.end.state(), State::SynSent);
    script.wait(Delay::from_ms(1));
    assert_eq!((script.end.state(), &*script.env.notices), (State::Closed, &[Notice::TimedOut][..]));
}

/// RFC 9293, MUST-37: a connection whose window is closed stays open while probes are answered.
#[test]
fn a_closed_window_does_not_end_a_connection_that_answers() {
    let mut script = Script::established(Settings { user_timeout: Some(Delay::from_secs(30)), ..plain() });
    script.window = 0;
    script.write(1000);
    script.ack(1000, &[]);
    script.write(1000);
    for _ in 0..20 {
        script.wait(Delay::from_secs(10));
        script.ack(1000, &[]);
        assert_eq!(script.end.state(), State::Established);
    }
    script.wait(Delay::from_secs(30));
    assert_eq!(script.end.state(), State::Closed);
}

/// Linux, `tcp_fin_timeout`: 60 s for a connection that no application has. RFC 9293 has no bound.
#[test]
fn a_released_connection_stays_in_fin_wait_2_for_60_seconds_in_linux() {
    for (bound, releases) in [(Settings::linux().fin_wait_2_timeout, true), (None, true), (Some(Delay::ZERO), false)] {
        let mut script = Script::established(Settings { fin_wait_2_timeout: bound, ..plain() });
        if releases {
            script.release();
        } else {
            script.close();
        }
        let header = script.ack_of(1);
        script.arrive(header, 0);
        assert_eq!(script.end.state(), State::FinWait2);
        let is_bounded = bound.is_some() && releases;
        assert_eq!(script.timer(Timer::Retransmit), is_bounded.then(|| Delay::from_secs(60)));
        script.wait(Delay::from_secs(3600));
        assert_eq!(script.end.state(), if is_bounded { State::Closed } else { State::FinWait2 });
    }
}

/// RFC 9293, section 3.6, SHLD-3: data that no application will read are answered with a reset.
#[test]
fn data_for_a_released_connection_are_answered_with_a_reset() {
    let mut script = Script::established(plain());
    script.release();
    script.sent();
    script.data(0, 100);
    let sent = script.sent();
    assert!(sent.len() == 1 && sent[0].has(Flags::RST), "{sent:?}");
    assert_eq!(script.end.state(), State::Closed);
    // So are data that have arrived before and are unread.
    let mut script = Script::established(plain()).reading_late();
    script.data(0, 100);
    script.sent();
    script.release();
    assert!(script.sent()[0].has(Flags::RST));
}
