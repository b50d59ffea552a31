//! The ends of protocols of other crates.

use super::{Arrival, OtherProtocol, PacketEnd, PacketIo, START, TIMERS};
use crate::packet::PAYLOAD_MAX;
use crate::protocols::tcp::Counts;
use crate::protocols::{Duration, Environment, Protocol, Segment, Setup};
use crate::record::Record;
use crate::save::check;
use crate::sink::Sink;
use parades_core::digest::Digest;
use parades_core::random::Rng;
use parades_core::restore::{Recorder, Undoable};
use parades_core::time::{Delay, Time};
use parades_core::wire::{self, Malformed};
use parades_tcp::environment::Ecn;

/// The state of an end of another crate.
#[derive(Debug, Undoable)]
#[undoable(whole)]
struct State(Box<dyn PacketEnd>);

impl Clone for State {
    fn clone(&self) -> State {
        State(self.0.copy())
    }
}

/// Compares the texts for debugging, which show the whole state if `Debug` is derived.
impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}

/// One end of a flow, with its measurements.
#[derive(Clone, Debug, PartialEq, Undoable)]
pub struct End {
    state: State,
    /// True if this end begins the flow.
    #[undoable(constant)]
    pub begins: bool,
    /// Measurements of the packets that arrive.
    pub sink: Sink,
    /// The packets of this end.
    pub counts: Counts,
}

impl End {
    /// Returns an end, and sets its timer to the start of the flow.
    pub(crate) fn on_start(
        protocol: &OtherProtocol,
        begins: bool,
        start: Time,
        sink: Sink,
        setup: &mut impl Setup,
    ) -> End {
        setup.set_timer(START, start.since(Time::ZERO));
        End { state: State(protocol.prototype(begins).copy()), begins, sink, counts: Counts::default() }
    }

    /// Appends the bytes of the state.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        let state = self.state.0.save().expect("the model refuses protocols that cannot be written");
        wire::write(&(state, &self.sink, self.counts), to);
    }

    /// Reads a state of one end.
    pub(crate) fn read(
        of: &OtherProtocol,
        begins: bool,
        has_percentiles: bool,
        from: &mut &[u8],
    ) -> Result<End, Malformed> {
        let (bytes, sink, counts): (Vec<u8>, Sink, Counts) = wire::read(from)?;
        check(sink.is_possible(has_percentiles) && counts.are_possible(), "an end")?;
        let mut state = State(of.prototype(begins).copy());
        state.0.restore(&bytes)?;
        Ok(End { state, begins, sink, counts })
    }

    /// Returns true if the end says that the flow is complete.
    pub(crate) fn is_complete(&self) -> bool {
        self.state.0.is_complete()
    }

    pub(crate) fn fold(&self, digest: &mut Digest) {
        self.state.0.fold(digest);
        self.sink.fold(digest);
        [self.counts.sent, self.counts.received].into_iter().for_each(|word| digest.word(word));
    }
}

impl<R: Recorder<EndUndo>> Protocol for EndMut<'_, R> {
    type Parameters = OtherProtocol;

    fn on_segment<E: Environment>(&mut self, of: &OtherProtocol, segment: &Segment<'_, E::Record>, env: &mut E) {
        let Segment { number, payload, sent, record, ecn, is_copy } = *segment;
        if !is_copy {
            let now = env.now();
            self.counts().into_mut().received += 1;
            self.sink().receive(now, sent, number, payload);
            if !self.begins {
                env.observe(Duration::Delay, now.since(sent));
            }
        }
        let data = record.and_then(Record::data).unwrap_or_default();
        let packet = Arrival { number, payload, sent, data, is_marked: ecn == Ecn::Marked, is_copy };
        self.react(of, env, |end, io| end.on_packet(&packet, io));
    }

    fn on_timer<E: Environment>(&mut self, of: &OtherProtocol, timer: u32, env: &mut E) {
        self.react(of, env, |end, io| if timer == START { end.on_start(io) } else { end.on_timer(timer, io) });
    }

    fn on_app<E: Environment>(&mut self, of: &OtherProtocol, number: u32, env: &mut E) {
        self.react(of, env, |end, io| end.on_call(number, io));
    }
}

impl<R: Recorder<EndUndo>> EndMut<'_, R> {
    /// Lets the end react, and counts the packets that it sends.
    fn react<E: Environment>(
        &mut self,
        of: &OtherProtocol,
        env: &mut E,
        reaction: impl FnOnce(&mut dyn PacketEnd, &mut dyn PacketIo),
    ) {
        let mut io = Io { env, least_payload: of.least_payload, sent: 0 };
        reaction(&mut *self.state().into_mut().0, &mut io);
        let sent = io.sent;
        if sent > 0 {
            self.counts().into_mut().sent += sent;
        }
    }
}

/// Returns the purpose of a timer, in words.
pub(crate) fn timer_text(of: &OtherProtocol, timer: u32) -> String {
    if timer == START { format!("start of {}", of.name) } else { format!("{} timer {timer}", of.name) }
}

/// The environment that an end of another crate sees.
struct Io<'a, E> {
    env: &'a mut E,
    least_payload: u32,
    sent: u64,
}

impl<E: Environment> Io<'_, E> {
    /// Returns true if the end has a timer of this number. If it has none, the run fails.
    fn has_timer(&mut self, timer: u32) -> bool {
        if timer >= TIMERS {
            self.env.fail(&format!("uses timer {timer}; an end has timers 0 to {}", TIMERS - 1));
        }
        timer < TIMERS
    }
}

impl<E: Environment> PacketIo for Io<'_, E> {
    fn now(&self) -> Time {
        self.env.now()
    }

    fn flow(&self) -> u32 {
        self.env.flow()
    }

    fn rng(&mut self) -> &Rng {
        self.env.rng()
    }

    fn set_timer(&mut self, timer: u32, delay: Delay) {
        if self.has_timer(timer) {
            self.env.set_timer(timer, delay);
        }
    }

    fn cancel_timer(&mut self, timer: u32) {
        if self.has_timer(timer) {
            self.env.cancel_timer(timer);
        }
    }

    fn call(&mut self, delay: Delay, number: u32) {
        self.env.call_app(delay, number);
    }

    fn send(&mut self, number: u32, payload: u32, data: &[u8]) {
        let least = self.least_payload;
        if payload > PAYLOAD_MAX || payload < least {
            let what = format!("sends a packet of {payload} bytes; its protocol allows {least} to {PAYLOAD_MAX}");
            return self.env.fail(&what);
        }
        if data.len() > payload as usize {
            let what = format!("sends {} bytes of data in a payload of {payload} bytes", data.len());
            return self.env.fail(&what);
        }
        self.sent += 1;
        self.env.send_data(number, payload, data);
    }

    fn observe(&mut self, duration: Delay) {
        self.env.observe(Duration::Completion, duration);
    }

    fn fail(&mut self, what: &str) {
        self.env.fail(what);
    }
}
