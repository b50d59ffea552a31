//! The handshake: each rank sends its identity to rank 0, which lets all begin or refuses all.

use super::{Go, Identity};
use crate::Failure;
use parades_transport::{Bell, Fabric, Lost};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A fabric whose ranks have greeted each other.
pub(super) struct Greeted {
    fabric: Box<dyn Fabric>,
    /// Bytes of ranks that have begun before this rank was told to begin.
    early: Mutex<Vec<(usize, Vec<u8>)>>,
}

/// The longest time between two looks for news. The bell ends most waits.
const LOOK: Duration = Duration::from_millis(20);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The content is consistent whenever the lock is free.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Greeted {
    fn new(fabric: Box<dyn Fabric>) -> Greeted {
        Greeted { fabric, early: Mutex::default() }
    }

    /// Receives the identity of each other rank. Lets all begin if they are the same.
    pub(super) fn as_first(fabric: Box<dyn Fabric>, mine: &Identity, go: &Go) -> Result<Greeted, Failure> {
        let greeted = Greeted::new(fabric);
        let others = 1..greeted.ranks();
        for rank in others.clone() {
            let other: Identity = greeted.first_of(rank)?;
            if let Some(difference) = mine.difference(rank, &other) {
                let refusal: Result<&Go, &String> = Err(&difference);
                others.for_each(|rank| greeted.tell(rank, &refusal));
                return Err(Failure::usage(difference, "see `parades run --help`"));
            }
        }
        let answer: Result<&Go, String> = Ok(go);
        others.for_each(|rank| greeted.tell(rank, &answer));
        Ok(greeted)
    }

    /// Sends this rank's identity to rank 0, and waits to be told to begin.
    pub(super) fn as_other(fabric: Box<dyn Fabric>, mine: &Identity) -> Result<(Greeted, Go), Failure> {
        let greeted = Greeted::new(fabric);
        greeted.tell(0, mine);
        let answer: Result<Go, String> = greeted.first_of(0)?;
        answer.map(|go| (greeted, go)).map_err(Failure::simulation)
    }

    fn tell(&self, rank: usize, what: &impl Serialize) {
        self.fabric.send(rank, &serde_json::to_vec(what).expect("it has only plain fields"));
    }

    /// Waits for the first bytes of a rank.
    fn first_of<T: DeserializeOwned>(&self, rank: usize) -> Result<T, Failure> {
        let rung = Arc::new((Mutex::new(false), Condvar::new()));
        let rings = Arc::clone(&rung);
        self.fabric.set_bell(Arc::new(move || {
            *lock(&rings.0) = true;
            rings.1.notify_all();
        }));
        loop {
            let lost = self.fabric.lost(rank);
            self.fabric.receive(&mut |from, bytes| lock(&self.early).push((from, bytes.to_vec())));
            let first = {
                let mut early = lock(&self.early);
                let first = early.iter().position(|(from, _)| *from == rank);
                first.map(|first| early.remove(first).1)
            };
            if let Some(bytes) = first {
                return serde_json::from_slice(&bytes).map_err(|_| {
                    Failure::simulation(format!("rank {rank} is another program; start the same one on every rank"))
                });
            }
            if let Some(lost) = lost {
                return Err(Failure::simulation(lost.to_string()));
            }
            let waited = rung.1.wait_timeout_while(lock(&rung.0), LOOK, |rung| !*rung);
            *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
        }
    }
}

impl Fabric for Greeted {
    fn rank(&self) -> usize {
        self.fabric.rank()
    }

    fn ranks(&self) -> usize {
        self.fabric.ranks()
    }

    fn send(&self, to: usize, bytes: &[u8]) {
        self.fabric.send(to, bytes);
    }

    fn receive(&self, accept: &mut dyn FnMut(usize, &[u8])) {
        let early = std::mem::take(&mut *lock(&self.early));
        early.iter().for_each(|(from, bytes)| accept(*from, bytes));
        self.fabric.receive(accept);
    }

    fn set_bell(&self, bell: Bell) {
        self.fabric.set_bell(bell);
    }

    fn request_bell(&self) {
        self.fabric.request_bell();
    }

    fn lost(&self, rank: usize) -> Option<Lost> {
        let has_early = lock(&self.early).iter().any(|(from, _)| *from == rank);
        if has_early { None } else { self.fabric.lost(rank) }
    }

    fn shares_memory_with(&self, rank: usize) -> bool {
        self.fabric.shares_memory_with(rank)
    }
}
