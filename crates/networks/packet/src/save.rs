//! What reading states has in common.

use parades_core::wire::Malformed;

/// The bound of numbers of packets and bytes in a state. No run reaches it, and sums of two are no overflow.
const NUMBER_MAX: u64 = 1 << 62;

/// Returns true if a state may have this number.
pub(crate) fn is_number(number: u64) -> bool {
    number < NUMBER_MAX
}

/// Returns `Ok` if `is_possible`.
///
/// # Errors
///
/// That the bytes are of no state of `whom`.
pub(crate) fn check(is_possible: bool, whom: &str) -> Result<(), Malformed> {
    match is_possible {
        true => Ok(()),
        false => Err(Malformed::new(format!("{whom} has a state that none can have"))),
    }
}
