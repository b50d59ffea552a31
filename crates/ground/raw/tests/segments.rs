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
    drop(segment);
    assert!(held_bytes() < before + BYTES / 2, "a segment that is dropped is given back");
}

#[test]
fn a_lane_takes_memory_for_the_frames_that_wait_in_it() {
    const BYTES: u32 = 16 << 20;
    const FRAME: usize = 1 << 20;
    let _alone = ALONE.lock().unwrap();
    let lanes = Lanes::open(Lanes::create(1, LaneShape { bytes: BYTES }).unwrap(), 1).unwrap();
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
    let refused = (0..100).find(|&number| !send(number, FRAME)).expect("a lane has no room for 100 frames");
    assert!(held_bytes() > before + BYTES as usize - FRAME);
    assert!((13..16).contains(&refused), "{refused} frames wait");
    assert!((0..refused).all(|number| receive(number, FRAME)));
    assert!(send(7, FRAME) && receive(7, FRAME));
}

#[test]
fn a_lane_takes_further_memory_only_for_a_sender_that_does_not_wait_for_room() {
    const FRAME: usize = 8 << 10;
    let _alone = ALONE.lock().unwrap();
    let lanes = Lanes::open(Lanes::create(1, LaneShape::default()).unwrap(), 1).unwrap();
    let mut sender = Sender::claim(lanes.clone(), 0).unwrap();
    let mut receiver = Receiver::claim(lanes).unwrap();
    let before = held_bytes();
    let write = |sender: &mut Sender| sender.write(FRAME, |frame| (frame.len(), false));
    let waiting = (0..1000).take_while(|_| write(&mut sender)).count();
    assert!((50..64).contains(&waiting), "{waiting} frames wait in half of a lane");
    assert!(held_bytes() < before + (512 << 10));
    assert!(sender.send(FRAME, false, |_| {}), "there is further memory");
    assert!(held_bytes() > before + (512 << 10));
    assert!(write(&mut sender), "the lane has this memory now");
    assert_eq!(receiver.arrived(0), waiting + 2);
    assert_eq!((0..1000).take_while(|_| receiver.receive(0, |_, _| {})).count(), waiting + 2);
    assert_eq!(receiver.arrived(0), 0);
}

#[test]
fn only_senders_whose_frames_have_arrived_are_named() {
    let _alone = ALONE.lock().unwrap();
    let lanes = Lanes::open(Lanes::create(3, LaneShape::default()).unwrap(), 3).unwrap();
    let mut receiver = Receiver::claim(lanes.clone()).unwrap();
    let mut senders: Vec<_> = (0..3).map(|from| Sender::claim(lanes.clone(), from).unwrap()).collect();
    assert_eq!(receiver.next_with_frame(0), None);
    assert!(senders[2].send(1, false, |_| {}) && senders[0].send(1, false, |_| {}));
    assert_eq!([0, 1, 2, 3].map(|first| receiver.next_with_frame(first)), [Some(0), Some(2), Some(2), None]);
    assert!(receiver.receive(0, |_, _| {}));
    assert_eq!(receiver.next_with_frame(0), Some(2));
}

#[test]
fn a_frame_takes_a_quarter_of_a_lane_at_most() {
    let _alone = ALONE.lock().unwrap();
    let lanes = Lanes::open(Lanes::create(1, LaneShape { bytes: 512 }).unwrap(), 1).unwrap();
    let mut sender = Sender::claim(lanes.clone(), 0).unwrap();
    let mut receiver = Receiver::claim(lanes).unwrap();
    assert_eq!([1, 120, 121, 10_000].map(|bytes| sender.part(bytes)), [1, 120, 120, 120]);
    // Wherever the next frame begins, it has room in an empty lane.
    for byte in (0..=120_u8).cycle().take(1000) {
        let bytes = usize::from(byte);
        assert!(sender.send(bytes, byte % 2 == 1, |frame| frame.fill(byte)));
        assert!(receiver.receive(0, |frame, continues| {
            assert_eq!((frame, continues), (&vec![byte; bytes][..], byte % 2 == 1));
        }));
    }
    assert!(receiver.is_empty(0));
}

#[test]
fn a_frame_may_be_shorter_than_the_room_for_it() {
    let _alone = ALONE.lock().unwrap();
    let lanes = Lanes::open(Lanes::create(1, LaneShape { bytes: 512 }).unwrap(), 1).unwrap();
    let mut sender = Sender::claim(lanes.clone(), 0).unwrap();
    let mut receiver = Receiver::claim(lanes).unwrap();
    let mut write = |byte: u8, bytes: usize| {
        sender.write(120, |frame| {
            assert_eq!(frame.len(), 120);
            frame[..bytes].fill(byte);
            (bytes, byte.is_multiple_of(2))
        })
    };
    for byte in (0..=120_u8).cycle().take(1000) {
        let bytes = usize::from(byte);
        assert!(write(byte, bytes));
        assert!(receiver.receive(0, |frame, continues| {
            assert_eq!((frame, continues), (&vec![byte; bytes][..], byte.is_multiple_of(2)));
        }));
    }
    // Three frames of 120 bytes would fill the lane. A short frame takes no room beyond its own.
    let waiting = (0..).take_while(|_| write(1, 1)).count();
    assert!(waiting > 3, "{waiting}");
}
