//! A fabric of two fabrics: a near one to some ranks, and a far one to the others.

use crate::fabric::{Bell, Fabric, Lost};
use parades_core::wire::Room;
use std::fmt;

/// Carries byte strings over a near fabric to the ranks that have a seat in it, and over a far fabric to all
/// others. All byte strings between two ranks take the same path, so they stay in order.
///
/// ```
/// use parades_transport::{Fabric, Loopback, Routed};
/// let (mut near, far) = (Loopback::connect(2), Loopback::connect(3));
/// let mut far = far.into_iter();
/// // Ranks 0 and 2 are near each other. Rank 1 is alone.
/// let first = Routed::new(near.remove(0), vec![0, 2], far.next().expect("three"));
/// let second = Routed::new(Loopback::connect(1).remove(0), vec![1], far.next().expect("three"));
/// let third = Routed::new(near.remove(0), vec![0, 2], far.next().expect("three"));
/// first.send(2, &[7]);
/// second.send(2, &[8]);
/// let mut received = Vec::new();
/// third.receive(&mut |from, bytes| received.push((from, bytes.to_vec())));
/// assert_eq!(received, [(0, vec![7]), (1, vec![8])]);
/// ```
pub struct Routed<N, F> {
    near: N,
    far: F,
    /// By seat in the near fabric: the rank.
    members: Vec<usize>,
    /// By rank: its seat in the near fabric, if it has one.
    seats: Vec<Option<usize>>,
}

impl<N: Fabric, F: Fabric> fmt::Debug for Routed<N, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Routed(rank {} of {}, near {:?})", self.rank(), self.ranks(), self.members)
    }
}

impl<N: Fabric, F: Fabric> Routed<N, F> {
    /// Joins a near fabric, whose ranks are `members` in this order, with a far fabric between all ranks. All
    /// members must be given the same list.
    ///
    /// # Panics
    ///
    /// Panics if `members` does not give this rank its seat in the near fabric.
    pub fn new(near: N, members: Vec<usize>, far: F) -> Routed<N, F> {
        assert_eq!(near.ranks(), members.len(), "each member has a seat");
        assert_eq!(members[near.rank()], far.rank(), "this rank has its own seat");
        let mut seats = vec![None; far.ranks()];
        members.iter().enumerate().for_each(|(seat, &rank)| seats[rank] = Some(seat));
        Routed { near, far, members, seats }
    }
}

impl<N: Fabric, F: Fabric> Fabric for Routed<N, F> {
    fn rank(&self) -> usize {
        self.far.rank()
    }

    fn ranks(&self) -> usize {
        self.far.ranks()
    }

    fn send(&self, to: usize, bytes: &[u8]) {
        match self.seats[to] {
            Some(seat) => self.near.send(seat, bytes),
            None => self.far.send(to, bytes),
        }
    }

    fn try_write(&self, to: usize, bytes: usize, write: &mut dyn FnMut(&mut Room<'_>)) -> bool {
        match self.seats[to] {
            Some(seat) => self.near.try_write(seat, bytes, write),
            None => self.far.try_write(to, bytes, write),
        }
    }

    fn receive(&self, accept: &mut dyn FnMut(usize, &[u8])) {
        self.near.receive(&mut |seat, bytes| accept(self.members[seat], bytes));
        // A fabric that nobody sends over need not look for messages.
        if self.members.len() < self.ranks() {
            self.far.receive(accept);
        }
    }

    fn set_bell(&self, bell: Bell) {
        self.near.set_bell(bell.clone());
        self.far.set_bell(bell);
    }

    fn request_bell(&self) {
        self.near.request_bell();
        self.far.request_bell();
    }

    fn lost(&self, rank: usize) -> Option<Lost> {
        match self.seats[rank] {
            Some(seat) => self.near.lost(seat).map(|lost| Lost { rank, ..lost }),
            None => self.far.lost(rank),
        }
    }

    fn shares_memory_with(&self, rank: usize) -> bool {
        self.seats[rank].is_some_and(|seat| self.near.shares_memory_with(seat))
    }
}
