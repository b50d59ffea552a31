//! Handshakes, options, half-closed connections, and the end of connections.

use crate::script::{OURS, Script, THEIRS, plain};
use parades_core::time::Delay;
use parades_tcp::State;
use parades_tcp::environment::{Notice, Timer};
use parades_tcp::header::{Flags, Header, SynOptions, Timestamps};
use parades_tcp::settings::{EcnUse, Settings};

#[test]
fn a_syn_offers_all_options_and_the_answer_only_those_that_were_offered() {
    let settings = Settings { timestamps: true, receive_buffer: 1 << 20, ..plain() };
    let mut script = Script::closed(settings.clone());
    script.open();
    let syn = script.sent()[0].header;
    // 2^20 bytes need a shift of 5: 2^20 / 2^5 = 32768.
    assert_eq!(syn.syn, SynOptions { mss: Some(1000), window_shift: Some(5), has_sack: true });
    assert!(syn.timestamps.is_some());
    assert_eq!((syn.seq, syn.window, syn.flags), (OURS, 65535, Flags::SYN));

    let mut script = Script::listening(settings);
    let bare = Header { syn: SynOptions { mss: Some(700), ..SynOptions::default() }, ..script.syn() };
    script.arrive(bare, 0);
    let answer = script.sent()[0].header;
    assert_eq!(answer.syn, SynOptions { mss: Some(1000), window_shift: None, has_sack: false });
    assert_eq!(answer.timestamps, None);
    assert_eq!((answer.seq, answer.ack), (OURS, THEIRS.add(1)));
}

#[test]
fn a_segment_has_the_smaller_mss_less_the_timestamps() {
    let settings = Settings { timestamps: true, ..plain() };
    let mut script = Script::closed(settings);
    script.timestamps = Some(Timestamps::default());
    let mut script = script.establish();
    script.write(5000);
    // Ours is 1000, theirs 1460. RFC 6691: 12 bytes of timestamps count.
    assert_eq!(script.sent_data()[0], (0, 988));
}

#[test]
fn an_end_without_an_mss_option_gets_segments_of_536_bytes() {
    let mut script = Script::closed(plain());
    script.open();
    let flags = Flags::SYN | Flags::ACK;
    let header = Header { flags, ack: OURS.add(1), syn: SynOptions::default(), ..script.syn() };
    script.arrive(header, 0);
    script.sent();
    script.write(5000);
    assert_eq!(script.sent_data()[0], (0, 536));
}

#[test]
fn windows_are_scaled_by_the_shift_of_each_end() {
    let mut script = Script::closed(Settings { receive_buffer: 1 << 20, ..plain() });
    script.open();
    let syn = SynOptions { mss: Some(1460), window_shift: Some(3), has_sack: true };
    let flags = Flags::SYN | Flags::ACK;
    let header = Header { flags, ack: OURS.add(1), window: 100, syn, ..script.syn() };
    script.arrive(header, 0);
    // The window of a SYN is not scaled.
    assert_eq!(script.end.sender().peer_window, 100);
    assert_eq!(script.sent().last().expect("an acknowledgement").header.window, 32768);
    script.window = 100;
    script.ack(0, &[]);
    assert_eq!(script.end.sender().peer_window, 800);
}

#[test]
fn a_lost_syn_is_repeated_after_1_2_and_4_seconds_and_then_given_up() {
    let mut script = Script::closed(Settings { syn_retries: 2, ..plain() });
    script.open();
    for seconds in [1, 2] {
        assert_eq!(script.timer(Timer::Retransmit), Some(Delay::from_secs(seconds)));
        script.wait(Delay::from_secs(seconds));
    }
    assert_eq!(script.sent().len(), 3);
    script.wait(Delay::from_secs(4));
    assert_eq!(script.end.state(), State::Closed);
    assert_eq!(script.env.notices, [Notice::TimedOut]);
    assert_eq!(script.sent().len(), 0);
}

