//! Two drivers for any protocol: a program, and a model that can be rolled back.
//!
//! A [`Protocol`] is the state machine of a node, without input or output of its own. Its state is plain
//! data. A driver tells the machine what happens, and gives it time, random numbers and sends
//! ([`Dependencies`]).
//!
//! | driver | engines |
//! |---|---|
//! | [`AsProgram`]: a process drives the machine | all but those that roll back |
//! | [`AsModel`]: the handler of an LP drives it | all; for rollback see [below](#rollback-and-carriers) |
//!
//! Both run over any carrier, and let nodes come and go as the protocol's [`crate::churn::Churn`] says.
//!
//! # Rules
//!
//! A machine is written against these rules. Both drivers keep them.
//!
//! 1. After each call, [`Protocol::wait`] says what the machine waits for. The driver reads nothing else.
//! 2. While the machine waits for messages ([`Wait::Messages`]), it gets each message as it comes.
//! 3. While the machine sleeps ([`Wait::Sleep`]), the driver keeps messages in their order. The machine gets
//!    them as soon as it is ready or waits for messages again.
//! 4. When the machine is ready ([`Wait::Ready`]), it gets the kept messages, and then [`Protocol::proceed`].
//! 5. When the time of a wait has come, the machine gets [`Protocol::on_timer`]. This happens in a later
//!    event than the one in which the wait began. A message that comes at that very time is handled before or
//!    after, as events are ordered: see *Ties* in [`parades_core`].
//! 6. A wait never ends in the past. `Time::MAX` stands for no end.
//! 7. A session of a node begins with [`Protocol::begin`]. Messages that come before the first one are kept.
//!    It ends when the machine is gone ([`Wait::Gone`]), or with a crash in the middle of any wait. Then the
//!    machine gets [`Protocol::leave`], and no message reaches the node until its next session.
//! 8. Messages leave at the end of the event, in the order in which the machine sent them.
//!
//! # One answer
//!
//! Over one carrier both drivers execute the same events at the same times, and give equal digests. A test
//! that compares the two finds a driver that breaks a rule.
//!
//! The digest rule: a node's final state folds one word, and then [`Protocol::fold`].
//!
//! - The upper half of the word is 1; it is 0 for a node that has gone and never comes back. In a program
//!   ([`parades_program::Processes`]) this is the number of living processes of the node.
//! - The lower half is the number of messages that are kept for the machine. In a program this is the number
//!   of unread messages.
//! - An LP of a carrier's own folds [`parades_program::Carrier::fold`].
//!
//! Events agree for two reasons. Both drivers use the kernel's timer 0 for sleeps, and timer 1 for timeouts
//! and crashes. Both set the timers after the sends of the event.
//!
//! # Rollback and carriers
//!
//! An engine that rolls back keeps a copy of a node: the machine, and the carrier's state there. The
//! carrier's own LPs are restored as the carrier says ([`parades_program::RestorableCarrier`]). Over a
//! carrier that says nothing, the compiler refuses an engine that rolls back. `FlowLevel` is such a carrier.
//!
//! # Saved runs
//!
//! A run of [`AsModel`] can be saved if its protocol and its carrier say how they write their states
//! ([`SaveProtocol`], [`parades_program::SaveCarrier`]). A program cannot: see
//! [`parades_program::Processes`].
//!
//! *Read next*: [`Protocol`].

mod few;
mod model;
mod node;
mod program;
mod protocol;
mod save;
mod timers;

pub use model::{AsModel, LpState, Undo};
pub use node::NodeState;
pub use program::AsProgram;
pub use protocol::{Dependencies, Protocol, Wait};
pub use save::SaveProtocol;
pub use timers::Timers;
