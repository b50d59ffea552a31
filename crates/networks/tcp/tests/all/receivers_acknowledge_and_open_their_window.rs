//! Acknowledgements, blocks to report, and receive windows.

use crate::script::{OURS, Script, THEIRS, plain};
use parades_core::time::Delay;
use parades_tcp::control::{Algorithm, Dctcp};
use parades_tcp::environment::{Ecn, Timer};
use parades_tcp::header::{Flags, Header, Range};
use parades_tcp::settings::{DelayedAckCount, EcnUse, Settings};

/// Returns the blocks of an acknowledgement, as bytes of the stream.
fn blocks(header: &Header) -> Vec<(u32, u32)> {
    header.sack().iter().map(|&Range { from, to }| (from.since(THEIRS) - 1, to.since(THEIRS) - 1)).collect()
}

#[test]
fn every_second_segment_is_acknowledged_and_a_single_one_after_the_delay() {
    let mut script = Script::established(plain());
    script.data(0, 1000);
    assert_eq!(script.sent().len(), 0);
    script.data(1000, 1000);
    assert_eq!(script.sent()[0].ack(), 2000);
    script.data(2000, 1000);
    assert_eq!(script.timer(Timer::DelayedAck), Some(Delay::from_ms(200)));
    script.wait(Delay::from_ms(199));
    assert_eq!(script.sent().len(), 0);
    script.wait(Delay::from_ms(1));
    assert_eq!(script.sent()[0].ack(), 3000);
}

#[test]
fn the_first_segments_are_acknowledged_at_once_if_the_settings_say_so() {
    let mut script = Script::established(Settings { quick_acks: 2, ..plain() });
    for (byte, answers) in [(0, 1), (1000, 1), (2000, 0), (3000, 1)] {
        script.data(byte, 1000);
        assert_eq!(script.sent().len(), answers, "{byte}");
    }
}

#[test]
fn data_take_the_acknowledgement_along() {
    let mut script = Script::established(plain());
    script.data(0, 1000);
    script.write(10);
    let sent = script.sent();
    assert_eq!((sent.len(), sent[0].ack()), (1, 1000));
    assert_eq!(script.timer(Timer::DelayedAck), None);
}

#[test]
fn segments_out_of_order_and_those_that_fill_a_gap_are_acknowledged_at_once() {
    let mut script = Script::established(plain());
    script.data(1000, 1000);
    assert_eq!(script.sent()[0].ack(), 0);
    script.data(3000, 1000);
    script.data(0, 1000);
    let sent = script.sent();
    assert_eq!(sent.iter().map(|out| out.ack()).collect::<Vec<_>>(), [0, 2000]);
    script.data(2000, 1000);
    assert_eq!(script.sent()[0].ack(), 4000);
    assert_eq!(script.env.delivered, 4000);
}

/// The example of RFC 2018, section 4, case 3: segments of 500 bytes, of which the second, fourth, sixth and
/// eighth are lost.
#[test]
fn blocks_are_reported_as_in_the_example_of_rfc_2018() {
    let mut script = Script::established(plain());
    script.data(0, 500);
    let expected: [&[(u32, u32)]; 3] =
        [&[(1000, 1500)], &[(2000, 2500), (1000, 1500)], &[(3000, 3500), (2000, 2500), (1000, 1500)]];
    for (byte, expected) in [1000, 2000, 3000].into_iter().zip(expected) {
        script.data(byte, 500);
        let sent = script.sent();
        assert_eq!((sent[0].ack(), blocks(&sent[0].header)), (500, expected.to_vec()));
    }
    // The fourth arrives: 5500 to 7000 in the RFC's numbers.
    script.data(1500, 500);
    let sent = script.sent();
    assert_eq!((sent[0].ack(), blocks(&sent[0].header)), (500, vec![(1000, 2500), (3000, 3500)]));
    script.data(500, 500);
    let sent = script.sent();
    assert_eq!((sent[0].ack(), blocks(&sent[0].header)), (2500, vec![(3000, 3500)]));
}

