//! A protocol as a program: a process drives the machine of each node.
//!
//! The process decides nothing. It waits as the machine asks, and passes messages and the end of waits to the
//! machine.

use super::{Dependencies, Protocol, Wait};
use crate::churn::Stay;
use parades_core::prelude::*;
use parades_core::profile::short_name;
use parades_program::{Actions, Carrier, Here, Node, Processes, Program, Received, Start};
use std::fmt;
use std::ops::ControlFlow;
use std::pin::pin;

/// The program of a protocol's nodes, over the carrier `C`.
#[derive(Debug)]
pub struct AsProgram<P, C> {
    protocol: P,
    carrier: C,
}

impl<P: Protocol, C: Carrier<P::Message>> AsProgram<P, C> {
    /// Makes the model of the program.
    pub fn model(protocol: P, carrier: C) -> Processes<AsProgram<P, C>> {
        Processes::new(AsProgram { protocol, carrier })
    }
}

impl<P, C> AsProgram<P, C> {
    /// Returns the protocol.
    pub fn protocol(&self) -> &P {
        &self.protocol
    }
}

impl<P: Protocol, C: Carrier<P::Message>> Program for AsProgram<P, C> {
    type Message = P::Message;
    type State = P::Machine;
    type Carrier = C;

    fn nodes(&self) -> u32 {
        self.protocol.nodes()
    }

    fn carrier(&self) -> &C {
        &self.carrier
    }

    fn name(&self) -> String {
        short_name(std::any::type_name::<P>()).to_owned()
    }

    fn metrics(&self) -> Metrics {
        self.protocol.metrics()
    }

    fn start(&self, start: &mut Start<'_, Self>) -> P::Machine {
        let machine = self.protocol.machine(start.id(), start.rng());
        match self.protocol.churn() {
            None => start.spawn("peer", remain::<P, C>),
            Some(_) => start.spawn("peer", come_and_go::<P, C>),
        }
        machine
    }

    fn describe(&self, message: &P::Message, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.protocol.describe(message, to)
    }

    #[inline]
    fn fetch(&self, machine: &P::Machine) {
        self.protocol.fetch(machine, 0);
    }

    fn fold(&self, machine: &P::Machine, digest: &mut Digest) {
        self.protocol.fold(machine, digest);
    }

    fn finish(&self, id: LpId, machine: &P::Machine, end: &End, metrics: &mut Metrics) {
        self.protocol.finish(id, machine, end, metrics);
    }

    fn conclude(&self, end: &End, metrics: &mut Metrics) -> Result<(), String> {
        self.protocol.conclude(end, metrics)
    }
}

/// The node of a process, as the machine sees it.
struct Outside<'a, 'n, P: Protocol, C: Carrier<P::Message>>(&'a mut Actions<'n, AsProgram<P, C>>);

impl<P: Protocol, C: Carrier<P::Message>> Dependencies<P::Message> for Outside<'_, '_, P, C> {
    #[inline]
    fn now(&self) -> Time {
        self.0.now()
    }
    #[inline]
    fn rng(&mut self) -> &Rng {
        self.0.rng()
    }
    #[inline]
    fn send(&mut self, to: LpId, message: P::Message) {
        self.0.send(to, message);
    }
    #[inline]
    fn count(&mut self, counter: CounterId, amount: u64) {
        self.0.count(counter, amount);
    }
    #[inline]
    fn observe(&mut self, metric: IntegerId, value: u64) {
        self.0.observe(metric, value);
    }
}

/// Lets a machine act on its node.
#[inline(always)]
fn with_machine<'n, P: Protocol, C: Carrier<P::Message>, T>(
    here: &mut Here<'n, AsProgram<P, C>>,
    act: impl FnOnce(&P, &mut P::Machine, &mut Outside<'_, 'n, P, C>) -> T,
) -> T {
    act(&here.program.protocol, here.state, &mut Outside(&mut here.actions))
}

/// Returns what the machine waits for.
#[inline]
fn wait_of<P: Protocol, C: Carrier<P::Message>>(here: &Here<'_, AsProgram<P, C>>) -> Wait {
    here.program.protocol.wait(here.state)
}

