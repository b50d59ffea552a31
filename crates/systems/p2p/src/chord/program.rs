//! Chord's nodes as a program: each node's machine, driven by a process.
//!
//! The process decides nothing. It waits as the machine asks, and passes messages and the end of waits to the
//! machine.

use super::machine::{Dependencies, Machine, Wait};
use super::{Invalid, Message, Parameters, Ring, Setup};
use parades_carriers::Constant;
use parades_core::prefetch::prefetch_all;
use parades_core::prelude::*;
use parades_program::{Actions, Carrier, Here, Node, Processes, Program, Received, Start};
use std::ops::ControlFlow;
use std::pin::pin;

/// The program of Chord's nodes, over the carrier `C`.
#[derive(Debug)]
pub struct Chord<C = Constant> {
    setup: Setup,
    carrier: C,
}

impl Chord {
    /// Makes the model of these parameters, with the identifiers that `seed` gives.
    ///
    /// # Errors
    ///
    /// On a parameter that makes no sense, with its name.
    pub fn model(parameters: Parameters, seed: u64) -> Result<Processes<Chord>, Invalid> {
        parameters.check_latency()?;
        Chord::over(Constant::new(parameters.latency), parameters, seed)
    }
}

impl<C: Carrier<Message>> Chord<C> {
    /// Makes the model over any carrier. [`Parameters::latency`] is then without effect.
    ///
    /// # Errors
    ///
    /// On a parameter that makes no sense, with its name.
    pub fn over(carrier: C, parameters: Parameters, seed: u64) -> Result<Processes<Chord<C>>, Invalid> {
        Ok(Processes::new(Chord { setup: Setup::new(parameters, seed)?, carrier }))
    }
}

impl<C> Chord<C> {
    /// Returns the parameters.
    pub fn parameters(&self) -> &Parameters {
        self.setup.parameters()
    }

    /// Returns the ring of identifiers.
    pub fn ring(&self) -> &Ring {
        self.setup.ring()
    }
}

impl<C: Carrier<Message>> Program for Chord<C> {
    type Message = Message;
    type State = Machine;
    type Carrier = C;

    fn nodes(&self) -> u32 {
        self.setup.nodes()
    }

    fn carrier(&self) -> &C {
        &self.carrier
    }

    fn metrics(&self) -> Metrics {
        self.setup.metrics()
    }

    fn start(&self, start: &mut Start<'_, Self>) -> Machine {
        let peer = self.setup.peer(start.id(), start.rng());
        match self.parameters().churn {
            None => start.spawn("peer", |node| live::<C>(node, Time::MAX, true)),
            Some(_) => start.spawn("peer", come_and_go::<C>),
        }
        Machine::new(peer)
    }

    fn fetch(&self, machine: &Machine) {
        prefetch_all(&machine.peer().fingers[..]);
    }

    fn fold(&self, machine: &Machine, digest: &mut Digest) {
        machine.peer().words().for_each(|word| digest.word(word));
    }

    fn finish(&self, id: LpId, machine: &Machine, end: &End, metrics: &mut Metrics) {
        self.setup.ids.finish((id, machine.peer()), self.setup.is_settled(end.time), metrics);
    }

    fn conclude(&self, end: &End, metrics: &mut Metrics) -> Result<(), String> {
        self.setup.ids.conclude(self.setup.is_settled(end.time), metrics)
    }
}

/// A node as its machine sees it.
struct Outside<'a, 'n, C: Carrier<Message>>(&'a Setup, &'a mut Actions<'n, Chord<C>>);

impl<C: Carrier<Message>> Dependencies for Outside<'_, '_, C> {
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
        self.1.send(self.0.ring().lp(to), message);
    }
    fn joined(&mut self, took: Delay) {
        self.1.observe(self.0.ids.join_time, took.as_ps());
    }
    #[inline]
    fn looked_up(&mut self, hops: u16, took: Delay) {
        self.1.observe(self.0.ids.hops, u64::from(hops));
        self.1.observe(self.0.ids.look_up_time, took.as_ps());
    }
}

/// Lets a machine act on its node.
#[inline(always)]
fn with_machine<'n, C: Carrier<Message>, T>(
    here: &mut Here<'n, Chord<C>>,
    act: impl FnOnce(&mut Machine, &Setup, &mut Outside<'_, 'n, C>) -> T,
) -> T {
    let setup = &here.program.setup;
    act(here.state, setup, &mut Outside(setup, &mut here.actions))
}

#[inline]
fn on_message<C: Carrier<Message>>(here: &mut Here<'_, Chord<C>>, received: Received<Message>) -> bool {
    with_machine(here, |machine, setup, outside| machine.on_message(setup, received.message, outside))
}

/// Lets a machine go on until it waits.
#[inline]
fn advance<C: Carrier<Message>>(here: &mut Here<'_, Chord<C>>) -> Wait {
    loop {
        let wait = here.state.wait(&here.program.setup);
        if wait != Wait::Ready {
            return wait;
        }
        while let Some(received) = here.try_receive() {
            on_message(here, received);
        }
        with_machine(here, |machine, setup, outside| machine.proceed(setup, outside));
    }
}

/// A node that comes and goes.
async fn come_and_go<C: Carrier<Message>>(node: Node<Chord<C>>) {
    wait_for_turn(node).await;
    loop {
        let stay = node.with(|here| {
            let (id, now) = (here.id(), here.now());
            Some(here.program.parameters().churn.as_ref()?.begin(id, now, here.actions.rng()))
        });
        let Some(stay) = stay else { return };
        if stay.crashes {
            let mut life = pin!(live(node, Time::MAX, false));
            node.within(stay.end.since(node.now()), life.as_mut()).await;
        } else {
            live(node, stay.end, false).await;
        }
        // No message reaches the node now, and it forgets the ring.
        node.disconnect();
        let back = node.with(|here| {
            here.state.forget();
            let churn = here.program.parameters().churn.as_ref();
            churn.map_or(Time::MAX, |churn| churn.back(here.id(), &stay, here.now()))
        });
        node.sleep_until(back).await;
        node.connect();
    }
}

/// Waits until a node comes for the first time.
async fn wait_for_turn<C: Carrier<Message>>(node: Node<Chord<C>>) {
    if let Some(turn) = node.with(|here| here.program.setup.turn(here.id())) {
        node.sleep(turn).await;
    }
}

/// A node from the time when it comes until it leaves. If `in_turn`, it first waits for its turn.
async fn live<C: Carrier<Message>>(node: Node<Chord<C>>, end: Time, in_turn: bool) {
    if in_turn {
        wait_for_turn(node).await;
    }
    let mut wait = node.with(|here| {
        with_machine(here, |machine, setup, outside| machine.begin(setup, end, outside));
        advance(here)
    });
    loop {
        let is_over = match wait {
            Wait::Nothing => return,
            Wait::Ready => unreachable!("`advance` goes on while the machine is ready"),
            Wait::Sleep(until) => {
                node.sleep_until(until).await;
                true
            }
            Wait::Messages { timeout, restarts, .. } => {
                let answer = node.serve(|here, received| match on_message(here, received) {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                });
                let answer = if restarts { answer.within_each(timeout) } else { answer.within(timeout) };
                answer.await.is_none()
            }
        };
        wait = node.with(|here| {
            if is_over {
                with_machine(here, |machine, setup, outside| machine.on_timer(setup, outside));
            }
            advance(here)
        });
    }
}
