//! The MPI library of this machine.

use crate::messenger::Messenger;
use mpi::Threading;
use mpi::collective::CommunicatorCollectives;
use mpi::datatype::PartitionMut;
use mpi::environment::Universe;
use mpi::point_to_point::{Destination, MatchedReceiveVec, Source};
use mpi::request::scope;
use mpi::topology::{Communicator, SimpleCommunicator};
use std::fmt;
use std::mem::take;

/// MPI, initialised on the thread that opens it, and finalised when it is dropped.
pub struct System {
    world: SimpleCommunicator,
    /// Finalises MPI when it is dropped.
    _universe: Universe,
}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "System(rank {} of {})", self.rank(), self.ranks())
    }
}

impl System {
    /// Initialises MPI for use by this thread only.
    ///
    /// # Errors
    ///
    /// A sentence if MPI is in use already, or cannot be used by a program of several threads.
    pub fn open() -> Result<System, String> {
        let (universe, provided) = mpi::initialize_with_threading(Threading::Funneled)
            .ok_or_else(|| "MPI is initialised already; a process takes part in one run over MPI".to_owned())?;
        if provided < Threading::Funneled {
            return Err("this MPI library does not allow threads beside the one that calls it".to_owned());
        }
        Ok(System { world: universe.world(), _universe: universe })
    }
}

fn index(rank: i32) -> usize {
    usize::try_from(rank).expect("ranks are numbered from 0")
}

fn count(n: usize) -> i32 {
    i32::try_from(n).expect("it is bounded by the longest message and the number of ranks")
}

impl Messenger for System {
    fn rank(&self) -> usize {
        index(self.world.rank())
    }

    fn ranks(&self) -> usize {
        index(self.world.size())
    }

    fn machine(&self) -> String {
        mpi::environment::processor_name().unwrap_or_default()
    }

    fn send_all(&self, messages: &[(usize, &[u8])], wait: &mut dyn FnMut(&mut dyn FnMut() -> bool)) {
        scope(|scope| {
            let mut requests: Vec<_> = messages
                .iter()
                .map(|&(to, bytes)| self.world.process_at_rank(count(to)).immediate_send(scope, bytes))
                .collect();
            wait(&mut || {
                requests = take(&mut requests).into_iter().filter_map(|request| request.test().err()).collect();
                requests.is_empty()
            });
        });
    }

    fn receive(&self) -> Option<(usize, Vec<u8>)> {
        let (bytes, status) = self.world.any_process().immediate_matched_probe()?.matched_receive_vec();
        Some((index(status.source_rank()), bytes))
    }

    fn gather_all(&self, mine: &[u8]) -> Vec<Vec<u8>> {
        // Open MPI gives a meaning to the address 1, which Rust gives to empty buffers. So no buffer is
        // empty.
        let mine = [&[0], mine].concat();
        let mut lengths = vec![0; self.ranks()];
        self.world.all_gather_into(&count(mine.len()), &mut lengths[..]);
        let begins: Vec<i32> = lengths
            .iter()
            .scan(0, |sum, length| {
                let begin = *sum;
                *sum += length;
                Some(begin)
            })
            .collect();
        let mut all = vec![0; lengths.iter().copied().map(index).sum()];
        let mut parts = PartitionMut::new(&mut all[..], &lengths[..], &begins[..]);
        self.world.all_gather_varcount_into(&mine[..], &mut parts);
        let parts = begins.iter().zip(&lengths).map(|(&begin, &length)| (index(begin), index(length)));
        parts.map(|(begin, length)| all[begin + 1..begin + length].to_vec()).collect()
    }

    fn abort(&self, status: i32) -> ! {
        self.world.abort(status)
    }
}
