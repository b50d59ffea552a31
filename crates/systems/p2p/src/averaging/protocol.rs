//! Averaging, as the drivers see it.

use super::report::Ids;
use super::{Averaging, MESSAGE_BYTES, Machine, Message};
use crate::driver::{Dependencies, Protocol, SaveProtocol, Wait};
use parades_core::prelude::*;
use parades_core::wire::{self, Malformed};
use std::fmt::{self, Display as _};

impl Protocol for Averaging {
    type Message = Message;
    type Machine = Machine;

    fn nodes(&self) -> u32 {
        self.parameters().nodes
    }

    fn describe(&self, message: &Message, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        message.fmt(to)
    }

    fn bytes(_: &Message) -> f64 {
        MESSAGE_BYTES as f64
    }

    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        Ids::declare(&mut metrics, self.parameters());
        metrics
    }

    fn machine(&self, node: LpId, rng: &Rng) -> Machine {
        Machine::new(self, node, rng)
    }

    #[inline]
    fn wait(&self, machine: &Machine) -> Wait {
        Wait::Messages(machine.next)
    }

    fn begin(&self, machine: &mut Machine, _: Time, driver: &mut impl Dependencies<Message>) {
        machine.begin(self, driver);
    }

    #[inline]
    fn on_message(&self, machine: &mut Machine, from: LpId, message: Message, driver: &mut impl Dependencies<Message>) {
        machine.on_message(self, from, message, driver);
    }

    #[inline]
    fn on_timer(&self, machine: &mut Machine, driver: &mut impl Dependencies<Message>) {
        machine.on_timer(self, driver);
    }

    /// Does nothing: nodes neither leave nor crash.
    fn forget(&self, _: &mut Machine) {}

    fn fold(&self, machine: &Machine, digest: &mut Digest) {
        digest.word(machine.value());
        digest.word(u64::from(machine.books.messages));
    }

    fn finish(&self, _: LpId, machine: &Machine, end: &End, metrics: &mut Metrics) {
        machine.measure_rest(self, end.time, metrics);
        self.ids.finish(machine, metrics);
    }

    fn conclude(&self, end: &End, metrics: &mut Metrics) -> Result<(), String> {
        self.ids.conclude(self.parameters(), end.time, metrics)
    }
}

impl SaveProtocol for Averaging {
    fn write_machine(&self, machine: &Machine, to: &mut Vec<u8>) {
        wire::write(machine, to);
    }

    fn read_machine(&self, node: LpId, from: &mut &[u8]) -> Result<Machine, Malformed> {
        wire::read::<Machine>(from)?.checked(self, node)
    }
}
