//! Timeouts, fast retransmit and recovery of a sender.

use crate::script::{MSS, OURS, Script, plain};
use parades_core::time::Delay;
use parades_tcp::control::{Algorithm, NewReno};
use parades_tcp::environment::{Notice, Timer};
use parades_tcp::header::{Flags, Header, Timestamps};
use parades_tcp::settings::{FlightSize, Reduction, RtoFloor, Settings};
use parades_tcp::{Mode, State};

/// NewReno as in RFC 5681, without SACK.
fn reno() -> Settings {
    Settings {
        algorithm: Algorithm::NewReno(NewReno::rfc5681()),
        sack: false,
        reduction: Reduction::AtOnce,
        flight_size: FlightSize::Outstanding,
        ..plain()
    }
}

/// As [`reno`], with SACK as in RFC 6675.
fn sack() -> Settings {
    Settings { sack: true, ..reno() }
}

/// Returns an end that has sent ten full segments, and has more to send.
fn ten_sent(settings: Settings) -> Script {
    let mut script = Script::closed(settings.clone());
    script.has_sack = settings.sack;
    let mut script = script.establish();
    script.write(100_000);
    assert_eq!(script.sent_data().len(), 10);
    script
}

#[test]
fn a_timeout_retransmits_the_first_segment_and_doubles() {
    let mut script = ten_sent(reno());
    for seconds in [1, 2, 4, 8] {
        assert_eq!(script.timer(Timer::Retransmit), Some(Delay::from_secs(seconds)));
        script.wait(Delay::from_secs(seconds));
        assert_eq!(script.sent_data(), [(0, 1000)]);
        // Half of ten segments; repeated timeouts of one segment change nothing (RFC 5681, section 3.1).
        assert_eq!((script.end.cwnd(), script.end.ssthresh()), (MSS, 5 * MSS));
    }
    assert_eq!(script.end.counts().timeouts, 4);
    assert_eq!(script.end.counts().timeout_retransmissions, 4);
}

#[test]
fn after_a_timeout_everything_is_sent_again_by_slow_start() {
    let mut script = ten_sent(reno());
    script.wait(Delay::from_secs(1));
    script.sent();
    script.ack(1000, &[]);
    assert_eq!(script.sent_data(), [(1000, 1000), (2000, 1000)]);
    script.ack(2000, &[]);
    assert_eq!(script.sent_data(), [(3000, 1000), (4000, 1000)]);
    assert_eq!(script.end.sender().mode, Mode::Loss);
    script.ack(10_000, &[]);
    assert_eq!(script.end.sender().mode, Mode::Open);
}

#[test]
fn a_connection_is_given_up_after_its_retries() {
    let mut script = ten_sent(Settings { data_retries: 3, ..reno() });
    script.wait(Delay::from_secs(1 + 2 + 4));
    assert_eq!(script.end.state(), State::Established);
    script.wait(Delay::from_secs(8));
    assert_eq!(script.end.state(), State::Closed);
    assert_eq!(script.env.notices.last(), Some(&Notice::TimedOut));
    assert_eq!(script.timer(Timer::Retransmit), None);
}

/// Karn's rule and RFC 6298, section 5.7: an acknowledgement of a retransmission does not end the backoff.
#[test]
fn the_backoff_stays_until_a_segment_is_measured_that_was_sent_once() {
    let mut script = ten_sent(reno());
    script.wait(Delay::from_secs(1));
    script.ack(1000, &[]);
    script.ack(3000, &[]);
    assert_eq!(script.timer(Timer::Retransmit), Some(Delay::from_secs(2)));
    // The first window after that covers segments 3 to 6. Segment 7 was sent once, a second ago: SRTT is 7/8
    // * 100 ms + 1/8 * 1 s, and RTTVAR is 3/4 * 50 ms + 1/4 * 900 ms. SRTT + 4 * RTTVAR = 212.5 ms + 1050 ms.
    script.ack(8000, &[]);
    assert_eq!(script.timer(Timer::Retransmit), Some(Delay::from_us(1_262_500)));
    // ns-3 ends it at once.
    let mut script = ten_sent(Settings { keeps_backoff: false, ..reno() });
    script.wait(Delay::from_secs(1));
    script.ack(1000, &[]);
    assert_eq!(script.timer(Timer::Retransmit), Some(Delay::from_secs(1)));
}

