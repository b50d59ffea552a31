//! Panics of models, which are errors of their run and are reported as such.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The last panic, if there was one.
static LAST: Mutex<Option<Panic>> = Mutex::new(None);

/// A panic, as text.
#[derive(Clone, Debug, Default)]
pub struct Panic {
    /// Its message.
    pub message: String,
    /// Its place in the source, `file:line`; empty where it is unknown.
    pub place: String,
}

fn lock() -> MutexGuard<'static, Option<Panic>> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Replaces the panic hook of this process: nothing is printed when a panic happens, and the panic is kept
/// for [`last`].
pub fn keep_quiet() {
    std::panic::set_hook(Box::new(|info| {
        // The same words as in the run's error.
        let message = info.payload_as_str().unwrap_or("with something that is no text").to_owned();
        let place = info.location().map_or_else(String::new, |place| format!("{}:{}", place.file(), place.line()));
        *lock() = Some(Panic { message, place });
    }));
}

/// Returns the last panic since [`keep_quiet`].
pub fn last() -> Option<Panic> {
    lock().clone()
}

/// Returns the place of the panic that an error reports, where that panic was the last one.
///
/// The error may name a process before the message. Another execution may have panicked since, ahead of time,
/// and may have been rolled back.
pub(crate) fn place_of(reported: &str) -> Option<String> {
    let panic = last()?;
    (reported.ends_with(&panic.message) && !panic.place.is_empty()).then_some(panic.place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_panic_is_that_of_no_other_panic() {
        *lock() = Some(Panic { message: "boom".into(), place: "model.rs:10".into() });
        let place = Some("model.rs:10".to_owned());
        assert_eq!(place_of("boom"), place);
        assert_eq!(place_of("in the process `main` of node 3: boom"), place);
        assert_eq!(place_of("another"), None);
    }
}
