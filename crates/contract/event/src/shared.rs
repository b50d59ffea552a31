//! Payloads that many events share: written once, read by all, never copied.
//!
//! This is the shared event data of the ROSS paper.

use crate::digest::{Digest, Payload};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A payload that is written once and then only read, on any number of hops. A clone shares the data.
///
/// The data is folded into a digest once, when it is written. Each event that carries it folds only the
/// resulting word.
///
/// ```
/// use parades_core::shared::Shared;
/// let packet = Shared::new(vec![7_u8; 4096]);
/// let copy = packet.clone();
/// assert!(std::ptr::eq(&packet[0], &copy[0]));
/// ```
pub struct Shared<T>(Arc<(u64, T)>);

/// Written by hand, because a derived `Clone` would require `T: Clone`.
impl<T> Clone for Shared<T> {
    fn clone(&self) -> Shared<T> {
        Shared(Arc::clone(&self.0))
    }
}

impl<T: Payload + Sync> Shared<T> {
    /// Makes a payload, and folds its data into a digest.
    pub fn new(data: T) -> Shared<T> {
        let mut digest = Digest::default();
        data.fold(&mut digest);
        Shared(Arc::new((digest.value(), data)))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0.1
    }
}

impl<T: Payload + Sync> Payload for Shared<T> {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        digest.word(self.0.0);
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.1.fmt(f)
    }
}