/// RFC 3042: one new segment for each of the first two duplicates. RFC 5681: the third retransmits.
#[test]
fn the_third_duplicate_retransmits_and_the_first_two_send_new_segments() {
    let mut script = ten_sent(reno());
    script.ack(0, &[]);
    assert_eq!(script.sent_data(), [(10_000, 1000)]);
    script.ack(0, &[]);
    assert_eq!(script.sent_data(), [(11_000, 1000)]);
    script.ack(0, &[]);
    assert_eq!(script.sent_data(), [(0, 1000)]);
    // Twelve segments are outstanding.
    assert_eq!(script.end.ssthresh(), 6 * MSS);
    assert_eq!(script.end.counts().fast_retransmissions, 1);
    let mut script = ten_sent(Settings { limited_transmit: false, ..reno() });
    script.ack(0, &[]);
    script.ack(0, &[]);
    assert_eq!(script.sent_data(), []);
}

/// RFC 6582: each acknowledgement of a part retransmits the next missing segment, until all is acknowledged
/// that was sent before the recovery.
#[test]
fn an_acknowledgement_of_a_part_retransmits_the_next_segment_in_newreno() {
    let mut script = ten_sent(Settings { limited_transmit: false, ..reno() });
    for _ in 0..3 {
        script.ack(0, &[]);
    }
    assert_eq!(script.sent_data(), [(0, 1000)]);
    script.ack(4000, &[]);
    assert_eq!(script.sent_data()[0], (4000, 1000));
    assert_eq!(script.end.sender().mode, Mode::Recovery);
    script.ack(10_000, &[]);
    assert_eq!(script.end.sender().mode, Mode::Open);
    // Half of ten segments, and the growth by this acknowledgement, which is a segment at most.
    assert!((5000..=6000).contains(&script.end.cwnd()), "{}", script.end.cwnd());
    assert_eq!(script.end.counts().recoveries, 1);
}

#[test]
fn a_recovery_with_sack_retransmits_only_what_is_missing() {
    let mut script = ten_sent(sack());
    // Segments 0 and 4 are lost.
    script.ack(0, &[(1000, 2000)]);
    script.ack(0, &[(1000, 3000)]);
    assert_eq!(script.sent_data(), [(10_000, 1000), (11_000, 1000)]);
    script.ack(0, &[(1000, 4000)]);
    // ssthresh is half of twelve segments. In flight: twelve, less three received and one lost.
    assert_eq!((script.sent_data(), script.end.ssthresh()), (vec![(0, 1000)], 6000));
    for to in [6000, 7000, 8000] {
        script.ack(0, &[(5000, to), (1000, 4000)]);
    }
    // Three above it are received now, so segment 4 is lost.
    assert!(script.sent_data().contains(&(4000, 1000)));
    assert_eq!(script.end.counts().fast_retransmissions, 2);
    script.ack(12_000, &[]);
    assert_eq!(script.end.sender().mode, Mode::Open);
}

#[test]
fn three_received_segments_above_show_a_loss_at_once() {
    let mut script = ten_sent(sack());
    script.ack(0, &[(1000, 4000)]);
    assert_eq!(script.sent_data()[0], (0, 1000));
    assert_eq!(script.end.sender().mode, Mode::Recovery);
}

/// Sends twenty segments without a loss before.
fn twenty_sent(reduction: Reduction) -> Script {
    let settings = Settings { reduction, initial_window: 20, limited_transmit: false, ..sack() };
    let mut script = Script::established(settings);
    script.write(1_000_000);
    assert_eq!(script.sent_data().len(), 20);
    script
}

/// RFC 6937, section 4, first example: one loss in twenty segments, and the window halves. One segment is
/// sent for every two that arrive.
#[test]
fn proportional_rate_reduction_sends_one_segment_for_two_that_arrive() {
    for reduction in [Reduction::Rfc6937 { wraps: false }, Reduction::Rfc9937] {
        let mut script = twenty_sent(reduction);
        let mut sent = Vec::new();
        for to in 2..20 {
            script.ack(0, &[(1000, to * 1000)]);
            sent.push(script.sent_data().len());
        }
        // The first two duplicates leave the window as it was, and each allows a new segment. The third one
        // retransmits.
        assert_eq!(sent[..3], [1, 1, 1], "{reduction:?}");
        // 22 segments were outstanding, and the threshold is 11.
        assert_eq!(script.end.ssthresh(), 11_000);
        let later: usize = sent[3..].iter().sum();
        assert!((7..=8).contains(&later), "{reduction:?}: {sent:?}");
        assert!(sent[3..].iter().all(|&count| count <= 1), "{reduction:?}: {sent:?}");
        script.ack(22_000, &[]);
        assert_eq!(script.end.sender().mode, Mode::Open);
    }
}

