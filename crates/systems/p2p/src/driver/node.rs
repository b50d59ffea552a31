//! A node of the model: its machine, and how an event drives that.

use super::few::Few;
use super::model::{AsModel, TIMERS};
use super::{Dependencies, Protocol, SaveProtocol, Wait};
use crate::churn::Stay;
use parades_core::prelude::*;
use parades_core::wire::{self, Malformed};
use parades_program::{Carrier, Departure, Kernel, Letter, SaveCarrier};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;

/// The timer of sleeps, which end in time.
const SLEEP: usize = 0;
/// The timer of timeouts, which seldom end in time, and of crashes.
const TIMEOUT: usize = 1;

/// A node: its machine, and the state of its driver and carrier.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeState<S, M, A> {
    pub(super) machine: S,
    stage: Stage,
    /// Messages that came while the machine took none.
    inbox: VecDeque<(LpId, M)>,
    /// The time that each of the kernel's timers is set to; [`Time::MAX`] if it is not set.
    armed: [Time; TIMERS as usize],
    /// The carrier's state at the node.
    pub(super) access: A,
}

/// The stage of a node's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    Starting,
    /// It has not come yet.
    Coming(Time),
    Present(Stay),
    /// It has gone, and comes back at this time; never at [`Time::MAX`].
    Away(Time),
}

impl<S, M, A> NodeState<S, M, A> {
    pub(super) fn new(machine: S, access: A) -> NodeState<S, M, A> {
        NodeState { machine, stage: Stage::Starting, inbox: VecDeque::new(), armed: [Time::MAX; 2], access }
    }

    /// Returns the word of the digest rule of [`super`].
    pub(super) fn word(&self) -> u64 {
        u64::from(self.stage != Stage::Away(Time::MAX)) << 32 | self.inbox.len() as u64
    }
}

impl<S, M, A> NodeState<S, M, A> {
    /// Appends the bytes of the node. The times of its timers follow from its wait.
    pub(super) fn write<P, C>(&self, model: &AsModel<P, C>, to: &mut Vec<u8>)
    where
        P: SaveProtocol<Machine = S, Message = M>,
        C: SaveCarrier<M, Access = A>,
    {
        let NodeState { machine, stage, inbox, armed: _, access } = self;
        wire::write(&(stage, inbox), to);
        model.protocol.write_machine(machine, to);
        model.carrier.write_access(access, to);
    }

    /// Reads a node.
    pub(super) fn read<P, C>(model: &AsModel<P, C>, id: LpId, from: &mut &[u8]) -> Result<Self, Malformed>
    where
        P: SaveProtocol<Machine = S, Message = M>,
        C: SaveCarrier<M, Access = A>,
    {
        let (stage, inbox): (Stage, VecDeque<(LpId, M)>) = wire::read(from)?;
        if inbox.iter().any(|(sender, _)| sender.0 >= model.layout.nodes()) {
            return Err(Malformed::new("a message that waits is from no node"));
        }
        let machine = model.protocol.read_machine(id, from)?;
        let access = model.carrier.read_access(id, model.layout, from)?;
        let armed = due(stage, || model.protocol.wait(&machine));
        let armed = armed.ok_or_else(|| Malformed::new("a node that is present waits for nothing"))?;
        Ok(NodeState { machine, stage, inbox, armed, access })
    }
}

/// A node's state in the model of a protocol over a carrier.
type StateOf<P, C> =
    NodeState<<P as Protocol>::Machine, <P as Protocol>::Message, <C as Carrier<<P as Protocol>::Message>>::Access>;
type LetterOf<P, C> = Letter<<P as Protocol>::Message, <C as Carrier<<P as Protocol>::Message>>::Plan>;

/// An event at a node.
pub(super) struct Event<'a, 'c, P: Protocol, C: Carrier<P::Message>> {
    model: &'a AsModel<P, C>,
    node: &'a mut StateOf<P, C>,
    ctx: &'a mut Context<'c, AsModel<P, C>>,
    /// Messages that the machine has sent, and that leave at the end of the event.
    letters: Few<LetterOf<P, C>>,
}

/// The node of an event, as its machine sees it.
struct Outside<'a, 'c, P: Protocol, C: Carrier<P::Message>> {
    model: &'a AsModel<P, C>,
    access: &'a mut C::Access,
    ctx: &'a mut Context<'c, AsModel<P, C>>,
    letters: &'a mut Few<LetterOf<P, C>>,
}