/// RFC 2883, section 4.1: a duplicate below the acknowledgement, and one within a block.
#[test]
fn duplicates_are_reported_first_as_in_rfc_2883() {
    let mut script = Script::established(plain());
    script.data(0, 500);
    script.data(500, 500);
    script.sent();
    script.data(0, 500);
    assert_eq!(blocks(&script.sent()[0].header), [(0, 500)]);
    script.data(1500, 500);
    script.sent();
    script.data(1500, 500);
    assert_eq!(blocks(&script.sent()[0].header), [(1500, 2000), (1500, 2000)]);
    script.settings.dsack = false;
    script.data(1500, 500);
    assert_eq!(blocks(&script.sent()[0].header), [(1500, 2000)]);
}

#[test]
fn timestamps_leave_room_for_three_blocks() {
    let mut script = Script::closed(Settings { timestamps: true, ..plain() });
    script.timestamps = Some(parades_tcp::header::Timestamps { value: 1, echo: 0 });
    let mut script = script.establish();
    for byte in [1000, 3000, 5000, 7000] {
        script.data(byte, 500);
    }
    let last = script.sent().pop().expect("an acknowledgement").header;
    assert_eq!(blocks(&last), [(7000, 7500), (5000, 5500), (3000, 3500)]);
    assert!(last.bytes() <= 60);
}

#[test]
fn data_beyond_the_window_are_cut_off() {
    let mut script = Script::established(Settings { receive_buffer: 2500, ..plain() }).reading_late();
    script.data(0, 1000);
    script.data(1000, 1000);
    script.data(2000, 1000);
    assert_eq!(script.env.delivered, 2500);
    let last = script.sent().pop().expect("an acknowledgement");
    assert_eq!((last.ack(), last.header.window), (2500, 0));
}

#[test]
fn a_window_opens_only_by_a_segment_or_half_the_buffer() {
    let mut script = Script::established(Settings { receive_buffer: 10_000, ..plain() }).reading_late();
    for byte in (0..10_000).step_by(1000) {
        script.data(byte, 1000);
    }
    assert_eq!(script.sent().last().expect("an acknowledgement").header.window, 0);
    // RFC 9293, section 3.8.6.2.2: the window does not open by less than a segment.
    script.read(999);
    assert_eq!(script.sent().len(), 0);
    script.read(1);
    assert_eq!(script.sent()[0].header.window, 1000);
    script.read(1000);
    assert_eq!(script.sent()[0].header.window, 2000);
    // The sender has two segments of room now, and hears of more with the next acknowledgement.
    script.read(1000);
    assert_eq!(script.sent().len(), 0);
    script.read(7000);
    assert_eq!(script.sent()[0].header.window, 10_000);
}

#[test]
fn the_end_of_the_window_never_moves_back_when_it_is_scaled() {
    // The other end scales by 0, ours by 5: windows are multiples of 32.
    let mut script = Script::established(Settings { receive_buffer: 1 << 20, ..plain() }).reading_late();
    let mut end = 0;
    for byte in (0..30_000).step_by(333) {
        script.data(byte, 333);
        for out in script.sent() {
            let reached = out.ack() + (u32::from(out.header.window) << 5);
            assert!(reached >= end, "{reached} after {end}");
            end = reached;
        }
    }
}

#[test]
fn a_probe_of_a_closed_window_is_answered() {
    let mut script = Script::established(Settings { receive_buffer: 1000, ..plain() }).reading_late();
    script.data(0, 1000);
    script.sent();
    script.data(1000, 1);
    let sent = script.sent();
    assert_eq!((sent.len(), sent[0].ack(), sent[0].header.window), (1, 1000, 0));
}

