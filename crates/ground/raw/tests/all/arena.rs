//! Arenas, with both ends in one process.

use parades_raw::shared::arena::{Anonymous, Arena, Block, Reference};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc;

fn arena(bytes: usize) -> Arc<Arena> {
    let memory = Anonymous::new(bytes).expect("there is memory");
    Arena::create(Box::new(memory)).expect("the memory is large enough")
}

fn filled(arena: &Arc<Arena>, length: u32, byte: u8) -> Option<Block> {
    arena.clone().allocate(length, |bytes| bytes.fill(byte))
}

#[test]
fn a_full_arena_refuses_and_recovers() {
    let arena = arena(1 << 16);
    let mut blocks: Vec<_> = std::iter::from_fn(|| filled(&arena, 1000, 1)).collect();
    assert!((50..=64).contains(&blocks.len()), "{}", blocks.len()); // 64 blocks less the head and the table
    let place = blocks.pop().unwrap().offset();
    assert_eq!(filled(&arena, 1000, 2).unwrap().offset(), place);
}

#[test]
fn blocks_of_all_sizes_keep_their_bytes() {
    let arena = arena(4 << 20);
    let lengths = [0, 1, 63, 64, 65, 1000, 4096, 16_384, 70_000, 1 << 20];
    let blocks: Vec<_> = lengths.iter().zip(1..).map(|(&length, byte)| filled(&arena, length, byte).unwrap()).collect();
    for ((block, length), byte) in blocks.iter().zip(lengths).zip(1..) {
        assert_eq!(block.len(), length as usize);
        assert!(block.iter().all(|&found| found == byte));
    }
}

#[test]
fn after_a_burst_the_slots_that_were_freed_last_are_used() {
    let arena = arena(4 << 20);
    drop((0..1000).map(|_| filled(&arena, 1000, 1).unwrap()).collect::<Vec<_>>());
    let places: BTreeSet<_> = (0..10_000).map(|_| filled(&arena, 1000, 2).unwrap().offset()).collect();
    assert!(places.len() < 100, "{}", places.len());
}

#[test]
fn malformed_references_are_refused() {
    let arena = arena(1 << 16);
    let block = filled(&arena, 100, 1).unwrap();
    assert!(arena.clone().adopt(Reference { slot: 0, length: 100 }).is_none(), "it was not sent");
    let reference = block.send().unwrap();
    for wrong in [Reference { slot: 1, ..reference }, Reference { slot: u32::MAX, ..reference }] {
        assert!(arena.clone().adopt(wrong).is_none());
    }
    assert!(arena.clone().adopt(Reference { length: 101, ..reference }).is_none());
    assert!(arena.clone().adopt(reference).is_some());
    assert!(arena.clone().adopt(reference).is_none(), "it was adopted already");
}

#[test]
fn a_sent_block_outlives_its_sender_and_is_reused_after_its_receiver() {
    let arena = arena(1 << 16);
    let block = filled(&arena, 100, 7).unwrap();
    let (place, reference) = (block.offset(), block.send().unwrap());
    drop(block);
    assert_ne!(filled(&arena, 100, 8).unwrap().offset(), place);
    let received = arena.clone().adopt(reference).unwrap();
    assert!(received.iter().all(|&byte| byte == 7));
    drop(received);
    let offsets: Vec<_> = (0..2).map(|_| filled(&arena, 100, 9).unwrap()).collect();
    assert!(offsets.iter().any(|block| block.offset() == place));
}

#[test]
fn a_panic_while_writing_gives_the_slot_back() {
    let arena = arena(1 << 16);
    let used = |arena: &Arc<Arena>| {
        drop(filled(arena, 100, 1));
        arena.used_bytes()
    };
    let before = used(&arena);
    let panic =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| arena.clone().allocate(100, |_| panic!("no bytes"))));
    assert!(panic.is_err());
    assert_eq!(used(&arena), before);
}

#[test]
fn threads_that_send_to_each_other_never_see_foreign_bytes() {
    const ROUNDS: u32 = if cfg!(miri) { 30 } else { 20_000 };
    let arena = arena(1 << 16);
    let (send, receive) = mpsc::sync_channel::<(Reference, u8)>(16);
    std::thread::scope(|scope| {
        for thread in 0..2_u32 {
            let (arena, send) = (Arc::clone(&arena), send.clone());
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let byte = (round * 2 + thread).to_le_bytes()[0];
                    if let Some(block) = filled(&arena, 1 + round % 300, byte) {
                        send.send((block.send().unwrap(), byte)).unwrap();
                    }
                }
            });
        }
        drop(send);
        let mut received = 0;
        for (reference, byte) in receive {
            let block = arena.clone().adopt(reference).unwrap();
            assert!(block.iter().all(|&found| found == byte));
            received += 1;
        }
        assert_eq!(received, 2 * ROUNDS, "the arena has room for 16 blocks in flight");
    });
}