/// RFC 9937, section 6.2: a recovery that has lost more than half of the window sends what is delivered, and
/// one segment more for each acknowledgement that advances without a further loss.
#[test]
fn proportional_rate_reduction_rebuilds_the_window_after_many_losses() {
    let mut script = twenty_sent(Reduction::Rfc9937);
    // Segments 0 to 14 are lost.
    for to in 16..=18 {
        script.ack(0, &[(15_000, to * 1000)]);
    }
    assert_eq!(script.end.sender().mode, Mode::Recovery);
    assert!(script.end.in_flight() <= script.end.ssthresh());
    script.sent();
    script.ack(1000, &[(15_000, 18_000)]);
    // One delivered, and one more.
    assert_eq!(script.sent_data().len(), 2);
}

/// 200 segments of 1,000 bytes: the product of the threshold and the delivered bytes exceeds 2^32 when 43
/// segments have arrived. The share of 43 segments is 21 segments.
#[test]
fn the_share_of_a_large_window_wraps_in_ns3() {
    let count = |wraps| {
        let settings = Settings { initial_window: 200, reduction: Reduction::Rfc6937 { wraps }, ..sack() };
        let mut script = Script::closed(settings);
        script.shift = 4;
        let mut script = script.establish();
        script.ack(0, &[]);
        script.write(1_000_000);
        assert_eq!(script.sent_data().len(), 200);
        for to in 2..=80 {
            script.ack(0, &[(1000, to * 1000)]);
        }
        script.sent_data().len()
    };
    assert!((22..=24).contains(&count(true)), "{}", count(true));
    assert!((39..=42).contains(&count(false)), "{}", count(false));
}

/// RFC 6298, section 5.3, and the impatient variant of RFC 6582, section 4.
#[test]
fn the_timer_restarts_at_each_part_or_only_at_the_first() {
    for (restarts, left) in [(true, 1000), (false, 900)] {
        let settings = Settings { restarts_timer_at_each_part: restarts, limited_transmit: false, ..reno() };
        let mut script = ten_sent(settings);
        for _ in 0..3 {
            script.ack(0, &[]);
        }
        script.ack(1000, &[]);
        script.wait(Delay::from_ms(100));
        script.ack(2000, &[]);
        assert_eq!(script.timer(Timer::Retransmit), Some(Delay::from_ms(left)), "{restarts}");
    }
}

/// RFC 5682: the acknowledgement of a segment that was not sent again shows that the timeout was spurious.
#[test]
fn a_spurious_timeout_is_undone_by_frto() {
    let mut script = ten_sent(Settings { frto: true, ..sack() });
    let (cwnd, ssthresh) = (script.end.cwnd(), script.end.ssthresh());
    script.wait(Delay::from_secs(1));
    assert_eq!((script.end.cwnd(), script.sent_data()), (MSS, vec![(0, 1000)]));
    script.ack(1000, &[]);
    script.sent();
    script.ack(4000, &[]);
    assert_eq!(script.end.sender().mode, Mode::Open);
    assert!(script.end.cwnd() >= cwnd);
    assert_eq!(script.end.ssthresh(), ssthresh);
    assert_eq!(script.end.counts().undone, 1);
}

#[test]
fn a_genuine_timeout_is_not_undone_by_frto() {
    let mut script = ten_sent(Settings { frto: true, ..sack() });
    script.wait(Delay::from_secs(1));
    script.sent();
    script.ack(1000, &[]);
    script.ack(1000, &[]);
    assert_eq!(script.end.sender().mode, Mode::Loss);
    assert_eq!(script.end.counts().undone, 0);
    assert_eq!(script.end.ssthresh(), 5 * MSS);
}

/// RFC 2883 and RFC 3708: all retransmissions were duplicates, so nothing was lost.
#[test]
fn a_recovery_whose_retransmissions_were_all_duplicates_is_undone() {
    let mut script = ten_sent(sack());
    let cwnd = script.end.cwnd();
    script.ack(0, &[(1000, 4000)]);
    assert_eq!(script.end.sender().mode, Mode::Recovery);
    // The first segment was only late. Its copy arrives too, and is reported.
    script.ack(4000, &[]);
    script.ack(4000, &[(0, 1000)]);
    assert_eq!(script.end.counts().spurious_retransmissions, 1);
    assert_eq!((script.end.counts().undone, script.end.sender().mode), (1, Mode::Open));
    assert!(script.end.cwnd() >= cwnd);
    assert_eq!(script.end.ssthresh(), u32::MAX);
}

