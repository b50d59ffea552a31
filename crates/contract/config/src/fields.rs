//! Parameters as the fields of a struct: each is declared once, at the model that it is of.
//!
//! `#[derive(Parameters)]` makes from such a struct the list of its parameters, the function that reads them,
//! and its `Default`. So the library and the command have the same defaults. [`parades_derive::Parameters`]
//! lists the words of the attribute.
//!
//! ```
//! use parades_config::{FromValues, Parameters, Values, Words};
//! use parades_core::time::Delay;
//!
//! /// The distribution of the delay of an event.
//! #[derive(Clone, Copy, Debug, PartialEq)]
//! enum DelayKind {
//!     Exponential,
//!     Constant,
//! }
//!
//! impl Words for DelayKind {
//!     const WORDS: &'static [(&'static str, DelayKind)] =
//!         &[("exponential", DelayKind::Exponential), ("constant", DelayKind::Constant)];
//! }
//!
//! #[derive(Clone, Debug, PartialEq, Parameters)]
//! struct Phold {
//!     #[parameter(integer, default = 1024, range = 1..=4_000_000_000, meaning = "logical processes")]
//!     lps: u32,
//!     #[parameter(duration, default = Delay::from_secs(1), unit = "s", positive, meaning = "mean delay")]
//!     mean_delay: Delay,
//!     #[parameter(choice, key = "delay", default = "exponential", meaning = "distribution of delays")]
//!     kind: DelayKind,
//!     #[parameter(skip, default = false)]
//!     keeps_delays: bool,
//! }
//!
//! let mut values = Values::new("phold", Phold::PARAMETERS);
//! assert_eq!(Phold::from_values(&values)?, Phold::default());
//! values.set_argument("--set", "delay=constant")?;
//! assert_eq!(Phold::from_values(&values)?, Phold { kind: DelayKind::Constant, ..Phold::default() });
//! # Ok::<(), parades_config::ConfigError>(())
//! ```
//!
//! A struct may have others as fields, whose parameters then stand among its own, under the same names:
//!
//! ```
//! use parades_config::{FromValues, Parameters, Values};
//! use parades_core::time::Delay;
//!
//! #[derive(Parameters)]
//! struct Link {
//!     #[parameter(duration, default = Delay::from_ms(5), positive, meaning = "delay of a link")]
//!     delay: Delay,
//! }
//!
//! #[derive(Parameters)]
//! struct Ring {
//!     #[parameter(integer, default = 10, range = 2..=100, meaning = "nodes in the ring")]
//!     nodes: u32,
//!     #[parameter(group)]
//!     link: Link,
//! }
//!
//! let mut values = Values::new("ring", Ring::PARAMETERS);
//! values.set_argument("--set", "delay=2ms")?;
//! let ring = Ring::from_values(&values)?;
//! assert_eq!((ring.nodes, ring.link.delay), (10, Delay::from_ms(2)));
//! # Ok::<(), parades_config::ConfigError>(())
//! ```
//!
//! A mistake in an attribute does not compile: a default out of its range, or a word that the kind does not
//! take.
//!
//! ```compile_fail,E0080
//! #[derive(parades_config::Parameters)]
//! struct Forest {
//!     #[parameter(integer, default = 0, range = 1..=64, meaning = "trees that are grown")]
//!     trees: u32,
//! }
//! ```
//!
//! ```compile_fail
//! #[derive(parades_config::Parameters)]
//! struct Forest {
//!     #[parameter(boolean, default = true, range = 1..=64, meaning = "trees grow")]
//!     grows: bool,
//! }
//! ```
//!
//! A struct cannot have a second default: its `Default` is generated.
//!
//! ```compile_fail,E0119
//! #[derive(Default, parades_config::Parameters)]
//! struct Forest {
//!     #[parameter(integer, default = 3, range = 1..=64, meaning = "trees that are grown")]
//!     trees: u32,
//! }
//! ```

use crate::error::ConfigError;
use crate::parameter::Parameter;
use crate::value::Value;
use crate::values::Values;
use parades_core::time::Delay;
use std::path::PathBuf;

/// A struct whose fields are parameters. `#[derive(Parameters)]` implements it.
pub trait FromValues: Sized {
    /// The parameters, in the order of the fields.
    const PARAMETERS: &'static [Parameter];

    /// Reads all fields. `values` may have further parameters.
    ///
    /// # Errors
    ///
    /// If a value does not fit into its field. The error is at the parameter.
    ///
    /// # Panics
    ///
    /// Panics if `values` was made without one of [`FromValues::PARAMETERS`].
    fn from_values(values: &Values) -> Result<Self, ConfigError>;

