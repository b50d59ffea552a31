//! Receive windows of the other end, small segments, marks, pacing, and windows that are not used.

use crate::script::{MSS, OURS, Script, plain};
use parades_core::time::{Delay, Time};
use parades_tcp::control::{Algorithm, NewReno};
use parades_tcp::environment::{Ecn, Notice, Timer};
use parades_tcp::header::{Flags, Header};
use parades_tcp::settings::{EcnUse, Settings};
use parades_tcp::{Mode, State};

fn reno() -> Settings {
    Settings { algorithm: Algorithm::NewReno(NewReno::rfc5681()), ..plain() }
}

#[test]
fn no_byte_is_sent_beyond_the_window_of_the_other_end() {
    let mut script = Script::closed(plain());
    script.window = 2500;
    let mut script = script.establish();
    script.write(10_000);
    // The third segment would not be full. It waits (RFC 9293, section 3.8.6.2.1), as half the window is
    // more.
    assert_eq!(script.sent_data(), [(0, 1000), (1000, 1000)]);
    script.ack(1000, &[]);
    assert_eq!(script.sent_data(), [(2000, 1000)]);
}

#[test]
fn a_part_of_a_segment_is_sent_if_it_fills_half_of_the_largest_window() {
    let mut script = Script::closed(plain());
    script.window = 700;
    let mut script = script.establish();
    script.write(10_000);
    assert_eq!(script.sent_data(), [(0, 700)]);
}

/// RFC 9293, section 3.8.6.1: the first probe after a timeout, then twice as late each time.
#[test]
fn a_closed_window_is_probed_with_a_byte_at_growing_intervals() {
    let mut script = Script::established(plain());
    script.window = 0;
    script.ack(0, &[]);
    script.write(5000);
    assert_eq!(script.sent_data(), []);
    for seconds in [1, 2, 4] {
        assert_eq!(script.timer(Timer::Retransmit), Some(Delay::from_secs(seconds)));
        script.wait(Delay::from_secs(seconds));
        assert_eq!(script.sent_data(), [(0, 1)]);
        script.ack(0, &[]);
        assert_eq!((script.end.cwnd(), script.end.counts().timeouts), (10 * MSS, 0));
    }
    // The byte is accepted, and the window opens.
    script.window = 3001;
    script.ack(1, &[]);
    assert_eq!(script.sent_data(), [(1, 1000), (1001, 1000), (2001, 1000)]);
    assert_eq!(script.end.counts().window_probes, 3);
}

#[test]
fn probes_go_on_as_long_as_they_are_answered_and_end_when_nobody_answers() {
    let settings = Settings { data_retries: 3, ..plain() };
    let mut script = Script::established(settings);
    script.window = 0;
    script.ack(0, &[]);
    script.write(5000);
    for _ in 0..10 {
        let due = script.timer(Timer::Retransmit).expect("a probe");
        script.wait(due);
        script.ack(0, &[]);
    }
    assert_eq!(script.end.state(), State::Established);
    script.wait(Delay::from_secs(1000));
    assert_eq!(script.env.notices.last(), Some(&Notice::TimedOut));
}

#[test]
fn a_window_that_closes_over_data_in_flight_is_probed_with_the_first_segment() {
    let mut script = Script::established(plain());
    script.write(2000);
    script.sent();
    script.window = 0;
    script.ack(0, &[]);
    script.wait(Delay::from_secs(1));
    assert_eq!(script.sent_data(), [(0, 1000)]);
    assert_eq!((script.end.counts().timeouts, script.end.sender().mode), (0, Mode::Open));
    script.window = 10_000;
    script.ack(1000, &[]);
    assert_eq!(script.timer(Timer::Retransmit), Some(Delay::from_secs(1)));
}

#[test]
fn nagle_holds_a_small_segment_until_everything_is_acknowledged() {
    let mut script = Script::established(Settings { nagle: true, ..plain() });
    script.write(100);
    script.write(100);
    script.write(100);
    assert_eq!(script.sent_data(), [(0, 100)]);
    script.ack(100, &[]);
    assert_eq!(script.sent_data(), [(100, 200)]);
    script.write(1100);
    assert_eq!(script.sent_data(), [(300, 1000)]);
    let mut script = Script::established(plain());
    script.write(100);
    script.write(100);
    assert_eq!(script.sent_data(), [(0, 100), (100, 100)]);
}

