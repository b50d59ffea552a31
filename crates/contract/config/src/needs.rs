//! The condition under which a parameter acts: what the values of other parameters must be.
//!
//! A condition is a text of terms with commas between them, and all of them must hold. A term is a list of
//! alternatives with `or` between them, of which one must hold.
//!
//! | alternative | holds if |
//! |---|---|
//! | `session` | the value of `session` is on: true, above zero, a file that is named, or a text that is not empty |
//! | `no torrent` | the value of `torrent` is not on |
//! | `law=weibull\|pareto` | the value of `law` is one of these words |
//! | `law!=weibull` | the value of `law` is none of these words |
//! | `nodes>1` | the value of `nodes`, a whole number, is above this one |
//!
//! A parameter acts only if those act that its condition names: where `shape` needs `law=weibull`, and `law`
//! needs `session`, `shape` needs `session` too.
//!
//! ```
//! use parades_config::{Parameter, Values};
//! use parades_core::time::Delay;
//!
//! const PARAMETERS: &[Parameter] = &[
//!     Parameter::duration("session", Delay::ZERO, "mean time for which a node stays; 0s: it never leaves"),
//!     Parameter::choice("law", "exponential", &["exponential", "weibull"], "its distribution").needs("session"),
//!     Parameter::float("shape", 0.5, 0.01..=100.0, "shape of the distribution").needs("law=weibull"),
//! ];
//! let mut values = Values::new("churn", PARAMETERS);
//! values.set_argument("--set", "law=weibull")?;
//! let error = values.check_needs().unwrap_err();
//! assert_eq!(error.to_string(), "--set law=weibull: `law` acts only with `session`; set `session`, or leave `law` out");
//! values.set_argument("--set", "session=60s")?;
//! assert!(values.check_needs()?.is_empty());
//! # Ok::<(), parades_config::ConfigError>(())
//! ```

use crate::error::ConfigError;
use crate::nearest::list;