    /// Returns the struct of the parameters' defaults.
    ///
    /// # Panics
    ///
    /// Panics if a default does not fit into its field.
    fn of_defaults() -> Self {
        Self::from_values(&Values::new("default", Self::PARAMETERS)).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Returns the number of parameters of all lists.
pub const fn length(lists: &[&[Parameter]]) -> usize {
    let (mut length, mut index) = (0, 0);
    while index < lists.len() {
        length += lists[index].len();
        index += 1;
    }
    length
}

/// Returns the parameters of all lists, of which there are `N`, in one list.
///
/// # Panics
///
/// Panics if there are none.
pub const fn joined<const N: usize>(lists: &[&[Parameter]]) -> [Parameter; N] {
    let (mut list, mut inner, mut index) = (0, 0, 0);
    while lists[list].is_empty() {
        list += 1;
    }
    let mut all = [lists[list][0]; N];
    while index < N {
        if inner < lists[list].len() {
            all[index] = lists[list][inner];
            (index, inner) = (index + 1, inner + 1);
        } else {
            (list, inner) = (list + 1, 0);
        }
    }
    all
}

/// A type of fields that the value of one parameter makes.
///
/// | type | kinds |
/// |---|---|
/// | `u8`, `u32`, `u64`, `usize` | `integer`, `size`, `rate` |
/// | `f64` | `float`, `fraction` |
/// | [`Delay`] | `duration` |
/// | `bool` | `boolean` |
/// | `String` | `text` |
/// | `Option<PathBuf>` | `path` |
/// | an enum with [`Words`] | `choice` |
/// | `Option<u32>`, `Option<Delay>` | `integer`, `duration`; zero is `None` |
pub trait FromValue: Sized {
    /// Returns the value of the parameter `key`.
    ///
    /// # Errors
    ///
    /// If the type has no such value. The error is at the parameter.
    ///
    /// # Panics
    ///
    /// Panics if `values` has no such parameter, or if it is of another kind.
    fn from_value(values: &Values, key: &str) -> Result<Self, ConfigError>;
}

/// An enum whose values users name by words.
pub trait Words: Copy + 'static {
    /// The words in the order of lists, each with its value.
    const WORDS: &'static [(&'static str, Self)];
}

/// Returns the words of an enum, for the declaration of a parameter. `N` is their number.
pub const fn words<T: Words, const N: usize>() -> [&'static str; N] {
    let mut words = [""; N];
    let mut index = 0;
    while index < N {
        words[index] = T::WORDS[index].0;
        index += 1;
    }
    words
}

impl<T: Words> FromValue for T {
    fn from_value(values: &Values, key: &str) -> Result<T, ConfigError> {
        let word = values.choice(key);
        let row = T::WORDS.iter().find(|(other, _)| *other == word);
        Ok(row.expect("the parameter is declared with the words of its type").1)
    }
}

impl FromValue for u64 {
    fn from_value(values: &Values, key: &str) -> Result<u64, ConfigError> {
        Ok(match values.get(key) {
            Some(Value::Size(bytes)) => *bytes,
            Some(Value::Rate(rate)) => *rate,
            _ => values.integer(key),
        })
    }
}

/// Returns a whole number in a type of fewer bits.
fn narrow<T: TryFrom<u64>>(values: &Values, key: &str) -> Result<T, ConfigError> {
    T::try_from(u64::from_value(values, key)?).map_err(|_| {
        let bits = 8 * size_of::<T>();
        let most = match values.get(key) {
            Some(Value::Size(_)) if bits == 32 => "4 GiB".to_owned(),
            _ => format!("2^{bits}"),
        };
        values.error_at(key, &format!("`{key}` must be below {most}"), "lower it")
    })
}

impl FromValue for u8 {
    fn from_value(values: &Values, key: &str) -> Result<u8, ConfigError> {
        narrow(values, key)
    }
}

impl FromValue for u32 {
    fn from_value(values: &Values, key: &str) -> Result<u32, ConfigError> {
        narrow(values, key)
    }
}

impl FromValue for usize {
    fn from_value(values: &Values, key: &str) -> Result<usize, ConfigError> {
        narrow(values, key)
    }
}

impl FromValue for f64 {
    fn from_value(values: &Values, key: &str) -> Result<f64, ConfigError> {
        Ok(values.float(key))
    }
}

impl FromValue for Delay {
    fn from_value(values: &Values, key: &str) -> Result<Delay, ConfigError> {
        Ok(values.duration(key))
    }
}

impl FromValue for bool {
    fn from_value(values: &Values, key: &str) -> Result<bool, ConfigError> {
        Ok(values.boolean(key))
    }
}

impl FromValue for String {
    fn from_value(values: &Values, key: &str) -> Result<String, ConfigError> {
        Ok(values.text(key).to_owned())
    }
}

impl FromValue for Option<PathBuf> {
    fn from_value(values: &Values, key: &str) -> Result<Option<PathBuf>, ConfigError> {
        Ok(values.path(key))
    }
}

impl FromValue for Option<u32> {
    fn from_value(values: &Values, key: &str) -> Result<Option<u32>, ConfigError> {
        Ok(Some(u32::from_value(values, key)?).filter(|&number| number > 0))
    }
}

impl FromValue for Option<Delay> {
    fn from_value(values: &Values, key: &str) -> Result<Option<Delay>, ConfigError> {
        Ok(Some(values.duration(key)).filter(|&delay| delay > Delay::ZERO))
    }
}
