//! Chord, as the drivers see it.

use super::message::{MESSAGE_BYTES, Message};
use super::{Chord, Machine, Parameters};
use crate::Invalid;
use crate::churn::Churn;
use crate::driver::{AsModel, AsProgram, Dependencies, Protocol, SaveProtocol, Wait};
use parades_carriers::Constant;
use parades_core::prefetch::prefetch_all;
use parades_core::prelude::*;
use parades_core::wire::{self, Malformed};
use parades_program::{Carrier, Processes};
use std::fmt::{self, Display as _};

impl Chord {
    /// Makes the program of these parameters, with the identifiers that `seed` gives. Every message takes
    /// [`Parameters::latency`].
    ///
    /// # Errors
    ///
    /// On a parameter that makes no sense, with its name.
    pub fn model(parameters: Parameters, seed: u64) -> Result<Processes<AsProgram<Chord, Constant>>, Invalid> {
        Chord::over(parameters.constant()?, parameters, seed)
    }

    /// Makes the program over any carrier. [`Parameters::latency`] is then without effect.
    ///
    /// # Errors
    ///
    /// As [`Chord::model`].
    pub fn over<C: Carrier<Message>>(
        carrier: C,
        parameters: Parameters,
        seed: u64,
    ) -> Result<Processes<AsProgram<Chord, C>>, Invalid> {
        Ok(AsProgram::model(Chord::new(parameters, seed)?, carrier))
    }

    /// Makes the same as [`Chord::model`], as a model whose state can be rolled back.
    ///
    /// # Errors
    ///
    /// As [`Chord::model`].
    pub fn restorable(parameters: Parameters, seed: u64) -> Result<AsModel<Chord, Constant>, Invalid> {
        let carrier = parameters.constant()?;
        Ok(AsModel::new(Chord::new(parameters, seed)?, carrier))
    }
}

impl Protocol for Chord {
    type Message = Message;
    type Machine = Machine;

    fn nodes(&self) -> u32 {
        self.parameters().nodes
    }

    fn describe(&self, message: &Message, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        message.fmt(to)
    }

    fn bytes(_: &Message) -> f64 {
        MESSAGE_BYTES
    }

    fn churn(&self) -> Option<&Churn> {
        self.parameters().churn.as_ref()
    }

    fn first_coming(&self, node: LpId) -> Option<Delay> {
        let Parameters { spacing, churn, .. } = self.parameters();
        let first = churn.as_ref().and_then(|churn| churn.first(node)).map(|first| first.since(Time::ZERO));
        first.or_else(|| (*spacing > Delay::ZERO).then(|| Delay::from_ps(spacing.as_ps() * u64::from(node.0))))
    }

    fn metrics(&self) -> Metrics {
        self.declare_metrics()
    }

    fn machine(&self, node: LpId, rng: &Rng) -> Machine {
        Machine::new(self.peer(node, rng))
    }

    #[inline]
    fn wait(&self, machine: &Machine) -> Wait {
        machine.wait()
    }

    fn begin(&self, machine: &mut Machine, end: Time, driver: &mut impl Dependencies<Message>) {
        machine.begin(self, end, driver);
    }

    #[inline]
    fn on_message(&self, machine: &mut Machine, _: LpId, message: Message, driver: &mut impl Dependencies<Message>) {
        machine.on_message(self, message, driver);
    }

    fn on_timer(&self, machine: &mut Machine, driver: &mut impl Dependencies<Message>) {
        machine.on_timer(self, driver);
    }

    #[inline]
    fn proceed(&self, machine: &mut Machine, driver: &mut impl Dependencies<Message>) {
        machine.proceed(self, driver);
    }

    fn leave(&self, machine: &mut Machine, at: Time, _: bool) {
        machine.end(self, at);
    }

    fn forget(&self, machine: &mut Machine) {
        machine.forget();
    }

    #[inline]
    fn fetch(&self, machine: &Machine, step: usize) {
        if step == 0 {
            prefetch_all(&machine.peer().fingers[..]);
        }
    }

    fn fold(&self, machine: &Machine, digest: &mut Digest) {
        machine.peer().words().for_each(|word| digest.word(word));
    }

    fn finish(&self, node: LpId, machine: &Machine, end: &End, metrics: &mut Metrics) {
        self.ids.finish(self, node, machine, end, metrics);
    }

    fn conclude(&self, end: &End, metrics: &mut Metrics) -> Result<(), String> {
        let result = self.ids.conclude(self.is_settled(end.time), metrics);
        self.ids.judge(self, metrics);
        result
    }
}

impl SaveProtocol for Chord {
    fn write_machine(&self, machine: &Machine, to: &mut Vec<u8>) {
        wire::write(machine, to);
    }

    fn read_machine(&self, node: LpId, from: &mut &[u8]) -> Result<Machine, Malformed> {
        wire::read::<Machine>(from)?.checked(self, node)
    }
}
