//! The ends of connections whose applications are of other crates.

use super::{FIRST_TIMER, OtherStream, StreamEnd, StreamIo, TIMERS};
use crate::protocols::tcp::{
    self, APPLICATION, Call, Counts, Ending, Heard, Notices, Progress, initial, ports, segment_of,
};
use crate::protocols::{Duration, Environment, Protocol, Segment, Setup};
use crate::save::{check, is_number};
use crate::sink::Sink;
use parades_core::digest::Digest;
use parades_core::random::Rng;
use parades_core::restore::{Recorder, Undoable};
use parades_core::time::{Delay, Time};
use parades_core::wire::{self, Malformed};
use parades_tcp::connection::Connection;
use serde::{Deserialize, Serialize};

/// The state of an application of another crate.
#[derive(Debug, Undoable)]
#[undoable(whole)]
struct State(Box<dyn StreamEnd>);

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

/// The bytes that an application has written, as far as its connection has not taken them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
struct Output {
    waiting: u64,
    /// True if the application has closed its direction.
    is_closing: bool,
    /// True if the connection knows that, or has failed.
    is_closed: bool,
    /// True if both directions are closed in order.
    is_complete: bool,
    /// The way in which the connection has ended early.
    ending: Option<Ending>,
}

/// One end of a connection, with its application.
#[derive(Clone, Debug, PartialEq, Undoable)]
pub struct End {
    /// The end of the connection.
    pub connection: Connection,
    state: State,
    output: Output,
    /// True if this end opens the connection.
    #[undoable(constant)]
    pub begins: bool,
    #[undoable(constant)]
    start: Time,
    /// The segments that arrived.
    pub sink: Sink,
    /// The segments of this end.
    pub counts: Counts,
    /// The segments of the other end.
    pub heard: Heard,
    /// The bytes that arrived. `last` is the time at which the other end's stream ended.
    pub progress: Progress,
}

impl End {
    /// Returns an end of flow `flow`. The end that opens the connection sets its timer to the start.
    pub(crate) fn on_start(
        stream: &OtherStream,
        flow: u32,
        begins: bool,
        start: Time,
        sink: Sink,
        setup: &mut impl Setup,
    ) -> End {
        let (initial, ports) = (initial(setup), ports(flow, begins));
        let connection = if begins {
            setup.set_timer(APPLICATION, start.since(Time::ZERO));
            Connection::connect(&stream.settings, ports, initial)
        } else {
            Connection::listen(&stream.settings, ports, initial)
        };
        let state = State(stream.prototype(begins).copy());
        let (output, counts) = (Output::default(), Counts::default());
        let progress = Progress { bytes: 0, first: Time::MAX, last: Time::MAX };
        let heard = Heard::default();
        End { connection, state, output, begins, start, sink, counts, heard, progress }
    }
    /// Appends the bytes of the state.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        self.connection.write(to);
        let state = self.state.0.save().expect("the model refuses applications that cannot be written");
        wire::write(&(state, self.output, &self.sink, self.counts, self.heard, self.progress), to);
    }

    /// Reads a state of one end of a flow that starts at `start`.
    pub(crate) fn read(
        of: &OtherStream,
        begins: bool,
        start: Time,
        has_percentiles: bool,
        from: &mut &[u8],
    ) -> Result<End, Malformed> {
        let connection = Connection::read(&of.settings, from)?;
        let (bytes, output, sink): (Vec<u8>, Output, Sink) = wire::read(from)?;
        let (counts, heard, progress): (Counts, Heard, Progress) = wire::read(from)?;
        let is_possible = sink.is_possible(has_percentiles)
            && counts.are_possible()
            && heard.is_possible()
            && is_number(progress.bytes);
        check(is_possible, "an end of a stream")?;
        let mut state = State(of.prototype(begins).copy());
        state.0.restore(&bytes)?;
        Ok(End { connection, state, output, begins, start, sink, counts, heard, progress })
    }

    pub(crate) fn fold(&self, digest: &mut Digest) {
        self.connection.fold(digest);
        self.state.0.fold(digest);
        self.sink.fold(digest);
        let Output { waiting, is_closing, is_closed, is_complete, ending } = self.output;
        let flags = [is_closing, is_closed, is_complete].map(u64::from);
        let Progress { bytes, first, last } = self.progress;
        let words = [waiting, self.counts.sent, self.counts.received, bytes, first.as_ps(), last.as_ps()];
        words.into_iter().chain(flags).for_each(|word| digest.word(word));
        ending.into_iter().for_each(|ending| digest.word(ending as u64));
        Some(self.heard.repeated).filter(|repeated| *repeated > 0).into_iter().for_each(|word| digest.word(word));
    }

    /// Returns the way in which the connection has ended early.
    pub(crate) fn ending(&self) -> Option<Ending> {
        self.output.ending
    }

    /// Returns true if both directions are closed in order.
    pub(crate) fn is_complete(&self) -> bool {
        self.output.is_complete
    }
}

