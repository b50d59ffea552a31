//! The time that a flow would take alone, on a network without other traffic: the divisor of its *slowdown*.
//!
//! All packets of a burst stand ready at the first link at once, and each node forwards a packet when its
//! last bit has arrived. So the time of a burst is exact for a network that is idle and loses nothing. It
//! leaves out congestion control: a flow that nothing disturbs, but that starts slowly, has a slowdown above
//! 1. Where links fail or change while the flow lasts, each burst takes the fastest of the flow's paths.
//!
//! *References*: M. Alizadeh et al., "pFabric: minimal near-optimal datacenter transport", SIGCOMM 2013,
//! section 5; B. Montazeri et al., "Homa", SIGCOMM 2018, section 5, which divides by the time of an unloaded
//! network.

use super::path;
use crate::description::Framing;
use crate::network::Layout;
use crate::protocols::{Requests, Tcp, Transfer};
use parades_core::time::{Delay, Time};
use parades_tcp::header::{BASE_BYTES, Flags, Header, SynOptions, Timestamps};

/// A link on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hop {
    rate_bps: u64,
    delay: Delay,
    framing: Framing,
}

/// An idle path in one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Idle(Vec<Hop>);

/// Packets that stand ready at once: all have the same size, except the last one. Sizes are bytes with
/// headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Burst {
    packets: u64,
    full: u32,
    last: u32,
}

impl Burst {
    /// Returns the burst of some bytes of payload.
    fn of(bytes: u64, payload: u32, headers: u32) -> Burst {
        let packets = bytes.div_ceil(u64::from(payload)).max(1);
        let last = bytes - (packets - 1) * u64::from(payload);
        let last = u32::try_from(last).expect("it is at most the payload of a packet");
        Burst { packets, full: payload.saturating_add(headers), last: last.saturating_add(headers) }
    }

    fn one(bytes: u32) -> Burst {
        Burst { packets: 1, full: bytes, last: bytes }
    }
}

impl Hop {
    fn serialisation(&self, bytes: u32) -> Delay {
        let frame = u64::from(bytes) + u64::from(self.framing.bytes());
        Delay::serialisation(self.framing.bytes_on_wire(frame), self.rate_bps)
    }
}

impl Idle {
    /// Returns the time from the first bit at the source to the last bit at the destination.
    ///
    /// The last packet waits behind the one before it at links up to some link `k`, and nowhere after. The
    /// one before it leaves link `k` when the first packet has crossed all links up to `k`, and the others
    /// have followed at the pace of the slowest of these links. The result is the maximum over `k`.
    fn time_of(&self, burst: Burst) -> Delay {
        let delays = self.0.iter().fold(Delay::ZERO, |sum, hop| sum.saturating_add(hop.delay));
        let last_from = |k: usize| {
            self.0[k..].iter().fold(Delay::ZERO, |sum, hop| sum.saturating_add(hop.serialisation(burst.last)))
        };
        if burst.packets < 2 {
            return delays.saturating_add(last_from(0));
        }
        let (mut first, mut slowest, mut most) = (Delay::ZERO, Delay::ZERO, Delay::ZERO);
        for (k, hop) in self.0.iter().enumerate() {
            let full = hop.serialisation(burst.full);
            (first, slowest) = (first.saturating_add(full), slowest.max(full));
            let others = Delay::from_ps(slowest.as_ps().saturating_mul(burst.packets - 2));
            most = most.max(first.saturating_add(others).saturating_add(last_from(k)));
        }
        delays.saturating_add(most)
    }
}

/// A flow, and the time during which it may use paths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Life {
    pub(super) flow: u32,
    pub(super) first: Time,
    pub(super) last: Time,
}

/// The different paths of a flow in one direction, as links fail and change.
#[derive(Clone, Debug, Default)]
struct Paths {
    all: Vec<Idle>,
    /// The place of the last one.
    last: usize,
}

/// The paths of a flow, there and back.
#[derive(Clone, Debug, Default)]
pub(super) struct Ways([Paths; 2]);

