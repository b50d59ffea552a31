//! Chord's nodes as a model: each node's machine, driven by the handler of its LP. Its state is plain data,
//! so every engine can run it, also those that roll back.
//!
//! On the same network it gives the same answers as the program, at the same times, event by event.

use super::machine::{Dependencies, Machine, Wait};
use super::{Invalid, Message, Parameters, Setup};
use crate::churn::Stay;
use parades_core::prelude::*;
use std::collections::VecDeque;

/// The model of Chord's nodes. Every message takes [`Parameters::latency`].
#[derive(Debug)]
pub struct ChordModel {
    setup: Setup,
}

impl ChordModel {
    /// Makes the model of these parameters, with the identifiers that `seed` gives.
    ///
    /// # Errors
    ///
    /// On a parameter that makes no sense, with its name.
    pub fn new(parameters: Parameters, seed: u64) -> Result<ChordModel, Invalid> {
        parameters.check_latency()?;
        Ok(ChordModel { setup: Setup::new(parameters, seed)? })
    }
}

/// The timer of sleeps, which end in time.
const SLEEP: usize = 0;
/// The timer of timeouts, which seldom end in time.
const TIMEOUT: usize = 1;

/// A node, with the state of its driver.
#[derive(Clone, Debug, PartialEq)]
pub struct Resident {
    machine: Machine,
    stage: Stage,
    /// Messages that came while the machine took none.
    inbox: VecDeque<Message>,
    /// The time that each of the kernel's timers is set to; [`Time::MAX`] if it is not set.
    armed: [Time; 2],
}

/// The stage of a node's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Starting,
    /// It has not come yet.
    Coming(Time),
    /// It is in the ring, or is joining it.
    Present(Stay),
    /// It has gone, and comes back at this time.
    Away(Time),
}

