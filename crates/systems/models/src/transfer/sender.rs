//! The sending end: window, retransmission, recovery.

use super::channel::Link;
use super::report::Ids;
use super::round_trip::RoundTrip;
use super::{Log, Message, Transfer, Undo, content};
use parades_core::prelude::*;

/// The end of a pause: the next transfer begins.
pub(super) const START: TimerId = TimerId(0);
/// No acknowledgement of new data has come for too long.
pub(super) const RETRANSMISSION: TimerId = TimerId(1);

/// Duplicate acknowledgements that make a segment count as lost, and places by which arrivals must be ahead of it in a recovery.
const DUPLICATES: u64 = 3;

/// A sender's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sender {
    pub(super) figures: Figures,
    /// What was sent, a slot for each place in the window: the segment `n` is in slot `n mod window`.
    pub(super) sent: Box<[Sent]>,
}

/// What a sender knows of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// When it was last given to the link.
    at_ps: u64,
    /// How often it was sent.
    times: u32,
    /// Whether it is known to have arrived, though an older one has not.
    arrived: bool,
}

/// All of a sender's state but the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// The oldest segment that is not acknowledged, the next one to be sent for the first time, and the end of the transfer.
    oldest: u64,
    next: u64,
    end: u64,
    /// One more than the farthest segment known to have arrived.
    arrived: u64,
    /// Duplicate acknowledgements in a row.
    duplicates: u64,
    /// A recovery is under way until all below this is acknowledged.
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
        let figures = Figures {
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
        Sender { figures, sent: vec![Sent::default(); window as usize].into() }
    }

    /// The slot of a segment.
    #[inline]
    fn slot(&self, number: u64) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "below the length of the window")]
        ((number % self.sent.len() as u64) as usize)
    }

    pub(super) fn fold(&self, digest: &mut Digest) {
        let Figures { oldest, next, round_trip, link, acks, .. } = self.figures;
        for word in [oldest, next, round_trip.timeout().as_ps(), link.sent, link.lost, acks] {
            digest.word(word);
        }
    }

    pub(super) fn finish(&self, pair: u64, metrics: &mut Metrics) {
        let Figures { next, link, transfers, timeouts, fast_retransmissions, acks, .. } = self.figures;
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
    /// Waits before the next transfer.
    pub(super) fn pause(&self, ctx: &mut Context<'_, Self>) {
        let pause = ctx.rng().exponential_delay(self.parameters.pause);
        ctx.set_timer(START, pause);
    }

    /// A transfer begins.
    pub(super) fn begin(&self, sender: &mut Sender, ctx: &mut Context<'_, Self>, mut log: Log<'_>) {
        remember(sender, &mut log);
        let figures = &mut sender.figures;
        figures.end += self.parameters.segments;
        figures.begun_ps = ctx.now().as_ps();
        self.fill_window(sender, ctx, &mut log);
        ctx.set_timer(RETRANSMISSION, sender.figures.round_trip.timeout());
    }

    /// Sends what the window allows and was not sent yet.
    #[inline]
    fn fill_window(&self, sender: &mut Sender, ctx: &mut Context<'_, Self>, log: &mut Log<'_>) {
        let Figures { oldest, end, .. } = sender.figures;
        let bound = end.min(oldest + u64::from(self.parameters.window));
        while sender.figures.next < bound {
            let number = sender.figures.next;
            sender.figures.next += 1;
            let slot = sender.slot(number);
            if let Some(log) = log {
                log.push(Undo::Sent(slot, sender.sent[slot]));
            }
            sender.sent[slot] = Sent { at_ps: ctx.now().as_ps(), times: 1, arrived: false };
            self.transmit_segment(sender, number, ctx);
        }
    }

    /// Sends a segment again.
    fn retransmit(&self, sender: &mut Sender, number: u64, ctx: &mut Context<'_, Self>, log: &mut Log<'_>) {
        let slot = sender.slot(number);
        if let Some(log) = log {
            log.push(Undo::Sent(slot, sender.sent[slot]));
        }
        let sent = &mut sender.sent[slot];
        *sent = Sent { at_ps: ctx.now().as_ps(), times: sent.times.saturating_add(1), arrived: false };
        self.transmit_segment(sender, number, ctx);
    }

    #[inline]
    fn transmit_segment(&self, sender: &mut Sender, number: u64, ctx: &mut Context<'_, Self>) {
        let message = Message::Segment { number, content: content(self.pair(ctx.id()), number) };
        self.transmit(&mut sender.figures.link, self.segment_time, message, ctx);
    }

    /// An acknowledgement comes.
    #[inline]
    pub(super) fn acknowledged(
        &self,
        sender: &mut Sender,
        next: u64,
        echo: u64,
        ctx: &mut Context<'_, Self>,
        mut log: Log<'_>,
    ) {
        remember(sender, &mut log);
        sender.figures.acks += 1;
        if next > sender.figures.next || echo >= sender.figures.next {
            return ctx.fail(format!("segments {next} and {echo} are acknowledged, of {} sent", sender.figures.next));
        }
        sender.figures.arrived = sender.figures.arrived.max(echo + 1);
        // The slot of an older one may already be another's.
        if echo >= sender.figures.oldest {
            self.note_arrival(sender, echo, ctx, &mut log);
        }
        if next > sender.figures.oldest {
            self.advance(sender, next, ctx, &mut log);
        } else if next == sender.figures.oldest && sender.figures.oldest < sender.figures.next {
            self.duplicate(sender, ctx, &mut log);
        }
    }

    /// Notes that a segment of the window has arrived, and measures its round trip if it was sent once: of one sent again nobody knows
    /// which of the two is answered (Karn's rule).
    #[inline]
    fn note_arrival(&self, sender: &mut Sender, echo: u64, ctx: &mut Context<'_, Self>, log: &mut Log<'_>) {
        let slot = sender.slot(echo);
        if let Some(log) = log {
            log.push(Undo::Sent(slot, sender.sent[slot]));
        }
        let sent = &mut sender.sent[slot];
        if sent.times == 1 && !sent.arrived {
            let sample = ctx.now().since(Time::from_ps(sent.at_ps));
            sender.figures.round_trip.measure(sample, self.parameters.min_timeout);
            ctx.observe(Ids::ROUND_TRIP, sample.as_ps());
        }
        sent.arrived = true;
    }

    /// New data is acknowledged: the window moves on, the timer starts anew.
    #[inline]
    fn advance(&self, sender: &mut Sender, next: u64, ctx: &mut Context<'_, Self>, log: &mut Log<'_>) {
        let figures = &mut sender.figures;
        figures.oldest = next;
        figures.duplicates = 0;
        if next == figures.end {
            return self.complete(sender, ctx);
        }
        if next < figures.recover && figures.arrived > next + DUPLICATES && sender.sent[sender.slot(next)].times == 1 {
            self.retransmit(sender, next, ctx, log);
        }
        self.fill_window(sender, ctx, log);
        ctx.set_timer(RETRANSMISSION, sender.figures.round_trip.timeout());
    }

    /// The oldest segment is still missing where another one arrived.
    #[inline]
    fn duplicate(&self, sender: &mut Sender, ctx: &mut Context<'_, Self>, log: &mut Log<'_>) {
        let figures = &mut sender.figures;
        figures.duplicates += 1;
        if figures.duplicates == DUPLICATES && figures.oldest >= figures.recover {
            figures.recover = figures.next;
            figures.fast_retransmissions += 1;
            let missing = figures.oldest;
            self.retransmit(sender, missing, ctx, log);
        }
    }

    /// The retransmission timer has expired (RFC 6298, 5.4 to 5.6): all that is not known to have arrived is sent again.
    pub(super) fn timed_out(&self, sender: &mut Sender, ctx: &mut Context<'_, Self>, mut log: Log<'_>) {
        remember(sender, &mut log);
        let figures = &mut sender.figures;
        figures.timeouts += 1;
        figures.recover = figures.next;
        figures.duplicates = 0;
        figures.round_trip.back_off();
        for number in figures.oldest..figures.next {
            if !sender.sent[sender.slot(number)].arrived {
                self.retransmit(sender, number, ctx, &mut log);
            }
        }
        ctx.set_timer(RETRANSMISSION, sender.figures.round_trip.timeout());
    }

    /// The transfer is over.
    fn complete(&self, sender: &mut Sender, ctx: &mut Context<'_, Self>) {
        sender.figures.transfers += 1;
        let took = ctx.now().since(Time::from_ps(sender.figures.begun_ps));
        ctx.observe(Ids::TRANSFER_TIME, took.as_ps());
        ctx.cancel_timer(RETRANSMISSION);
        self.pause(ctx);
    }
}

/// Logs the figures before they change.
#[inline]
fn remember(sender: &Sender, log: &mut Log<'_>) {
    if let Some(log) = log {
        log.push(Undo::Sender(sender.figures));
    }
}
