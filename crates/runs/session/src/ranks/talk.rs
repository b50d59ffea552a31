//! The words between ranks before, between and after runs.
//!
//! Ranks that are connected for several runs end each run together: a rank that has come to its end sends an
//! empty byte string and its [`Report`] to all others ([`Talk::end_run`]). Byte strings between two ranks
//! keep their order. So bytes after a report belong to the next run, and are kept for it.

use crate::Failure;
use parades_core::wire::Room;
use parades_processes::Report;
use parades_transport::{Bell, Fabric, Lost};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The longest time between two looks for news. The bell ends most waits.
const LOOK: Duration = Duration::from_millis(20);

/// The bytes of a saved run that are sent at a time.
const PIECE_BYTES: usize = 1 << 16;

/// A fabric whose ranks also exchange words. During a run it carries the bytes of the run.
pub(super) struct Talk {
    fabric: Box<dyn Fabric>,
    state: Mutex<State>,
}

impl fmt::Debug for Talk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Talk(rank {} of {})", self.fabric.rank(), self.fabric.ranks())
    }
}

struct State {
    /// By rank.
    stages: Vec<Stage>,
    /// Bytes that have arrived before they are wanted, with their senders.
    early: VecDeque<(usize, Vec<u8>)>,
}

/// The stage of another rank in the current run, as far as its bytes have been received.
enum Stage {
    Running,
    /// The report follows.
    Ending,
    Ended(Report),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The content is consistent whenever the lock is free.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Passes bytes of the current run to `accept`, and keeps the others.
    fn sort(&mut self, from: usize, bytes: &[u8], accept: &mut dyn FnMut(usize, &[u8])) {
        match self.stages[from] {
            Stage::Running if bytes.is_empty() => self.stages[from] = Stage::Ending,
            Stage::Running => accept(from, bytes),
            Stage::Ending => self.stages[from] = Stage::Ended(report_of(bytes)),
            Stage::Ended(_) => self.early.push_back((from, bytes.to_vec())),
        }
    }

    /// Removes the first bytes of a rank, if there are any.
    fn first_of(&mut self, rank: usize) -> Option<Vec<u8>> {
        let first = self.early.iter().position(|(from, _)| *from == rank)?;
        self.early.remove(first).map(|(_, bytes)| bytes)
    }
}

fn report_of(bytes: &[u8]) -> Report {
    let unknown = |_| Report { error: Some("its report cannot be read".into()), ..Report::default() };
    serde_json::from_slice(bytes).unwrap_or_else(unknown)
}

impl Talk {
    pub(super) fn new(fabric: Box<dyn Fabric>) -> Talk {
        let stages = (0..fabric.ranks()).map(|_| Stage::Running).collect();
        Talk { fabric, state: Mutex::new(State { stages, early: VecDeque::new() }) }
    }

    /// Returns the numbers of the other ranks.
    pub(super) fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let mine = self.fabric.rank();
        (0..self.fabric.ranks()).filter(move |&rank| rank != mine)
    }

    /// Sends a word to a rank, which must [`hear`](Talk::hear) it.
    pub(super) fn tell(&self, rank: usize, word: &impl Serialize) {
        self.fabric.send(rank, &serde_json::to_vec(word).expect("it has only plain fields"));
    }

    /// Waits for the next word of a rank.
    ///
    /// # Errors
    ///
    /// If the rank has ended, or ends the run instead.
    pub(super) fn hear<T: DeserializeOwned>(&self, rank: usize) -> Result<T, Failure> {
        let bytes = self.hear_piece(rank)?;
        serde_json::from_slice(&bytes).map_err(|_| {
            Failure::simulation(format!("rank {rank} is another program; start the same one on every rank"))
        })
    }

    /// Sends bytes to a rank, which must [`hear_bytes`](Talk::hear_bytes) as many.
    pub(super) fn tell_bytes(&self, rank: usize, bytes: &[u8]) {
        bytes.chunks(PIECE_BYTES).for_each(|piece| self.fabric.send(rank, piece));
    }

    /// Waits for `count` bytes of a rank.
    ///
    /// # Errors
    ///
    /// As [`Talk::hear`].
    pub(super) fn hear_bytes(&self, rank: usize, count: usize) -> Result<Vec<u8>, Failure> {
        let mut all = Vec::with_capacity(count);
        while all.len() < count {
            all.extend(self.hear_piece(rank)?);
        }
        Ok(all)
    }

    /// Waits for the next byte string of a rank.
    fn hear_piece(&self, rank: usize) -> Result<Vec<u8>, Failure> {
        self.wait(rank, || {
            let state = &mut *lock(&self.state);
            self.fabric.receive(&mut |from, bytes| state.early.push_back((from, bytes.to_vec())));
            let bytes = state.first_of(rank)?;
            let mut word = None;
            state.sort(rank, &bytes, &mut |_, bytes| word = Some(bytes.to_vec()));
            word
        })
    }

    /// Ends the run on this rank, and waits until all other ranks have ended it. Returns their reports in
    /// rank order.
    ///
    /// # Errors
    ///
    /// If another rank has ended before.
    pub(super) fn end_run(&self, report: &Report) -> Result<Vec<Report>, Failure> {
        for rank in self.others() {
            self.fabric.send(rank, &[]);
            self.tell(rank, report);
        }
        let mut reports = Vec::new();
        for rank in self.others() {
            let next = || {
                // Late bytes of the run are of no use.
                self.receive(&mut |_, _| {});
                match &lock(&self.state).stages[rank] {
                    Stage::Ended(report) => Some(report.clone()),
                    Stage::Running | Stage::Ending => None,
                }
            };
            reports.push(self.wait(rank, next)?);
        }
        lock(&self.state).stages.fill_with(|| Stage::Running);
        Ok(reports)
    }

    /// Calls `next` at each news, until it returns something.
    ///
    /// # Errors
    ///
    /// If `rank` has ended and `next` still returns nothing.
    fn wait<T>(&self, rank: usize, mut next: impl FnMut() -> Option<T>) -> Result<T, Failure> {
        let rung = Arc::new((Mutex::new(false), Condvar::new()));
        let rings = Arc::clone(&rung);
        self.fabric.set_bell(Arc::new(move || {
            *lock(&rings.0) = true;
            rings.1.notify_all();
        }));
        loop {
            // A rank is lost only after its last bytes have been received. So `next` has seen them.
            let lost = self.lost(rank);
            if let Some(found) = next() {
                return Ok(found);
            }
            if let Some(lost) = lost {
                return Err(Failure::simulation(lost.to_string()));
            }
            let waited = rung.1.wait_timeout_while(lock(&rung.0), LOOK, |rung| !*rung);
            *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
        }
    }
}

