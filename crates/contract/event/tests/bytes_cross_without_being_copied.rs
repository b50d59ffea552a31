//! Payloads between two ranks that map the same arena. Both ranks are this thread.

use parades_core::arena::{self, Anonymous, Arena, Installed};
use parades_core::bytes::{ARENA_MIN, Bytes, copied};
use parades_core::wire::{self, Destination, FrameWriter, Wire};
use std::sync::{Mutex, MutexGuard, PoisonError};

const NUMBER: u32 = 1;

/// Installs an arena of `bytes` bytes. One test at a time has one.
fn installed(bytes: usize) -> (Installed, MutexGuard<'static, ()>) {
    static ONE: Mutex<()> = Mutex::new(());
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let memory = Anonymous::new(bytes).expect("there is memory");
    let arena = Arena::create(Box::new(memory)).expect("the memory is large enough");
    (arena::install(NUMBER as usize, vec![None, Some(arena)]), guard)
}

fn written<T: Wire>(destination: Destination, value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    FrameWriter::new(destination).write(value, &mut bytes);
    bytes
}

fn read<T: Wire>(mut bytes: &[u8]) -> Result<T, wire::Malformed> {
    wire::read_frame(|| wire::read(&mut bytes))
}

fn payload(length: usize) -> Bytes {
    Bytes::write(length, |to| to.iter_mut().zip((0..=u8::MAX).cycle()).for_each(|(byte, i)| *byte = i))
}

#[test]
fn a_rank_that_maps_the_arena_reads_the_bytes_where_they_were_written() {
    let _installed = installed(1 << 20);
    let before = copied();
    let sent = payload(5000);
    let bytes = written(Destination::SameMemory, &sent);
    assert!(bytes.len() < 20);
    let received: Bytes = read(&bytes).unwrap();
    assert_eq!(received.place(), sent.place());
    assert_eq!(received.place().map(|place| place.arena), Some(NUMBER));
    assert_eq!(received, sent);
    assert_eq!(copied(), before);
}

#[test]
fn another_machine_gets_the_bytes() {
    let _installed = installed(1 << 20);
    let before = copied();
    let sent = payload(5000);
    let received: Bytes = read(&written(Destination::Elsewhere, &sent)).unwrap();
    assert_ne!(received.place(), sent.place());
    assert_eq!(received, sent);
    assert_eq!(copied() - before, 2 * 5000, "the sender copies them, and so does the receiver");
}

#[test]
fn bytes_of_every_length_arrive_with_and_without_an_arena() {
    let lengths = [0, 1, 46, 47, ARENA_MIN - 1, ARENA_MIN, 4096, 70_000, 200_000];
    let cross = |destination| {
        for length in lengths {
            let sent = payload(length);
            assert_eq!(read(&written(destination, &sent)), Ok(sent));
        }
    };
    let (installed, _one) = installed(1 << 20);
    cross(Destination::SameMemory);
    cross(Destination::Elsewhere);
    drop(installed);
    cross(Destination::Elsewhere);
}

#[test]
fn a_full_arena_makes_payloads_lie_on_the_heap() {
    let _installed = installed(1 << 14);
    let all: Vec<_> = (0..20).map(|_| payload(4096)).collect();
    let in_arena = all.iter().filter(|bytes| bytes.place().is_some()).count();
    assert!((1..=3).contains(&in_arena), "{in_arena}");
    for sent in all {
        assert_eq!(read(&written(Destination::SameMemory, &sent)), Ok(sent));
    }
}

#[test]
fn a_slot_is_used_again_after_the_receiver_has_dropped_the_bytes() {
    let _installed = installed(1 << 20);
    let sent = payload(5000);
    let place = sent.place();
    let received: Bytes = read(&written(Destination::SameMemory, &sent)).unwrap();
    drop(sent);
    assert_ne!(payload(5000).place(), place);
    drop(received);
    let again = [payload(5000), payload(5000)];
    assert!(again.iter().any(|bytes| bytes.place() == place));
}

#[test]
fn a_malformed_reference_is_an_error() {
    let _installed = installed(1 << 20);
    let sent = payload(5000);
    let bytes = written(Destination::SameMemory, &sent);
    assert!(read::<Bytes>(&bytes).is_ok());
    assert!(read::<Bytes>(&bytes).is_err(), "it was adopted already");
    for place in 0..bytes.len() {
        let mut wrong = written(Destination::SameMemory, &sent);
        wrong[place] = wrong[place].wrapping_add(1);
        assert!(read::<Bytes>(&wrong).is_err(), "{place}");
    }
}

#[test]
fn bytes_outlive_the_run_that_wrote_them() {
    let (installed, _one) = installed(1 << 20);
    let bytes = payload(5000);
    drop(installed);
    assert_eq!(bytes.place(), None);
    assert_eq!(read(&written(Destination::SameMemory, &bytes)), Ok(bytes));
}

/// Two mappings of one segment stand for two processes.
#[cfg(target_os = "linux")]
#[test]
fn another_mapping_of_a_segment_has_the_bytes_at_the_same_place() {
    use parades_core::arena::{Arena, SegmentFile};
    use parades_raw::shared::segment::Segment;
    let mapped = |file| Box::new(Segment::map(file).expect("it is mapped"));
    let file = SegmentFile::create(1 << 30).expect("there is a descriptor");
    let reader = Arena::attach(mapped(file.try_clone().expect("a descriptor"))).expect("it has room");
    let owner = Arena::create(mapped(file.try_clone().expect("a descriptor"))).expect("it has room");
    assert!(Arena::create(mapped(file)).is_none(), "it has an owner");
    for length in [300, 16 << 10, 5 << 20] {
        let sent = owner.clone().allocate(length, |to| to.fill(7)).expect("it has room");
        let received = reader.clone().adopt(sent.send().expect("few are in flight")).expect("it was sent");
        assert!(!std::ptr::eq(&sent[0], &received[0]));
        assert_eq!((sent.offset(), &sent[..]), (received.offset(), &received[..]));
        let place = sent.offset();
        drop((sent, received));
        assert_eq!(owner.clone().allocate(length, |_| ()).expect("it has room").offset(), place);
    }
    assert!(reader.clone().allocate(300, |_| ()).is_none(), "only the owner allocates");
}
