//! The sender: window, retransmission and recovery.

use super::channel::Link;
use super::report::Ids;
use super::round_trip::RoundTrip;
use super::{Log, Message, Transfer, Undo, content};
use parades_core::prelude::*;
use serde::{Deserialize, Serialize};

/// The timer for the end of a pause, when the next transfer begins.
pub(super) const START: TimerId = TimerId(0);
/// The retransmission timer, which expires if no acknowledgement of new data arrives.
pub(super) const RETRANSMISSION: TimerId = TimerId(1);

/// Number of duplicate acknowledgements after which a segment counts as lost. In a recovery, also the number
/// of places by which an arrival must be ahead of a missing segment.
const DUPLICATES: u64 = 3;

/// The state of a sender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    pub(super) variables: Variables,
    /// The segments of the window. Segment `n` is in slot `n mod window`.
    pub(super) sent: Box<[Sent]>,
}

/// A segment that was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// The time at which it was last given to the link, in picoseconds.
    at_ps: u64,
    /// The number of times that it was sent.
    transmissions: u32,
    /// True if it is known to have arrived, though an older segment is not.
    arrived: bool,
}

/// The state of a sender without its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variables {
    /// The oldest segment that is not acknowledged.
    oldest: u64,
    /// The next segment that will be sent for the first time.
    next: u64,
    /// The first segment after the present transfer.
    end: u64,
    /// One more than the furthest segment known to have arrived.
    arrived: u64,
    /// The number of duplicate acknowledgements in a row.
    duplicates: u64,
    /// The end of the recovery, which lasts until all segments below this number are acknowledged.
    recover: u64,
    begun_ps: u64,
    round_trip: RoundTrip,
    link: Link,
    transfers: u64,
    timeouts: u64,
    fast_retransmissions: u64,
    acks: u64,
}

impl Sender {
    pub(super) fn new(window: u32) -> Sender {
        let variables = Variables {
            oldest: 0,
            next: 0,
            end: 0,
            arrived: 0,
            duplicates: 0,
            recover: 0,
            begun_ps: 0,
            round_trip: RoundTrip::NEW,
            link: Link::default(),
            transfers: 0,
            timeouts: 0,
            fast_retransmissions: 0,
            acks: 0,
        };
        Sender { variables, sent: vec![Sent::default(); window as usize].into() }
    }

    /// Returns the slot of a segment.
    #[inline]
    fn slot(&self, number: u64) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "below the length of the window")]
        ((number % self.sent.len() as u64) as usize)
    }

    pub(super) fn fold(&self, digest: &mut Digest) {
        let Variables { oldest, next, round_trip, link, acks, .. } = self.variables;
        for word in [oldest, next, round_trip.timeout().as_ps(), link.sent, link.lost, acks] {
            digest.word(word);
        }
    }

    pub(super) fn finish(&self, pair: u64, metrics: &mut Metrics) {
        let Variables { next, link, transfers, timeouts, fast_retransmissions, acks, .. } = self.variables;
        let counts = [
            (Ids::SEGMENTS_SENT, link.sent),
            (Ids::SEGMENTS_LOST, link.lost),
            (Ids::RETRANSMITTED, link.sent - next),
            (Ids::TRANSFERS, transfers),
            (Ids::TIMEOUTS, timeouts),
            (Ids::FAST_RETRANSMISSIONS, fast_retransmissions),
            (Ids::ACKS_ARRIVED, acks),
        ];
        counts.into_iter().for_each(|(metric, count)| metrics.count(metric, count));
        let of_pair = [0, link.sent, link.sent - next, link.lost, transfers, timeouts, fast_retransmissions];
        metrics.add_to_sums(Ids::FLOWS, pair, &of_pair);
    }
}

impl Transfer {
    /// Sets the timer for the next transfer.
    pub(super) fn pause(&self, ctx: &mut Context<'_, Self>) {
        let pause = ctx.rng().exponential_delay(self.parameters.pause);
        ctx.set_timer(START, pause);
    }

    /// Begins a transfer.
    pub(super) fn begin_transfer(&self, sender: &mut Sender, ctx: &mut Context<'_, Self>, mut log: Log<'_>) {
        log_variables(sender, &mut log);
        let variables = &mut sender.variables;
        variables.end += self.parameters.segments;
        variables.begun_ps = ctx.now().as_ps();
        self.fill_window(sender, ctx, &mut log);
        ctx.set_timer(RETRANSMISSION, sender.variables.round_trip.timeout());
    }

    /// Sends the segments that the window allows and that have not been sent yet.
    #[inline]
    fn fill_window(&self, sender: &mut Sender, ctx: &mut Context<'_, Self>, log: &mut Log<'_>) {
        let Variables { oldest, end, .. } = sender.variables;
        let bound = end.min(oldest + u64::from(self.parameters.window));
        while sender.variables.next < bound {
            let number = sender.variables.next;
            sender.variables.next += 1;
            let slot = sender.slot(number);
            if let Some(log) = log {
                log.push(Undo::Sent(slot, sender.sent[slot]));
            }
            sender.sent[slot] = Sent { at_ps: ctx.now().as_ps(), transmissions: 1, arrived: false };
            self.transmit_segment(sender, number, ctx);
        }
    }

