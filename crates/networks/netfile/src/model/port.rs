//! The sending end of a link: a transmitter, and the drop-tail queue before it.
//!
//! When a packet comes, all that will become of it is known: when it starts, as those before it leave in order; the link's rate then; when
//! its last bit leaves; whether the link goes down before it arrives, since the times of failures are constants. So there is one event a
//! hop, as in `parades_packet`, and a packet that a failure will lose is lost at once.

use crate::model::wire::Wire;
use parades_core::digest::Digest;
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_packet::queue::{self, DropTail, Waiting};

/// Why a packet did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The queue was full.
    Queue,
    /// By chance.
    Chance,
    /// The link was down, or went down; or there was no way.
    Down,
}

/// How many reasons there are.
pub(crate) const LOSSES: usize = 3;

/// What changes at every packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// When the last bit of all that was accepted leaves.
    pub(crate) busy_until: Time,
    /// How long it was, and will be, busy with that.
    pub(crate) busy: Delay,
    /// Transmitted packets.
    pub(crate) packets: u64,
    /// Their bytes, headers included.
    pub(crate) bytes: u64,
}

/// What changes when a packet waits or is lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Queue {
    /// By reason.
    lost: [u64; LOSSES],
    tail: DropTail,
}

/// What a rollback needs to take [`Port::accept`] back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    sent: Sent,
    queue: Option<([u64; LOSSES], queue::Before)>,
}

/// The state of one end of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Port {
    sent: Sent,
    queue: Option<Box<Queue>>,
}

impl Port {
    pub(crate) fn sent(&self) -> &Sent {
        &self.sent
    }

    /// Packets that did not arrive, by reason.
    pub(crate) fn lost(&self) -> [u64; LOSSES] {
        self.queue.as_ref().map_or([0; LOSSES], |queue| queue.lost)
    }

    /// The most packets that ever waited.
    pub(crate) fn waiting_max(&self) -> u32 {
        self.queue.as_ref().map_or(0, |queue| queue.tail.most())
    }

    /// How many packets wait at `now`.
    pub(crate) fn waiting_at(&self, now: Time) -> u64 {
        self.queue.as_ref().map_or(0, |queue| queue.tail.waiting_at(now)) as u64
    }

    /// For how long it has been busy until `now`.
    pub(crate) fn busy_at(&self, now: Time) -> Delay {
        // What it has accepted and not yet transmitted does not count: it is busy with that from now on, without a pause.
        Delay::from_ps(self.sent.busy.as_ps().saturating_sub(self.sent.busy_until.since(now).as_ps()))
    }

    /// Takes out what has left the queue by `now`, and shows it.
    #[inline(always)]
    pub(crate) fn drain(&mut self, now: Time, left: impl FnMut(Waiting)) {
        if let Some(queue) = &mut self.queue {
            queue.tail.drain(now, left);
        }
    }

    /// Takes a packet of `bytes` bytes: how long it is until it is at the other end, or why it never will be. The queue has been drained.
    #[inline(always)]
    pub(crate) fn accept(&mut self, now: Time, bytes: u32, wire: &Wire, rng: &mut Rng) -> Result<Delay, Loss> {
        let verdict = self.try_accept(now, bytes, wire, rng);
        if let Err(loss) = verdict {
            self.queue.get_or_insert_default().lost[loss as usize] += 1;
        }
        verdict
    }

    #[inline(always)]
    fn try_accept(&mut self, now: Time, bytes: u32, wire: &Wire, rng: &mut Rng) -> Result<Delay, Loss> {
        if !wire.changes.is_empty() && !wire.at(now).up {
            return Err(Loss::Down);
        }
        let start = self.sent.busy_until.max(now);
        if start > now && !self.queue.get_or_insert_default().tail.wait(Waiting { start, bytes }, wire.queue) {
            return Err(Loss::Queue);
        }
        let down = wire.next_down(now);
        let serialisation = Delay::serialisation(u64::from(bytes), wire.at(start).rate_bps);
        // A departure past the end of time is an overflow where the packet is sent.
        let departure = start.checked_add(serialisation).unwrap_or(Time::MAX);
        let sent = &mut self.sent;
        sent.busy_until = departure.min(down);
        sent.busy = sent.busy.saturating_add(sent.busy_until.since(start));
        if departure > down {
            return Err(Loss::Down);
        }
        sent.packets += 1;
        sent.bytes += u64::from(bytes);
        let quality = wire.at(departure);
        let under_way = departure.since(now).saturating_add(quality.delay);
        if departure.since(now).saturating_add(quality.delay) > down.since(now) && down < Time::MAX {
            return Err(Loss::Down);
        }
        if quality.loss > 0.0 && rng.chance(quality.loss) {
            return Err(Loss::Chance);
        }
        Ok(under_way)
    }

    /// What [`Port::undo_accept`] will need, the queue having been drained.
    pub(crate) fn before(&self) -> Before {
        Before { sent: self.sent, queue: self.queue.as_ref().map(|queue| (queue.lost, queue.tail.before())) }
    }

    /// Takes a [`Port::accept`] back.
    pub(crate) fn undo_accept(&mut self, before: Before) {
        self.sent = before.sent;
        match (&mut self.queue, before.queue) {
            (Some(queue), Some((lost, waited))) => {
                queue.lost = lost;
                queue.tail.undo_wait(waited);
            }
            (queue, _) => *queue = None,
        }
    }

    /// Takes one step of a [`Port::drain`] back, the last one first.
    pub(crate) fn undo_drain(&mut self, left: Waiting) {
        self.queue.get_or_insert_default().tail.undo_drain(left);
    }

    pub(crate) fn fold(&self, digest: &mut Digest) {
        let Sent { busy_until, busy, packets, bytes } = self.sent;
        let words = [busy_until.as_ps(), busy.as_ps(), packets, bytes, u64::from(self.waiting_max())];
        words.into_iter().chain(self.lost()).for_each(|word| digest.word(word));
    }
}
