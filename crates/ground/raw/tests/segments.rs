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
fn a_lane_takes_memory_for_the_messages_that_wait_in_it() {
    const SLOT_BYTES: u32 = 1 << 20;
    const SLOT: usize = SLOT_BYTES as usize;
    let _alone = ALONE.lock().unwrap();
    let shape = LaneShape { slots: 64, slot_bytes: SLOT_BYTES };
    let lanes = Lanes::open(Lanes::create(1, shape).unwrap(), 1).unwrap();
    let mut sender = Sender::claim(lanes.clone(), 0).unwrap();
    let mut receiver = Receiver::claim(lanes).unwrap();
    let before = held_bytes();
    for number in 0..100 {
        assert!(sender.send(|slot| slot[0] = number));
        assert!(receiver.receive(0, |slot| assert_eq!(slot[0], number)));
    }
    assert!(held_bytes() < before + 2 * SLOT, "one slot is enough");
    for number in 0..64 {
        assert!(sender.send(|slot| slot[0] = number));
    }
    assert!(held_bytes() > before + 60 * SLOT);
    assert!(!sender.send(|_| ()), "all slots are filled");
    for number in 0..64 {
        assert!(receiver.receive(0, |slot| assert_eq!(slot[0], number)));
    }
    assert!(sender.has_room());
}
