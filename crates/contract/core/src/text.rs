//! Text in constants.

/// Returns true if two texts are the same. Unlike `==`, this can be called in a constant.
///
/// ```
/// const YES: bool = parades_core::text::is_same("wait", "wait");
/// assert!(YES && !parades_core::text::is_same("wait", "waits"));
/// ```
pub const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}
