//! The values of options, as the grammar checks them. Each error tells the user in a sentence which values
//! are possible.

use parades_capture::address::IpVersion;
use parades_config::units::{parse_size, parse_time};
use parades_core::time::{Delay, Time};
use parades_sweep::Shard;
use std::time::Duration;

pub(super) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a seed is a whole number from 0 to {}", u64::MAX))
}

/// The seeds of `--tie-seed`: one, or for `compare` and `sweep` several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TieSeeds(pub(crate) Vec<u64>);

pub(super) fn tie_seed(text: &str) -> Result<TieSeeds, String> {
    seed(text).map(|seed| TieSeeds(vec![seed]))
}

pub(super) fn tie_seeds(text: &str) -> Result<TieSeeds, String> {
    parades_sweep::seeds::parse(text).map(TieSeeds).map_err(|error| error.to_string())
}

pub(super) fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |percent| (percent, 100.0));
    match number.trim().parse::<f64>() {
        Ok(share) if share > 0.0 && share.is_finite() => Ok(share / scale),
        _ => Err("write a share above 0, as `1%` or `0.01`".into()),
    }
}

pub(super) fn until(text: &str) -> Result<Time, String> {
    match time(text)? {
        Time::ZERO => Err("a run until 0s executes nothing; give a time above it".into()),
        time => Ok(time),
    }
}

pub(super) fn time(text: &str) -> Result<Time, String> {
    parse_time(text).map_err(|error| error.to_string())
}

/// Reads a virtual time that passes between two saves, with a unit: `10s`.
///
/// # Errors
///
/// If it is no time, or `0s`.
pub fn span(text: &str) -> Result<Delay, String> {
    match time(text)? {
        Time::ZERO => Err("give a time above 0s".into()),
        time => Ok(time.since(Time::ZERO)),
    }
}

/// Reads a wall time that passes between two saves, with a unit: `10min`.
///
/// # Errors
///
/// If it is no time, or `0s`.
pub fn wall_time(text: &str) -> Result<Duration, String> {
    span(text).map(|span| Duration::from_secs_f64(span.as_secs_f64()))
}

pub(super) fn size(text: &str) -> Result<u64, String> {
    match parse_size(text).map_err(|error| error.to_string())? {
        0 => Err("there must be some memory".into()),
        size => Ok(size),
    }
}

pub(super) fn shard(text: &str) -> Result<Shard, String> {
    let shard = match text {
        "slurm" => Shard::of_slurm(&|name| std::env::var(name).ok()),
        _ => Shard::parse(text),
    };
    shard.map_err(|error| error.to_string())
}

/// Reads the version of IP of captures.
///
/// # Errors
///
/// If it is neither 4 nor 6.
pub fn ip_version(text: &str) -> Result<IpVersion, String> {
    match text {
        "4" => Ok(IpVersion::V4),
        "6" => Ok(IpVersion::V6),
        _ => Err("the versions are `4` and `6`".into()),
    }
}

/// Reads the length at which captures cut packets, with a unit: `96B`. It is returned in bytes.
///
/// # Errors
///
/// If it is no size, or none from `1B` to `4294967295B`.
pub fn snap_length(text: &str) -> Result<u32, String> {
    match u32::try_from(parse_size(text).map_err(|error| error.to_string())?) {
        Ok(0) | Err(_) => Err(format!("write a size from `1B` to `{}B`", u32::MAX)),
        Ok(length) => Ok(length),
    }
}
