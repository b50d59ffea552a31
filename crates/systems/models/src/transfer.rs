//! Data transfers by a sliding window, over a channel that loses, delays and reorders messages.
//!
//! The LPs form pairs: the *sender* of pair `i` is the LP `i`, and its *receiver* is the LP `pairs + i`. A
//! sender makes transfers of a fixed size, one after another, with random pauses between them. Its window is
//! a fixed number of segments; there is no congestion control.
//!
//! - The *receiver* buffers segments that arrive out of order, and delivers data in order. It answers every
//!   segment with two numbers: the next segment that it waits for (cumulative acknowledgement), and the
//!   segment that it answers.
//! - The *sender* estimates the round-trip time as in RFC 6298, in integers, from segments that were sent
//!   once (Karn's rule). Each acknowledgement of new data restarts its retransmission timer. When the timer
//!   expires, the sender retransmits all segments that are not known to have arrived. The timeout then
//!   doubles, until the next measurement.
//! - *Recovery*: at three duplicate acknowledgements in a row, the sender retransmits the missing segment at
//!   once. The recovery lasts until everything sent before is acknowledged. In it, an acknowledgement that
//!   exposes the next hole causes its retransmission (RFC 6582), if a segment at least three further on has
//!   arrived. So a segment that is merely late is not retransmitted.
//! - The *channel* is the same in both directions. Messages leave one after another at the rate of the link.
//!   Each is lost with a fixed probability, or arrives after the delay and a uniform jitter. The sending LP
//!   draws both from its random stream.
//!
//! The state is large and each event changes little of it, so the way of restoring it matters: by copies or
//! by an undo log ([`Restore`]).
//!
//! These invariants are checked:
//!
//! - Every segment sent has arrived, was lost or is in flight. The same holds for acknowledgements.
//! - Every segment that arrived was delivered, had arrived before or is buffered.
//! - Data are delivered in order and exactly once. The receiver checks this by the content of each segment.
//!
//! *References*: V. Paxson, M. Allman, J. Chu, M. Sargent, "Computing TCP's retransmission timer", RFC 6298,
//! 2011. T. Henderson, S. Floyd, A. Gurtov, Y. Nishida, "The NewReno modification to TCP's fast recovery
//! algorithm", RFC 6582, 2012. P. Karn, C. Partridge, "Improving round-trip time estimates in reliable
//! transport protocols", SIGCOMM 1987.
//!
//! *Read next*: `sender`, then `receiver`.

mod channel;
mod parameters;
mod receiver;
mod report;
mod round_trip;
mod sender;

pub use parameters::{Invalid, Parameters, Restore};
pub use receiver::Receiver;
pub use sender::Sender;

use parades_core::any_model::SaveModel;
use parades_core::prelude::*;
use parades_core::wire::{self, Malformed};
use report::Ids;
use serde::{Deserialize, Serialize};

/// The model.
#[derive(Clone, Debug)]
pub struct Transfer {
    parameters: Parameters,
    /// The serialisation time of a segment.
    segment_time: Delay,
    /// The serialisation time of an acknowledgement.
    ack_time: Delay,
}

/// The messages between senders and receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// Data, to the receiver.
    Segment {
        /// The number of the segment in the pair's stream, from 0.
        number: u64,
        /// The data of the segment, in one word. It is random, so a variable-length form would be longer.
        #[serde(with = "parades_core::wire::plain")]
        content: u64,
    },
    /// An acknowledgement, to the sender.
    Ack {
        /// The next segment that the receiver waits for. All segments below have arrived.
        next: u64,
        /// The segment that is answered.
        echo: u64,
    },
}

impl Payload for Message {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        // No LP receives both kinds of message, so their words may be equal.
        let (Message::Segment { number: one, content: two } | Message::Ack { next: one, echo: two }) = *self;
        digest.word(one);
        digest.word(two);
    }
}

/// The state of an LP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// The state of a sender.
    Sender(Sender),
    /// The state of a receiver.
    Receiver(Receiver),
}

/// A record from which an event is undone.
#[derive(Clone, Debug)]
pub enum Undo {
    /// The whole state before.
    Copy(Box<State>),
    /// A sender's variables before.
    Sender(sender::Variables),
    /// A slot of a sender's window before.
    Sent(usize, sender::Sent),
    /// A receiver's variables before.
    Receiver(receiver::Variables),
    /// A slot of a receiver's buffer before.
    Buffered(usize, receiver::Buffered),
}

/// The undo log, or `None` if the caller needs no records.
type Log<'a> = Option<&'a mut UndoLog<Undo>>;

/// The port of an LP's only channel.
const PEER: Port = Port(0);

impl Transfer {
    /// Creates the model of these parameters.
    ///
    /// ```
    /// # use parades_models::transfer::{Parameters, Transfer};
    /// assert!(Transfer::new(Parameters::default()).is_ok());
    /// let (key, sentence) = Transfer::new(Parameters { loss: 1.0, ..Parameters::default() }).unwrap_err();
    /// assert_eq!((key, &*sentence), ("loss", "the probability of loss must be at least 0 and below 1, not 1"));
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the first wrong key, and a sentence about it.
    pub fn new(parameters: Parameters) -> Result<Transfer, Invalid> {
        parameters.check()?;
        let Parameters { rate, segment_bytes, ack_bytes, .. } = parameters;
        let segment_time = Delay::serialisation(u64::from(segment_bytes), rate);
        let ack_time = Delay::serialisation(u64::from(ack_bytes), rate);
        Ok(Transfer { parameters, segment_time, ack_time })
    }