impl<P: Protocol, C: Carrier<P::Message>> Dependencies<P::Message> for Outside<'_, '_, P, C> {
    #[inline]
    fn now(&self) -> Time {
        self.ctx.now()
    }
    #[inline]
    fn rng(&mut self) -> &Rng {
        self.ctx.rng()
    }
    #[inline]
    fn send(&mut self, to: LpId, message: P::Message) {
        let (protocol, from) = (&self.model.protocol, self.ctx.id());
        self.ctx.note(|| {
            let [from, to] = [from, to].map(|node| protocol.node_name(node));
            format!("{from} sends {} to {to}", Described(protocol, &message))
        });
        let departure = Departure { from: self.ctx.id(), to, message: &message, now: self.ctx.now() };
        let plan = self.model.carrier.plan(departure, self.access, self.ctx.rng());
        let letter = Letter { to, receipt: None, plan, message };
        if C::POSTS_AT_ONCE {
            post(self.model, self.access, self.ctx, letter);
        } else {
            self.letters.push(letter);
        }
    }
    #[inline]
    fn count(&mut self, counter: CounterId, amount: u64) {
        self.ctx.count(counter, amount);
    }
    #[inline]
    fn observe(&mut self, metric: IntegerId, value: u64) {
        self.ctx.observe(metric, value);
    }
    #[inline]
    fn note(&mut self, text: impl FnOnce() -> String) {
        self.ctx.note(text);
    }
}

impl<'a, 'c, P: Protocol, C: Carrier<P::Message>> Event<'a, 'c, P, C> {
    /// Handles an event, sends the machine's messages, and sets the kernel's timers. `handle` returns false
    /// if the machine has done nothing, so that there is nothing to send or to set.
    #[inline]
    pub(super) fn run(
        model: &'a AsModel<P, C>,
        node: &'a mut StateOf<P, C>,
        ctx: &'a mut Context<'c, AsModel<P, C>>,
        handle: impl FnOnce(&mut Self) -> bool,
    ) {
        let mut event = Event { model, node, ctx, letters: Few::new() };
        if !handle(&mut event) {
            return;
        }
        let due = due(event.node.stage, || event.wait()).expect("it goes on until it waits for something");
        let Event { model, node, ctx, letters } = event;
        letters.for_each(|letter| post(model, &mut node.access, ctx, letter));
        arm(&mut node.armed, due, ctx);
    }

    #[inline]
    fn wait(&self) -> Wait {
        self.model.protocol.wait(&self.node.machine)
    }

    /// Lets the machine act on its node.
    #[inline(always)]
    fn with_machine(&mut self, act: impl FnOnce(&P, &mut P::Machine, &mut Outside<'_, 'c, P, C>)) {
        let Event { model, node, ctx, letters } = self;
        let NodeState { machine, access, .. } = &mut **node;
        act(&model.protocol, machine, &mut Outside { model, access, ctx, letters });
    }

    #[inline]
    fn on_message(&mut self, (from, message): (LpId, P::Message)) {
        self.with_machine(|protocol, machine, outside| protocol.on_message(machine, from, message, outside));
    }

    /// Handles messages that have arrived. They are lost if the node is away, and kept if it has not come yet
    /// or its machine takes none; then it returns false.
    #[inline]
    pub(super) fn on_messages(&mut self, messages: Few<(LpId, P::Message)>) -> bool {
        if let Stage::Away(_) = self.node.stage {
            return false;
        }
        let before = self.wait();
        let (Stage::Present(_), Wait::Messages(_)) = (self.node.stage, before) else {
            messages.for_each(|message| self.node.inbox.push_back(message));
            return false;
        };
        let mut wait = before;
        messages.for_each(|message| match wait {
            Wait::Messages(_) => {
                self.on_message(message);
                wait = self.wait();
            }
            _ => self.node.inbox.push_back(message),
        });
        // The wait, or the session, may end at this very time. Under a tie seed the timer's own event says
        // when.
        let takes_time = !self.ctx.shuffles_ties();
        if wait == before && takes_time {
            self.on_time();
        }
        self.advance(takes_time);
        true
    }

    /// Lets the machine go on if the time of its wait has come.
    #[inline]
    fn on_time(&mut self) {
        if let Wait::Sleep(until) | Wait::Messages(until) = self.wait()
            && until <= self.ctx.now()
        {
            self.with_machine(|protocol, machine, outside| protocol.on_timer(machine, outside));
        }
    }

