//! A serde adapter that writes a value as its plain memory: no field is encoded or decoded one by one.
//!
//! For types without padding, references or invalid bit patterns, which zerocopy's derives check. The bytes
//! are those of this machine. So all processes of a run must have one byte order, which they have if they
//! execute the same program.
//!
//! ```
//! use parades_core::wire;
//! use zerocopy::{FromBytes, Immutable, IntoBytes};
//!
//! #[derive(Clone, Copy, Debug, PartialEq, FromBytes, IntoBytes, Immutable)]
//! #[repr(C)]
//! struct Segment { flow: u32, bytes: u32 }
//!
//! #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
//! struct Message(#[serde(with = "parades_core::wire::plain")] Segment);
//!
//! let message = Message(Segment { flow: 7, bytes: 1 << 30 });
//! let mut bytes = Vec::new();
//! wire::write(&message, &mut bytes);
//! assert_eq!(bytes.len(), 1 + size_of::<Segment>()); // the length, and the memory
//! assert_eq!(wire::read::<Message>(&mut bytes.as_slice()), Ok(message));
//! ```

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::Serializer;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Writes a value as plain memory.
///
/// # Errors
///
/// As `serializer`.
pub fn serialize<T: IntoBytes + Immutable, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(value.as_bytes())
}

/// Reads a value from plain memory.
///
/// # Errors
///
/// If the number of bytes is not the size of the type.
pub fn deserialize<'de, T: FromBytes, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let bytes = <&'de [u8]>::deserialize(deserializer)?;
    T::read_from_bytes(bytes).map_err(|_| D::Error::invalid_length(bytes.len(), &"the size of the type"))
}
