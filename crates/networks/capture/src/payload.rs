//! The pattern that stands for payloads in captures.
//!
//! A simulation carries the length of a payload, not its bytes. In a capture, byte `i` is the letter `i` mod
//! 26 of the alphabet: `abc…xyzabc…`. For a datagram, `i` counts from its first byte. For a TCP segment, `i`
//! is the sequence number of the byte, so a retransmission has the bytes of the original.
//!
//! Letters keep the programs that read captures from taking the payload for a protocol.

const LETTERS: u32 = 26;

/// Appends `length` bytes of the pattern, from the position `first` on. Positions wrap as sequence numbers
/// do.
///
/// ```
/// let mut bytes = Vec::new();
/// parades_capture::payload::append(&mut bytes, 24, 4);
/// assert_eq!(bytes, b"yzab");
/// ```
pub fn append(to: &mut Vec<u8>, first: u32, length: usize) {
    let letter = |position: u32| b'a' + u8::try_from(position % LETTERS).expect("a letter");
    to.extend(std::iter::successors(Some(first), |position| Some(position.wrapping_add(1))).take(length).map(letter));
}