    /// Handles one of the kernel's timers. Always returns true.
    #[inline]
    pub(super) fn on_timer(&mut self, timer: usize) -> bool {
        self.node.armed[timer] = Time::MAX;
        match self.node.stage {
            Stage::Starting => match self.model.protocol.first_coming(self.ctx.id()) {
                Some(first) => {
                    self.node.stage = Stage::Coming(self.ctx.now().checked_add(first).unwrap_or(Time::MAX));
                }
                None => self.come(),
            },
            Stage::Coming(_) | Stage::Away(_) => self.come(),
            Stage::Present(_) => {
                // Sleeps and timeouts that end at one time have an event each under a tie seed.
                let is_own = !self.ctx.shuffles_ties() || matches!(self.wait(), Wait::Sleep(_)) == (timer == SLEEP);
                if is_own {
                    self.on_time();
                }
                self.advance(!self.ctx.shuffles_ties() || timer == TIMEOUT);
            }
        }
        true
    }

    /// Begins a session.
    fn come(&mut self) {
        let (id, now) = (self.ctx.id(), self.ctx.now());
        let churn = self.model.protocol.churn();
        let stay = churn.map_or(Stay::for_ever(), |churn| churn.begin(id, now, self.ctx.rng()));
        self.node.stage = Stage::Present(stay);
        let end = if stay.crashes { Time::MAX } else { stay.end };
        self.with_machine(|protocol, machine, outside| protocol.begin(machine, end, outside));
        self.feed();
        if self.wait() == Wait::Gone {
            self.go(&stay);
        }
    }

    /// Lets the machine go on until it waits. The node goes if its machine is gone, or if it may crash and
    /// the time of its crash has come.
    #[inline]
    fn advance(&mut self, may_crash: bool) {
        self.feed();
        if let Stage::Present(stay) = self.node.stage
            && (self.wait() == Wait::Gone || (may_crash && stay.crashes && stay.end <= self.ctx.now()))
        {
            self.go(&stay);
        }
    }

    /// Gives the machine the messages that are kept for it, as long as it takes any.
    #[inline]
    fn feed(&mut self) {
        loop {
            let wait = self.wait();
            let takes = matches!(wait, Wait::Ready | Wait::Messages(_));
            match if takes { self.node.inbox.pop_front() } else { None } {
                Some(message) => self.on_message(message),
                None if wait == Wait::Ready => {
                    self.with_machine(|protocol, machine, outside| protocol.proceed(machine, outside));
                }
                None => return,
            }
        }
    }

    /// Goes away. Messages that are kept are lost.
    fn go(&mut self, stay: &Stay) {
        self.node.inbox.clear();
        let protocol = &self.model.protocol;
        protocol.leave(&mut self.node.machine, self.ctx.now(), stay.keeps_state);
        let back = protocol.churn().map(|churn| churn.back(self.ctx.id(), stay, self.ctx.now()));
        self.node.stage = Stage::Away(back.unwrap_or(Time::MAX));
    }
}

/// Returns the times for which a node waits, by timer; `None` if its machine is about to go on or to go.
#[inline]
fn due(stage: Stage, wait: impl FnOnce() -> Wait) -> Option<[Time; TIMERS as usize]> {
    let mut due = [Time::MAX; TIMERS as usize];
    match stage {
        Stage::Starting => due[SLEEP] = Time::ZERO,
        Stage::Coming(until) | Stage::Away(until) => due[SLEEP] = until,
        Stage::Present(stay) => {
            match wait() {
                Wait::Sleep(until) => due[SLEEP] = until,
                Wait::Messages(until) => due[TIMEOUT] = until,
                Wait::Ready | Wait::Gone => return None,
            }
            if stay.crashes {
                due[TIMEOUT] = due[TIMEOUT].min(stay.end);
            }
        }
    }
    Some(due)
}

/// A message in the words of its protocol.
struct Described<'a, P: Protocol>(&'a P, &'a P::Message);

impl<P: Protocol> fmt::Display for Described<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe(self.1, f)
    }
}

/// Lets the carrier send a message.
#[inline(always)]
fn post<P: Protocol, C: Carrier<P::Message>>(
    model: &AsModel<P, C>,
    access: &mut C::Access,
    ctx: &mut Context<'_, AsModel<P, C>>,
    letter: LetterOf<P, C>,
) {
    let AsModel { carrier, layout, .. } = model;
    // Such an id may be that of an LP of the carrier's own.
    if layout.lps() > 0 && letter.to.0 >= layout.nodes() {
        return ctx.fail(format!("it sent to node {}, but there are only {} nodes", letter.to.0, layout.nodes()));
    }
    carrier.post(letter, access, &mut Kernel::node(ctx, *layout));
}

/// Sets the kernel's timers.
#[inline]
fn arm<L: Model>(armed: &mut [Time; TIMERS as usize], due: [Time; TIMERS as usize], ctx: &mut Context<'_, L>) {
    for ((timer, due), armed) in (0..).zip(due).zip(armed) {
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
