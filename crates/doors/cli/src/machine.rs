//! What machine this is, as far as figures need it.

use crate::failure::Failure;
use serde::Serialize;
use std::fs;
use std::sync::OnceLock;

/// The machine, for the record.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) memory_bytes: u64,
}

impl Machine {
    pub(crate) fn this() -> Machine {
        // Machines of many cores take long to tell.
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

/// What starters of ranks tell each of them: how many there are. Open MPI's, and those of MPICH and its kin.
const RANKS: [&str; 2] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];

/// Refuses to be one of several ranks, each of which would execute the whole run.
pub(crate) fn refuse_ranks() -> Result<(), Failure> {
    for variable in RANKS {
        let ranks = std::env::var(variable).ok().and_then(|ranks| ranks.parse::<u64>().ok());
        if let Some(ranks @ 2..) = ranks {
            return Err(Failure::usage(
                format!("this is one of {ranks} ranks (`{variable}`), and runs over MPI do not exist yet"),
                "start it without mpirun; `--threads` is for the cores of one machine",
            ));
        }
    }
    Ok(())
}

/// The most memory this process has held at once, in bytes; 0 where the system does not tell.
pub(crate) fn peak_rss_bytes() -> u64 {
    kibibytes("/proc/self/status", "VmHWM:").map_or(0, |kib| kib << 10)
}

/// Begins the count of [`peak_rss_bytes`] anew, where the system can.
pub(crate) fn forget_peak_rss() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The memory this process holds now, in bytes; 0 where the system does not tell.
pub(crate) fn rss_bytes() -> u64 {
    kibibytes("/proc/self/status", "VmRSS:").map_or(0, |kib| kib << 10)
}

/// The memory in which this process keeps where its pages are, in bytes; 0 where the system does not tell.
pub(crate) fn page_table_bytes() -> u64 {
    kibibytes("/proc/self/status", "VmPTE:").map_or(0, |kib| kib << 10)
}

/// The memory that this machine can still give away, in bytes; 0 where the system does not tell.
pub(crate) fn available_bytes() -> u64 {
    kibibytes("/proc/meminfo", "MemAvailable:").map_or(0, |kib| kib << 10)
}

/// The number after `label` in a file of `/proc`.
fn kibibytes(file: &str, label: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| line.strip_prefix(label))?.split_whitespace().next()?.parse().ok()
}
