//! A table of latencies, one for each pair of places.

mod pairs;
mod read;

use crate::near::{self, Least};
use parades_config::ConfigError;
use parades_core::channel::Port;
use parades_core::digest::Payload;
use parades_core::event::{Body, LpId};
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_core::wire::{Malformed, Wire};
use parades_program::{
    Carrier, CarrierContext, Copies, Departure, Layout, Letter, NodeContext, RestorableCarrier, SaveCarrier, Timed,
    Wiring,
};
use std::convert::Infallible;
use std::fmt;
use std::path::Path;

/// The greatest number of nodes for which each pair has a channel, with a lookahead of its own. With more
/// nodes the channels would take more memory than the table; then each sender has the least of its latencies
/// as lookahead, and nodes at one place are a group.
const PAIRED_NODES_MAX: u32 = 128;

/// The carrier of a program whose messages take the latency that a table has for their sender and receiver.
///
/// Nodes are at the places of the table in their order. Where there are more nodes than places, several nodes
/// share a place, and a message between two of them takes the latency from the place to itself.
///
/// # Examples
///
/// ```
/// use parades_carriers::Matrix;
/// use parades_core::prelude::*;
///
/// let ms = Delay::from_ms(1);
/// let text = "# from Oslo, Lima, Perth, in ms\n0 180.5 290\n181 0 170\n291 169 0\n";
/// let matrix = Matrix::parse("cities.txt".as_ref(), text.to_owned(), ms)?;
/// assert_eq!(matrix.latency(LpId(0), LpId(1)), Delay::from_us(180_500));
/// assert_eq!(matrix.latency(LpId(1), LpId(0)), Delay::from_ms(181));
///
/// // A triangle is a symmetric table.
/// let matrix = Matrix::parse("cities.txt".as_ref(), "0\n180 0\n290 170 0".to_owned(), ms)?;
/// assert_eq!(matrix.latency(LpId(1), LpId(2)), matrix.latency(LpId(2), LpId(1)));
///
/// let error = Matrix::parse("cities.txt".as_ref(), "0 1\n-1 0".to_owned(), ms).unwrap_err();
/// assert_eq!(error.to_string(), "cities.txt:2:1: a latency cannot be -1; write a number of 0 or more");
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Matrix {
    places: u32,
    /// The rows of the table, one after another: the lower triangle with the diagonal where the table is
    /// symmetric, or else whole rows.
    entries: Vec<Delay>,
    is_symmetric: bool,
}

/// The policy for entries of a file that have no latency: negative numbers, `nan`, `na` and `-`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// They are errors.
    Refuse,
    /// The latency is that of the opposite direction, or else the least sum of two entries that lead over one
    /// other place.
    Detour,
}

impl fmt::Debug for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_symmetric { "symmetric" } else { "not symmetric" };
        write!(f, "Matrix({} places, {kind})", self.places)
    }
}

impl Matrix {
    /// Makes the table in which `latency(i, j)` is the latency from place `i` to place `j`.
    ///
    /// # Panics
    ///
    /// If there is no place.
    pub fn new(places: u32, latency: impl Fn(u32, u32) -> Delay) -> Matrix {
        let rows = (0..places).flat_map(|from| (0..places).map(move |to| (from, to)));
        Matrix::of(places, rows.map(|(from, to)| latency(from, to)).collect(), false)
    }

    /// Makes the symmetric table in which `latency(i, j)`, `j` not above `i`, is the latency between the
    /// places `i` and `j`.
    ///
    /// # Panics
    ///
    /// If there is no place.
    pub fn symmetric(places: u32, latency: impl Fn(u32, u32) -> Delay) -> Matrix {
        let rows = (0..places).flat_map(|from| (0..=from).map(move |to| (from, to)));
        Matrix::of(places, rows.map(|(from, to)| latency(from, to)).collect(), true)
    }

    pub(crate) fn of(places: u32, entries: Vec<Delay>, is_symmetric: bool) -> Matrix {
        assert!(places > 0, "a table of latencies has at least one place");
        Matrix { places, entries, is_symmetric }
    }

