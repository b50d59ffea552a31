//! The side of a child.

use crate::Greeting;
use crate::crew::Report;
use parades_core::arena::{self, Installed};
use parades_transport::{SegmentFile, SharedMemory};
use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;

/// A child that has joined the other ranks.
#[derive(Debug)]
pub struct Joined {
    /// The way to the other ranks.
    pub fabric: Arc<SharedMemory>,
    /// The order that [`Crew::start`](crate::Crew::start) was given.
    pub order: serde_json::Value,
    /// Keeps the arenas for payloads, if there are any.
    _arenas: Option<Installed>,
}

/// Joins the ranks, as a process that [`Crew::start`](crate::Crew::start) has started. From then on, this
/// process exits as soon as rank 0 has ended.
///
/// # Errors
///
/// If this process was not started as a rank, or if rank 0 has ended.
pub fn join() -> io::Result<Joined> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let Greeting { launcher, rank, segments, arenas, order } = serde_json::from_str(&line)?;
    let opened = segments.into_iter().map(|fd| SegmentFile::of_process(launcher, fd));
    let fabric = SharedMemory::join(rank, opened.collect::<Result<_, _>>()?)?;
    let arenas = if arenas.is_empty() {
        None
    } else {
        let opened = arenas.into_iter().map(|fd| SegmentFile::of_process(launcher, fd).map(Some));
        Some(arena::install_segments(rank, opened.collect::<Result<_, _>>()?)?)
    };
    std::thread::Builder::new().name("end of rank 0".into()).spawn(exit_with_the_launcher)?;
    Ok(Joined { fabric, order, _arenas: arenas })
}

/// Exits when the standard input ends: rank 0 has ended.
fn exit_with_the_launcher() {
    let _ = io::stdin().lock().read_to_end(&mut Vec::new());
    std::process::exit(1);
}

impl Joined {
    /// Sends the report of this child to rank 0. Then the process must exit soon, since rank 0 waits for its
    /// end.
    ///
    /// # Errors
    ///
    /// If rank 0 has ended.
    pub fn report(self, report: &Report) -> io::Result<()> {
        let mut to = io::stdout().lock();
        serde_json::to_writer(&mut to, report)?;
        to.flush()?;
        if report.error.is_some() {
            // Dropped here, the fabric would tell rank 0 of the end of this rank before the report does, and
            // without a reason. The system closes it with the process.
            std::mem::forget(self);
        }
        Ok(())
    }
}