impl Ways {
    /// Returns the ways of flows, in their order. The time is the outer loop, since the tables of all times
    /// together do not fit into a cache.
    pub(super) fn of(net: &Layout, lives: &[Life]) -> Vec<Ways> {
        let mut found = vec![Ways::default(); lives.len()];
        let mut hops = Vec::new();
        for (life, ways) in lives.iter().zip(&mut found) {
            ways.look(net, life.flow, life.first, &mut hops);
        }
        let mut order: Vec<usize> = (0..lives.len()).collect();
        order.sort_by_key(|&place| lives[place].first);
        let (Some(first), Some(last)) =
            (lives.iter().map(|life| life.first).min(), lives.iter().map(|life| life.last).max())
        else {
            return found;
        };
        let mut later = order.into_iter().peekable();
        let mut alive: Vec<usize> = Vec::new();
        for time in net.changes_between(first, last) {
            alive.extend(std::iter::from_fn(|| later.next_if(|&place| lives[place].first < time)));
            alive.retain(|&place| lives[place].last > time);
            for &place in &alive {
                found[place].look(net, lives[place].flow, time, &mut hops);
            }
        }
        found
    }

    /// Adds the paths of a flow at a time.
    fn look(&mut self, net: &Layout, flow: u32, time: Time, hops: &mut Vec<path::Hop>) {
        for (is_back, paths) in [false, true].into_iter().zip(&mut self.0) {
            paths.look(net, flow, is_back, time, hops);
        }
    }

    /// Returns the paths there and back; `None` if there is none in one direction.
    fn both(&self) -> Option<[&Paths; 2]> {
        let [there, back] = &self.0;
        (!there.all.is_empty() && !back.all.is_empty()).then_some([there, back])
    }
}

impl Paths {
    /// Adds the path of a flow in one direction at a time, unless it is known. `hops` is overwritten.
    fn look(&mut self, net: &Layout, flow: u32, is_back: bool, time: Time, hops: &mut Vec<path::Hop>) {
        if !path::find(net, flow, is_back, time, hops) {
            return;
        }
        let path = || {
            hops.iter().map(|(_, interface)| {
                let quality = net.lines.by(&net.topology, *interface).at(time);
                Hop { rate_bps: quality.rate_bps, delay: quality.delay, framing: quality.framing }
            })
        };
        // Most changes do not concern the path.
        if self.all.get(self.last).is_some_and(|Idle(hops)| hops.iter().copied().eq(path())) {
            return;
        }
        let known = self.all.iter().position(|Idle(hops)| hops.iter().copied().eq(path()));
        self.last = known.unwrap_or(self.all.len());
        if known.is_none() {
            self.all.push(Idle(path().collect()));
        }
    }

    /// Returns the time of a burst on the path that is fastest for it.
    fn time_of(&self, burst: Burst) -> Delay {
        self.all.iter().map(|path| path.time_of(burst)).min().expect("there is a path")
    }
}

/// Returns the time of a stream: a SYN and its answer, then the data, as fast as the application writes them.
pub(super) fn of_tcp(net: &Layout, tcp: &Tcp, ways: &Ways) -> Option<Delay> {
    let [there, back] = ways.both()?;
    let Tcp { settings, bytes, writes, read_rate_bps } = tcp;
    let timestamps = settings.timestamps.then(Timestamps::default);
    let syn = SynOptions {
        mss: settings.announces_mss.then_some(0),
        window_shift: settings.window_scaling.then_some(0),
        has_sack: settings.sack,
    };
    let syn = Header { flags: Flags::SYN, syn, timestamps, ..Header::default() };
    let data = Header { flags: Flags::ACK, timestamps, ..Header::default() };
    let options = if settings.options_reduce_payload { data.bytes() - BASE_BYTES } else { 0 };
    let [syn, data] = [syn, data].map(|header| header.bytes() + net.ip.header_bytes());
    let payload = settings.mss.saturating_sub(options).max(1);
    let handshake = there.time_of(Burst::one(syn)).saturating_add(back.time_of(Burst::one(syn)));
    let burst = |bytes| there.time_of(Burst::of(bytes, payload, data));
    let data = match writes.and_then(|writes| Some((writes, writes.gap()?))) {
        None => burst(*bytes),
        Some((writes, gap)) => {
            let pieces = bytes.div_ceil(u64::from(writes.bytes));
            let last = bytes - (pieces - 1) * u64::from(writes.bytes);
            let after = |piece: u64| Delay::from_ps(gap.as_ps().saturating_mul(piece));
            after(1).saturating_add(burst(*bytes)).max(after(pieces).saturating_add(burst(last)))
        }
    };
    let data = match read_rate_bps {
        None => data,
        // The application reads the last piece after its arrival, and no byte before the first piece.
        Some(rate_bps) => {
            let reading = |bytes: u64| Delay::serialisation(bytes, *rate_bps);
            let piece = bytes.min(&u64::from(payload)).to_owned();
            let last = bytes - (bytes.div_ceil(piece) - 1) * piece;
            data.saturating_add(reading(last)).max(burst(piece).saturating_add(reading(*bytes)))
        }
    };
    Some(handshake.saturating_add(data))
}

