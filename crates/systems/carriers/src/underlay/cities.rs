//! Pings between cities, from a binary file.

use super::Jitter;
use super::jitter;
use crate::Matrix;
use parades_config::{ConfigError, Place, inputs};
use parades_core::event::LpId;
use parades_core::random::Rng;
use parades_core::time::Delay;
use std::path::Path;
use std::sync::Arc;

/// The bytes of an entry of the file.
const ENTRY_BYTES: usize = 16;
/// The longest file: 4096 cities.
const FILE_BYTES_MAX: u64 = (ENTRY_BYTES as u64) << 24;
/// The draws of a jitter until one lies in its range. A draw lies there with a probability of almost a half
/// or more, unless the deviation is far larger than the range.
const DRAWS_MAX: u32 = 64;

/// The round trips between cities.
///
/// The file has an entry for each pair of cities, row by row: four unsigned 32-bit numbers, the least byte
/// first. They are the least, mean and greatest round trip and its standard deviation, in microseconds.
///
/// # Examples
///
/// ```
/// use parades_carriers::underlay::{Cities, Statistic};
/// use parades_core::prelude::*;
///
/// let here = [200, 300, 900, 50];
/// let there = [80_000, 90_000, 120_000, 4_000];
/// let bytes: Vec<u8> = [here, there, there, here].concat().into_iter().flat_map(u32::to_le_bytes).collect();
/// let cities = Cities::parse("ping.bin".as_ref(), &bytes)?;
/// assert_eq!(cities.places(), 2);
/// assert_eq!(cities.latencies(Statistic::Mean).latency(LpId(0), LpId(1)), Delay::from_ms(45));
/// assert_eq!(cities.latencies(Statistic::Least).latency(LpId(0), LpId(1)), Delay::from_ms(40));
///
/// let error = Cities::parse("ping.bin".as_ref(), &bytes[..48]).unwrap_err();
/// assert_eq!(error.to_string(), "ping.bin: the file has 48 bytes, which is no square of entries of 16 bytes; \
///     write an entry for each pair of cities");
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cities {
    places: u32,
    /// Least, mean and greatest round trip, and deviation, in microseconds.
    entries: Box<[[u32; 4]]>,
}

/// The round trip of which one half is the latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The least that was measured.
    Least,
    /// The mean.
    Mean,
}

impl Cities {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is no such file.
    pub fn read(path: &Path) -> Result<Cities, ConfigError> {
        let read = inputs::read_whole(path, FILE_BYTES_MAX);
        Cities::parse(path, &read.map_err(|error| inputs::unreadable(path, &error))?)
    }

    /// Reads the bytes of a file; `file` is the name that errors give it.
    ///
    /// # Errors
    ///
    /// If the bytes are no square of entries, or an entry is out of order.
    pub fn parse(file: &Path, bytes: &[u8]) -> Result<Cities, ConfigError> {
        let refuse = |message: String, help: &str| {
            Err(ConfigError::new(message).with_help(help).at(Place::File(file.to_owned())))
        };
        let places = (bytes.len() / ENTRY_BYTES).isqrt();
        let (Ok(count @ 1..), true) = (u32::try_from(places), places * places * ENTRY_BYTES == bytes.len()) else {
            let message = format!("the file has {} bytes, which is no square of entries of 16 bytes", bytes.len());
            return refuse(message, "write an entry for each pair of cities");
        };
        let number = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let entry = |bytes: &[u8]| [0, 4, 8, 12].map(|first| number(&bytes[first..]));
        let entries: Box<[[u32; 4]]> = bytes.chunks_exact(ENTRY_BYTES).map(entry).collect();
        if let Some(wrong) = entries.iter().position(|&[least, mean, greatest, _]| least > mean || mean > greatest) {
            let (from, to) = (wrong / places, wrong % places);
            let message = format!(
                "the round trips from city {from} to city {to}, counted from 0, are not the least, mean and greatest one"
            );
            return refuse(message, "write them in ascending order");
        }
        Ok(Cities { places: count, entries })
    }

    /// Returns the number of cities.
    pub fn places(&self) -> u32 {
        self.places
    }

    /// Returns the table of latencies: one half of a round trip each.
    pub fn latencies(&self, statistic: Statistic) -> Matrix {
        Matrix::new(self.places, |from, to| {
            let [least, mean, ..] = self.entry(from, to);
            let us = if statistic == Statistic::Least { least } else { mean };
            Delay::from_ps(u64::from(us) * 500_000)
        })
    }

    fn entry(&self, from: u32, to: u32) -> [u32; 4] {
        self.entries[from as usize * self.places as usize + to as usize]
    }

    /// Draws an addition to the least latency between the cities of two peers: from the normal distribution
    /// with the measured mean and deviation, within the measured range.
    pub(super) fn jitter(&self, LpId(from): LpId, LpId(to): LpId, rng: &Rng) -> Delay {
        let [least, mean, greatest, deviation] = self.entry(from % self.places, to % self.places);
        let [mean, range] = [mean, greatest].map(|us| f64::from(us - least));
        let drawn = (0..DRAWS_MAX)
            .map(|_| mean + f64::from(deviation) * rng.normal())
            .find(|drawn| (0.0..=range).contains(drawn));
        jitter::seconds(drawn.unwrap_or(mean) * 0.5e-6)
    }
}

impl Jitter {
    /// For the latencies [`Statistic::Least`] between cities: the rest of the round trip, with its measured
    /// mean, deviation and range.
    pub fn measured(cities: Arc<Cities>) -> Jitter {
        Jitter(jitter::Law::Measured(cities))
    }
}