/// Returns an end whose SYN was sent again after 1, 3, 7, … seconds, `lost` times. Its answer comes 500 ms
/// after the last one, and echoes the timestamp of the SYN with number `answered`, if there are timestamps.
fn connected_after(lost: u32, answered: u32, settings: Settings) -> Script {
    let mut script = Script::closed(settings);
    script.open();
    for retry in 0..lost {
        script.wait(Delay::from_secs(1 << retry));
    }
    script.wait(Delay::from_ms(500));
    let sent = script.sent();
    assert_eq!(sent.len(), 1 + lost as usize);
    let echo = sent[answered as usize].header.timestamps.map(|stamps| Timestamps { value: 1, echo: stamps.value });
    script.timestamps = echo;
    let flags = Flags::SYN | Flags::ACK;
    script.arrive(Header { flags, ack: OURS.add(1), ..script.syn() }, 0);
    assert_eq!(script.end.state(), State::Established);
    script
}

/// RFC 5681, section 3.1: one retransmission. Linux: two, and the timestamp shows that they were needed.
#[test]
fn the_window_is_one_segment_after_lost_syns() {
    let rfc = Settings { restarts_after_syn_losses: Some(1), ..plain() };
    let timestamps = Settings { timestamps: true, ..plain() };
    let ns3 = Settings { syn_timeout: Delay::from_secs(1), ..Settings::ns3() };
    let windows = |settings: &Settings, answered: fn(u32) -> u32| {
        [0, 1, 2].map(|lost| {
            let script = connected_after(lost, answered(lost), settings.clone());
            script.end.cwnd() / script.end.sender().window.mss
        })
    };
    assert_eq!(windows(&rfc, |_| 0), [10, 1, 1]);
    assert_eq!(windows(&plain(), |_| 0), [10, 10, 1]);
    assert_eq!(windows(&timestamps, |lost| lost), [10, 10, 1]);
    assert_eq!(windows(&timestamps, |_| 0), [10, 10, 10]);
    assert_eq!(windows(&ns3, |_| 0), [10, 10, 10]);
}

/// RFC 6298, rule 5.7, and RFC 7323, section 4.1. The plain settings have a timeout of at least a second, and
/// the deviation of the first measurement is half of it: the timeout is thrice the round trip.
#[test]
fn after_a_repeated_syn_the_timeout_is_three_seconds_or_comes_from_the_timestamp() {
    let timeout = |lost, answered, settings: Settings| {
        let mut script = connected_after(lost, answered, settings);
        script.write(100);
        script.timer(Timer::Retransmit).map_or(0, |delay| delay.as_ps() / 1_000_000_000)
    };
    assert_eq!(timeout(0, 0, plain()), 1500);
    assert_eq!(timeout(1, 0, plain()), 3000);
    assert_eq!(timeout(2, 0, plain()), 3000);
    let timestamps = Settings { timestamps: true, ..plain() };
    assert_eq!(timeout(1, 0, timestamps.clone()), 4500);
    assert_eq!(timeout(1, 1, timestamps.clone()), 1500);
    assert_eq!(timeout(2, 0, timestamps), 10_500);
    // ns-3 keeps the timeout of the beginning: a second, and the granularity of its clock.
    let ns3 = Settings { syn_timeout: Delay::from_secs(1), timestamps: true, ..Settings::ns3() };
    assert_eq!(timeout(1, 0, ns3), 1001);
}

/// RFC 9293, section 3.10.7.4; Linux and ns-3.
#[test]
fn a_repeated_syn_is_answered_again() {
    let mut script = Script::listening(Settings { timestamps: true, ..plain() });
    script.timestamps = Some(Timestamps { value: 7, echo: 0 });
    script.arrive(script.syn(), 0);
    let first = script.sent();
    script.wait(Delay::from_ms(800));
    script.timestamps = Some(Timestamps { value: 807, echo: 0 });
    script.arrive(script.syn(), 0);
    let again = script.sent();
    assert_eq!(again.len(), 1);
    let same = |header: Header| Header { timestamps: None, ..header };
    assert_eq!(same(again[0].header), same(first[0].header));
    // The timer counts from the second answer, and Karn's rule forbids to measure without the timestamp.
    assert_eq!(script.timer(Timer::Retransmit), Some(Delay::from_secs(1)));
    script.wait(Delay::from_ms(200));
    let echo = first[0].header.timestamps.expect("there are timestamps").value;
    script.timestamps = Some(Timestamps { value: 1007, echo });
    script.arrive(script.ack_of(0), 0);
    assert_eq!(script.end.state(), State::Established);
    assert_eq!(script.end.smoothed_rtt(), Delay::from_secs(1));
    assert_eq!(script.end.cwnd() / script.end.sender().window.mss, 10);
}

