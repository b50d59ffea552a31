//! A serde adapter that copies a list of numbers as plain bytes. Serde encodes each number by itself.

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::Serializer;

pub(super) fn serialize<S: Serializer>(words: &[u64], serializer: S) -> Result<S::Ok, S::Error> {
    let bytes: Vec<_> = words.iter().map(|word| word.to_le_bytes()).collect();
    serializer.serialize_bytes(bytes.as_flattened())
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
    let bytes = <&'de [u8]>::deserialize(deserializer)?;
    match bytes.as_chunks() {
        (words, []) => Ok(words.iter().copied().map(u64::from_le_bytes).collect()),
        _ => Err(D::Error::invalid_length(bytes.len(), &"a multiple of 8 bytes")),
    }
}
