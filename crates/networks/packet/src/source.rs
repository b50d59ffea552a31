//! The sending end of a flow or of a group: when its packets leave, and how large they are. Of use to any model whose LPs send packets.

use crate::flow::{Limit, PAYLOAD_MAX, Source};
use crate::traffic::{Pattern, Sizes};
use parades_core::prelude::*;

/// What a source sends, and when.
#[derive(Clone, Copy, Debug)]
pub struct Sending<'a> {
    /// When it starts.
    pub start: Time,
    /// When it ends.
    pub limit: Limit,
    /// How much a packet carries.
    pub sizes: &'a Sizes,
    /// When packets are sent.
    pub pattern: &'a Pattern,
}

/// A packet that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// How many were sent before.
    pub sequence: u32,
    /// Bytes, headers not included.
    pub payload: u32,
}

impl Sending<'_> {
    /// The initial state of the source; its timer is set.
    pub fn begin<M: Model>(self, timer: TimerId, ctx: &mut Context<'_, M>) -> Source {
        let first = self.pattern.first(self.start, self.sizes, ctx.rng());
        let first = first.filter(|&(time, _)| self.is_open_at(time));
        if let Some((time, _)) = first {
            ctx.set_timer(timer, time.since(Time::ZERO));
        }
        let on_until = first.map_or(Time::MAX, |(_, on_until)| on_until);
        Source { packets: 0, bytes: 0, on_until, finished: first.is_none() }
    }

    /// Counts the packet that is due now, and sets the timer to the one after it. `None` where 2^32 have been sent.
    #[inline]
    pub fn next<M: Model>(self, source: &mut Source, timer: TimerId, ctx: &mut Context<'_, M>) -> Option<Due> {
        let sequence = u32::try_from(source.packets).ok()?;
        let size = self.sizes.draw(ctx.rng());
        let left = match self.limit {
            Limit::Bytes(total) => total - source.bytes,
            Limit::Until(_) | Limit::Never => u64::MAX,
        };
        let payload = u32::try_from(left).map_or(size, |left| size.min(left));
        source.packets += 1;
        source.bytes += u64::from(payload);
        source.finished = left == u64::from(payload);
        if !source.finished {
            let now = ctx.now();
            let next = self.pattern.next(now, payload, &mut source.on_until, ctx.rng());
            match next.filter(|&time| self.is_open_at(time)) {
                Some(time) => ctx.set_timer(timer, time.since(now)),
                None => source.finished = true,
            }
        }
        Some(Due { sequence, payload })
    }

    /// Whether it still sends at `time`.
    fn is_open_at(self, time: Time) -> bool {
        match self.limit {
            Limit::Until(end) => time < end,
            Limit::Bytes(_) | Limit::Never => true,
        }
    }

    /// The least payload that a packet of it carries.
    pub fn least_payload(self) -> Option<u32> {
        let least = self.sizes.least()?;
        Some(match (self.limit, self.sizes) {
            (Limit::Bytes(total), Sizes::Constant(size)) => match u32::try_from(total % u64::from(*size)) {
                Ok(rest) if rest > 0 => rest,
                _ => least,
            },
            (Limit::Bytes(_), Sizes::Mix(_)) => 1,
            (Limit::Until(_) | Limit::Never, _) => least,
        })
    }

    /// What makes no sense about it, as the end of a sentence that begins with whose it is.
    ///
    /// # Errors
    ///
    /// That sentence.
    pub fn check(self) -> Result<(), String> {
        let (Some(least), Some(greatest)) = (self.sizes.least(), self.sizes.greatest()) else {
            return Err("has no packet size of a weight above zero; give it one".into());
        };
        if least == 0 || greatest > PAYLOAD_MAX {
            let wrong = if least == 0 { 0 } else { greatest };
            return Err(format!("has packets of {wrong} bytes; give them between 1 and {PAYLOAD_MAX}"));
        }
        if self.limit == Limit::Bytes(0) {
            return Err("has no bytes to send; give it some".into());
        }
        self.pattern.check(greatest)
    }
}