/// RFC 8985, section 6: a segment is lost when a later one has arrived, a quarter of a round trip ago.
#[test]
fn a_loss_is_detected_by_time_with_rack() {
    let settings = Settings { rack: true, ..sack() };
    let mut script = Script::established(settings);
    script.write(3000);
    script.wait(Delay::from_ms(100));
    script.sent();
    script.ack(0, &[(1000, 2000)]);
    // The reordering window is a quarter of 100 ms.
    assert_eq!(script.timer(Timer::Reordering), Some(Delay::from_ms(25)));
    assert_eq!(script.sent_data(), []);
    script.wait(Delay::from_ms(25));
    assert_eq!(script.sent_data(), [(0, 1000)]);
    assert_eq!(script.end.sender().mode, Mode::Recovery);
    assert_eq!(script.end.counts().timeouts, 0);
}

/// RFC 8985: the loss of a retransmission is detected as well.
#[test]
fn a_lost_retransmission_is_sent_again_without_a_timeout_with_rack() {
    let mut script = ten_sent(Settings { rack: true, ..sack() });
    script.wait(Delay::from_ms(100));
    script.ack(0, &[(1000, 5000)]);
    let first = script.sent_data();
    assert_eq!(first[0], (0, 1000));
    // A round trip later, the segments sent after the retransmission are acknowledged, and it is not.
    script.wait(Delay::from_ms(100));
    script.ack(0, &[(1000, 10_000)]);
    script.sent();
    script.wait(Delay::from_ms(100));
    script.ack(0, &[(1000, 11_000)]);
    script.wait(Delay::from_ms(30));
    assert!(script.sent_data().contains(&(0, 1000)));
    assert_eq!(script.end.counts().timeouts, 0);
}

/// RFC 8985, section 6.2, step 2: the acknowledgement of a retransmitted segment tells nothing about the
/// retransmission if it echoes an older timestamp.
#[test]
fn an_original_that_arrives_late_does_not_show_that_retransmissions_are_lost() {
    let sends_first_again = |echoes_retransmission: bool| {
        let mut script = Script::closed(Settings { rack: true, timestamps: true, ..sack() });
        script.timestamps = Some(Timestamps { value: 1, echo: 1000 });
        let mut script = script.establish();
        script.write(100_000);
        let original = script.sent()[0].header.timestamps.expect("there are timestamps").value;
        script.timestamps = Some(Timestamps { value: 2, echo: original });
        // The round trip was 100 ms. Of ten segments of 988 bytes, all but the last one seem to be lost.
        let last = (988 * 9, 988 * 10);
        script.wait(Delay::from_ms(100));
        script.ack(0, &[last]);
        script.wait(Delay::from_ms(200));
        let mut again = script.sent();
        again.retain(|out| out.data().0 < last.0);
        assert!(again.len() > 1, "{}", again.len());
        let (byte, _) = again[again.len() - 1].data();
        let echo = again[0].header.timestamps.expect("there are timestamps").value;
        script.timestamps = Some(Timestamps { value: 3, echo: if echoes_retransmission { echo } else { original } });
        script.ack(0, &[(byte, byte + 988), last]);
        script.sent_data().contains(&again[0].data())
    };
    assert!(!sends_first_again(false));
    assert!(sends_first_again(true));
}

/// Linux waits two ticks longer than RFC 8985, or its least timeout for a single segment.
#[test]
fn a_tail_loss_probe_waits_at_least_two_ticks_in_linux() {
    let timer = |bytes, probe_margin| {
        let rto_floor = RtoFloor::Variation(Delay::from_ms(200));
        let settings = Settings { rack: true, tail_loss_probe: true, probe_margin, rto_floor, ..sack() };
        let mut script = Script::closed(settings);
        script.open();
        script.wait(Delay::from_us(40));
        let flags = Flags::SYN | Flags::ACK;
        script.arrive(Header { flags, ack: OURS.add(1), ..script.syn() }, 0);
        script.write(bytes);
        script.timer(Timer::Retransmit)
    };
    assert_eq!(timer(3000, Delay::ZERO), Some(Delay::from_us(80)));
    assert_eq!(timer(3000, Settings::linux().probe_margin), Some(Delay::from_us(2080)));
    // The timeout comes first: one round trip and 200 ms.
    assert_eq!(timer(500, Settings::linux().probe_margin), Some(Delay::from_us(200_040)));
}