    /// Reads a table from a file of numbers, in multiples of `unit`.
    ///
    /// Line `i` has the latencies from place `i` to each place, separated by blanks or commas. A symmetric
    /// table may be a triangle: line `i` has the latencies to the places from the first to `i` itself. Names
    /// of places may stand in a line before the first and at the begin of each line. A file may also be a
    /// list of pairs: that of p2psim and the King data set, Meridian's, or `WonderNetwork`'s pings. Empty
    /// lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is no such table: one sentence, with the place.
    pub fn read(path: &Path, unit: Delay) -> Result<Matrix, ConfigError> {
        read::file(path, unit, Missing::Refuse)
    }

    /// Reads a table as [`Matrix::read`]; `missing` says what becomes of entries without a latency.
    ///
    /// # Errors
    ///
    /// As [`Matrix::read`], and if no other place joins the two of a missing entry.
    pub fn read_with(path: &Path, unit: Delay, missing: Missing) -> Result<Matrix, ConfigError> {
        read::file(path, unit, missing)
    }

    /// Reads a table from memory, as [`Matrix::read`]; `file` is the name that errors give it.
    ///
    /// # Errors
    ///
    /// As [`Matrix::read`].
    pub fn parse(file: &Path, text: String, unit: Delay) -> Result<Matrix, ConfigError> {
        read::text(parades_config::Source::new(file, text), unit, Missing::Refuse)
    }

    /// Reads a table from memory, as [`Matrix::read_with`].
    ///
    /// # Errors
    ///
    /// As [`Matrix::read_with`].
    pub fn parse_with(file: &Path, text: String, unit: Delay, missing: Missing) -> Result<Matrix, ConfigError> {
        read::text(parades_config::Source::new(file, text), unit, missing)
    }

    /// Returns the number of places.
    pub fn places(&self) -> u32 {
        self.places
    }

    /// Returns the latency from one node to another.
    #[inline]
    pub fn latency(&self, from: LpId, to: LpId) -> Delay {
        self.between(from.0 % self.places, to.0 % self.places)
    }

    /// Returns the latency from one place to another.
    #[inline]
    pub(crate) fn between(&self, from: u32, to: u32) -> Delay {
        self.entries[self.index(from, to)]
    }

    /// Sets the latency from one place to another.
    fn set(&mut self, from: u32, to: u32, latency: Delay) {
        let index = self.index(from, to);
        self.entries[index] = latency;
    }

    #[inline]
    fn index(&self, from: u32, to: u32) -> usize {
        if self.is_symmetric {
            let (row, column) = (from.max(to) as usize, from.min(to) as usize);
            row * (row + 1) / 2 + column
        } else {
            from as usize * self.places as usize + to as usize
        }
    }

    /// Returns the least latencies from a place to the other ones of `nodes` nodes. The place itself counts
    /// only if several of them share it.
    fn least_from(&self, place: u32, nodes: u32) -> Least {
        let others = (0..self.places.min(nodes)).filter(|&to| to != place);
        let is_shared = nodes - place > self.places;
        Least {
            group: place,
            inside: is_shared.then(|| self.between(place, place)),
            outside: others.map(|to| self.between(place, to)).min(),
        }
    }
}

/// Returns whether each pair of nodes has a channel of its own.
#[inline]
fn is_paired(layout: Layout) -> bool {
    layout.nodes() <= PAIRED_NODES_MAX
}

impl<M: Payload + Clone> RestorableCarrier<M> for Matrix {
    type Restore = Copies;
}

impl<M: Payload + Clone + Wire> SaveCarrier<M> for Matrix {
    fn write_access(&self, (): &(), _: &mut Vec<u8>) {}

    fn read_access(&self, _: LpId, _: Layout, _: &mut &[u8]) -> Result<(), Malformed> {
        Ok(())
    }

    fn write_lp(&self, lp: &Infallible, _: &mut Vec<u8>) {
        match *lp {}
    }