    /// Retransmits a segment.
    fn retransmit(&self, sender: &mut Sender, number: u64, ctx: &mut Context<'_, Self>, log: &mut Log<'_>) {
        let slot = sender.slot(number);
        if let Some(log) = log {
            log.push(Undo::Sent(slot, sender.sent[slot]));
        }
        let sent = &mut sender.sent[slot];
        *sent = Sent { at_ps: ctx.now().as_ps(), transmissions: sent.transmissions.saturating_add(1), arrived: false };
        self.transmit_segment(sender, number, ctx);
    }

    #[inline]
    fn transmit_segment(&self, sender: &mut Sender, number: u64, ctx: &mut Context<'_, Self>) {
        let message = Message::Segment { number, content: content(self.pair(ctx.id()), number) };
        self.transmit(&mut sender.variables.link, self.segment_time, message, ctx);
    }

    /// Handles an acknowledgement.
    #[inline]
    pub(super) fn on_ack(
        &self,
        sender: &mut Sender,
        next: u64,
        echo: u64,
        ctx: &mut Context<'_, Self>,
        mut log: Log<'_>,
    ) {
        log_variables(sender, &mut log);
        sender.variables.acks += 1;
        if next > sender.variables.next || echo >= sender.variables.next {
            return ctx.fail(format!("segments {next} and {echo} are acknowledged, of {} sent", sender.variables.next));
        }
        sender.variables.arrived = sender.variables.arrived.max(echo + 1);
        // The slot of an older segment may already belong to a newer one.
        if echo >= sender.variables.oldest {
            self.mark_arrived(sender, echo, ctx, &mut log);
        }
        if next > sender.variables.oldest {
            self.on_new_data_acked(sender, next, ctx, &mut log);
        } else if next == sender.variables.oldest && sender.variables.oldest < sender.variables.next {
            self.on_duplicate_ack(sender, ctx, &mut log);
        }
    }

    /// Marks a segment of the window as arrived. Measures its round trip if it was sent once. If a segment
    /// was retransmitted, it is not known which transmission is answered (Karn's rule).
    #[inline]
    fn mark_arrived(&self, sender: &mut Sender, echo: u64, ctx: &mut Context<'_, Self>, log: &mut Log<'_>) {
        let slot = sender.slot(echo);
        if let Some(log) = log {
            log.push(Undo::Sent(slot, sender.sent[slot]));
        }
        let sent = &mut sender.sent[slot];
        if sent.transmissions == 1 && !sent.arrived {
            let sample = ctx.now().since(Time::from_ps(sent.at_ps));
            sender.variables.round_trip.measure(sample, self.parameters.min_timeout);
            ctx.observe(Ids::ROUND_TRIP, sample.as_ps());
        }
        sent.arrived = true;
    }

    /// Handles an acknowledgement of new data: moves the window and restarts the timer.
    #[inline]
    fn on_new_data_acked(&self, sender: &mut Sender, next: u64, ctx: &mut Context<'_, Self>, log: &mut Log<'_>) {
        let variables = &mut sender.variables;
        variables.oldest = next;
        variables.duplicates = 0;
        if next == variables.end {
            return self.complete_transfer(sender, ctx);
        }
        if next < variables.recover
            && variables.arrived > next + DUPLICATES
            && sender.sent[sender.slot(next)].transmissions == 1
        {
            self.retransmit(sender, next, ctx, log);
        }
        self.fill_window(sender, ctx, log);
        ctx.set_timer(RETRANSMISSION, sender.variables.round_trip.timeout());
    }

    /// Handles an acknowledgement which shows that the oldest segment is still missing, while another has
    /// arrived.
    #[inline]
    fn on_duplicate_ack(&self, sender: &mut Sender, ctx: &mut Context<'_, Self>, log: &mut Log<'_>) {
        let variables = &mut sender.variables;
        variables.duplicates += 1;
        if variables.duplicates == DUPLICATES && variables.oldest >= variables.recover {
            variables.recover = variables.next;
            variables.fast_retransmissions += 1;
            let missing = variables.oldest;
            self.retransmit(sender, missing, ctx, log);
        }
    }

    /// Handles the expiry of the retransmission timer (RFC 6298, 5.4 to 5.6). Retransmits every segment that
    /// is not known to have arrived.
    pub(super) fn on_rto(&self, sender: &mut Sender, ctx: &mut Context<'_, Self>, mut log: Log<'_>) {
        log_variables(sender, &mut log);
        let variables = &mut sender.variables;
        variables.timeouts += 1;
        variables.recover = variables.next;
        variables.duplicates = 0;
        variables.round_trip.back_off();
        for number in variables.oldest..variables.next {
            if !sender.sent[sender.slot(number)].arrived {
                self.retransmit(sender, number, ctx, &mut log);
            }
        }
        ctx.set_timer(RETRANSMISSION, sender.variables.round_trip.timeout());
    }

    /// Ends a transfer.
    fn complete_transfer(&self, sender: &mut Sender, ctx: &mut Context<'_, Self>) {
        sender.variables.transfers += 1;
        let took = ctx.now().since(Time::from_ps(sender.variables.begun_ps));
        ctx.observe(Ids::TRANSFER_TIME, took.as_ps());
        ctx.cancel_timer(RETRANSMISSION);
        self.pause(ctx);
    }
}

/// Logs the variables before they change.
#[inline]
fn log_variables(sender: &Sender, log: &mut Log<'_>) {
    if let Some(log) = log {
        log.push(Undo::Sender(sender.variables));
    }
}
