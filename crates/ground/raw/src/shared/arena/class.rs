//! Size classes of slots.
//!
//! Slots have a multiple of 64 bytes, so that no two slots share a cache line. Up to 512 bytes there is a
//! class for each multiple. Above, each doubling has four classes, so at most a fifth of a slot is unused.
//! There is no largest payload: the last class has 4 GiB.

/// The unit of sizes, in bytes: a cache line.
pub(super) const UNIT: usize = 64;
/// The number of classes.
pub(super) const CLASSES: usize = 100;

/// Returns the class of the smallest slots that have room for `bytes` bytes.
pub(super) fn class_of(bytes: u32) -> usize {
    let last = (bytes.max(1) - 1) as usize / UNIT;
    if last < 4 {
        return last;
    }
    let doubling = last.ilog2() as usize - 1;
    4 * doubling + (last >> (doubling - 1)) - 4
}

/// Returns the number of bytes of a slot of a class.
pub(super) fn capacity(class: usize) -> usize {
    if class < 4 {
        return (class + 1) * UNIT;
    }
    ((5 + class % 4) * UNIT) << (class / 4 - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_has_room_and_the_slots_of_the_class_below_have_not() {
        let near = |bytes: u32| [bytes.saturating_sub(1), bytes, bytes.saturating_add(1)];
        for bytes in
            (0..32).flat_map(|bit| near(1 << bit)).chain((0..64).flat_map(|step| near(step * 997))).chain([u32::MAX])
        {
            let class = class_of(bytes);
            assert!(class < CLASSES, "{bytes}");
            assert!(capacity(class) >= bytes as usize, "{bytes}");
            assert!(class == 0 || capacity(class - 1) < bytes as usize, "{bytes}");
        }
    }

    #[test]
    fn at_most_a_fifth_of_a_large_slot_is_unused() {
        for class in 4..CLASSES {
            assert!((capacity(class) - capacity(class - 1)) * 5 <= capacity(class), "{class}");
        }
    }
}
