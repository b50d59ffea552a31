//! The configuration of a run: units, the parameters of a scenario, and scenario files.
//!
//! A scenario declares its parameters once. The rest follows from this declaration: the defaults of the
//! library, reading values from the command line and from files, checking them, errors that point at the
//! place, and the file that `parades show` writes.
//!
//! To add a scenario:
//!
//! 1. Declare its parameters at the fields of a struct, by `#[derive(Parameters)]` ([`fields`] has an
//!    example). Parameters that are of no struct are a constant `&[Parameter]`. The table in [`parameter`]
//!    shows the kinds.
//! 2. Create [`Values`] from them. They hold the defaults until something is set.
//! 3. Read the struct by [`FromValues::from_values`], and other values by the getter of their kind, such as
//!    [`Values::integer`] or [`Values::duration`].
//! 4. Report a wrong combination of values by [`Values::error_at`]. Wrong single values have been refused
//!    already. So have values that cannot act, where their parameters declare what they need ([`needs`]).
//!
//! ```
//! use parades_config::{Parameter, Values};
//! use parades_core::time::Delay;
//!
//! const PARAMETERS: &[Parameter] = &[
//!     Parameter::integer("lps", 1024, 1..=4_000_000_000, "logical processes"),
//!     Parameter::fraction("remote", 0.1, "share of the events that go to an LP drawn uniformly"),
//!     Parameter::duration("mean_delay", Delay::from_secs(1), "mean delay of an event").positive().with_default_unit("s"),
//! ];
//!
//! let mut values = Values::new("phold", PARAMETERS);
//! values.set_argument("--set", "mean_delay=250ms")?;
//! assert_eq!(values.integer("lps"), 1024);
//! assert_eq!(values.duration("mean_delay"), Delay::from_ms(250));
//!
//! let error = values.set_argument("--set", "remote=1.5").unwrap_err();
//! assert_eq!(error.to_string(), "--set remote=1.5: `remote` must be between 0 and 1, not 1.5");
//! # Ok::<(), parades_config::ConfigError>(())
//! ```
//!
//! *Read next*: [`parameter`], then [`needs`], [`value`], [`values`], [`fields`], [`scenario`] and
//! [`mod@write`]. All of them use [`units`] and [`error`].

#![forbid(unsafe_code)]

pub mod error;
mod fault;
pub mod fields;
pub mod inputs;
mod nearest;
pub mod needs;
mod number;
pub mod parameter;
pub mod scenario;
pub mod units;
pub mod value;
pub mod values;
pub mod write;

pub use error::{
    ConfigError, Place, Source, Spot, escaped, is_escaped, is_executed, look_alikes, look_of, quoted, shortened,
    shortened_to,
};
pub use fault::{Fault, one_line};
pub use fields::{FromValue, FromValues, Words, words};
pub use inputs::read_text;
pub use nearest::{list, nearest};
pub use parades_derive::Parameters;
pub use parameter::{Kind, Parameter};
pub use scenario::{SETTINGS, ScenarioFile, Settings, THREADS_MAX, malformed};
pub use value::{Json, Value};
pub use values::{Idle, Values};
pub use write::{toml_string, write_scenario};