#[inline]
fn on_message<P: Protocol, C: Carrier<P::Message>>(
    here: &mut Here<'_, AsProgram<P, C>>,
    received: Received<P::Message>,
) {
    with_machine(here, |protocol, machine, outside| {
        protocol.on_message(machine, received.from, received.message, outside);
    });
}

/// Lets a machine go on until it waits.
#[inline]
fn advance<P: Protocol, C: Carrier<P::Message>>(here: &mut Here<'_, AsProgram<P, C>>) -> Wait {
    loop {
        let wait = wait_of(here);
        if wait != Wait::Ready {
            return wait;
        }
        match here.try_receive() {
            Some(received) => on_message(here, received),
            None => with_machine(here, |protocol, machine, outside| protocol.proceed(machine, outside)),
        }
    }
}

/// The process of a node that stays, and so needs less memory than one that comes and goes.
async fn remain<P: Protocol, C: Carrier<P::Message>>(node: Node<AsProgram<P, C>>) {
    wait_to_come(node).await;
    live(node, Time::MAX).await;
    leave(node, false);
}

/// The process of a node under churn: the node's sessions, one after another.
async fn come_and_go<P: Protocol, C: Carrier<P::Message>>(node: Node<AsProgram<P, C>>) {
    wait_to_come(node).await;
    loop {
        let stay = node.with(|here| {
            let (id, now) = (here.id(), here.now());
            let churn = here.program.protocol.churn();
            churn.map_or(Stay::for_ever(), |churn| churn.begin(id, now, here.actions.rng()))
        });
        if stay.crashes {
            let mut life = pin!(live(node, Time::MAX));
            node.within(stay.end.since(node.now()), life.as_mut()).await;
        } else {
            live(node, stay.end).await;
        }
        leave(node, stay.keeps_state);
        let back = node.with(|here| {
            let churn = here.program.protocol.churn();
            churn.map_or(Time::MAX, |churn| churn.back(here.id(), &stay, here.now()))
        });
        if back == Time::MAX {
            return;
        }
        node.sleep_until(back).await;
        node.connect();
    }
}

/// Waits until the node comes for the first time.
async fn wait_to_come<P: Protocol, C: Carrier<P::Message>>(node: Node<AsProgram<P, C>>) {
    if let Some(first) = node.with(|here| here.program.protocol.first_coming(here.id())) {
        node.sleep(first).await;
    }
}

/// From now on, no message reaches the node. Unless it keeps its state, its machine forgets what it knew of
/// other nodes.
fn leave<P: Protocol, C: Carrier<P::Message>>(node: Node<AsProgram<P, C>>, keeps_state: bool) {
    node.disconnect();
    node.with(|here| {
        let now = here.now();
        here.program.protocol.leave(here.state, now, keeps_state);
    });
}

/// A session of a node, until its machine is gone.
async fn live<P: Protocol, C: Carrier<P::Message>>(node: Node<AsProgram<P, C>>, end: Time) {
    let mut wait = node.with(|here| {
        with_machine(here, |protocol, machine, outside| protocol.begin(machine, end, outside));
        advance(here)
    });
    loop {
        let is_over = match wait {
            Wait::Gone => return,
            Wait::Ready => unreachable!("`advance` goes on while the machine is ready"),
            Wait::Sleep(Time::MAX) => std::future::pending().await,
            Wait::Sleep(until) => {
                node.sleep_until(until).await;
                true
            }
            Wait::Messages(_) => {
                let messages = node.serve(|here, received| {
                    on_message(here, received);
                    match wait_of(here) {
                        Wait::Messages(_) => ControlFlow::Continue(()),
                        _ => ControlFlow::Break(()),
                    }
                });
                messages.until(deadline).await.is_none()
            }
        };
        wait = node.with(|here| {
            if is_over {
                with_machine(here, |protocol, machine, outside| protocol.on_timer(machine, outside));
            }
            advance(here)
        });
    }
}

/// Returns the time until which the machine waits for messages.
#[inline]
fn deadline<P: Protocol, C: Carrier<P::Message>>(here: &Here<'_, AsProgram<P, C>>) -> Time {
    match wait_of(here) {
        Wait::Messages(until) => until,
        _ => unreachable!("messages are served only while the machine waits for them"),
    }
}