/// The conditions of a parameter, all of which must hold. Empty texts are none.
#[derive(Clone, Copy, Debug)]
pub struct Needs([&'static str; CONDITIONS_MAX]);

/// The most conditions of a parameter: its own, that of its group, and that of its scenario.
const CONDITIONS_MAX: usize = 3;

/// A term of a condition: alternatives, one of which must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term(pub Vec<Alternative>);

/// The part of a term that is about one parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alternative {
    /// The value of this parameter is on.
    On(&'static str),
    /// The value of this parameter is not on.
    Off(&'static str),
    /// The value of this parameter is one of these words.
    Is(&'static str, Vec<&'static str>),
    /// The value of this parameter is none of these words.
    IsNot(&'static str, Vec<&'static str>),
    /// The value of this parameter, a whole number, is above this one.
    Above(&'static str, u64),
}

impl Needs {
    /// No condition: the parameter always acts.
    pub(crate) const NONE: Needs = Needs([""; CONDITIONS_MAX]);

    /// Returns the conditions with one more.
    ///
    /// # Panics
    ///
    /// Panics if there are three already.
    pub(crate) const fn and(mut self, condition: &'static str) -> Needs {
        let mut index = 0;
        while !self.0[index].is_empty() {
            index += 1;
            assert!(index < CONDITIONS_MAX, "a parameter has three conditions at most; one may have several terms");
        }
        self.0[index] = condition;
        self
    }

    /// Returns the terms.
    pub fn terms(self) -> impl Iterator<Item = Term> {
        let terms = self.0.into_iter().flat_map(|condition| condition.split(','));
        terms.map(str::trim).filter(|term| !term.is_empty()).map(Term::of)
    }

    /// Returns the conditions in words, as `with `session`, and without `churn_file``. `None` if there are
    /// none.
    pub fn in_words(self) -> Option<String> {
        let terms: Vec<String> = self.terms().map(|term| term.in_words()).collect();
        (!terms.is_empty()).then(|| terms.join(", and "))
    }
}

impl Term {
    fn of(text: &'static str) -> Term {
        let words = |text: &'static str| text.split('|').collect();
        let alternative = |text: &'static str| {
            if let Some(key) = text.strip_prefix("no ") {
                Alternative::Off(key)
            } else if let Some((key, text)) = text.split_once("!=") {
                Alternative::IsNot(key, words(text))
            } else if let Some((key, text)) = text.split_once('=') {
                Alternative::Is(key, words(text))
            } else if let Some((key, number)) = text.split_once('>') {
                Alternative::Above(key, number.parse().expect("a condition compares with a whole number"))
            } else {
                Alternative::On(text)
            }
        };
        Term(text.split(" or ").map(alternative).collect())
    }

    /// Returns the term in words, as `with `session` or `churn_file``.
    pub fn in_words(&self) -> String {
        let words: Vec<String> = self.0.iter().map(Alternative::in_words).collect();
        list(words.iter().map(String::as_str), "or")
    }

    /// Returns the error on the parameter `key`, which cannot act because this term does not hold.
    pub fn refusal(&self, key: &str) -> ConfigError {
        let help = match &self.0[0] {
            Alternative::On(other) => format!("set `{other}`, or leave `{key}` out"),
            Alternative::Is(other, words) => format!("set `{other}={}`, or leave `{key}` out", words[0]),
            Alternative::Above(other, number) => format!("set `{other}` above {number}, or leave `{key}` out"),
            Alternative::Off(_) => "leave one of the two out".to_owned(),
            Alternative::IsNot(other, _) => format!("choose another `{other}`, or leave `{key}` out"),
        };
        ConfigError::new(format!("`{key}` acts only {}", self.in_words())).with_help(help)
    }

    /// Returns the note on the parameter `key`, which has no effect because this term does not hold.
    pub fn note(&self, key: &str) -> String {
        format!("`{key}` has no effect: it acts only {}", self.in_words())
    }
}

impl Alternative {
    /// Returns the parameter that the alternative is about.
    pub fn key(&self) -> &'static str {
        match self {
            Alternative::On(key) | Alternative::Off(key) => key,
            Alternative::Is(key, _) | Alternative::IsNot(key, _) | Alternative::Above(key, _) => key,
        }
    }

    /// Returns true if it holds where the parameter is on, so that a user switches it off by zero.
    pub fn is_switch(&self) -> bool {
        matches!(self, Alternative::On(_))
    }

    fn in_words(&self) -> String {
        match self {
            Alternative::On(key) => format!("with `{key}`"),
            Alternative::Off(key) => format!("without `{key}`"),
            Alternative::Is(key, words) => format!("with {}", alternatives(key, words)),
            Alternative::IsNot(key, words) => format!("without {}", alternatives(key, words)),
            Alternative::Above(key, number) => format!("with `{key}` above {number}"),
        }
    }
}

/// Returns the words of a key as a list: `` `key=a` or `key=b` ``.
fn alternatives(key: &str, words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{key}={word}`")).collect();
    list(words.iter().map(String::as_str), "or")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_has_terms_and_alternatives() {
        let needs = Needs::NONE.and("session or churn_file, no torrent").and("law=weibull|pareto");
        assert_eq!(
            needs.in_words().expect("there are terms"),
            "with `session` or with `churn_file`, and without `torrent`, and with `law=weibull` or `law=pareto`"
        );
        assert_eq!(Needs::NONE.in_words(), None);
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let refusal = |condition| {
            let term = Needs::NONE.and(condition).terms().next().expect("there is a term");
            term.refusal("up").to_string()
        };
        assert_eq!(refusal("links"), "`up` acts only with `links`; set `links`, or leave `up` out");
        assert_eq!(refusal("peers>1"), "`up` acts only with `peers` above 1; set `peers` above 1, or leave `up` out");
        assert_eq!(
            refusal("network!=latency"),
            "`up` acts only without `network=latency`; choose another `network`, or leave `up` out"
        );
        assert_eq!(refusal("no links"), "`up` acts only without `links`; leave one of the two out");
        assert_eq!(
            refusal("network=capacity|both"),
            "`up` acts only with `network=capacity` or `network=both`; set `network=capacity`, or leave `up` out"
        );
    }
}
