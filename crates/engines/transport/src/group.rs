//! The group of ranks: collective operations on byte strings.

use parades_core::wire::{self, Destination, FrameWriter, Malformed, Wire};
use parades_sync::barrier::Broken;

/// The ranks of a run. A *rank* is a process, or some threads in the place of one. It shares no memory with
/// the other ranks.
///
/// Only the leader of each rank calls these methods, at cuts, and all leaders make the same calls in the same
/// order.
pub trait Group: Send + Sync {
    /// Returns the number of this rank, from 0.
    fn rank(&self) -> usize;

    /// Returns the number of ranks.
    fn ranks(&self) -> usize;

    /// Sends `mine` to rank 0. Rank 0 returns the bytes of all ranks, in rank order; the other ranks return
    /// `None`.
    ///
    /// # Errors
    ///
    /// [`Broken`] if a rank is lost.
    fn gather(&self, mine: Vec<u8>) -> Result<Option<Vec<Vec<u8>>>, Broken>;

    /// Sends the bytes of rank 0 to all ranks. Each rank returns these bytes.
    ///
    /// # Errors
    ///
    /// [`Broken`] if rank 0 is lost.
    fn broadcast(&self, from_first: Option<Vec<u8>>) -> Result<Vec<u8>, Broken>;

    /// Sends each other rank its own bytes: `mine` has those for each rank, in rank order. Returns the bytes
    /// that each rank has sent to this one, in rank order. There are none from this rank to itself.
    ///
    /// # Errors
    ///
    /// [`Broken`] if a rank is lost.
    fn swap(&self, mine: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Broken>;

    /// Returns the kind of process that `rank` is for this rank, which says how payloads are written for it.
    fn destination(&self, rank: usize) -> Destination {
        let _ = rank;
        Destination::Elsewhere
    }

    /// Ends the run on this rank with a sentence that says why. The other ranks notice that this rank is
    /// lost.
    fn give_up(&self, why: String) -> Broken;
}

/// Sends each rank's `mine` to all ranks. Returns the values in rank order, the same on every rank.
///
/// # Errors
///
/// [`Broken`] if a rank is lost or sends bytes that are not a `T`.
pub fn gather_all<T: Wire>(group: &dyn Group, mine: &T) -> Result<Vec<T>, Broken> {
    let mut bytes = Vec::new();
    wire::write(mine, &mut bytes);
    gather_all_by(group, bytes, wire::read)
}

/// Does the same as [`gather_all`], for values that `read` reads. `mine` is the value of this rank, in bytes.
///
/// # Errors
///
/// As [`gather_all`].
pub fn gather_all_by<T>(
    group: &dyn Group,
    mine: Vec<u8>,
    mut read: impl FnMut(&mut &[u8]) -> Result<T, Malformed>,
) -> Result<Vec<T>, Broken> {
    // Each value ends by itself, so the values of all ranks need no lengths between them.
    let joined = group.gather(mine)?.map(|all| all.concat());
    let joined = group.broadcast(joined)?;
    let mut rest = joined.as_slice();
    (0..group.ranks()).map(|_| decode(group, || read(&mut rest))).collect()
}

/// Sends each rank's `mine` to rank 0, which returns the values in rank order; the other ranks return `None`.
/// Rank 0 does not encode its own value, and decodes one value at a time, to save memory.
///
/// # Errors
///
/// As [`gather_all`].
pub fn gather_to_first<T: Wire>(group: &dyn Group, mine: T) -> Result<Option<Vec<T>>, Broken> {
    gather_to_first_by(group, mine, |mine, bytes| wire::write(&mine, bytes), wire::read)
}

/// Does the same as [`gather_to_first`], for values that `write` writes and `read` reads.
///
/// # Errors
///
/// As [`gather_all`].
pub fn gather_to_first_by<T>(
    group: &dyn Group,
    mine: T,
    write: impl FnOnce(T, &mut Vec<u8>),
    mut read: impl FnMut(&mut &[u8]) -> Result<T, Malformed>,
) -> Result<Option<Vec<T>>, Broken> {
    if group.rank() > 0 {
        let mut bytes = Vec::new();
        FrameWriter::new(group.destination(0)).within(|| write(mine, &mut bytes));
        group.gather(bytes)?;
        return Ok(None);
    }
    let others = group.gather(Vec::new())?.into_iter().flatten().skip(1);
    let others = others.map(|bytes| decode(group, || read(&mut bytes.as_slice())));
    std::iter::once(Ok(mine)).chain(others).collect::<Result<_, _>>().map(Some)
}

/// Sends each other rank its own bytes ([`Group::swap`]). Calls `read` with the number of each other rank,
/// and with the bytes that this rank has got from it.
///
/// # Errors
///
/// [`Broken`] if a rank is lost, or if `read` fails, which ends the run on this rank.
pub fn swap_by(
    group: &dyn Group,
    mine: Vec<Vec<u8>>,
    mut read: impl FnMut(usize, &mut &[u8]) -> Result<(), Malformed>,
) -> Result<(), Broken> {
    for (rank, bytes) in group.swap(mine)?.into_iter().enumerate().filter(|(rank, _)| *rank != group.rank()) {
        decode(group, || read(rank, &mut bytes.as_slice()))?;
    }
    Ok(())
}

/// Calls `read` to read a value. Malformed bytes end the run on this rank.
fn decode<T>(group: &dyn Group, read: impl FnOnce() -> Result<T, Malformed>) -> Result<T, Broken> {
    wire::read_frame(read).map_err(|malformed| group.give_up(malformed.to_string()))
}
