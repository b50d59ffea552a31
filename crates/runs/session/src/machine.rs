//! The machine, and the memory of this process.

mod allowed;

use parades_raw::memory;
use serde::Serialize;
use std::fs;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The machine, as figures record it.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// The name of the processor; `unknown` where the system does not tell it.
    pub cpu: String,
    /// The cores that this process may use.
    pub cores: usize,
    /// The memory of the machine; 0 where the system does not tell it.
    pub memory_bytes: u64,
}

impl Machine {
    /// Returns the machine of this process.
    pub fn this() -> Machine {
        // Reading `/proc/cpuinfo` takes long on machines of many cores.
        static THIS: OnceLock<Machine> = OnceLock::new();
        THIS.get_or_init(Machine::read).clone()
    }

    fn read() -> Machine {
        let cpu = fs::read_to_string("/proc/cpuinfo").ok();
        let cpu = cpu.as_deref().and_then(|text| text.lines().find_map(|line| line.strip_prefix("model name")));
        Machine {
            cpu: cpu.map_or("unknown", |name| name.trim_start_matches(['\t', ' ', ':'])).to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: kibibytes("/proc/meminfo", "MemTotal:").map_or(0, |kib| kib << 10),
        }
    }
}

/// The part of the memory that this process may take that a run takes at most by default: three quarters.
const DEFAULT_SHARE: (u64, u64) = (3, 4);

/// Returns the bound on the memory of a run where the user gives none, in bytes. `None` where the system does
/// not tell its memory.
pub fn default_memory_limit() -> Option<u64> {
    let (share, of) = DEFAULT_SHARE;
    let memory = Machine::this().memory_bytes;
    (memory > 0).then(|| allowed::bytes(memory) / of * share)
}

/// The variables by which launchers tell each rank the number of ranks and its own number: those of Open MPI,
/// of MPICH and its relatives, and of Slurm's `srun`.
const LAUNCHERS: [[&str; 2]; 3] = [
    ["OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"],
    ["PMI_SIZE", "PMI_RANK"],
    ["SLURM_STEP_NUM_TASKS", "SLURM_PROCID"],
];

/// The place of this process among the ranks that a launcher has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchedRank {
    /// The number of this rank, from 0.
    pub rank: u64,
    /// The number of ranks, at least 2.
    pub ranks: u64,
    /// The variable by which the launcher tells the number of ranks.
    pub variable: &'static str,
}

impl LaunchedRank {
    /// Returns the place of this process, if a launcher has started it as one of several ranks.
    pub fn of_this_process() -> Option<LaunchedRank> {
        let number = |variable| std::env::var(variable).ok().and_then(|number| number.parse::<u64>().ok());
        LAUNCHERS.iter().find_map(|&[size, rank]| {
            let ranks = number(size).filter(|&ranks| ranks > 1)?;
            Some(LaunchedRank { rank: number(rank).unwrap_or(0), ranks, variable: size })
        })
    }
}

/// Returns the most memory that this process has held at once, in bytes; 0 where the system does not tell it.
pub fn peak_rss_bytes() -> u64 {
    kibibytes("/proc/self/status", "VmHWM:").map_or(0, |kib| kib << 10)
}

/// Restarts the count of [`peak_rss_bytes`], where the system can.
pub fn forget_peak_rss() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Returns the heap and the stacks that this process holds now, in bytes; 0 where the system does not tell
/// them.
pub(crate) fn held_bytes() -> u64 {
    memory::held_bytes() as u64
}

/// Bytes that runs may take beyond their limit. Worker threads take them, as does freed memory that the
/// allocator keeps. `time-warp` takes them until it rolls back.
pub(crate) const BESIDE: u64 = 8 << 20;
/// Bytes beyond the limit at which the allocator ends the program. They leave a run that is stopped some room
/// to end with its results.
const BESIDE_AT_MOST: u64 = 16 << 20;

/// The memory of the program itself, in bytes: what it held before its first model was made, or at the last
/// call of [`count_as_program`]. [`UNKNOWN`] before both.
static PROGRAM_BYTES: AtomicU64 = AtomicU64::new(UNKNOWN);
/// No number of bytes.
const UNKNOWN: u64 = u64::MAX;

/// Returns the memory of the program itself, in bytes. No limit of a run counts it.
pub(crate) fn program_bytes() -> u64 {
    // Ordering: Relaxed. The number publishes nothing but itself.
    match PROGRAM_BYTES.load(Ordering::Relaxed) {
        UNKNOWN => {
            let held = held_bytes();
            let before = PROGRAM_BYTES.compare_exchange(UNKNOWN, held, Ordering::Relaxed, Ordering::Relaxed);
            before.err().unwrap_or(held)
        }
        bytes => bytes,
    }
}

/// Counts all memory that this process holds now as that of the program itself, to which no limit of a run
/// applies. A program that loads data between its runs calls this before a run. While another run is executed,
/// the memory of that run would count too.
pub fn count_as_program() {
    if held_bytes() > program_bytes().saturating_add(BESIDE) {
        // Memory that earlier runs have freed is not the program's.
        memory::return_free_memory();
    }
    // Ordering: as in `program_bytes`.
    PROGRAM_BYTES.store(held_bytes(), Ordering::Relaxed);
}

/// Makes the allocator keep this process within `limit` bytes, and a few beside.
pub(crate) fn keep_within(limit: u64) {
    let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    memory::set_limit(bytes(limit), bytes(limit.saturating_add(program_bytes()).saturating_add(BESIDE_AT_MOST)));
}

/// Returns the memory that this process holds now, in bytes; 0 where the system does not tell it.
pub fn rss_bytes() -> u64 {
    kibibytes("/proc/self/status", "VmRSS:").map_or(0, |kib| kib << 10)
}

/// Returns the memory of this process's page tables, in bytes; 0 where the system does not tell it.
pub fn page_table_bytes() -> u64 {
    kibibytes("/proc/self/status", "VmPTE:").map_or(0, |kib| kib << 10)
}

/// Returns the memory that this machine can still give away, in bytes; 0 where the system does not tell it.
pub fn available_bytes() -> u64 {
    kibibytes("/proc/meminfo", "MemAvailable:").map_or(0, |kib| kib << 10)
}

/// Returns the number after `label` in a file of `/proc`.
fn kibibytes(file: &str, label: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| line.strip_prefix(label))?.split_whitespace().next()?.parse().ok()
}