    fn read_lp(&self, _: LpId, _: Layout, _: &mut &[u8]) -> Result<Infallible, Malformed> {
        Err(Malformed::new("the carrier has no LP of its own"))
    }
}

impl<M: Payload + Clone> Carrier<M> for Matrix {
    type Packet = M;
    type Access = ();
    type Lp = Infallible;
    type Plan = Delay;

    const POSTS_AT_ONCE: bool = true;

    fn message(packet: &M) -> Option<&M> {
        Some(packet)
    }

    fn node_ports(&self, layout: Layout, _: LpId) -> u32 {
        if is_paired(layout) { layout.nodes() - 1 } else { 0 }
    }

    fn wire(&self, layout: Layout, wiring: &mut Wiring) {
        let nodes = layout.nodes();
        if is_paired(layout) {
            let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (LpId(from), LpId(to))));
            pairs.filter(|(from, to)| from != to).for_each(|(from, to)| {
                wiring.connect(from, to, self.latency(from, to));
            });
            return;
        }
        let of_place: Vec<_> = (0..self.places.min(nodes)).map(|place| self.least_from(place, nodes)).collect();
        near::wire((0..nodes).map(|node| of_place[(node % self.places) as usize]).collect(), wiring);
    }

    fn access(&self, _: LpId, _: Layout) {}

    fn start(&self, _: &mut impl CarrierContext<M>) -> Infallible {
        unreachable!("a table of latencies has no LP of its own")
    }

    #[inline]
    fn plan(&self, departure: Departure<'_, M>, (): &mut (), _: &Rng) -> Delay {
        self.latency(departure.from, departure.to)
    }

    #[inline]
    fn arrival(&self, delay: Delay, now: Time) -> Option<Time> {
        Some(now.checked_add(delay).unwrap_or(Time::MAX))
    }

    #[inline]
    fn post(&self, letter: Letter<M, Delay>, (): &mut (), node: &mut impl CarrierContext<M>) {
        let Letter { to, plan: delay, message, .. } = letter;
        let (from, layout) = (node.id(), node.layout());
        if to.0 >= layout.nodes() {
            return node.fail(format!("it sent to node {}, but there are only {} nodes", to.0, layout.nodes()));
        }
        if is_paired(layout) && to != from {
            // A node has no channel to itself, so those behind it move up.
            node.send(Port(to.0 - u32::from(to > from)), delay, message);
        } else {
            node.send_to(to, delay, message);
        }
    }

    #[inline]
    fn receive(&self, message: &M, (): &mut (), node: &mut impl NodeContext<M, M>) {
        let from = node.sender().unwrap_or(node.id());
        node.deliver(from, message.clone());
    }

    fn execute(&self, lp: &mut Infallible, _: Body<&M>, _: &mut impl CarrierContext<M>) {
        match *lp {}
    }
}

impl<M: Payload + Clone> Timed<M> for Matrix {
    #[inline]
    fn after(delay: Delay) -> Delay {
        delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_several_nodes_share_counts_for_the_least_latency() {
        let matrix = Matrix::new(2, |from, to| Delay::from_ms(if from == to { 1 } else { 10 + u64::from(from) }));
        let least = |place, nodes| {
            let Least { inside, outside, .. } = matrix.least_from(place, nodes);
            [inside, outside].map(|latency| latency.map(Delay::as_ps).map(|ps| ps / 1_000_000_000))
        };
        assert_eq!([least(0, 2), least(1, 2)], [[None, Some(10)], [None, Some(11)]]);
        assert_eq!([least(0, 3), least(1, 3)], [[Some(1), Some(10)], [None, Some(11)]]);
        assert_eq!(least(0, 1), [None, None], "a node alone sends to nobody else");
        assert_eq!(matrix.latency(LpId(0), LpId(2)), Delay::from_ms(1));
        assert_eq!(matrix.latency(LpId(3), LpId(2)), Delay::from_ms(11));
    }
}
