//! Data transfers by a sliding window over a channel that loses, delays and reorders.
//!
//! Pairs of LPs: the *sender* of pair `i` is the LP `i`, its *receiver* the LP `pairs + i`. A sender moves transfers of a fixed size one
//! after another, with random pauses between, through a window of a fixed number of segments; there is no congestion control.
//!
//! - The *receiver* buffers what comes out of order, delivers in order, and answers every segment with the number of the next one that it
//!   waits for (cumulative acknowledgement) and that of the segment which made it answer.
//! - The *sender* estimates the round-trip time as in RFC 6298, in integers: from every segment that was sent once (Karn's rule).
//!   Its retransmission timer starts anew with each acknowledgement of new data. When it expires, all segments that are not known to have
//!   arrived are sent again, and the timeout doubles until the next measurement.
//! - Three duplicate acknowledgements in a row let it send the missing segment again at once. In the *recovery* that follows, until all that
//!   had been sent by then is acknowledged, an acknowledgement that exposes the next hole fills it (RFC 6582), provided that a segment
//!   three or more further on has arrived: what is merely late is not sent twice.
//! - The *channel*, alike in both directions: messages leave one after another at the rate of the link; each is lost with a fixed
//!   probability, or arrives after the delay and a uniform jitter. The sending LP draws both from its stream.
//!
//! State is large and changes little, so how it is restored matters: by copy or by undo log, as [`Restore`] says.
//!
//! What must hold: every segment sent has arrived, was lost or is on its way, and the same for acknowledgements; every segment
//! that arrived was delivered, was there already or is buffered; data is delivered in order and exactly once, which the receiver
//! checks by the content of each segment.
//!
//! *References*: V. Paxson, M. Allman, J. Chu, M. Sargent, "Computing TCP's retransmission timer", RFC 6298, 2011. T. Henderson,
//! S. Floyd, A. Gurtov, Y. Nishida, "The NewReno modification to TCP's fast recovery algorithm", RFC 6582, 2012. P. Karn, C. Partridge,
//! "Improving round-trip time estimates in reliable transport protocols", SIGCOMM 1987.
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

use parades_core::prelude::*;
use report::Ids;
use serde::{Deserialize, Serialize};

/// The model.
#[derive(Clone, Debug)]
pub struct Transfer {
    parameters: Parameters,
    /// How long a segment, and an acknowledgement, take to leave.
    segment_time: Delay,
    ack_time: Delay,
}

/// What senders and receivers send each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// Data, to the receiver.
    Segment {
        /// Its place in the pair's stream, from 0.
        number: u64,
        /// What it holds, in one word.
        content: u64,
    },
    /// An acknowledgement, to the sender.
    Ack {
        /// All segments below have arrived.
        next: u64,
        /// The segment whose arrival is answered.
        echo: u64,
    },
}

impl Payload for Message {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        // The two never go to the same LP.
        let (Message::Segment { number: one, content: two } | Message::Ack { next: one, echo: two }) = *self;
        digest.word(one);
        digest.word(two);
    }
}

/// What an LP remembers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The sending end of a pair.
    Sender(Sender),
    /// The receiving end.
    Receiver(Receiver),
}

/// What undoing an event needs.
#[derive(Clone, Debug)]
pub enum Undo {
    /// All of the state before.
    Copy(Box<State>),
    /// A sender's figures before.
    Sender(sender::Figures),
    /// What a sender knew of the last segment in this slot of its window.
    Sent(usize, sender::Sent),
    /// A receiver's figures before.
    Receiver(receiver::Figures),
    /// What a slot of a receiver's buffer held before.
    Buffered(usize, receiver::Buffered),
}

/// Where the old values of what changes go, if anywhere.
type Log<'a> = Option<&'a mut UndoLog<Undo>>;

/// The port of an LP's only channel.
const PEER: Port = Port(0);

impl Transfer {
    /// The model of these parameters.
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
    /// The first key that makes no sense, and a sentence.
    pub fn new(parameters: Parameters) -> Result<Transfer, Invalid> {
        parameters.check()?;
        let Parameters { rate, segment_bytes, ack_bytes, .. } = parameters;
        let segment_time = Delay::serialisation(u64::from(segment_bytes), rate);
        let ack_time = Delay::serialisation(u64::from(ack_bytes), rate);
        Ok(Transfer { parameters, segment_time, ack_time })
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The goodput in bit/s that a pair cannot exceed in the long run: a window for each round trip without jitter, and no more than
    /// the link's rate.
    pub fn goodput_bound(&self) -> f64 {
        let Parameters { window, segment_bytes, delay, .. } = self.parameters;
        let bits = f64::from(segment_bytes) * 8.0;
        let round_trip = 2.0 * delay.as_secs_f64() + self.segment_time.as_secs_f64() + self.ack_time.as_secs_f64();
        (f64::from(window) * bits / round_trip).min(bits / self.segment_time.as_secs_f64())
    }

    /// The pair of an LP.
    #[inline]
    fn pair(&self, id: LpId) -> u32 {
        id.0 % self.parameters.pairs
    }

    #[inline]
    fn execute(&self, state: &mut State, event: Body<&Message>, ctx: &mut Context<'_, Self>, log: Log<'_>) {
        match (state, event) {
            (State::Receiver(receiver), Body::Message(&Message::Segment { number, content })) => {
                self.receive(receiver, number, content, ctx, log);
            }
            (State::Sender(sender), Body::Message(&Message::Ack { next, echo })) => {
                self.acknowledged(sender, next, echo, ctx, log);
            }
            (State::Sender(sender), Body::Timer(sender::START)) => self.begin(sender, ctx, log),
            (State::Sender(sender), Body::Timer(sender::RETRANSMISSION)) => self.timed_out(sender, ctx, log),
            (_, event) => ctx.fail(format!("{event:?} is no message for this LP")),
        }
    }
}

/// What the segment of this number of a pair holds: a word that tells it from every other.
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
        report::declare()
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

    fn unfinished(&self, messages: Unfinished<Message>, metrics: &mut Metrics) {
        for event in messages.in_order() {
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
                (State::Sender(sender), Undo::Sender(before)) => sender.figures = before,
                (State::Sender(sender), Undo::Sent(slot, before)) => sender.sent[slot] = before,
                (State::Receiver(receiver), Undo::Receiver(before)) => receiver.figures = before,
                (State::Receiver(receiver), Undo::Buffered(slot, before)) => receiver.buffer[slot] = before,
                (_, record) => unreachable!("{record:?} was not logged by this LP"),
            }
        }
    }
}
