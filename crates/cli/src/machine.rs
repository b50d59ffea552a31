//! What machine this is, as far as figures need it.

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