#[test]
fn the_last_bytes_are_not_held_back_by_nagle() {
    let mut script = Script::established(Settings { nagle: true, ..plain() });
    script.write(100);
    script.write(100);
    script.close();
    assert_eq!(script.sent_data(), [(0, 100), (100, 100)]);
}

#[test]
fn a_full_send_buffer_takes_what_it_has_room_for() {
    let mut script = Script::established(Settings { send_buffer: 3000, ..plain() });
    assert_eq!(script.write(5000), 3000);
    assert_eq!((script.write(1), script.end.room(&script.settings)), (0, 0));
    script.ack(1000, &[]);
    assert_eq!(script.env.notices.last(), Some(&Notice::Acknowledged { bytes: 1000 }));
    assert_eq!(script.write(5000), 1000);
}

#[test]
fn slow_start_doubles_the_window_each_round_trip() {
    let mut script = Script::established(Settings { initial_window: 2, ..reno() });
    script.write(1_000_000);
    let mut byte = 0;
    for expected in [2, 4, 8, 16] {
        let sent = script.sent_data();
        assert_eq!(sent.len(), expected);
        for _ in sent {
            byte += 1000;
            script.ack(byte, &[]);
        }
    }
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    for (validates, cwnd) in [(true, 10 * MSS), (false, 11 * MSS)] {
        let mut script = Script::established(Settings { validates_window: validates, ..reno() });
        script.write(1000);
        script.ack(1000, &[]);
        assert_eq!(script.end.cwnd(), cwnd, "{validates}");
    }
}

#[test]
fn the_window_restarts_after_an_idle_timeout() {
    for (restarts, cwnd) in [(true, 10 * MSS), (false, 20 * MSS)] {
        let mut script =
            Script::established(Settings { restarts_after_idle: restarts, validates_window: false, ..reno() });
        script.write(10_000);
        for byte in (1000..=10_000).step_by(1000) {
            script.ack(byte, &[]);
        }
        assert_eq!(script.end.cwnd(), 20 * MSS);
        script.wait(Delay::from_secs(2));
        script.write(100);
        assert_eq!(script.end.cwnd(), cwnd);
    }
}

/// Returns an end that uses marks, and has sent ten segments.
fn marking(settings: Settings) -> Script {
    let mut script = Script::closed(Settings { ecn: EcnUse::Ask, ..settings });
    script.open();
    script.wait(Delay::from_ms(100));
    let flags = Flags::SYN | Flags::ACK | Flags::ECE;
    script.arrive(Header { flags, ack: OURS.add(1), ..script.syn() }, 0);
    script.sent();
    script.write(1_000_000);
    script
}

fn echo(script: &mut Script, byte: u32) {
    let header = script.ack_of(byte);
    script.arrive(Header { flags: Flags::ACK | Flags::ECE, ..header }, 0);
}

/// RFC 3168, section 6.1.2.
#[test]
fn an_echoed_mark_halves_the_window_once_a_round_trip_and_is_confirmed() {
    let mut script = marking(Settings { reduces_gradually_after_mark: false, ..reno() });
    let sent = script.sent();
    assert!(sent.iter().all(|out| out.ecn == Ecn::Capable0 && !out.has(Flags::CWR)));
    echo(&mut script, 1000);
    assert_eq!((script.end.cwnd(), script.end.counts().mark_reductions), (4500, 1));
    echo(&mut script, 2000);
    echo(&mut script, 8000);
    assert_eq!(script.end.counts().mark_reductions, 1);
    let sent = script.sent();
    assert!(sent[0].has(Flags::CWR));
    assert!(sent[1..].iter().all(|out| !out.has(Flags::CWR)));
    // The reduction covers the ten segments that were sent before the echo.
    echo(&mut script, 11_000);
    assert_eq!(script.end.counts().mark_reductions, 2);
}

#[test]
fn an_echoed_mark_can_shrink_the_window_gradually() {
    let mut script = marking(Settings { reduces_gradually_after_mark: true, ..reno() });
    script.sent();
    echo(&mut script, 1000);
    // Nine in flight, one may leave.
    assert_eq!(script.end.cwnd(), 10_000);
    assert_eq!(script.end.ssthresh(), 4500);
    for byte in (2000..=10_000).step_by(1000) {
        script.ack(byte, &[]);
    }
    assert!(script.end.in_flight() <= 5000, "{}", script.end.in_flight());
}

