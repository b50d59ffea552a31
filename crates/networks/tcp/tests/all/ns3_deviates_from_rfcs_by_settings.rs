//! Deviations of ns-3.37 from the RFCs, each beside what the RFC says.

use crate::script::{Script, plain};
use parades_core::time::Delay;
use parades_tcp::Mode;
use parades_tcp::control::{Algorithm, Dctcp};
use parades_tcp::environment::{Ecn, Timer};
use parades_tcp::header::{Flags, Header};
use parades_tcp::settings::{EcnUse, Settings};

/// Returns an end that has sent ten full segments, and has more to send.
fn ten_sent(settings: Settings) -> Script {
    let mut script = Script::established(settings);
    script.write(100_000);
    assert_eq!(script.sent_data().len(), 10);
    script
}

/// RFC 6298, rule 5.3: an acknowledgement of new data restarts the timer.
#[test]
fn an_acknowledgement_that_advances_and_reports_a_gap_restarts_the_timer_but_not_in_ns3() {
    for (restarts_timer_in_disorder, left_ms) in [(true, 1000), (false, 500)] {
        let mut script = ten_sent(Settings { restarts_timer_in_disorder, ..plain() });
        script.wait(Delay::from_ms(500));
        script.ack(1000, &[(2000, 3000)]);
        assert_eq!(script.end.sender().mode, Mode::Disorder);
        assert_eq!(script.timer(Timer::Retransmit), Some(Delay::from_ms(left_ms)));
        script.ack(3000, &[]);
        assert_eq!(script.timer(Timer::Retransmit), Some(Delay::from_secs(1)));
    }
}

/// RFC 6675, section 5, step 2: the first segment is lost if three segments above it are received.
#[test]
fn one_acknowledgement_of_three_segments_above_the_first_begins_a_recovery_but_not_in_ns3() {
    for (judges_first_segment, recovers_at) in [(true, 1), (false, 3)] {
        let mut script = ten_sent(Settings { judges_first_segment, ..plain() });
        for count in 1..=3 {
            script.ack(0, &[(1000, 3000 + 1000 * count)]);
            let mode = if count >= recovers_at { Mode::Recovery } else { Mode::Disorder };
            assert_eq!(script.end.sender().mode, mode, "after {count}");
        }
    }
}

/// RFC 3168, section 6.1.3: the receiver echoes each mark.
#[test]
fn a_mark_of_the_first_data_is_lost_in_ns3_if_the_last_segment_of_the_handshake_was_marked() {
    for (counts_all_marks, echoes) in [(true, [true, true]), (false, [false, true])] {
        let algorithm = Algorithm::Dctcp(Dctcp::rfc8257());
        let settings =
            Settings { ecn: EcnUse::Accept, algorithm, counts_all_marks, delayed_ack_segments: 1, ..plain() };
        let mut script = Script::listening(settings);
        script.arrive(Header { flags: Flags::SYN | Flags::ECE | Flags::CWR, ..script.syn() }, 0);
        script.arrive_marked(script.ack_of(0), 0, Ecn::Marked);
        script.sent();
        let found = [(); 2].map(|()| {
            script.arrive_marked(script.ack_of(0), 100, Ecn::Marked);
            script.sent().last().expect("an acknowledgement").has(Flags::ECE)
        });
        assert_eq!(found, echoes);
    }
}

/// RFC 9293, section 3.8.6.2.1: a part of a segment is sent if it fills half of the largest window.
#[test]
fn a_part_of_a_segment_that_fills_half_of_the_window_is_sent_but_not_in_ns3() {
    for (avoids_silly_windows, expected) in [(true, &[(0, 600)][..]), (false, &[])] {
        let mut script = Script::closed(Settings { avoids_silly_windows, ..plain() });
        script.window = 600;
        let mut script = script.establish();
        script.write(5000);
        assert_eq!(script.sent_data(), expected);
    }
}

/// RFC 9293, section 3.8.6.2.2: the window grows by a segment or half the buffer.
#[test]
fn a_window_grows_by_a_segment_but_in_ns3_by_any_number_of_bytes() {
    for (avoids_silly_windows, window) in [(true, 29_700), (false, 30_000)] {
        let settings = Settings { avoids_silly_windows, receive_buffer: 30_000, delayed_ack_segments: 1, ..plain() };
        let mut script = Script::established(settings);
        script.data(0, 300);
        assert_eq!(script.sent()[0].header.window, window);
    }
}

/// RFC 7323, section 2.3: the window is shifted, so it is rounded down. Linux rounds it up.
#[test]
fn a_scaled_window_is_rounded_down_but_in_linux_up() {
    // 600,008 bytes need a shift of 4, and are 37,500.5 units.
    for (rounds_window_up, window) in [(true, 37_501), (false, 37_500)] {
        let settings = Settings { rounds_window_up, receive_buffer: 600_008, delayed_ack_segments: 1, ..plain() };
        let mut script = Script::established(settings);
        script.data(0, 1000);
        script.data(1000, 1000);
        assert_eq!(script.sent()[1].header.window, window);
    }
}