/// RFC 8985, section 7: a probe two round trips after the last segment, then the timeout.
#[test]
fn a_tail_loss_probe_repeats_the_last_segment_after_two_round_trips() {
    let settings = Settings { rack: true, tail_loss_probe: true, probe_margin: Delay::ZERO, ..sack() };
    let mut script = Script::established(settings);
    script.write(3000);
    script.sent();
    assert_eq!(script.timer(Timer::Retransmit), Some(Delay::from_ms(200)));
    script.wait(Delay::from_ms(200));
    assert_eq!(script.sent_data(), [(2000, 1000)]);
    assert_eq!(script.timer(Timer::Retransmit), Some(Delay::from_secs(1)));
    // Only the last segment was lost, and the probe repaired it. No duplicate is reported before the next
    // segment is acknowledged, so the window shrinks (section 7.4.2).
    script.wait(Delay::from_ms(100));
    script.ack(3000, &[]);
    assert_eq!((script.end.counts().timeouts, script.end.counts().probe_retransmissions), (0, 1));
    assert_eq!(script.end.ssthresh(), u32::MAX);
    script.write(1000);
    script.ack(4000, &[]);
    assert!(script.end.ssthresh() < u32::MAX);
}

#[test]
fn a_probe_that_was_not_needed_leaves_the_window() {
    let settings = Settings { rack: true, tail_loss_probe: true, probe_margin: Delay::ZERO, ..sack() };
    let mut script = Script::established(settings);
    script.write(3000);
    script.wait(Delay::from_ms(200));
    script.ack(3000, &[(2000, 3000)]);
    assert_eq!(script.end.ssthresh(), u32::MAX);
    assert_eq!(script.end.counts().spurious_retransmissions, 1);
}

/// RFC 6675, NextSeg, rule 4.
#[test]
fn a_rescue_retransmission_repeats_the_last_segment_once() {
    let mut script = Script::established(Settings { rescues: true, ..sack() });
    script.write(10_000);
    script.sent();
    // Segments 0, 8 and 9 are lost.
    script.ack(0, &[(1000, 8000)]);
    let sent = script.sent_data();
    assert_eq!(sent, [(0, 1000), (9000, 1000)]);
}

#[test]
fn a_segment_is_not_sent_twice_when_its_number_wraps() {
    use parades_tcp::seq::Seq;
    use parades_tcp::{Connection, Ports};
    let settings = sack();
    let mut script = Script::closed(settings.clone());
    // The numbers wrap within the fifth segment.
    let initial = Seq(u32::MAX - 4500);
    script.end = Connection::connect(&settings, Ports { local: 1, remote: 2 }, initial);
    script.open();
    let flags = parades_tcp::header::Flags::SYN | parades_tcp::header::Flags::ACK;
    let header = parades_tcp::header::Header { flags, ack: initial.add(1), ..script.syn() };
    script.arrive(header, 0);
    script.write(20_000);
    let numbers: Vec<u32> = script.sent().iter().filter(|out| out.bytes > 0).map(|out| out.header.seq.0).collect();
    assert_eq!(numbers[4..6], [u32::MAX - 499, 500]);
    let ack = |byte: u32| parades_tcp::header::Header { ack: initial.add(1 + byte), ..script.ack_of(0) };
    let header = ack(10_000);
    script.arrive(header, 0);
    assert_eq!((script.end.acknowledged(), script.end.counts().retransmissions()), (10_000, 0));
}

/// RFC 6582, section 3.2, step 1: after a timeout, duplicates may come from needless retransmissions.
#[test]
fn duplicates_after_a_timeout_begin_no_recovery_before_something_new_is_acknowledged() {
    for (recovers, recoveries) in [(false, 0), (true, 1)] {
        let mut script = ten_sent(Settings { recovers_at_last_recovery: recovers, ..reno() });
        script.wait(Delay::from_secs(1));
        script.ack(1000, &[]);
        script.ack(10_000, &[]);
        assert_eq!(script.end.sender().mode, Mode::Open);
        for _ in 0..3 {
            script.ack(10_000, &[]);
        }
        assert_eq!(script.end.counts().recoveries, recoveries);
    }
}
