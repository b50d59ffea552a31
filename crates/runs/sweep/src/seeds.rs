//! Lists of seeds, such as `1..30`, `1,2,5` or `1..3,7`.
//!
//! *Read next*: [`crate::schedule`].

use parades_config::{ConfigError, quoted};
use std::collections::BTreeSet;

/// The greatest number of seeds.
pub const SEEDS_MAX: usize = 1_000_000;

/// Returns the seeds that `text` lists, in its order.
///
/// A range includes both ends, like a shell's `{1..30}`: `1..30` and `1..=30` are 30 seeds.
///
/// ```
/// use parades_sweep::seeds;
/// assert_eq!(seeds::parse("7,1..3")?, [7, 1, 2, 3]);
/// assert_eq!(seeds::parse("1..30")?.len(), 30);
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
///
/// # Errors
///
/// If the text is not a list of seeds, has an empty range, lists a seed twice, or lists more than
/// [`SEEDS_MAX`] seeds.
pub fn parse(text: &str) -> Result<Vec<u64>, ConfigError> {
    let wrong = |message: String, help: &str| Err(ConfigError::new(message).with_help(help));
    let mut seeds = Vec::new();
    let mut seen = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = match part.split_once("..") {
            Some((first, last)) => (first, last.strip_prefix('=').unwrap_or(last)),
            None => (part, part),
        };
        let (Ok(first), Ok(last)) = (first.trim().parse::<u64>(), last.trim().parse::<u64>()) else {
            return wrong(
                format!("{} lists no seeds", quoted(text)),
                "write `1..30`, `1,2,5`, or several of them with commas",
            );
        };
        if first > last {
            return wrong(format!("there are no seeds in {}", quoted(part)), "write the lower end first");
        }
        if last - first >= (SEEDS_MAX - seeds.len()) as u64 {
            return wrong(format!("{} lists more than {SEEDS_MAX} seeds", quoted(text)), "sweep over fewer");
        }
        for seed in first..=last {
            if !seen.insert(seed) {
                return wrong(
                    format!("the seed {seed} is listed twice in {}", quoted(text)),
                    "a run counts once; leave one out",
                );
            }
            seeds.push(seed);
        }
    }
    Ok(seeds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_include_both_ends_and_lists_keep_their_order() {
        assert_eq!(parse("1..3").unwrap(), [1, 2, 3]);
        assert_eq!(parse("1..=3").unwrap(), [1, 2, 3]);
        assert_eq!(parse(" 5 , 2..2,0").unwrap(), [5, 2, 0]);
        assert_eq!(parse("18446744073709551614..18446744073709551615").unwrap(), [u64::MAX - 1, u64::MAX]);
    }

    #[test]
    fn text_that_lists_no_seeds_is_refused_in_a_sentence() {
        let error = |text: &str| parse(text).unwrap_err().to_string();
        let no_list =
            |text: &str| format!("`{text}` lists no seeds; write `1..30`, `1,2,5`, or several of them with commas");
        for text in ["", "x", "1..", "..3", "1,,2", "-1", "1.5", "1...3", "18446744073709551616"] {
            assert_eq!(error(text), no_list(text));
        }
        assert_eq!(error("3..1"), "there are no seeds in `3..1`; write the lower end first");
        assert_eq!(error("1..4,3"), "the seed 3 is listed twice in `1..4,3`; a run counts once; leave one out");
        assert_eq!(error("1..1000001"), "`1..1000001` lists more than 1000000 seeds; sweep over fewer");
        assert_eq!(
            error("0..18446744073709551615"),
            "`0..18446744073709551615` lists more than 1000000 seeds; sweep over fewer"
        );
        assert_eq!(parse("1..1000000").unwrap().len(), SEEDS_MAX);
    }
}
