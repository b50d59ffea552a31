//! GossipSub, as the drivers see it.

use super::report::Ids;
use super::{GossipSub, Machine, Message};
use crate::driver::{Dependencies, Protocol, SaveProtocol, Wait};
use parades_core::prelude::*;
use parades_core::wire::{self, Malformed};
use std::fmt::{self, Display as _};

impl Protocol for GossipSub {
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

    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        Ids::declare(&mut metrics);
        metrics
    }

    fn machine(&self, node: LpId, _: &Rng) -> Machine {
        Machine::new(self, node)
    }

    #[inline]
    fn wait(&self, machine: &Machine) -> Wait {
        Wait::Messages(machine.timers.next())
    }

    fn begin(&self, machine: &mut Machine, _: Time, driver: &mut impl Dependencies<Message>) {
        machine.begin(self, driver);
    }

    fn on_message(&self, machine: &mut Machine, from: LpId, message: Message, driver: &mut impl Dependencies<Message>) {
        machine.on_message(self, from, message, driver);
    }

    fn on_timer(&self, machine: &mut Machine, driver: &mut impl Dependencies<Message>) {
        machine.on_timer(self, driver);
    }

    /// Does nothing: nodes neither leave nor crash.
    fn forget(&self, _: &mut Machine) {}

    fn fold(&self, machine: &Machine, digest: &mut Digest) {
        machine.delivered.iter().for_each(|&word| digest.word(word));
        for peer in &machine.peers {
            digest.word(u64::from(peer.id));
            digest.word(peer.penalty().to_bits());
            for topic in peer.in_topics() {
                let counters = &topic.counters;
                digest.word(topic.backoff.as_ps());
                digest.word(counters.grafted.map_or(u64::MAX, Time::as_ps));
                let values = [counters.first, counters.deliveries, counters.failures, counters.invalid];
                values.into_iter().for_each(|value| digest.word(value.to_bits()));
            }
        }
        digest.word(machine.books.bytes);
        digest.word(machine.books.duplicates);
    }

    fn finish(&self, _: LpId, machine: &Machine, _: &End, metrics: &mut Metrics) {
        self.ids.finish(self, machine, metrics);
    }

    fn conclude(&self, end: &End, metrics: &mut Metrics) -> Result<(), String> {
        self.ids.conclude(self, end.time, metrics);
        Ok(())
    }
}

impl SaveProtocol for GossipSub {
    fn write_machine(&self, machine: &Machine, to: &mut Vec<u8>) {
        wire::write(machine, to);
    }

    fn read_machine(&self, node: LpId, from: &mut &[u8]) -> Result<Machine, Malformed> {
        wire::read::<Machine>(from)?.checked(self, node)
    }
}