impl<R: Recorder<EndUndo>> Protocol for EndMut<'_, R> {
    type Parameters = OtherStream;

    fn on_segment<E: Environment>(&mut self, of: &OtherStream, segment: &Segment<'_, E::Record>, env: &mut E) {
        let (tcp_segment, ecn) = segment_of::<E>(segment);
        if !segment.is_copy {
            let now = env.now();
            self.counts().into_mut().received += 1;
            let heard = self.heard.after(tcp_segment);
            if heard != self.heard {
                *self.heard() = heard;
            }
            self.sink().receive(now, segment.sent, segment.number, tcp_segment.bytes);
            if !self.begins {
                env.observe(Duration::Delay, now.since(segment.sent));
            }
        }
        self.act(of, Call::Arrive(tcp_segment, ecn), env);
    }

    fn on_timer<E: Environment>(&mut self, of: &OtherStream, timer: u32, env: &mut E) {
        match tcp::TIMERS.get(timer as usize) {
            Some(&timer) => self.act(of, Call::Timer(timer), env),
            None if timer == APPLICATION => self.act(of, Call::Open, env),
            None => {
                self.react(env, |end, io| end.on_timer(timer - FIRST_TIMER, io));
                self.write(of, env);
            }
        }
    }
}

impl<R: Recorder<EndUndo>> EndMut<'_, R> {
    /// Calls the connection, lets the application react, and writes more if there is room.
    fn act<E: Environment>(&mut self, of: &OtherStream, what: Call<'_>, env: &mut E) {
        let (_, notices) = self.call(of, what, env);
        self.tell(&notices, env);
        self.write(of, env);
    }

    fn call<E: Environment>(&mut self, of: &OtherStream, what: Call<'_>, env: &mut E) -> (u64, Notices) {
        let EndParts { mut connection, counts, .. } = self.split();
        tcp::call(connection.reborrow(), counts, &of.settings, what, env)
    }

    /// Tells the application what has happened at its connection.
    fn tell<E: Environment>(&mut self, notices: &Notices, env: &mut E) {
        let now = env.now();
        if notices.is_connected {
            self.react(env, |end, io| end.on_connected(io));
        }
        if notices.received > 0 {
            let progress = self.progress().into_mut();
            progress.first = progress.first.min(now);
            progress.bytes += notices.received;
            self.react(env, |end, io| end.on_data(notices.received, io));
        }
        if notices.is_finished {
            self.progress().into_mut().last = now;
            self.react(env, |end, io| end.on_finished(io));
        }
        if notices.is_over {
            self.output().into_mut().is_complete = true;
        }
        if notices.ending.is_some() {
            let ending = notices.ending;
            *self.output() = Output { waiting: 0, is_closing: true, is_closed: true, ending, ..self.output };
            self.react(env, |end, io| end.on_failed(io));
        }
    }

    /// Lets the application react.
    fn react<E: Environment>(&mut self, env: &mut E, reaction: impl FnOnce(&mut dyn StreamEnd, &mut dyn StreamIo)) {
        let before = self.output;
        let mut io = Io { env, output: before };
        reaction(&mut *self.state().into_mut().0, &mut io);
        let output = io.output;
        if output != before {
            *self.output() = output;
        }
    }

    /// Gives the connection what the application has written, as far as the send buffer has room.
    fn write<E: Environment>(&mut self, of: &OtherStream, env: &mut E) {
        let Output { waiting, is_closing, is_closed, .. } = self.output;
        if is_closed || waiting == 0 && !is_closing {
            return;
        }
        let what = match (waiting, is_closing) {
            (0, _) => Call::Close,
            (_, true) => Call::WriteLast(waiting),
            (_, false) => Call::Write(waiting),
        };
        let (accepted, _) = self.call(of, what, env);
        let waiting = waiting - accepted;
        if accepted > 0 || waiting == 0 {
            *self.output() = Output { waiting, is_closed: is_closing && waiting == 0, ..self.output };
        }
    }
}

/// Returns the purpose of a timer, in words.
pub(crate) fn timer_text(of: &OtherStream, timer: u32) -> String {
    match timer {
        0..APPLICATION => tcp::timer_text(timer).to_owned(),
        APPLICATION => format!("start of {}", of.name),
        _ => format!("{} timer {}", of.name, timer - FIRST_TIMER),
    }
}

/// The environment that an application of another crate sees.
struct Io<'a, E> {
    env: &'a mut E,
    output: Output,
}

impl<E: Environment> Io<'_, E> {
    /// Returns true if an end has a timer of this number. If it has none, the run fails.
    fn has_timer(&mut self, timer: u32) -> bool {
        if timer >= TIMERS {
            self.env.fail(&format!("uses timer {timer}; an application over TCP has timers 0 to {}", TIMERS - 1));
        }
        timer < TIMERS
    }
}

impl<E: Environment> StreamIo for Io<'_, E> {
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
            self.env.set_timer(FIRST_TIMER + timer, delay);
        }
    }

    fn cancel_timer(&mut self, timer: u32) {
        if self.has_timer(timer) {
            self.env.cancel_timer(FIRST_TIMER + timer);
        }
    }

    fn write(&mut self, bytes: u64) {
        if !self.output.is_closing {
            self.output.waiting = self.output.waiting.saturating_add(bytes);
        }
    }

    fn waiting(&self) -> u64 {
        self.output.waiting
    }

    fn close(&mut self) {
        self.output.is_closing = true;
    }

    fn observe(&mut self, duration: Delay) {
        self.env.observe(Duration::Completion, duration);
    }

    fn fail(&mut self, what: &str) {
        self.env.fail(what);
    }
}
