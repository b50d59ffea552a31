//! The plans of a port, made again where the rate or the delay of its link changes at a cut.
//!
//! A packet gets the time of its arrival when it is queued. In a run whose file changes the link at that
//! time, this is known before. A branch learns of it at the cut, so it plans the packets again that wait
//! there. Its results are then those of the other run.

use super::{Loss, Port};
use crate::line::{Line, Lines, Policy};
use parades_core::cut::InTransit;
use parades_core::time::{Delay, Time};
use parades_topology::{LinkId, NodeId, Topology};

/// A packet that leaves a port at a cut or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Departure {
    /// Its size in bytes, headers included. `None` for the packet that is being transmitted at the cut.
    pub(crate) bytes: Option<u32>,
    /// The time at which it was to arrive at the far end.
    pub(crate) arrival_before: Time,
    /// The time at which it arrives.
    pub(crate) arrival: Time,
}

impl Line {
    /// Returns true if a port that sends over this line transmits one packet after another without a pause,
    /// and each arrives after the line's delay: then the plan follows from the sizes of the packets.
    fn is_plannable(&self) -> bool {
        match &self.policy {
            Policy::Plain(_) => true,
            Policy::Managed(rules) => rules.device == 0 && rules.impairments.is_none() && !rules.discipline.shapes(),
        }
    }

    /// Returns true if the line of a branch from `time` on may differ from the line of the run before: it
    /// changes then, or it never changes and has other values.
    fn may_differ_from(&self, time: Time) -> bool {
        self.is_constant() || self.changes.iter().any(|(from, _)| *from == time)
    }
}

impl Line {
    /// Returns the delay of the line just before `time`, if it goes down then.
    fn delay_before_fall(&self, time: Time) -> Option<Delay> {
        let before = self.at(Time::from_ps(time.as_ps().saturating_sub(1)));
        (before.is_up && !self.at(time).is_up).then_some(before.delay)
    }
}

impl Port {
    /// Takes out what the port has planned for later than `time`, when its link goes down. `lost` are the
    /// departures of the packets that do not arrive, with their bytes.
    fn cut_off(&mut self, time: Time, lost: &[(Time, u32)]) {
        // A run that knew of this has planned nothing beyond.
        if self.sent.busy_until > time {
            let waiting = self.queue.iter().flat_map(|queue| queue.backlog.packets());
            let waiting: Vec<_> = waiting.skip_while(|packet| packet.start < time).copied().collect();
            let end_of_first = waiting.first().map_or(self.sent.busy_until, |packet| packet.start);
            let on_line = lost.iter().find(|&&(departure, _)| departure == end_of_first && departure > time);
            for bytes in waiting.iter().map(|packet| packet.bytes).chain(on_line.map(|&(_, bytes)| bytes)) {
                self.sent.packets -= 1;
                self.sent.bytes -= u64::from(bytes);
            }
            self.move_to(&vec![time; waiting.len()], time);
        }
        if !lost.is_empty() {
            self.queue.get_or_insert_default().lost[Loss::Down as usize] += lost.len() as u64;
        }
    }

    /// Plans the packets again that wait at `time`, when a branch begins. A packet that is being transmitted
    /// keeps its rate. Returns the packets that leave then or later, or `None` if their plan rests on later
    /// changes of the line.
    pub(crate) fn replan(&mut self, time: Time, line: &Line) -> Option<Vec<Departure>> {
        let end_before = self.sent.busy_until;
        if end_before < time || !line.is_plannable() || !line.may_differ_from(time) {
            return Some(Vec::new());
        }
        let waiting = self.queue.iter().flat_map(|queue| queue.backlog.packets()).copied();
        let waiting: Vec<_> = waiting.skip_while(|packet| packet.start < time).collect();
        let ends = waiting.iter().skip(1).map(|packet| packet.start).chain([end_before]);
        let first = waiting.first().map_or(end_before, |packet| packet.start);
        let delay_before = line.at(Time::from_ps(time.as_ps().saturating_sub(1))).delay;
        let departure = |bytes, before: Time, after: Time| Departure {
            bytes,
            arrival_before: before.saturating_add(delay_before),
            arrival: after.saturating_add(line.at(after).delay),
        };
        let (mut departures, mut starts, mut start) = (vec![departure(None, first, first)], Vec::new(), first);
        for (packet, before) in waiting.iter().zip(ends) {
            let after = start.saturating_add(line.at(start).serialisation(packet.bytes));
            departures.push(departure(Some(packet.bytes), before, after));
            starts.push(start);
            start = after;
        }
        if departures.iter().all(|departure| departure.arrival == departure.arrival_before) {
            return Some(departures);
        }
        if line.changes.last().is_some_and(|(from, _)| *from > time) {
            return None;
        }
        self.move_to(&starts, start);
        Some(departures)
    }

