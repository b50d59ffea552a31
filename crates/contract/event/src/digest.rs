//! The digest: one number for everything that an LP has committed, in order.
//!
//! Each LP folds the key and the payload of every committed event into a running hash. At the end it folds
//! the part of its final state that the model chooses. The run's digest combines the digests of the LPs in id
//! order. So it depends on the history of each LP, but not on how the engine interleaved the LPs.
//!
//! It is no cryptographic hash: it protects against mistakes, not against malice.
//!
//! Cost: two multiplications per event, off the critical path, and one per word of payload.

use crate::event::{Body, EventKey};
use serde::{Deserialize, Serialize};

/// Odd constants with about as many ones as zeros: the first digits of pi, as in Blowfish.
const K: [u64; 4] = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345, 0xa409_3822_299f_31d1, 0x082e_fa98_ec4e_6c89];

/// Multiplies to 128 bits and combines the two halves by exclusive or.
#[inline]
fn multiply_fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    #[expect(clippy::cast_possible_truncation, reason = "the two halves are taken on purpose")]
    (product as u64 ^ (product >> 64) as u64)
}

/// A running hash of a sequence of words. A sequence in another order has another digest.
///
/// ```
/// use parades_core::digest::Digest;
/// let of = |words: &[u64]| {
///     let mut digest = Digest::default();
///     words.iter().for_each(|&word| digest.word(word));
///     digest.value()
/// };
/// assert_eq!(of(&[1, 2]), of(&[1, 2]));
/// assert_ne!(of(&[1, 2]), of(&[2, 1]));
/// assert_ne!(of(&[0]), of(&[0, 0]));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest(u64);

impl Digest {
    /// The digest of no word.
    pub const START: Digest = Digest(0);

    /// Folds one word.
    #[inline]
    pub fn word(&mut self, word: u64) {
        self.0 = self.0.rotate_left(23).wrapping_add(multiply_fold(word ^ K[2], self.0 ^ K[3]));
    }

    /// Folds the bits of a floating-point number. Normalise `-0.0` to `0.0` first if the model cannot tell
    /// them apart.
    pub fn float(&mut self, value: f64) {
        self.word(value.to_bits());
    }

    /// Folds a byte string and its length.
    pub fn bytes(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(16);
        for chunk in &mut chunks {
            let (low, high) = chunk.split_at(8);
            let word = |half: &[u8]| u64::from_le_bytes(half.try_into().expect("split at 8 of 16"));
            self.0 = self.0.rotate_left(23).wrapping_add(multiply_fold(word(low) ^ K[2] ^ self.0, word(high) ^ K[3]));
        }
        for chunk in chunks.remainder().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
        self.word(bytes.len() as u64);
    }

    /// Folds the key and the payload of an executed event. The tie is left out, because it follows from the
    /// other fields.
    #[inline]
    pub fn event<P: Payload>(&mut self, key: &EventKey, body: Body<&P>) {
        // Multiplying spreads the two 32-bit fields over the word. Otherwise a small change of them could
        // look like a change of the sequence number.
        let pair = u64::from(key.sender.rank()) << 32 | u64::from(key.instant.round);
        let who = pair.wrapping_mul(K[3]).wrapping_add(key.sequence);
        self.0 = self.0.rotate_left(23).wrapping_add(multiply_fold(key.instant.time.as_ps() ^ K[0], who ^ K[1]));
        match body {
            Body::Message(message) => message.fold(self),
            Body::Timer(id) => self.word(u64::from(id.0)),
        }
    }

    /// Returns the digest of the words folded so far.
    pub fn value(self) -> u64 {
        // The state is mixed once more, so that short histories differ in every bit.
        multiply_fold(self.0 ^ K[0], K[1]) ^ self.0
    }
}

/// A message: it can be sent to another worker, shown in a trace, and folded into the digest.
///
/// Implemented for integers of up to 64 bits, booleans, floating-point numbers (by their bits), byte strings,
/// strings, pairs, triples, options, `()` and [`crate::shared::Shared`].
///
/// ```
/// use parades_core::digest::{Digest, Payload};
/// #[derive(Debug)]
/// struct Packet { flow: u32, bytes: u16 }
/// impl Payload for Packet {
///     fn fold(&self, digest: &mut Digest) {
///         digest.word(u64::from(self.flow) << 16 | u64::from(self.bytes));
///     }
/// }
/// # let mut digest = Digest::default();
/// # Packet { flow: 1, bytes: 2 }.fold(&mut digest);
/// # assert_ne!(digest, Digest::default());
/// ```
pub trait Payload: Send + std::fmt::Debug + 'static {
    /// Folds everything that a receiver could tell apart.
    fn fold(&self, digest: &mut Digest);
}

impl Payload for () {
    #[inline]
    fn fold(&self, _: &mut Digest) {}
}

macro_rules! payload_of_integers {
    ($($integer:ty),*) => {$(
        impl Payload for $integer {
            #[inline]
            fn fold(&self, digest: &mut Digest) {
                digest.word(u64::from(*self));
            }
        }
    )*};
}
payload_of_integers!(u8, u16, u32, u64, bool);

macro_rules! payload_by_bits {
    ($($number:ty => $bits:expr),*) => {$(
        impl Payload for $number {
            #[inline]
            fn fold(&self, digest: &mut Digest) {
                digest.word($bits(*self));
            }
        }
    )*};
}
payload_by_bits!(
    i8 => |x| i64::from(x).cast_unsigned(),
    i16 => |x| i64::from(x).cast_unsigned(),
    i32 => |x| i64::from(x).cast_unsigned(),
    i64 => i64::cast_unsigned,
    f32 => |x| f64::from(x).to_bits(),
    f64 => f64::to_bits
);

impl Payload for Box<[u8]> {
    fn fold(&self, digest: &mut Digest) {
        digest.bytes(self);
    }
}
impl Payload for Vec<u8> {
    fn fold(&self, digest: &mut Digest) {
        digest.bytes(self);
    }
}
impl Payload for String {
    fn fold(&self, digest: &mut Digest) {
        digest.bytes(self.as_bytes());
    }
}
impl<A: Payload, B: Payload> Payload for (A, B) {
    fn fold(&self, digest: &mut Digest) {
        self.0.fold(digest);
        self.1.fold(digest);
    }
}
impl<A: Payload, B: Payload, C: Payload> Payload for (A, B, C) {
    fn fold(&self, digest: &mut Digest) {
        let (a, b, c) = self;
        a.fold(digest);
        b.fold(digest);
        c.fold(digest);
    }
}
impl<P: Payload> Payload for Option<P> {
    fn fold(&self, digest: &mut Digest) {
        digest.word(u64::from(self.is_some()));
        if let Some(payload) = self {
            payload.fold(digest);
        }
    }
}
