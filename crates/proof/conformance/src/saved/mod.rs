//! Saved runs, in real files, through the session as the command does it.
//!
//! - [`scenarios`]: small runs of everything that can be saved.
//! - [`breaks`]: runs that are broken at random times, and go on under another engine.
//! - [`files`]: saved runs whose bytes were changed.
//! - [`child`]: the same in a child with a bound on its memory and its time.
//!
//! *Read next*: [`breaks`].

pub mod breaks;
pub mod child;
pub mod files;
pub mod forge;
pub mod scenarios;

use parades_config::inputs;
use parades_core::time::Time;
use parades_session::{Failure, FinishedRun, Plan, Recording, Request, Saved, Saving, run};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The version and the commit that the heads of the files name.
const PROGRAM: (&str, &str) = ("0", "conformance");
/// The memory that a run may take, in bytes.
const MEMORY_LIMIT: u64 = 256 << 20;

/// A folder that is gone when the work in it is over.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// The number of saved runs in it so far.
    files: AtomicU32,
}

impl Folder {
    /// Creates a folder for temporary files.
    ///
    /// # Panics
    ///
    /// If the system refuses to.
    pub fn new() -> Folder {
        static FOLDERS: AtomicU32 = AtomicU32::new(0);
        // Ordering: Relaxed; a count that publishes nothing.
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("parades-saved-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("temporary files can be written");
        Folder { path, files: AtomicU32::new(0) }
    }

    /// Returns the path of a file with this name.
    fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns the path of a new saved run. A process holds what it has read, so each has a name of its own.
    fn new_file(&self) -> PathBuf {
        // Ordering: Relaxed; a count that publishes nothing.
        self.path(&format!("{}.save", self.files.fetch_add(1, Ordering::Relaxed)))
    }
}

impl Default for Folder {
    fn default() -> Folder {
        Folder::new()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Executes a request as the command does.
fn execute(request: &Request, saving: Option<&Saving>, from: Option<&Saved>) -> Result<FinishedRun, Failure> {
    inputs::forget_seen();
    let plan = Plan::of(request)?;
    run(&plan, &plan.choice()?, Recording { saving, from, ..Recording::default() }, &mut ())
}

/// Returns the wish for a save into `file` at the end of a run.
fn at_end(file: &Path) -> Saving {
    let (version, commit) = PROGRAM;
    Saving {
        file: file.to_owned(),
        version,
        commit,
        at_end: true,
        every: None,
        every_virtual: None,
        when: None,
        stop_at: None,
        before_failure: false,
    }
}

/// Reads a saved run.
fn read(file: &Path) -> Result<Saved, Failure> {
    Saved::read(file, MEMORY_LIMIT)
}

/// Returns the request for the rest of a saved run, under an engine.
fn rest_of(saved: &Saved, until: Time, engine: &str, threads: u64) -> Result<Request, Failure> {
    let request = saved.request(PROGRAM.0, PROGRAM.1)?;
    Ok(Request {
        until: Some(until),
        engine: Some(engine.into()),
        threads: Some(threads),
        memory_limit: Some(MEMORY_LIMIT),
        ..request
    })
}
