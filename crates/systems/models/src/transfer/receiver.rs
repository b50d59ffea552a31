//! The receiving end: a buffer for what comes out of order, delivery in order, acknowledgements.

use super::channel::Link;
use super::report::Ids;
use super::{Log, Message, Transfer, Undo, content};
use parades_core::prelude::*;

/// A receiver's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receiver {
    pub(super) figures: Figures,
    /// What came out of order: the segment `n` is in slot `n mod window`. What is delivered stays until it is overwritten.
    pub(super) buffer: Box<[Buffered]>,
}

/// A segment in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffered {
    number: u64,
    content: u64,
}

/// A slot that was never used: no segment has this number.
const EMPTY: Buffered = Buffered { number: u64::MAX, content: 0 };

/// All of a receiver's state but the buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// The next segment to deliver.
    next: u64,
    arrived: u64,
    /// Segments that arrived again.
    repeated: u64,
    link: Link,
}

impl Receiver {
    pub(super) fn new(window: u32) -> Receiver {
        Receiver { figures: Figures::default(), buffer: vec![EMPTY; window as usize].into() }
    }

    /// The slot of a segment.
    #[inline]
    fn slot(&self, number: u64) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "below the length of the buffer")]
        ((number % self.buffer.len() as u64) as usize)
    }

    pub(super) fn fold(&self, digest: &mut Digest) {
        let Figures { next, arrived, repeated, link } = self.figures;
        for word in [next, arrived, repeated, link.sent, link.lost] {
            digest.word(word);
        }
    }

    pub(super) fn finish(&self, pair: u64, metrics: &mut Metrics) {
        let Figures { next, arrived, repeated, link } = self.figures;
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
    /// A segment arrives.
    #[inline]
    pub(super) fn receive(
        &self,
        receiver: &mut Receiver,
        number: u64,
        content: u64,
        ctx: &mut Context<'_, Self>,
        mut log: Log<'_>,
    ) {
        if let Some(log) = &mut log {
            log.push(Undo::Receiver(receiver.figures));
        }
        receiver.figures.arrived += 1;
        let next = receiver.figures.next;
        if number == next {
            self.deliver(receiver, number, content, ctx);
            self.deliver_buffered(receiver, ctx);
        } else if number >= next.saturating_add(receiver.buffer.len() as u64) {
            return ctx.fail(format!("segment {number} arrived beyond the window that begins at {next}"));
        } else if number > next {
            self.buffer_segment(receiver, Buffered { number, content }, &mut log);
        } else {
            receiver.figures.repeated += 1;
        }
        let message = Message::Ack { next: receiver.figures.next, echo: number };
        self.transmit(&mut receiver.figures.link, self.ack_time, message, ctx);
    }

    /// Keeps a segment that has come out of order, unless it is there already.
    #[inline]
    fn buffer_segment(&self, receiver: &mut Receiver, segment: Buffered, log: &mut Log<'_>) {
        let slot = receiver.slot(segment.number);
        let before = receiver.buffer[slot];
        if before.number == segment.number {
            receiver.figures.repeated += 1;
            return;
        }
        if let Some(log) = log {
            log.push(Undo::Buffered(slot, before));
        }
        receiver.buffer[slot] = segment;
    }

    /// Delivers what the buffer holds next in order.
    #[inline]
    fn deliver_buffered(&self, receiver: &mut Receiver, ctx: &mut Context<'_, Self>) {
        loop {
            let Buffered { number, content } = receiver.buffer[receiver.slot(receiver.figures.next)];
            if number != receiver.figures.next {
                return;
            }
            self.deliver(receiver, number, content, ctx);
        }
    }

    /// Hands a segment to the user of the data, who checks that it is the next one and what was sent.
    #[inline]
    fn deliver(&self, receiver: &mut Receiver, number: u64, received: u64, ctx: &mut Context<'_, Self>) {
        let delivered = &mut receiver.figures.next;
        if received != content(self.pair(ctx.id()), *delivered) {
            ctx.fail(format!("segment {number} was delivered as the one after {delivered} others, with other content"));
        }
        *delivered += 1;
    }
}
