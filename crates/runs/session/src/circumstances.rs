//! The circumstances of a run: when it was executed, on what system, and what it cost there.

#[cfg(unix)]
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::{TimeVal, TimeValLike},
};
use serde::Serialize;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// The circumstances of a run. A text is empty, and a number is null, where the system does not tell it.
#[derive(Clone, Debug, Serialize)]
pub struct Circumstances {
    /// The time at which this was written, in UTC: `2026-11-29T10:32:07Z`.
    pub date: String,
    /// The operating system: `linux`.
    pub os: &'static str,
    /// The name of its distribution.
    pub distribution: String,
    /// The version of its kernel.
    pub kernel: String,
    /// The rule by which the frequency of the first core changes: `performance`.
    pub governor: String,
    /// The cost of this process: of all its threads, those that have ended too. Its fields are missing if the
    /// system does not tell them.
    #[serde(flatten)]
    pub own: Option<Cost>,
    /// The cost of the processes that this one has started and that have ended: the other processes of a run.
    pub other_processes: Option<Cost>,
}

/// What processes have cost the system.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cost {
    /// The time spent in programs, in seconds.
    pub user_s: f64,
    /// The time that the system has spent for them, in seconds.
    pub system_s: f64,
    /// Context switches because a thread waited.
    pub voluntary_switches: i64,
    /// Context switches because another thread was to run.
    pub involuntary_switches: i64,
}

impl Cost {
    #[cfg(unix)]
    fn of(who: UsageWho) -> Option<Cost> {
        let usage = getrusage(who).ok()?;
        let seconds = |time: TimeVal| time.num_microseconds() as f64 / 1e6;
        Some(Cost {
            user_s: seconds(usage.user_time()),
            system_s: seconds(usage.system_time()),
            voluntary_switches: usage.voluntary_context_switches(),
            involuntary_switches: usage.involuntary_context_switches(),
        })
    }

    /// Returns the costs of this process, and of those that it has started.
    #[cfg(unix)]
    fn all() -> [Option<Cost>; 2] {
        [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN].map(Cost::of)
    }

    #[cfg(not(unix))]
    fn all() -> [Option<Cost>; 2] {
        [None; 2]
    }
}

impl Circumstances {
    /// Returns the circumstances of this process now.
    #[expect(clippy::disallowed_methods, reason = "the date of a run is no part of its results")]
    pub fn now() -> Circumstances {
        let line_of = |file: &str| fs::read_to_string(file).unwrap_or_default().trim().to_owned();
        let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).unwrap_or_default();
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let [own, other_processes] = Cost::all();
        Circumstances {
            date: date(seconds),
            os: std::env::consts::OS,
            distribution: name.trim_matches('"').to_owned(),
            kernel: line_of("/proc/sys/kernel/osrelease"),
            governor: line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            own,
            other_processes,
        }
    }
}

/// Returns a time in seconds since 1970 as a date in UTC. The days of a year are counted from March, so that
/// the leap day is the last (H. Hinnant, *chrono-compatible low-level date algorithms*, 2013).
fn date(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let [hour, minute, second] = [second / 3_600, second / 60 % 60, second % 60];
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // By `date -u -d @N +%FT%TZ`.
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_709_251_200, "2024-03-01T00:00:00Z"),
            (4_102_444_799, "2099-12-31T23:59:59Z"),
        ] {
            assert_eq!(date(seconds), expected);
        }
    }
}
