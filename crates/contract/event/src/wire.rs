//! Values that cross process boundaries.
//!
//! Only a run of several processes asks a model's types for [`Wire`], as only rollback asks for restorable
//! state. A type becomes `Wire` by deriving serde's traits. The bytes are those of the postcard format: they
//! are the same on every machine, and floating-point numbers keep their bits. [`plain`] is for types that are
//! plain memory, [`Bytes`](crate::bytes::Bytes) for bulk bytes.
//!
//! *Why postcard.* Values are written one after another into a buffer, and the form of each type follows from
//! serde's derives. Most numbers of messages are small, so the format's variable lengths save bytes. Headers
//! of events have large numbers, so they are written as plain bytes. Of the alternatives, bitcode needs about
//! as many instructions and fewer bytes. But it transposes a whole batch, so no value can be appended to a
//! frame (`docs/measurements.md` has the figures).
//!
//! [`FrameWriter`] and [`read_frame`] are for values that travel together. [`Room`] is memory of a transport
//! in which they are written at once.

pub(crate) mod frame;
pub mod plain;
mod room;

pub(crate) use frame::destination;
pub use frame::{Destination, FrameWriter, read_frame};
pub use room::{Room, write_up_to};

use postcard::ser_flavors::Flavor;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;

/// A value that can be written as bytes and read back equal. Implemented for every type that serde can
/// serialise and deserialise.
///
/// # Examples
///
/// A message of a model that may run on several processes:
///
/// ```
/// use parades_core::wire::{self, Wire};
///
/// #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
/// struct Packet { flow: u32, payload: Vec<u8> }
///
/// fn cross<T: Wire>(value: &T) -> T {
///     let mut bytes = Vec::new();
///     wire::write(value, &mut bytes);
///     wire::read(&mut bytes.as_slice()).unwrap()
/// }
/// let packet = Packet { flow: 7, payload: vec![1, 2, 3] };
/// assert_eq!(cross(&packet), packet);
/// ```
pub trait Wire: Serialize + DeserializeOwned {}

impl<T: Serialize + DeserializeOwned> Wire for T {}

/// The error of reading bytes that do not encode the expected value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(String);

impl Malformed {
    /// Returns the error of bytes that encode an impossible value.
    pub fn new(why: impl Into<String>) -> Malformed {
        Malformed(why.into())
    }

    /// Returns the fault of the bytes, as a part of a sentence.
    pub fn what(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bytes from another process cannot be read: {}; run the same program on every process", self.0)
    }
}

impl std::error::Error for Malformed {}

/// Appends the bytes of `value` to `to`. [`read`] needs a type that is [`Wire`].
///
/// # Panics
///
/// If the type's own `Serialize` implementation fails, which a derived one never does.
pub fn write<T: Serialize>(value: &T, to: &mut impl Sink) {
    postcard::serialize_with_flavor(value, Append(to)).expect("a derived implementation does not fail");
}

/// Memory to which [`write()`] appends: a vector, or a [`Room`].
pub trait Sink {
    /// Appends a byte.
    fn put(&mut self, byte: u8);

    /// Appends bytes.
    fn put_all(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    #[inline(always)]
    fn put(&mut self, byte: u8) {
        self.push(byte);
    }

    #[inline(always)]
    fn put_all(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Appends what postcard writes. Postcard's own flavour moves the vector in and out, at each value.
struct Append<'a, S>(&'a mut S);

impl<S: Sink> Flavor for Append<'_, S> {
    type Output = ();

    #[inline(always)]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.put(byte);
        Ok(())
    }

    #[inline(always)]
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.put_all(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// Reads a value from the front of `from`. Afterwards `from` is the bytes after the value.
///
/// # Errors
///
/// If the bytes are not those of a value of this type.
pub fn read<T: Wire>(from: &mut &[u8]) -> Result<T, Malformed> {
    let (value, rest) = postcard::take_from_bytes(from).map_err(|error| Malformed(error.to_string()))?;
    *from = rest;
    Ok(value)
}
