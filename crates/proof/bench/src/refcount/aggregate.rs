//! One atomic counter for eight objects: those written one after the other.
//!
//! *Idea.* Fewer counters live in the caches; and when the last reference to any of the eight is gone, all are given back at once. While the
//! eight are being handed out, one reference more is kept to them.

use crate::refcount::pointer::Scheme;
use crate::refcount::pool::Slot;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Objects of one counter.
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

/// What an object carries: where its counter is.
#[derive(Debug, Default)]
pub struct Member(OnceLock<&'static Group>);

impl Member {
    #[inline]
    fn group(&self) -> &'static Group {
        self.0.get().expect("every object has been given a group when it was made")
    }
}

/// The groups that are not in use, and the one that is handed out.
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
    /// A group that nobody uses, with the one reference of who hands it out.
    fn take(&mut self) -> &'static Group {
        let group = self.free.pop().unwrap_or_else(|| self.make());
        // Ordering: Relaxed; nobody else has it yet.
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

/// One reference less to a group: whether it was the last.
#[inline]
fn release(group: &Group) -> bool {
    // Ordering: Release, and Acquire at the last one: the uses of all others come before the objects are used again.
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
            // Ordering: Relaxed; there is a reference, that of who hands the objects out.
            group.count.fetch_add(1, Ordering::Relaxed);
            groups.open = Some((group, next + 1));
        } // Else that reference becomes the object's.
        group.members[next]
    }

    #[inline]
    fn increment(slot: &'static Slot<Member>) {
        // Ordering: Relaxed; who clones has a reference.
        slot.count.group().count.fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    fn decrement(slot: &'static Slot<Member>) {
        let group = slot.count.group();
        if release(group) {
            groups().free.push(group);
        }
    }

    /// Whole groups.
    fn in_use() -> usize {
        let groups = groups();
        (groups.made as usize - groups.free.len()) * MEMBERS
    }
}
