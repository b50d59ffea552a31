//! A box whose type is known only to those who ask for it, found by comparing two words that lie in the box's own record.

use std::any::{Any, TypeId};
use std::fmt;

/// As `Box<dyn Any + Send>`, where what is asked for again and again is found without a call through its table of methods.
///
/// Invariant: `kind` is the type of what `value` points to. It holds from [`Typed::new`] on, as neither field is ever set again, and a value of another type
/// cannot be moved into the box: whoever gets at the value has it as its own type.
///
/// # Examples
///
/// ```
/// use parades_raw::typed::Typed;
/// let mut found = Typed::new(vec![1, 2]);
/// found.get_mut::<Vec<i32>>().unwrap().push(3);
/// assert_eq!(found.get_mut(), Some(&mut vec![1, 2, 3]));
/// assert_eq!(found.get_mut::<String>(), None);
/// ```
pub struct Typed {
    kind: TypeId,
    value: Box<dyn Any + Send>,
}

impl Typed {
    /// Boxes a value.
    pub fn new<T: Any + Send>(value: T) -> Typed {
        Typed { kind: TypeId::of::<T>(), value: Box::new(value) }
    }

    /// The value, if it is of this type.
    #[inline(always)]
    pub fn get_mut<T: Any>(&mut self) -> Option<&mut T> {
        let value = std::ptr::from_mut(&mut *self.value).cast::<T>();
        // SAFETY: by the invariant `value` points to a `T` where `kind` says so; the reference to it lasts as long as the one to the box, which is exclusive.
        (self.kind == TypeId::of::<T>()).then(|| unsafe { &mut *value })
    }
}

impl fmt::Debug for Typed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Typed").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::Typed;
    use std::sync::Arc;

    #[test]
    fn a_value_is_found_by_its_type_alone_and_dropped_once() {
        let shared = Arc::new(7_u64);
        let mut typed = Typed::new(Arc::clone(&shared));
        assert_eq!(typed.get_mut::<u64>(), None);
        assert_eq!(typed.get_mut::<Arc<i64>>(), None);
        assert_eq!(typed.get_mut::<Arc<u64>>().map(|found| **found), Some(7));
        drop(typed);
        assert_eq!(Arc::strong_count(&shared), 1);
    }
}
