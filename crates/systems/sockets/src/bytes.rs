//! Bytes that are written once, and then shared by all packets and buffers that have a part of them.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// A part of bytes that are shared.
#[derive(Clone)]
pub(crate) struct Bytes {
    /// `None` for no bytes, which take no memory.
    data: Option<Arc<[u8]>>,
    range: Range<usize>,
}

impl Bytes {
    /// Returns no bytes.
    pub(crate) const fn none() -> Bytes {
        Bytes { data: None, range: 0..0 }
    }

    /// Returns a part. It shares the memory.
    pub(crate) fn part(&self, range: Range<usize>) -> Bytes {
        assert!(range.start <= range.end && range.end <= self.len(), "a part lies in the whole");
        let range = self.range.start + range.start..self.range.start + range.end;
        Bytes { data: if range.is_empty() { None } else { self.data.clone() }, range }
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Bytes {
        let data = if bytes.is_empty() { None } else { Some(bytes.into()) };
        Bytes { data, range: 0..bytes.len() }
    }
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.data.as_deref().map_or(&[], |data| &data[self.range.clone()])
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.len())
    }
}
