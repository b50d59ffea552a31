//! Shared memory between the ranks of each machine.
//!
//! All ranks take the same steps:
//! 1. They gather the names of their machines. The ranks with one name are *members* of one machine.
//! 2. The first member of each machine creates the segments of all its members. All ranks gather the numbers
//!    of these descriptors.
//! 3. Each member opens the segments through `/proc`, and all ranks gather whether this succeeded. If it
//!    failed for one member, all members of that machine keep to MPI.

use crate::fabric::MpiFabric;
use crate::job::Job;
use parades_transport::{Fabric, LaneShape, Routed, SegmentFile, SharedMemory};
use std::fmt;
use std::sync::Arc;

/// The most bytes of all lanes to one rank. Many ranks on one machine have shorter lanes.
const BYTES_OF_RANK: usize = 8 << 20;
/// The fewest bytes of a lane.
const BYTES_MIN: usize = 128 << 10;

/// The fabric of a rank that shares memory with the ranks of its machine.
pub struct Shared {
    /// The fabric between all ranks.
    pub fabric: Box<dyn Fabric>,
    /// A sentence for the user if ranks of one machine cannot share memory. It is the same on all ranks.
    pub note: Option<String>,
    /// The number of ranks on the real machine of this rank, this rank included.
    pub ranks_here: usize,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shared(rank {} of {}, note {:?})", self.fabric.rank(), self.fabric.ranks(), self.note)
    }
}

/// Joins the ranks of each machine by shared memory. If `ranks_per_machine` is given, that number of
/// consecutive ranks plays a machine, so that one machine plays several.
///
/// # Errors
///
/// A sentence if the communicating thread has ended.
pub fn share_memory(job: &Job, fabric: MpiFabric, ranks_per_machine: Option<usize>) -> Result<Shared, String> {
    let rank = fabric.rank();
    let machines = job.gather_all(machine_of(job).into_bytes())?;
    let here: Vec<usize> = (0..machines.len()).filter(|&other| machines[other] == machines[rank]).collect();
    let ranks_here = here.len();
    let played = |rank: usize| ranks_per_machine.map(|ranks| rank / ranks.max(1));
    let members: Vec<usize> = here.into_iter().filter(|&other| played(other) == played(rank)).collect();
    let created = if members[0] == rank && members.len() > 1 { create(members.len()) } else { Ok(Vec::new()) };
    let offers = job.gather_all(offer(created.as_deref().map_err(String::as_str)).into_bytes())?;
    let joined = match &members[..] {
        [_] => Ok(None),
        [first, ..] => join(&members, rank, &offers[*first]).map(Some),
        [] => unreachable!("a rank is a member of its machine"),
    };
    let failure = joined.as_ref().err().map_or_else(String::new, |why| format!("rank {rank}: {why}"));
    let failures = job.gather_all(failure.into_bytes())?;
    // All members have opened the segments, or have failed.
    drop(created);
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    let note = failures.iter().find(|failure| !failure.is_empty()).map(|failure| {
        format!("some ranks of one machine reach each other over MPI, as they cannot share memory: {}", text(failure))
    });
    let all_joined = members.iter().all(|&member| failures[member].is_empty());
    let fabric: Box<dyn Fabric> = match joined {
        Ok(Some(near)) if all_joined => Box::new(Routed::new(near, members, fabric)),
        _ => Box::new(fabric),
    };
    Ok(Shared { fabric, note, ranks_here })
}

/// Returns a name that the ranks which can open each other's descriptors have in common. It has the name of
/// the host, the start of its system, and the namespace of process numbers.
fn machine_of(job: &Job) -> String {
    let start = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{} {start} {}", job.machine(), namespace.display())
}

/// Creates the segments of the members of one machine.
fn create(members: usize) -> Result<Vec<SegmentFile>, String> {
    let bytes = (BYTES_OF_RANK / members).clamp(BYTES_MIN, LaneShape::default().bytes as usize);
    let bytes = u32::try_from(bytes).expect("it is clamped");
    SharedMemory::create(members, LaneShape { bytes })
        .map_err(|error| format!("its segments cannot be created: {error}"))
}

/// Returns the numbers of this process and its descriptors, or the error.
fn offer(created: Result<&[SegmentFile], &str>) -> String {
    match created {
        Ok(files) => {
            let numbers = files.iter().map(|file| format!(" {}", file.raw_fd()));
            format!("{}{}", std::process::id(), numbers.collect::<String>())
        }
        Err(why) => why.to_owned(),
    }
}

/// Opens the segments that the first member offers.
fn join(members: &[usize], rank: usize, offer: &[u8]) -> Result<Arc<SharedMemory>, String> {
    let offer = String::from_utf8_lossy(offer);
    let mut numbers = offer.split(' ').map(str::parse::<u32>);
    let Some(Ok(process)) = numbers.next() else { return Err(offer.into_owned()) };
    let open = |number: u32| SegmentFile::of_process(process, number.try_into().unwrap_or(-1));
    let files: Result<Vec<_>, _> = numbers.map(|number| open(number.unwrap_or(u32::MAX))).collect();
    let seat = members.iter().position(|&member| member == rank).expect("a rank is a member of its machine");
    files
        .and_then(|files| SharedMemory::join(seat, files))
        .map_err(|error| format!("the segments of process {process} cannot be opened: {error}"))
}