    /// Moves the last transmissions of the plan to these starts, and the end of the last one to `end`.
    fn move_to(&mut self, starts: &[Time], end: Time) {
        let busy = self.sent.busy.as_ps().saturating_add(end.as_ps()).saturating_sub(self.sent.busy_until.as_ps());
        (self.sent.busy, self.sent.busy_until) = (Delay::from_ps(busy), end);
        let Some(queue) = &mut self.queue else { return };
        let place = queue.backlog.packets().len() - starts.len();
        if let Some(sojourns) = &mut queue.sojourns {
            let before: Vec<Time> = queue.backlog.packets().iter().skip(place).map(|packet| packet.start).collect();
            for sojourn in &mut sojourns.packets {
                if let Ok(number) = before.binary_search(&sojourn.start) {
                    let arrival = sojourn.start.as_ps().saturating_sub(sojourn.waited.as_ps());
                    (sojourn.start, sojourn.waited) = (starts[number], starts[number].since(Time::from_ps(arrival)));
                }
            }
        }
        queue.backlog.move_to(place, starts);
    }
}

/// Plans the packets again that wait at the ports of a node, when a branch begins, and moves their arrivals.
/// A link that goes down loses its packets: those that wait, are transmitted or are on their way.
/// `sent` are the messages of the node on their way. `payload` returns the payload of a message that is a
/// packet, if the port of this number may have sent it.
///
/// # Errors
///
/// The link whose packets rest on later changes.
pub(crate) fn replan_ports<T>(
    ports: &mut [Port],
    around: (&Topology, &Lines),
    node: NodeId,
    headers: u32,
    time: Time,
    sent: &mut [InTransit<'_, T>],
    payload: impl Fn(&T, u32) -> Option<u32>,
) -> Result<(), LinkId> {
    let (topology, lines) = around;
    let mut is_found = vec![false; sent.len()];
    for (number, (port, interface)) in (0..).zip(ports.iter_mut().zip(topology.interfaces(node))) {
        let line = lines.by(topology, *interface);
        let frame = headers + u32::from(line.first.framing.bytes());
        if let Some(delay) = line.delay_before_fall(time) {
            let mut lost = Vec::new();
            // In a run that knew of this, no message comes later. Those lost before are at the end of time.
            let later = |message: &&mut InTransit<'_, T>| {
                message.receiver.0 == interface.neighbour.0 && message.arrival > time && message.arrival < Time::MAX
            };
            for message in sent.iter_mut().filter(later) {
                if let Some(payload) = payload(message.message, number) {
                    let departure = Time::from_ps(message.arrival.as_ps().saturating_sub(delay.as_ps()));
                    lost.push((departure, payload.saturating_add(frame)));
                    // At the end of virtual time, nothing happens any more.
                    message.arrival = Time::MAX;
                }
            }
            port.cut_off(time, &lost);
            continue;
        }
        let departures = port.replan(time, line).ok_or(interface.link)?;
        for Departure { bytes, arrival_before, arrival } in departures {
            // Lost packets are no messages. Where parallel links are equally busy, equal packets are alike.
            let is_it = |(message, is_found): &(&mut InTransit<'_, T>, &mut bool)| {
                !**is_found
                    && (message.receiver.0, message.arrival) == (interface.neighbour.0, arrival_before)
                    && payload(message.message, number)
                        .is_some_and(|payload| bytes.is_none_or(|bytes| bytes == payload.saturating_add(frame)))
            };
            if let Some((message, is_found)) = sent.iter_mut().zip(&mut is_found).find(is_it) {
                (message.arrival, *is_found) = (arrival, true);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::Framing;
    use crate::line::Quality;
    use crate::port::Arrival;
    use crate::queue::QueueLimit;
    use parades_core::random::Rng;
    use parades_core::restore::Undoable;

    fn at(us: u64) -> Time {
        Time::ZERO.checked_add(Delay::from_us(us)).expect("a short time")
    }

    /// A line on which 1000 bytes take 1 µs, with these changes.
    fn line(changes: &[(Time, Quality)]) -> Line {
        let policy = Policy::Plain(QueueLimit::Packets(10));
        Line { first: quality(8_000_000_000, 5), policy, changes: changes.into() }
    }

    fn quality(rate_bps: u64, delay_us: u64) -> Quality {
        Quality { rate_bps, delay: Delay::from_us(delay_us), loss: 0.0, is_up: true, framing: Framing::None }
    }

    /// Returns a port that has got these packets, and their arrivals in microseconds.
    fn port_after(arrivals: &[(u64, u32)], line: &Line) -> (Port, Vec<u64>) {
        let (mut port, limit) = (Port::default(), QueueLimit::Packets(10));
        let arrive = |&(us, bytes): &(u64, u32)| {
            let arrival = Arrival { now: at(us), precedes: None };
            let delay =
                port.unrecorded().accept(arrival, bytes, line, limit, &Rng::stream(1, 1)).expect("there is room");
            us + delay.as_ps() / 1_000_000
        };
        let arrivals = arrivals.iter().map(arrive).collect();
        (port, arrivals)
    }

    #[test]
    fn a_port_that_learns_of_a_change_has_the_plan_of_one_that_knew_it() {
        // In the second case, the port is idle for 7 us before.
        for idle in [0, 7] {
            let packets = [(0, 1000), (0, 4000), (1, 2000), (2, 1000), (2, 3000)].map(|(us, bytes)| (us + idle, bytes));
            // After 3 us the second packet is on the line, and three wait.
            let change = at(idle + 3);
            let slower = line(&[(change, quality(4_000_000_000, 5))]);
            let farther = line(&[(change, quality(16_000_000_000, 9))]);
            for changed in [slower, farther] {
                let (known, arrivals) = port_after(&packets, &changed);
                let (mut port, before) = port_after(&packets, &line(&[]));
                let departures = port.replan(change, &changed).expect("nothing changes later");
                assert_eq!(port, known);
                let moved: Vec<_> = departures.iter().map(|departure| departure.arrival.as_ps() / 1_000_000).collect();
                assert_eq!(moved, arrivals[1..], "the first has left, the second keeps its rate");
                let due: Vec<_> =
                    departures.iter().map(|departure| departure.arrival_before.as_ps() / 1_000_000).collect();
                assert_eq!(due, before[1..]);
            }
        }
    }

    #[test]
    fn a_port_without_a_change_keeps_its_plan() {
        let (mut port, _) = port_after(&[(0, 1000), (0, 4000), (1, 2000)], &line(&[]));
        let before = port.clone();
        port.replan(at(3), &line(&[])).expect("nothing changes");
        port.replan(at(3), &line(&[(at(2), quality(1, 1)), (at(9), quality(1, 1))])).expect("nothing changes now");
        assert_eq!(port, before);
    }

    #[test]
    fn a_plan_that_rests_on_later_changes_is_not_made_again() {
        let (mut port, _) = port_after(&[(0, 1000), (0, 4000), (1, 2000)], &line(&[]));
        let twice = line(&[(at(3), quality(4_000_000_000, 5)), (at(9), quality(8_000_000_000, 5))]);
        assert_eq!(port.replan(at(3), &twice), None);
    }
}