    /// Returns the parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Returns the goodput that a pair cannot exceed in the long run, in bit/s. It is a window per round trip
    /// without jitter, and at most the link's rate.
    pub fn goodput_bound(&self) -> f64 {
        let Parameters { window, segment_bytes, delay, .. } = self.parameters;
        let bits = f64::from(segment_bytes) * 8.0;
        let round_trip = 2.0 * delay.as_secs_f64() + self.segment_time.as_secs_f64() + self.ack_time.as_secs_f64();
        (f64::from(window) * bits / round_trip).min(bits / self.segment_time.as_secs_f64())
    }

    /// Returns the pair of an LP.
    #[inline]
    fn pair(&self, id: LpId) -> u32 {
        id.0 % self.parameters.pairs
    }

    #[inline]
    fn execute(&self, state: &mut State, event: Body<&Message>, ctx: &mut Context<'_, Self>, log: Log<'_>) {
        match (state, event) {
            (State::Receiver(receiver), Body::Message(&Message::Segment { number, content })) => {
                self.on_segment(receiver, number, content, ctx, log);
            }
            (State::Sender(sender), Body::Message(&Message::Ack { next, echo })) => {
                self.on_ack(sender, next, echo, ctx, log);
            }
            (State::Sender(sender), Body::Timer(sender::START)) => self.begin_transfer(sender, ctx, log),
            (State::Sender(sender), Body::Timer(sender::RETRANSMISSION)) => self.on_rto(sender, ctx, log),
            (_, event) => ctx.fail(format!("{event:?} is no message for this LP")),
        }
    }
}

/// Returns the content of a segment, a word that differs from that of every other segment.
#[inline]
fn content(pair: u32, number: u64) -> u64 {
    (u64::from(pair) << 32 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Model for Transfer {
    type State = State;
    type Message = Message;
    type Global = NoGlobal;

    fn lps(&self) -> u32 {
        2 * self.parameters.pairs
    }

    fn channels(&self) -> Channels {
        let Parameters { pairs, delay, .. } = self.parameters;
        let mut channels = Channels::none();
        for id in 0..pairs {
            channels.connect(LpId(id), LpId(pairs + id), delay.saturating_add(self.segment_time));
        }
        for id in 0..pairs {
            channels.connect(LpId(pairs + id), LpId(id), delay.saturating_add(self.ack_time));
        }
        channels
    }

    fn metrics(&self) -> Metrics {
        report::METRICS.metrics()
    }

    fn start(&self, ctx: &mut Context<'_, Self>) -> State {
        if ctx.id().0 >= self.parameters.pairs {
            return State::Receiver(Receiver::new(self.parameters.window));
        }
        self.pause(ctx);
        State::Sender(Sender::new(self.parameters.window))
    }

    #[inline]
    fn handle(&self, state: &mut State, event: Body<&Message>, ctx: &mut Context<'_, Self>) {
        self.execute(state, event, ctx, None);
    }

    fn fold(&self, state: &State, digest: &mut Digest) {
        match state {
            State::Sender(sender) => sender.fold(digest),
            State::Receiver(receiver) => receiver.fold(digest),
        }
    }

    fn finish(&self, id: LpId, state: &State, _: &End, metrics: &mut Metrics) {
        let pair = u64::from(id.0 % self.parameters.pairs);
        match state {
            State::Sender(sender) => sender.finish(pair, metrics),
            State::Receiver(receiver) => receiver.finish(pair, metrics),
        }
    }

    fn splits_unfinished(&self) -> bool {
        true
    }

    fn unfinished(&self, messages: Unfinished<Message>, metrics: &mut Metrics) {
        for event in messages.in_any_order() {
            match event.body {
                Body::Message(Message::Segment { .. }) => metrics.count(Ids::SEGMENTS_IN_FLIGHT, 1),
                Body::Message(Message::Ack { .. }) => metrics.count(Ids::ACKS_IN_FLIGHT, 1),
                Body::Timer(_) => {}
            }
        }
    }

    fn conclude(&self, end: &End, metrics: &mut Metrics) -> Result<(), String> {
        report::conclude(self, end.time, metrics)
    }
}

impl SaveModel for Transfer {
    fn write_state(&self, _: LpId, state: &Self::State, to: &mut Vec<u8>) {
        wire::write(state, to);
    }

    fn read_state(&self, _: LpId, from: &mut &[u8]) -> Result<Self::State, Malformed> {
        wire::read(from)
    }
}

impl Restorable for Transfer {
    type Undo = Undo;

    #[inline]
    fn handle_undoable(
        &self,
        state: &mut State,
        event: Body<&Message>,
        ctx: &mut Context<'_, Self>,
        log: &mut UndoLog<Undo>,
    ) {
        match self.parameters.restore {
            Restore::Copy => {
                log.push(Undo::Copy(Box::new(state.clone())));
                self.execute(state, event, ctx, None);
            }
            Restore::Log => self.execute(state, event, ctx, Some(log)),
        }
    }

    #[inline]
    fn undo(&self, state: &mut State, _: Body<&Message>, log: &mut UndoLog<Undo>) {
        while let Some(record) = log.pop() {
            match (state as &mut State, record) {
                (state, Undo::Copy(before)) => *state = *before,
                (State::Sender(sender), Undo::Sender(before)) => sender.variables = before,
                (State::Sender(sender), Undo::Sent(slot, before)) => sender.sent[slot] = before,
                (State::Receiver(receiver), Undo::Receiver(before)) => receiver.variables = before,
                (State::Receiver(receiver), Undo::Buffered(slot, before)) => receiver.buffer[slot] = before,
                (_, record) => unreachable!("{record:?} was not logged by this LP"),
            }
        }
    }
}
