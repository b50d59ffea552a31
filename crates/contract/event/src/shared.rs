//! Payloads that many events share: written once, read by all, never copied.
//!
//! This is the shared event data of the ROSS paper. A message to another process has the data once, even if
//! many of its events share them.

use crate::digest::{Digest, Payload};
use crate::wire::{self, frame};
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};
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

/// The form of shared data that the current frame has not had before.
const FIRST: u32 = 0;

/// Writes the data once for each frame ([`crate::wire::FrameWriter`]). The digest is written too, so that
/// the receiver need not fold the data again.
impl<T: Serialize + Send + Sync + 'static> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let address = Arc::as_ptr(&self.0).addr();
        if let Some(number) = frame::number_of_written(address) {
            return (number + 1, None::<&(u64, T)>).serialize(serializer);
        }
        let content = frame::content_of::<T>(self.0.0, |to| wire::write(&self.0.1, to));
        if let Some(number) = content.as_ref().and_then(frame::number_of_content) {
            return (number + 1, None::<&(u64, T)>).serialize(serializer);
        }
        let written = (FIRST, Some(&*self.0)).serialize(serializer)?;
        frame::note_written(address, content, || self.clone());
        Ok(written)
    }
}

impl<'de, T: Deserialize<'de> + Send + Sync + 'static> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Shared<T>, D::Error> {
        match <(u32, Option<(u64, T)>)>::deserialize(deserializer)? {
            (FIRST, Some(data)) => {
                let shared = Shared(Arc::new(data));
                frame::note_read(|| shared.clone());
                Ok(shared)
            }
            (number, None) if number != FIRST => {
                frame::already_read(number - 1).ok_or_else(|| D::Error::custom("the shared data has not come before"))
            }
            _ => Err(D::Error::custom("neither shared data nor a number")),
        }
    }
}
