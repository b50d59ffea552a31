//! One atomic counter for eight objects that are written one after the other.
//!
//! *Idea.* Fewer counters take less room in the caches. When the last reference to any of the eight objects
//! is dropped, all eight are returned to the pool at once. While the eight are being given out, the pool
//! holds a reference to them as well.

use crate::refcount::pointer::Scheme;
use crate::refcount::pool::Slot;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The number of objects that share a counter, as in the paper.
const MEMBERS: usize = 8;

/// The scheme.
#[derive(Debug)]
pub struct Aggregate;

/// Eight objects and their counter.
#[derive(Debug)]
pub(crate) struct Group {
    count: AtomicU32,
    members: [&'static Slot<Member>; MEMBERS],
}

/// The place of an object's counter.
#[derive(Debug, Default)]
pub struct Member(OnceLock<&'static Group>);

impl Member {
    #[inline]
    fn group(&self) -> &'static Group {
        self.0.get().expect("every object has been given a group when it was made")
    }
}

/// The groups that are not in use, and the group whose objects are being given out.
struct Groups {
    free: Vec<&'static Group>,
    made: u32,
    open: Option<(&'static Group, usize)>,
}

static GROUPS: Mutex<Groups> = Mutex::new(Groups { free: Vec::new(), made: 0, open: None });

fn groups() -> MutexGuard<'static, Groups> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Groups {
    /// Returns a group that nobody uses, with one reference: the pool's.
    fn take(&mut self) -> &'static Group {
        let group = self.free.pop().unwrap_or_else(|| self.make());
        // Ordering: Relaxed; no other thread has the group yet.
        group.count.store(1, Ordering::Relaxed);
        group
    }

    fn make(&mut self) -> &'static Group {
        let members = [(); MEMBERS].map(|()| Slot::<Member>::forever(self.made));
        self.made += 1;
        let group: &'static Group = Box::leak(Box::new(Group { count: AtomicU32::new(0), members }));
        for member in members {
            member.count.0.set(group).expect("the object is new");
        }
        group
    }
}

/// Drops a reference to a group. Returns true if it was the last one.
#[inline]
fn release(group: &Group) -> bool {
    // Ordering: Release, and Acquire at the last reference: all uses by other threads happen before the
    // objects are used again.
    let is_last = group.count.fetch_sub(1, Ordering::Release) == 1;
    if is_last {
        fence(Ordering::Acquire);
    }
    is_last
}

impl Scheme for Aggregate {
    type Count = Member;

    fn take() -> &'static Slot<Member> {
        let mut groups = groups();
        let (group, next) = groups.open.take().unwrap_or_else(|| (groups.take(), 0));
        if next + 1 < MEMBERS {
            // Ordering: Relaxed; the pool's reference keeps the group alive.
            group.count.fetch_add(1, Ordering::Relaxed);
            groups.open = Some((group, next + 1));
        } // Otherwise the pool's reference becomes the object's.
        group.members[next]
    }

    #[inline]
    fn increment(slot: &'static Slot<Member>) {
        // Ordering: Relaxed; the reference that is cloned keeps the group alive.
        slot.count.group().count.fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    fn decrement(slot: &'static Slot<Member>) {
        let group = slot.count.group();
        if release(group) {
            groups().free.push(group);
        }
    }

    /// The groups of which no object is in use.
    fn in_use() -> usize {
        let groups = groups();
        (groups.made as usize - groups.free.len()) * MEMBERS
    }
}
