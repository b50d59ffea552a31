//! A box that holds a value of any type, with a fast check of that type.

use std::any::{Any, TypeId};
use std::fmt;

/// A box like `Box<dyn Any + Send>`, whose type check compares two words in the box itself. For that check,
/// `Box<dyn Any>` calls a function through the value's table of methods.
///
/// Invariant: `type_id` is the type of the value that `value` points to. [`Typed::new`] establishes this.
/// Neither field is set later, and a reference from [`get_mut`](Typed::get_mut) has the value's own type, so
/// no value of another type can be moved into the box.
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
    type_id: TypeId,
    value: Box<dyn Any + Send>,
}

impl Typed {
    /// Puts a value into a box.
    pub fn new<T: Any + Send>(value: T) -> Typed {
        Typed { type_id: TypeId::of::<T>(), value: Box::new(value) }
    }

    /// Returns the value if its type is `T`.
    #[inline(always)]
    pub fn get_mut<T: Any>(&mut self) -> Option<&mut T> {
        let value = std::ptr::from_mut(&mut *self.value).cast::<T>();
        // SAFETY: the comparison ensures that `type_id` is `T`, so by the invariant `value` points to a `T`.
        // The returned reference borrows `self` exclusively.
        (self.type_id == TypeId::of::<T>()).then(|| unsafe { &mut *value })
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
    fn a_value_is_found_by_its_own_type_only_and_dropped_once() {
        let shared = Arc::new(7_u64);
        let mut typed = Typed::new(Arc::clone(&shared));
        assert_eq!(typed.get_mut::<u64>(), None);
        assert_eq!(typed.get_mut::<Arc<i64>>(), None);
        assert_eq!(typed.get_mut::<Arc<u64>>().map(|found| **found), Some(7));
        drop(typed);
        assert_eq!(Arc::strong_count(&shared), 1);
    }
}
