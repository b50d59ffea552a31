//! The receiver: a buffer for segments out of order, delivery in order, and acknowledgements.

use super::channel::Link;
use super::report::Ids;
use super::{Log, Message, Transfer, Undo, content};
use parades_core::prelude::*;
use serde::{Deserialize, Serialize};

/// The state of a receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receiver {
    pub(super) variables: Variables,
    /// The segments that arrived out of order. Segment `n` is in slot `n mod window`. A delivered segment
    /// stays until it is overwritten.
    pub(super) buffer: Box<[Buffered]>,
}

/// A segment in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffered {
    number: u64,
    content: u64,
}

/// A slot that has never been used. No segment has this number.
const EMPTY: Buffered = Buffered { number: u64::MAX, content: 0 };

/// The state of a receiver without its buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variables {
    /// The next segment to deliver.
    next: u64,
    arrived: u64,
    /// The number of segments that had arrived before.
    repeated: u64,
    link: Link,
}

impl Receiver {
    pub(super) fn new(window: u32) -> Receiver {
        Receiver { variables: Variables::default(), buffer: vec![EMPTY; window as usize].into() }
    }

    /// Returns the slot of a segment.
    #[inline]
    fn slot(&self, number: u64) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "below the length of the buffer")]
        ((number % self.buffer.len() as u64) as usize)
    }

    pub(super) fn fold(&self, digest: &mut Digest) {
        let Variables { next, arrived, repeated, link } = self.variables;
        for word in [next, arrived, repeated, link.sent, link.lost] {
            digest.word(word);
        }
    }

    pub(super) fn finish(&self, pair: u64, metrics: &mut Metrics) {
        let Variables { next, arrived, repeated, link } = self.variables;
        let waiting = self.buffer.iter().filter(|slot| slot.number != u64::MAX && slot.number >= next).count();
        let counts = [
            (Ids::SEGMENTS_ARRIVED, arrived),
            (Ids::DELIVERED, next),
            (Ids::REPEATED, repeated),
            (Ids::BUFFERED, waiting as u64),
            (Ids::ACKS_SENT, link.sent),
            (Ids::ACKS_LOST, link.lost),
        ];
        counts.into_iter().for_each(|(metric, count)| metrics.count(metric, count));
        metrics.add_to_sums(Ids::FLOWS, pair, &[next]);
    }
}

impl Transfer {
    /// Handles a segment that arrives, and acknowledges it.
    #[inline]
    pub(super) fn on_segment(
        &self,
        receiver: &mut Receiver,
        number: u64,
        content: u64,
        ctx: &mut Context<'_, Self>,
        mut log: Log<'_>,
    ) {
        if let Some(log) = &mut log {
            log.push(Undo::Receiver(receiver.variables));
        }
        receiver.variables.arrived += 1;
        let next = receiver.variables.next;
        if number == next {
            self.deliver(receiver, number, content, ctx);
            self.deliver_buffered(receiver, ctx);
        } else if number >= next.saturating_add(receiver.buffer.len() as u64) {
            return ctx.fail(format!("segment {number} arrived beyond the window that begins at {next}"));
        } else if number > next {
            self.buffer_segment(receiver, Buffered { number, content }, &mut log);
        } else {
            receiver.variables.repeated += 1;
        }
        let message = Message::Ack { next: receiver.variables.next, echo: number };
        self.transmit(&mut receiver.variables.link, self.ack_time, message, ctx);
    }

    /// Buffers a segment that arrived out of order, unless it has arrived before.
    #[inline]
    fn buffer_segment(&self, receiver: &mut Receiver, segment: Buffered, log: &mut Log<'_>) {
        let slot = receiver.slot(segment.number);
        let before = receiver.buffer[slot];
        if before.number == segment.number {
            receiver.variables.repeated += 1;
            return;
        }
        if let Some(log) = log {
            log.push(Undo::Buffered(slot, before));
        }
        receiver.buffer[slot] = segment;
    }

    /// Delivers the buffered segments that are next in order.
    #[inline]
    fn deliver_buffered(&self, receiver: &mut Receiver, ctx: &mut Context<'_, Self>) {
        loop {
            let Buffered { number, content } = receiver.buffer[receiver.slot(receiver.variables.next)];
            if number != receiver.variables.next {
                return;
            }
            self.deliver(receiver, number, content, ctx);
        }
    }

    /// Delivers a segment. Checks that it is the next one, with the content that was sent.
    #[inline]
    fn deliver(&self, receiver: &mut Receiver, number: u64, received: u64, ctx: &mut Context<'_, Self>) {
        let delivered = &mut receiver.variables.next;
        if received != content(self.pair(ctx.id()), *delivered) {
            ctx.fail(format!("segment {number} was delivered as the one after {delivered} others, with other content"));
        }
        *delivered += 1;
    }
}
