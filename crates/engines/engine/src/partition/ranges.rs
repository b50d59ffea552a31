//! Ranges: a sequence of weights, cut into shares.

/// Returns the range of each weight, from 0. There are `wanted` ranges of neighbours, of about the same total
/// weight, and none is empty.
///
/// # Panics
///
/// Panics if there are fewer weights than wanted ranges, or if no range is wanted.
pub(crate) fn shares(weights: &[u64], wanted: u32) -> Vec<u32> {
    assert!((1..=weights.len()).contains(&(wanted as usize)), "{wanted} ranges of {} weights", weights.len());
    let total = weights.iter().map(|&weight| u128::from(weight)).sum::<u128>().max(1);
    let (mut before, mut next) = (0_u128, 0);
    let share = |(left, &weight): (usize, &u64)| {
        // The middle of the weight decides.
        let middle = 2 * before + u128::from(weight);
        before += u128::from(weight);
        let ideal = u32::try_from(middle * u128::from(wanted) / (2 * total)).unwrap_or(u32::MAX).min(wanted - 1);
        // Each later range needs a weight too, and no range is skipped.
        let least = wanted.saturating_sub(u32::try_from(left).unwrap_or(u32::MAX));
        let range = ideal.max(least).min(next);
        next = range + 1;
        range
    };
    (1..=weights.len()).rev().zip(weights).map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_weights_are_cut_into_equal_ranges() {
        assert_eq!(shares(&[1; 6], 3), [0, 0, 1, 1, 2, 2]);
        assert_eq!(shares(&[7; 5], 2), [0, 0, 1, 1, 1]);
        assert_eq!(shares(&[7; 3], 1), [0, 0, 0]);
    }

    #[test]
    fn no_range_is_empty_however_the_weights_lie() {
        assert_eq!(shares(&[9, 0, 0], 3), [0, 1, 2]);
        assert_eq!(shares(&[0, 0, 9], 3), [0, 1, 2]);
        assert_eq!(shares(&[0, 0, 0, 0], 2), [0, 0, 0, 1]);
        assert_eq!(shares(&[1, 1, 1, 1, 4], 2), [0, 0, 0, 0, 1]);
        assert_eq!(shares(&[u64::MAX; 4], 2), [0, 0, 1, 1]);
    }
}
