//! Memory that several processes map.
#![cfg(target_os = "linux")]

use parades_raw::memory::held_bytes;
use parades_raw::shared::lane::{LaneShape, Lanes, Receiver, Sender};
use parades_raw::shared::segment::{Segment, SegmentFile};
use std::sync::Mutex;

/// The bytes that a process holds are those of all its tests.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn committed_memory_counts_as_held_whether_it_is_used_or_not() {
    const BYTES: usize = 64 << 20;
    let _alone = ALONE.lock().unwrap();
    let segment = Segment::map(SegmentFile::create(2 * BYTES).unwrap()).unwrap();
    let before = held_bytes();
    segment.commit(0..BYTES).unwrap();
    let after = held_bytes();
    assert!(after >= before + BYTES && after < before + BYTES + BYTES / 2, "{before} {after}");
}

#[test]
fn a_lane_takes_memory_for_the_frames_that_wait_in_it() {
    const BYTES: usize = 16 << 20;
    const FRAME: usize = 1 << 20;
    let _alone = ALONE.lock().unwrap();
    let lanes = Lanes::open(Lanes::create(1, LaneShape { bytes: BYTES as u32 }).unwrap(), 1).unwrap();
    let mut sender = Sender::claim(lanes.clone(), 0).unwrap();
    let mut receiver = Receiver::claim(lanes).unwrap();
    let before = held_bytes();
    assert_eq!(sender.part(FRAME), FRAME);
    let mut send = |number: u8, bytes| sender.send(bytes, false, |frame| frame.fill(number));
    let mut receive = |number: u8, bytes| {
        receiver.receive(0, |frame, _| assert!(frame.len() == bytes && frame.iter().all(|&byte| byte == number)))
    };
    for number in 0..100 {
        assert!(send(number, FRAME) && receive(number, FRAME));
    }
    assert!(held_bytes() < before + 5 * FRAME, "the memory for four frames is enough");
    let waiting = (0..100).take_while(|&number| send(number, FRAME)).count();
    assert!(held_bytes() > before + BYTES - FRAME);
    assert!(waiting > 12 && waiting < BYTES / FRAME, "{waiting}");
    assert!((0..waiting).all(|number| receive(number as u8, FRAME)));
    assert!(send(7, FRAME) && receive(7, FRAME));
}

#[test]
fn a_frame_takes_a_quarter_of_a_lane_at_most() {
    let _alone = ALONE.lock().unwrap();
    let lanes = Lanes::open(Lanes::create(1, LaneShape { bytes: 512 }).unwrap(), 1).unwrap();
    let mut sender = Sender::claim(lanes.clone(), 0).unwrap();
    let mut receiver = Receiver::claim(lanes).unwrap();
    assert_eq!([1, 120, 121, 10_000].map(|bytes| sender.part(bytes)), [1, 120, 120, 120]);
    // Wherever the next frame begins, it has room in an empty lane.
    for bytes in (0..1000).map(|number| number % 121) {
        assert!(sender.send(bytes, bytes % 2 == 1, |frame| frame.fill(bytes as u8)));
        assert!(receiver.receive(0, |frame, continues| {
            assert_eq!((frame, continues), (&vec![bytes as u8; bytes][..], bytes % 2 == 1));
        }));
    }
    assert!(receiver.is_empty(0));
}