#[test]
fn a_retransmission_and_an_acknowledgement_carry_no_mark_bits() {
    let mut script = marking(reno());
    script.sent();
    script.wait(Delay::from_secs(1));
    let again = script.sent();
    assert!(again.iter().all(|out| out.ecn == Ecn::NotCapable));
    script.data(0, 1000);
    script.data(1000, 1000);
    assert!(script.sent().iter().all(|out| out.bytes > 0 || out.ecn == Ecn::NotCapable));
}

/// The pacing of Linux: twice the window a round trip in slow start. 10,000 bytes in 50 ms are one segment
/// each 5 ms.
#[test]
fn a_paced_sender_spreads_its_window() {
    let mut script = Script::established(Settings { paces: true, ..reno() });
    script.write(10_000);
    script.wait(Delay::from_ms(100));
    let times: Vec<Time> = script.sent().iter().map(|out| out.at).collect();
    assert_eq!(times.len(), 10);
    for pair in times.windows(2) {
        assert_eq!(pair[1].since(pair[0]), Delay::from_ms(5));
    }
}

/// RFC 6298, section 2: the first round trip of 100 ms makes 100 + 4 * 50 ms; Linux adds at least 200 ms.
#[test]
fn the_timeout_follows_the_round_trip() {
    use parades_tcp::settings::RtoFloor;
    let timeout = |floor| {
        let mut script = Script::established(Settings { rto_floor: floor, ..plain() });
        script.write(1000);
        script.timer(Timer::Retransmit)
    };
    assert_eq!(timeout(RtoFloor::Whole(Delay::from_ms(1))), Some(Delay::from_ms(300)));
    assert_eq!(timeout(RtoFloor::Whole(Delay::from_secs(1))), Some(Delay::from_secs(1)));
    assert_eq!(timeout(RtoFloor::Variation(Delay::from_ms(200))), Some(Delay::from_ms(300)));
    assert_eq!(timeout(RtoFloor::Variation(Delay::from_ms(500))), Some(Delay::from_ms(600)));
    // The second measurement, 200 ms: SRTT = 7/8 * 100 + 1/8 * 200, RTTVAR = 3/4 * 50 + 1/4 * 100.
    let mut script = Script::established(Settings { rto_floor: RtoFloor::Whole(Delay::from_ms(1)), ..plain() });
    script.write(1000);
    script.wait(Delay::from_ms(200));
    script.ack(1000, &[]);
    script.write(1000);
    assert_eq!(script.end.smoothed_rtt(), Delay::from_us(112_500));
    assert_eq!(script.timer(Timer::Retransmit), Some(Delay::from_us(112_500 + 4 * 62_500)));
}

#[test]
fn a_loss_after_a_mark_is_repaired_without_another_reduction() {
    let mut script = marking(Settings { reduces_gradually_after_mark: false, ..reno() });
    script.sent();
    echo(&mut script, 1000);
    let ssthresh = script.end.ssthresh();
    let mut header = script.ack_of(1000);
    header.sack_blocks = 1;
    header.sack[0] = parades_tcp::header::Range { from: OURS.add(2001), to: OURS.add(5001) };
    script.arrive(header, 0);
    assert_eq!(script.sent_data()[0], (1000, 1000));
    assert_eq!((script.end.sender().mode, script.end.ssthresh()), (Mode::Recovery, ssthresh));
}

/// RFC 9293, section 3.7.4, and RFC 5681: a sender sends full-sized segments if it has the data. 1,500 bytes
/// are in the buffer, and one segment is in flight.
#[test]
fn an_application_that_waits_for_room_fills_the_next_segment() {
    for (unwritten, sent) in [(0, 500), (4000, MSS)] {
        let mut script = Script::established(Settings { send_buffer: 1500, initial_window: 1, ..plain() });
        assert_eq!(script.write(1500), 1500);
        assert_eq!(script.sent_data(), [(0, MSS)]);
        script.env.unwritten = unwritten;
        script.ack(MSS, &[]);
        assert_eq!(script.sent_data()[0], (MSS, sent));
    }
}