impl Fabric for Talk {
    fn rank(&self) -> usize {
        self.fabric.rank()
    }

    fn ranks(&self) -> usize {
        self.fabric.ranks()
    }

    fn send(&self, to: usize, bytes: &[u8]) {
        self.fabric.send(to, bytes);
    }

    fn try_write(&self, to: usize, bytes: usize, write: &mut dyn FnMut(&mut Room<'_>)) -> bool {
        self.fabric.try_write(to, bytes, write)
    }

    fn receive(&self, accept: &mut dyn FnMut(usize, &[u8])) {
        let state = &mut *lock(&self.state);
        for (from, bytes) in std::mem::take(&mut state.early) {
            state.sort(from, &bytes, accept);
        }
        self.fabric.receive(&mut |from, bytes| state.sort(from, bytes, accept));
    }

    fn set_bell(&self, bell: Bell) {
        self.fabric.set_bell(bell);
    }

    fn request_bell(&self) {
        self.fabric.request_bell();
    }

    fn lost(&self, rank: usize) -> Option<Lost> {
        let state = lock(&self.state);
        if let Stage::Ended(Report { error: Some(why), .. }) = &state.stages[rank] {
            return Some(Lost { rank, why: Some(why.clone()), has_crashed: false });
        }
        let has_early = state.early.iter().any(|(from, _)| *from == rank);
        if has_early { None } else { self.fabric.lost(rank) }
    }

    fn shares_memory_with(&self, rank: usize) -> bool {
        self.fabric.shares_memory_with(rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parades_transport::Loopback;

    fn pair() -> [Talk; 2] {
        let mut ends = Loopback::connect(2).into_iter().map(|end| Talk::new(Box::new(end)));
        std::array::from_fn(|_| ends.next().expect("there are two"))
    }

    const WELL: Report = Report { error: None, peak_rss_bytes: 7, too_much_memory: None, is_interrupted: false };

    #[test]
    fn late_bytes_of_a_run_do_not_reach_the_next_run() {
        let [first, second] = pair();
        first.send(1, b"late");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(first.end_run(&WELL).unwrap(), [WELL]);
                first.send(1, b"next");
            });
            assert_eq!(second.end_run(&WELL).unwrap(), [WELL]);
        });
        let mut received = Vec::new();
        second.receive(&mut |from, bytes| received.push((from, bytes.to_vec())));
        assert_eq!(received, [(0, b"next".to_vec())]);
    }

    #[test]
    fn a_rank_that_fails_is_lost_to_the_others_with_its_error() {
        let [first, second] = pair();
        second.tell(0, &1);
        assert_eq!(first.hear::<u32>(1).unwrap(), 1);
        second.send(0, &[]);
        second.tell(0, &Report { error: Some("its disk is full".into()), ..WELL });
        let error = first.hear::<u32>(1).unwrap_err().to_string();
        assert_eq!(error, "rank 1 ended before the run did: its disk is full");
    }
}
