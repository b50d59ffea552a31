//! The cases of a folder: bulk TCP flows over a dumbbell.
//!
//! *The network*: *n* senders, two routers, *n* receivers. The bottleneck joins the routers. A case changes
//! some parameters of the default case.

use super::super::flows::{in_file, rows};
use parades_config::units::{parse_duration, parse_rate};
use parades_config::{ConfigError, quoted};
use parades_core::time::{Delay, Time};
use std::path::Path;

/// A case.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) name: String,
    /// Flows.
    pub(super) n: u32,
    /// The bytes of flows. The list repeats.
    pub(super) sizes: Vec<u64>,
    /// The time between the starts of two flows.
    pub(super) stagger: Delay,
    /// The rate and the delay of the bottleneck.
    pub(super) bottleneck: (u64, Delay),
    /// The rate of access links.
    pub(super) access_bps: u64,
    /// The delays of the links of senders. The list repeats.
    pub(super) sender_delays: Vec<Delay>,
    /// The delay of the links of receivers.
    pub(super) receiver_delay: Delay,
    /// The kind of the bottleneck's queue, and its limit in packets.
    pub(super) queue: (String, u32),
    /// The marking threshold of the queue `dctcp`, in packets.
    pub(super) threshold: u32,
    /// The congestion control, by ns-3's name.
    pub(super) control: String,
    pub(super) mss: u32,
    /// The initial window, in segments.
    pub(super) initial_window: u32,
    /// The number of segments that are acknowledged together.
    pub(super) delayed: u32,
    pub(super) has_sack: bool,
    pub(super) has_timestamps: bool,
    /// The send and the receive buffer, in bytes.
    pub(super) buffer: u32,
    pub(super) min_rto: Delay,
    /// The probability of loss behind the bottleneck.
    pub(super) loss: f64,
    /// The seed of losses.
    pub(super) seed: u64,
}

impl Case {
    fn new(name: String) -> Case {
        Case {
            name,
            n: 1,
            sizes: vec![1_000_000],
            stagger: Delay::ZERO,
            bottleneck: (10_000_000, Delay::from_ms(20)),
            access_bps: 100_000_000,
            sender_delays: vec![Delay::from_ms(1)],
            receiver_delay: Delay::from_ms(1),
            queue: ("droptail".to_owned(), 100),
            threshold: 0,
            control: "TcpNewReno".to_owned(),
            mss: 1448,
            initial_window: 10,
            delayed: 2,
            has_sack: true,
            has_timestamps: true,
            buffer: 4_000_000,
            min_rto: Delay::from_secs(1),
            loss: 0.0,
            seed: 1,
        }
    }

    /// Sets a parameter. The error is the end of a sentence that begins with the case.
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "n" => self.n = number(value)?,
            "size" => self.sizes = list(value, number)?,
            "stagger" => self.stagger = seconds(value)?,
            "rate" => self.bottleneck.0 = parse_rate(value).map_err(|error| error.to_string())?,
            "delay" => self.bottleneck.1 = duration(value)?,
            "access" => self.access_bps = parse_rate(value).map_err(|error| error.to_string())?,
            "adelay" => {
                self.receiver_delay = duration(value)?;
                self.sender_delays = vec![self.receiver_delay];
            }
            "adelays" => self.sender_delays = list(value, duration)?,
            "q" => value.clone_into(&mut self.queue.0),
            "qlen" => self.queue.1 = number(value)?,
            "K" => self.threshold = number(value)?,
            "cc" => value.clone_into(&mut self.control),
            "mss" => self.mss = number(value)?,
            "iw" => self.initial_window = number(value)?,
            "del" => self.delayed = number(value)?,
            "sack" => self.has_sack = number(value)?,
            "ts" => self.has_timestamps = number(value)?,
            "buf" => self.buffer = number(value)?,
            "minrto" => self.min_rto = seconds(value)?,
            "loss" => self.loss = number(value)?,
            "run" => self.seed = number(value)?,
            _ => return Err(format!("has the unknown parameter {}", quoted(key))),
        }
        Ok(())
    }

    /// Returns the bytes of a flow.
    pub(super) fn size(&self, flow: u32) -> u64 {
        self.sizes[flow as usize % self.sizes.len()]
    }

    /// Returns the start of a flow.
    pub(super) fn start(&self, flow: u32) -> Time {
        let later = self.stagger.as_ps().saturating_mul(u64::from(flow));
        FIRST_START.checked_add(Delay::from_ps(later)).unwrap_or(Time::MAX)
    }

    /// Returns the runs of the case: the seed of each, and the factor by which its access delays are longer.
    /// Drops by chance, and CoDel's drops at certain times, make one run a sample.
    pub(super) fn runs(&self) -> Vec<(u64, f64)> {
        match &*self.queue.0 {
            "red" => (self.seed..self.seed + RANDOM_RUNS).map(|seed| (seed, 1.0)).collect(),
            "codel" | "fqcodel" => {
                let step = LONGER_MAX / f64::from(LONGER_RUNS - 1);
                (0..LONGER_RUNS).map(|run| (self.seed, 1.0 + f64::from(run) * step)).collect()
            }
            _ => vec![(self.seed, 1.0)],
        }
    }

    /// Returns the name of the group of cases that differ only in the seed of losses.
    pub(super) fn group(&self) -> Option<&str> {
        if self.loss > 0.0 { self.name.rsplit_once("_run").map(|(group, _)| group) } else { None }
    }
}

/// The number of runs of a case whose queue draws random numbers. Their drops have a heavy tail, so that the
/// median of a few runs differs much from that of many. Odd, so that one of the runs is the median.
const RANDOM_RUNS: u64 = 201;
/// The number of runs of a case with CoDel. Odd, as above.
const LONGER_RUNS: u32 = 25;
/// The share by which access delays are longer in the last of these runs, as in the runs that give the bands.
const LONGER_MAX: f64 = 0.015;

/// The start of the first flow.
pub(super) const FIRST_START: Time = Time::from_ps(1_000_000_000_000);

/// Reads `cases.tsv`: a name, and parameters `key=value` separated by blanks.
pub(super) fn read(folder: &Path) -> Result<Vec<Case>, ConfigError> {
    let path = folder.join("cases.tsv");
    let case = |[name, parameters]: [String; 2]| {
        let mut case = Case::new(name);
        for parameter in parameters.split_whitespace() {
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            case.set(key, value)
                .map_err(|what| in_file(&path, format!("the case {}: {key}: {what}", quoted(&case.name))))?;
        }
        Ok(case)
    };
    rows(&path, ["case", "parameters"])?.into_iter().map(case).collect()
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("{} is no value for it", quoted(text)))
}

fn seconds(text: &str) -> Result<Delay, String> {
    Delay::try_from_secs_f64(number(text)?).ok_or_else(|| format!("{} is no time in seconds", quoted(text)))
}

fn duration(text: &str) -> Result<Delay, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

fn list<T>(text: &str, item: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    text.split(',').map(item).collect()
}