#[test]
fn the_initial_window_is_ten_segments() {
    let mut script = Script::established(plain());
    script.write(100_000);
    assert_eq!(script.sent_data().len(), 10);
}

#[test]
fn what_was_written_before_the_handshake_follows_its_acknowledgement() {
    let mut script = Script::closed(plain());
    script.open();
    assert_eq!(script.write(500), 500);
    script.sent();
    let flags = Flags::SYN | Flags::ACK;
    let header = Header { flags, ack: OURS.add(1), ..script.syn() };
    script.arrive(header, 0);
    let sent: Vec<u32> = script.sent().iter().map(|out| out.bytes).collect();
    assert_eq!(sent, [0, 500]);
}

#[test]
fn the_fin_leaves_with_the_last_byte_and_takes_a_sequence_number() {
    let mut script = Script::established(plain());
    script.write(2500);
    script.sent();
    let mut script = Script::established(plain());
    let settings = script.settings.clone();
    use parades_core::restore::Undoable;
    assert_eq!(script.end.unrecorded().write_last(&settings, 2500, &mut script.env), 2500);
    let sent = script.sent();
    let fins: Vec<bool> = sent.iter().map(|out| out.has(Flags::FIN)).collect();
    assert_eq!(fins, [false, false, true]);
    assert_eq!(script.end.state(), State::FinWait1);
    script.ack(2500, &[]);
    assert_eq!(script.end.state(), State::FinWait1);
    script.ack(2501, &[]);
    assert_eq!(script.end.state(), State::FinWait2);
    assert_eq!(script.end.acknowledged(), 2500);
}

#[test]
fn a_half_closed_connection_still_receives() {
    let mut script = Script::established(plain());
    script.close();
    script.ack(1, &[]);
    assert_eq!(script.end.state(), State::FinWait2);
    script.data(0, 300);
    script.data(300, 300);
    assert_eq!(script.env.delivered, 600);
    assert_eq!(script.sent().last().expect("an acknowledgement").ack(), 600);
    assert_eq!(script.write(10), 0, "this direction is closed");
}

#[test]
fn a_half_closed_connection_still_sends() {
    let mut script = Script::established(plain());
    let header = Header { flags: Flags::FIN | Flags::ACK, ..script.ack_of(0) };
    script.arrive(header, 0);
    assert_eq!(script.env.notices, [Notice::Connected, Notice::Finished]);
    script.sent();
    script.write(1500);
    assert_eq!(script.sent_data(), [(0, 1000), (1000, 500)]);
    script.ack(1500, &[]);
    script.close();
    assert_eq!(script.end.state(), State::LastAck);
    assert!(script.sent()[0].has(Flags::FIN));
    script.ack(1501, &[]);
    assert_eq!(script.end.state(), State::Closed);
    assert_eq!(script.env.notices.last(), Some(&Notice::Closed));
}

#[test]
fn a_fin_out_of_order_ends_the_stream_when_the_gap_is_filled() {
    let mut script = Script::established(plain());
    let header = Header { flags: Flags::FIN | Flags::ACK, seq: THEIRS.add(101), ..script.ack_of(0) };
    script.arrive(header, 50);
    assert_eq!(script.end.state(), State::Established);
    script.data(0, 100);
    assert_eq!(script.end.state(), State::CloseWait);
    assert_eq!((script.env.delivered, script.end.received()), (150, 150));
    assert_eq!(script.sent().last().expect("an acknowledgement").ack(), 151);
}

#[test]
fn a_lost_fin_is_repeated() {
    let mut script = Script::established(plain());
    script.close();
    assert_eq!(script.sent().len(), 1);
    script.wait(Delay::from_secs(1));
    let sent = script.sent();
    assert_eq!((sent.len(), sent[0].header.seq), (1, OURS.add(1)));
    assert!(sent[0].has(Flags::FIN));
}