/// An LP as its machine sees it.
struct Outside<'a, 'c>(&'a Setup, &'a mut Context<'c, ChordModel>);

impl Dependencies for Outside<'_, '_> {
    #[inline]
    fn now(&self) -> Time {
        self.1.now()
    }
    #[inline]
    fn rng(&mut self) -> &mut Rng {
        self.1.rng()
    }
    #[inline]
    fn send(&mut self, to: u32, message: Message) {
        self.1.send_to(self.0.ring().lp(to), self.0.parameters().latency, message);
    }
    fn joined(&mut self, took: Delay) {
        self.1.observe(self.0.ids.join_time, took.as_ps());
    }
    fn looked_up(&mut self, hops: u16, took: Delay) {
        self.1.observe(self.0.ids.hops, u64::from(hops));
        self.1.observe(self.0.ids.look_up_time, took.as_ps());
    }
}

impl Resident {
    /// Handles a message. Returns false if the message is kept for later, or is lost.
    fn on_message(&mut self, setup: &Setup, message: Message, ctx: &mut Context<'_, ChordModel>) -> bool {
        if let Stage::Away(_) = self.stage {
            return false;
        }
        let Wait::Messages { .. } = self.machine.wait(setup) else {
            self.inbox.push_back(message);
            return false;
        };
        if self.machine.on_message(setup, message, &mut Outside(setup, ctx)) {
            // The answer may be due at this very time.
            self.on_time(setup, ctx);
        }
        true
    }

    /// Lets the machine go on if the time of its wait has come.
    fn on_time(&mut self, setup: &Setup, ctx: &mut Context<'_, ChordModel>) {
        if let Wait::Sleep(until) | Wait::Messages { until, .. } = self.machine.wait(setup)
            && until <= ctx.now()
        {
            self.machine.on_timer(setup, &mut Outside(setup, ctx));
        }
    }

    /// Handles a timer.
    fn on_timer(&mut self, setup: &Setup, ctx: &mut Context<'_, ChordModel>) {
        match self.stage {
            Stage::Starting => match setup.turn(ctx.id()) {
                Some(turn) => self.stage = Stage::Coming(ctx.now().checked_add(turn).unwrap_or(Time::MAX)),
                None => self.come(setup, ctx),
            },
            Stage::Coming(_) | Stage::Away(_) => self.come(setup, ctx),
            Stage::Present(_) => {
                self.on_time(setup, ctx);
                self.advance(setup, ctx);
            }
        }
    }

    /// Comes into the ring.
    fn come(&mut self, setup: &Setup, ctx: &mut Context<'_, ChordModel>) {
        let (id, now) = (ctx.id(), ctx.now());
        let stay = match &setup.parameters().churn {
            Some(churn) => churn.begin(id, now, ctx.rng()),
            None => Stay::for_ever(),
        };
        self.stage = Stage::Present(stay);
        let end = if stay.crashes { Time::MAX } else { stay.end };
        self.machine.begin(setup, end, &mut Outside(setup, ctx));
        self.feed(setup, ctx);
        if self.machine.wait(setup) == Wait::Nothing {
            self.go(setup, &stay, ctx);
        }
    }

    /// Lets the machine go on until it waits. The node goes if the machine has left the ring, or if the time
    /// of the node's crash has come.
    fn advance(&mut self, setup: &Setup, ctx: &mut Context<'_, ChordModel>) {
        self.feed(setup, ctx);
        if let Stage::Present(stay) = self.stage
            && (self.machine.wait(setup) == Wait::Nothing || (stay.crashes && stay.end <= ctx.now()))
        {
            self.go(setup, &stay, ctx);
        }
    }

    /// Gives the machine the messages that wait, as long as it takes any.
    fn feed(&mut self, setup: &Setup, ctx: &mut Context<'_, ChordModel>) {
        loop {
            let wait = self.machine.wait(setup);
            let takes = matches!(wait, Wait::Ready | Wait::Messages { .. });
            match if takes { self.inbox.pop_front() } else { None } {
                Some(message) => {
                    self.machine.on_message(setup, message, &mut Outside(setup, ctx));
                }
                None if wait == Wait::Ready => self.machine.proceed(setup, &mut Outside(setup, ctx)),
                None => return,
            }
        }
    }

    /// Goes away. Messages that wait are lost.
    fn go(&mut self, setup: &Setup, stay: &Stay, ctx: &mut Context<'_, ChordModel>) {
        self.inbox.clear();
        self.machine.forget();
        let churn = setup.parameters().churn.as_ref();
        self.stage = Stage::Away(churn.map_or(Time::MAX, |churn| churn.back(ctx.id(), stay, ctx.now())));
    }

    /// Sets the kernel's timers to the times that the node waits for.
    fn arm(&mut self, setup: &Setup, ctx: &mut Context<'_, ChordModel>) {
        let mut due = [Time::MAX; 2];
        match self.stage {
            Stage::Starting => due[SLEEP] = Time::ZERO,
            Stage::Coming(until) | Stage::Away(until) => due[SLEEP] = until,
            Stage::Present(stay) => {
                match self.machine.wait(setup) {
                    Wait::Sleep(until) => due[SLEEP] = until,
                    Wait::Messages { until, .. } => due[TIMEOUT] = until,
                    Wait::Ready | Wait::Nothing => unreachable!("it goes on until it waits for something"),
                }
                if stay.crashes {
                    due[TIMEOUT] = due[TIMEOUT].min(stay.end);
                }
            }
        }
        for ((timer, due), armed) in (0..).zip(due).zip(&mut self.armed) {
            if *armed == due {
                continue;
            }
            *armed = due;
            match due {
                Time::MAX => ctx.cancel_timer(TimerId(timer)),
                due => ctx.set_timer(TimerId(timer), due.since(ctx.now())),
            }
        }
    }
}

impl Model for ChordModel {
    type State = Resident;
    type Message = Message;
    type Global = NoGlobal;

    fn lps(&self) -> u32 {
        self.setup.nodes()
    }

    fn channels(&self) -> Channels {
        Channels::whole(self.setup.parameters().latency)
    }

    fn metrics(&self) -> Metrics {
        self.setup.metrics()
    }

    fn start(&self, ctx: &mut Context<'_, Self>) -> Resident {
        let machine = Machine::new(self.setup.peer(ctx.id(), ctx.rng()));
        let (stage, inbox, armed) = (Stage::Starting, VecDeque::new(), [Time::MAX; 2]);
        let mut resident = Resident { machine, stage, inbox, armed };
        resident.arm(&self.setup, ctx);
        resident
    }

    fn handle(&self, resident: &mut Resident, event: Body<&Message>, ctx: &mut Context<'_, Self>) {
        match event {
            Body::Message(message) => {
                if !resident.on_message(&self.setup, *message, ctx) {
                    return;
                }
                resident.advance(&self.setup, ctx);
            }
            Body::Timer(TimerId(timer)) => {
                resident.armed[timer as usize] = Time::MAX;
                resident.on_timer(&self.setup, ctx);
            }
        }
        resident.arm(&self.setup, ctx);
    }

    /// As a program with one process, so that the digests of the two can be compared.
    fn fold(&self, resident: &Resident, digest: &mut Digest) {
        digest.word(1 << 32 | resident.inbox.len() as u64);
        resident.machine.peer().words().for_each(|word| digest.word(word));
    }

    fn finish(&self, id: LpId, resident: &Resident, end: &End, metrics: &mut Metrics) {
        self.setup.ids.finish((id, resident.machine.peer()), self.setup.is_settled(end.time), metrics);
    }

    fn conclude(&self, end: &End, metrics: &mut Metrics) -> Result<(), String> {
        self.setup.ids.conclude(self.setup.is_settled(end.time), metrics)
    }
}

impl ByCopy for ChordModel {}
