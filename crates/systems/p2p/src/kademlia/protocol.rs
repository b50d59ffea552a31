//! Kademlia, as the drivers see it.

use super::message::Message;
use super::{Kademlia, Machine, Tables};
use crate::churn::Churn;
use crate::driver::{Dependencies, Protocol, Wait};
use parades_core::prelude::*;
use std::fmt::{self, Display as _};

impl Protocol for Kademlia {
    type Message = Message;
    type Machine = Machine;

    fn nodes(&self) -> u32 {
        self.parameters().nodes
    }

    fn describe(&self, message: &Message, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        message.fmt(to)
    }

    fn bytes(message: &Message) -> f64 {
        message.bytes() as f64
    }

    fn churn(&self) -> Option<&Churn> {
        self.parameters().churn.as_ref()
    }

    fn first_coming(&self, node: LpId) -> Option<Delay> {
        let parameters = self.parameters();
        let first = parameters.churn.as_ref().and_then(|churn| churn.first(node));
        let spaced = parameters.tables == Tables::Joined && parameters.spacing > Delay::ZERO;
        first
            .map(|first| first.since(Time::ZERO))
            .or_else(|| spaced.then(|| Delay::from_ps(parameters.spacing.as_ps() * u64::from(node.0))))
    }

    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        super::report::Ids::declare(&mut metrics);
        metrics
    }

    fn machine(&self, node: LpId, rng: &Rng) -> Machine {
        Machine::new(node, self.table(node, rng))
    }

    #[inline]
    fn wait(&self, machine: &Machine) -> Wait {
        machine.wait()
    }

    fn begin(&self, machine: &mut Machine, end: Time, driver: &mut impl Dependencies<Message>) {
        machine.begin(self, end, driver);
    }

    #[inline]
    fn on_message(&self, machine: &mut Machine, from: LpId, message: Message, driver: &mut impl Dependencies<Message>) {
        machine.on_message(self, from, message, driver);
    }

    fn on_timer(&self, machine: &mut Machine, driver: &mut impl Dependencies<Message>) {
        machine.on_timer(self, driver);
    }

    fn leave(&self, machine: &mut Machine, at: Time, keeps_state: bool) {
        machine.leave(self, at, keeps_state);
    }

    #[inline]
    fn fetch(&self, machine: &Machine, step: usize) {
        machine.fetch(step);
    }

    fn forget(&self, machine: &mut Machine) {
        machine.forget(self);
    }

    fn fold(&self, machine: &Machine, digest: &mut Digest) {
        machine.words().for_each(|word| digest.word(word));
    }

    fn finish(&self, node: LpId, machine: &Machine, end: &End, metrics: &mut Metrics) {
        self.ids.finish(node, machine, self.parameters().unfinished, end, metrics);
    }

    fn conclude(&self, _: &End, metrics: &mut Metrics) -> Result<(), String> {
        self.ids.conclude(self.directory(), self.parameters().unfinished, metrics);
        Ok(())
    }
}