/// Returns the time of a transfer, up to the last acknowledgement.
pub(super) fn of_transfer(net: &Layout, transfer: &Transfer, ways: &Ways) -> Option<Delay> {
    let data = Burst::of(transfer.bytes, transfer.segment, net.headers);
    let [there, back] = ways.both()?;
    Some(there.time_of(data).saturating_add(back.time_of(Burst::one(net.headers))))
}

/// Returns the time of a request, its mean service, and its response.
pub(super) fn of_requests(net: &Layout, requests: &Requests, ways: &Ways) -> Option<Delay> {
    let request = Burst::one(requests.request.saturating_add(net.headers));
    let response = Burst::of(requests.response, requests.packet, net.headers);
    let [there, back] = ways.both()?;
    let there = there.time_of(request).saturating_add(requests.service.mean());
    Some(there.saturating_add(back.time_of(response)))
}

/// Returns the slowdown of something that took `took`; `None` if it would take no time alone.
pub(super) fn slowdown(took: Delay, alone: Delay) -> Option<f64> {
    (alone > Delay::ZERO).then(|| took.as_ps() as f64 / alone.as_ps() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path of links on which 1000 bytes take these times in microseconds, each 5 µs long.
    fn idle(us_of_1000_bytes: &[u64]) -> Idle {
        let hop = |&us: &u64| Hop { rate_bps: 8_000_000_000 / us, delay: Delay::from_us(5), framing: Framing::None };
        Idle(us_of_1000_bytes.iter().map(hop).collect())
    }

    /// The arrival of the last packet, packet by packet: each starts on a link when it is there whole and the
    /// packet before it has left.
    fn simulated(Idle(hops): &Idle, burst: Burst) -> Delay {
        let mut free = vec![Time::ZERO; hops.len()];
        let mut arrived = Time::ZERO;
        for number in 1..=burst.packets {
            arrived = Time::ZERO;
            let bytes = if number == burst.packets { burst.last } else { burst.full };
            for (hop, free) in hops.iter().zip(&mut free) {
                *free = arrived.max(*free).saturating_add(hop.serialisation(bytes));
                arrived = free.saturating_add(hop.delay);
            }
        }
        arrived.since(Time::ZERO)
    }

    #[test]
    fn the_time_of_a_burst_is_that_of_a_simulation_packet_by_packet() {
        for rates in [&[1_u64][..], &[1, 2], &[2, 1], &[1, 10, 1], &[10, 1, 2, 8, 1], &[4, 5, 20, 1]] {
            for (packets, last) in [(1, 1000), (1, 40), (2, 1000), (2, 1), (3, 500), (50, 1000), (50, 10)] {
                let (path, burst) = (idle(rates), Burst { packets, full: 1000, last });
                assert_eq!(path.time_of(burst), simulated(&path, burst), "{rates:?} {burst:?}");
            }
        }
    }

    #[test]
    fn a_burst_has_all_bytes_and_headers() {
        assert_eq!(Burst::of(2500, 1000, 40), Burst { packets: 3, full: 1040, last: 540 });
        assert_eq!(Burst::of(2000, 1000, 40), Burst { packets: 2, full: 1040, last: 1040 });
        assert_eq!(Burst::of(1, 1000, 40), Burst { packets: 1, full: 1040, last: 41 });
    }
}
