//! Radicals: lists of host numbers, such as `0-99,101`.

use parades_config::quoted;

/// The greatest number of hosts that a radical may list.
pub(crate) const NUMBERS_MAX: u32 = 1 << 21;

/// Returns the numbers that a radical lists.
///
/// # Errors
///
/// A sentence that says what is wrong with the radical.
pub(crate) fn radicals(text: &str) -> Result<Vec<u32>, String> {
    let mut numbers = Vec::new();
    for group in text.split(',') {
        let number = |text: &str| text.trim().parse::<u32>().ok();
        let ends = match group.split_once('-') {
            Some((first, last)) => number(first).zip(number(last)),
            None => number(group).zip(number(group)),
        };
        let Some((first, last)) = ends.filter(|(first, last)| first <= last) else {
            return Err(format!("the radical's part {} is neither a number nor a range such as `0-99`", quoted(group)));
        };
        if numbers.len() as u64 + u64::from(last - first) + 1 > u64::from(NUMBERS_MAX) {
            return Err(format!("the radical lists more than {NUMBERS_MAX} numbers"));
        }
        numbers.extend(first..=last);
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_numbers_are_listed_in_order() {
        assert_eq!(radicals("1-4,6,9-11").unwrap(), [1, 2, 3, 4, 6, 9, 10, 11]);
        assert_eq!(radicals(" 7 ").unwrap(), [7]);
    }

    #[test]
    fn text_that_is_no_list_of_numbers_is_refused() {
        for text in ["", "a", "1-2-3", "3-1", "0-4294967295", "1,,2", "-1"] {
            assert!(radicals(text).is_err(), "{text}");
        }
    }
}