#[test]
fn a_mark_is_echoed_until_the_window_is_reduced() {
    let mut script = Script::listening(Settings { ecn: EcnUse::Accept, delayed_ack_segments: 1, ..plain() });
    script.arrive(Header { flags: Flags::SYN | Flags::ECE | Flags::CWR, ..script.syn() }, 0);
    script.ack(0, &[]);
    script.sent();
    let mut echoes = Vec::new();
    let marked = [Ecn::Capable0, Ecn::Marked, Ecn::Capable0, Ecn::Capable0, Ecn::Marked];
    for (index, ecn) in (0..).zip(marked) {
        let flags = if index == 3 { Flags::ACK | Flags::CWR } else { Flags::ACK };
        script.arrive_marked(Header { flags, ..script.ack_of(0) }, 100, ecn);
        echoes.push(script.sent()[0].has(Flags::ECE));
    }
    assert_eq!(echoes, [false, true, true, false, true]);
}

/// RFC 8257, section 3.2: the echo follows each segment's mark, and a change is acknowledged at once.
#[test]
fn marks_are_echoed_exactly_for_dctcp() {
    let settings = Settings { ecn: EcnUse::Accept, algorithm: Algorithm::Dctcp(Dctcp::rfc8257()), ..plain() };
    let mut script = Script::listening(settings);
    script.arrive(Header { flags: Flags::SYN | Flags::ECE | Flags::CWR, ..script.syn() }, 0);
    script.ack(0, &[]);
    script.sent();
    let mut arrive = |ecn: Ecn| {
        script.arrive_marked(script.ack_of(0), 100, ecn);
        script.sent().iter().map(|out| (out.ack(), out.has(Flags::ECE))).collect::<Vec<_>>()
    };
    assert_eq!(arrive(Ecn::Capable0), []);
    assert_eq!(arrive(Ecn::Marked), [(100, false)]);
    assert_eq!(arrive(Ecn::Marked), [(300, true)]);
    assert_eq!(arrive(Ecn::Marked), []);
    assert_eq!(arrive(Ecn::Capable0), [(400, true)]);
    assert_eq!(arrive(Ecn::Capable0), [(600, false)]);
}

#[test]
fn an_urgent_pointer_changes_nothing() {
    let mut script = Script::established(plain());
    let header = Header { flags: Flags::ACK | Flags::URG | Flags::PSH, ack: OURS.add(1), ..script.ack_of(0) };
    script.arrive(header, 100);
    assert_eq!(script.env.delivered, 100);
}

/// RFC 5681, section 4.2: at least every second full-sized segment is acknowledged.
#[test]
fn delayed_acknowledgements_count_full_sized_segments_or_bytes_or_segments() {
    let acknowledged = |delayed_ack_count, sizes: &[u32]| {
        let mut script = Script::established(Settings { delayed_ack_count, ..plain() });
        let mut byte = 0;
        let each = sizes.iter().map(|&bytes| {
            script.data(byte, bytes);
            byte += bytes;
            !script.sent().is_empty()
        });
        each.collect::<Vec<_>>()
    };
    use DelayedAckCount::{Bytes, FullSegments, Segments};
    for count in [FullSegments, Bytes, Segments] {
        assert_eq!(acknowledged(count, &[1000; 4]), [false, true, false, true]);
    }
    let mixed = [1000, 100, 1000, 100, 100];
    assert_eq!(acknowledged(FullSegments, &mixed), [false, false, true, false, false]);
    assert_eq!(acknowledged(Bytes, &mixed), [false, true, false, true, false]);
    assert_eq!(acknowledged(Segments, &mixed), [false, true, false, true, false]);
    // Segments that are smaller than the default MSS are no full-sized ones (RFC 9293, MUST-15: 536 bytes).
    assert_eq!(acknowledged(FullSegments, &[100; 6]), [false; 6]);
    assert_eq!(acknowledged(Bytes, &[100; 6]), [false, false, false, false, false, true]);
}
