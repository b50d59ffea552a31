//! The channel of an LP to its peer: a link that sends one message after another, with loss, delay and
//! jitter.

use super::{Message, PEER, Transfer};
use parades_core::prelude::*;
use serde::{Deserialize, Serialize};

/// The sending end of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Link {
    /// The time at which the latest message will have left.
    free_ps: u64,
    pub(super) sent: u64,
    pub(super) lost: u64,
}

impl Transfer {
    /// Sends a message, whose serialisation time is `leaving`, after the messages before it have left.
    #[inline]
    pub(super) fn transmit(&self, link: &mut Link, leaving: Delay, message: Message, ctx: &mut Context<'_, Self>) {
        link.sent += 1;
        let waiting = Time::from_ps(link.free_ps).since(ctx.now());
        let leaves = waiting.saturating_add(leaving);
        link.free_ps = ctx.now().as_ps().saturating_add(leaves.as_ps());
        if ctx.rng().chance(self.parameters.loss) {
            link.lost += 1;
            return;
        }
        let jitter = ctx.rng().uniform_delay(Delay::ZERO, self.parameters.jitter);
        ctx.send(PEER, leaves.saturating_add(self.parameters.delay).saturating_add(jitter), message);
    }
}