#[test]
fn a_close_before_the_handshake_ends_sends_the_fin_after_it() {
    let mut script = Script::listening(plain());
    script.arrive(script.syn(), 0);
    script.close();
    assert_eq!(script.end.state(), State::SynReceived);
    script.sent();
    script.ack(0, &[]);
    assert_eq!(script.end.state(), State::FinWait1);
    assert!(script.sent()[0].has(Flags::FIN));
}

#[test]
fn marks_are_agreed_by_the_flags_of_rfc_3168() {
    let ask = Settings { ecn: EcnUse::Ask, ..plain() };
    let accept = Settings { ecn: EcnUse::Accept, ..plain() };
    let mut script = Script::closed(ask);
    script.open();
    assert_eq!(script.sent()[0].header.flags, Flags::SYN | Flags::ECE | Flags::CWR);
    let flags = Flags::SYN | Flags::ACK | Flags::ECE;
    script.arrive(Header { flags, ack: OURS.add(1), ..script.syn() }, 0);
    assert!(script.end.sender().uses_ecn);

    for (settings, agrees) in [(accept, true), (plain(), false)] {
        let mut script = Script::listening(settings);
        script.arrive(Header { flags: Flags::SYN | Flags::ECE | Flags::CWR, ..script.syn() }, 0);
        assert_eq!(script.sent()[0].has(Flags::ECE), agrees);
        assert_eq!(script.end.sender().uses_ecn, agrees);
    }
}

#[test]
fn a_segment_with_an_older_timestamp_is_dropped_and_answered() {
    let settings = Settings { timestamps: true, ..plain() };
    let mut script = Script::closed(settings);
    script.timestamps = Some(Timestamps { value: 1000, echo: 0 });
    let mut script = script.establish();
    script.timestamps = Some(Timestamps { value: 1010, echo: 0 });
    script.data(0, 100);
    script.data(100, 100);
    // RFC 7323, section 4.3: the timestamp of the segment that advanced the window is echoed.
    let sent = script.sent();
    assert_eq!(sent[0].header.timestamps.expect("timestamps").echo, 1010);
    script.timestamps = Some(Timestamps { value: 1009, echo: 0 });
    script.data(200, 100);
    assert_eq!((script.env.delivered, script.sent().len()), (200, 1));
    script.timestamps = None;
    script.data(200, 100);
    assert_eq!((script.env.delivered, script.sent().len()), (200, 0), "a segment without timestamps");
    // Modulo 2^32 this timestamp is later.
    script.timestamps = Some(Timestamps { value: 1010 + (1 << 30), echo: 0 });
    script.data(200, 100);
    assert_eq!(script.env.delivered, 300);
}

#[test]
fn delayed_acknowledgements_echo_the_earliest_timestamp() {
    let settings = Settings { timestamps: true, ..plain() };
    let mut script = Script::closed(settings);
    script.timestamps = Some(Timestamps { value: 1, echo: 0 });
    let mut script = script.establish();
    for (byte, value) in [(0, 10), (100, 11)] {
        script.timestamps = Some(Timestamps { value, echo: 0 });
        script.data(byte, 100);
    }
    assert_eq!(script.sent()[0].header.timestamps.expect("timestamps").echo, 10);
}

#[test]
fn a_whole_stream_can_be_written_before_the_handshake() {
    use parades_core::restore::Undoable;
    let mut script = Script::closed(plain());
    script.open();
    let settings = script.settings.clone();
    assert_eq!(script.end.unrecorded().write_last(&settings, 500, &mut script.env), 500);
    assert_eq!(script.end.state(), State::SynSent);
    script.sent();
    let flags = Flags::SYN | Flags::ACK;
    script.arrive(Header { flags, ack: OURS.add(1), ..script.syn() }, 0);
    let sent: Vec<(u32, bool)> = script.sent().iter().map(|out| (out.bytes, out.has(Flags::FIN))).collect();
    assert_eq!(sent, [(0, false), (500, true)]);
    assert_eq!(script.end.state(), State::FinWait1);
}

#[test]
fn a_close_before_any_answer_forgets_the_connection() {
    let mut script = Script::closed(plain());
    script.open();
    script.close();
    assert_eq!((script.end.state(), script.timer(Timer::Retransmit)), (State::Closed, None));
    assert_eq!(script.env.notices, [Notice::Closed]);
}
