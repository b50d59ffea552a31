//! The buffers of a stream: bytes that are not acknowledged yet, and bytes that are not read yet.

use crate::bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};

/// The bytes that an application has written, until they are acknowledged. Bytes are named by their places in
/// the stream, counted from 0.
#[derive(Debug, Default)]
pub(crate) struct SendBuffer {
    /// The pieces, each with the place of its first byte.
    pieces: VecDeque<(u64, Bytes)>,
    /// The place after the last byte.
    end: u64,
}

impl SendBuffer {
    /// Adds bytes at the end.
    pub(crate) fn push(&mut self, bytes: Bytes) {
        let len = bytes.len() as u64;
        self.pieces.push_back((self.end, bytes));
        self.end += len;
    }

    /// Frees the bytes before a place.
    pub(crate) fn release(&mut self, place: u64) {
        while self.pieces.front().is_some_and(|(from, piece)| from + piece.len() as u64 <= place) {
            self.pieces.pop_front();
        }
    }

    /// Returns `len` bytes from a place on. They are copied only if they lie in several pieces.
    pub(crate) fn part(&self, place: u64, len: usize) -> Bytes {
        if len == 0 {
            return Bytes::none();
        }
        let first = self.pieces.partition_point(|(from, _)| *from <= place).checked_sub(1);
        let mut first = first.expect("bytes are kept until they are acknowledged");
        let (from, piece) = &self.pieces[first];
        let skip = index(place - from);
        if skip + len <= piece.len() {
            return piece.part(skip..skip + len);
        }
        let mut copied = Vec::with_capacity(len);
        copied.extend_from_slice(&piece[skip..]);
        while copied.len() < len {
            first += 1;
            let piece = &self.pieces[first].1;
            copied.extend_from_slice(&piece[..piece.len().min(len - copied.len())]);
        }
        Bytes::from(&copied[..])
    }
}

/// The bytes that have arrived, until the application reads them.
#[derive(Debug, Default)]
pub(crate) struct ReceiveBuffer {
    /// Pieces that have arrived and are not in order yet, by the places of their first bytes.
    early: BTreeMap<u64, Bytes>,
    /// Pieces in order.
    ready: VecDeque<Bytes>,
    /// The number of bytes in `ready`.
    len: usize,
    /// The place after the last byte of `ready`.
    next: u64,
}

impl ReceiveBuffer {
    /// Returns the number of bytes that can be read.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Keeps bytes that have arrived. None of them has arrived before.
    pub(crate) fn keep(&mut self, place: u64, bytes: Bytes) {
        self.early.insert(place, bytes);
    }

    /// Puts the next `count` bytes in order. All of them have arrived.
    pub(crate) fn advance(&mut self, count: usize) {
        let end = self.next + count as u64;
        while self.next < end {
            let piece = self.early.remove(&self.next).expect("bytes in order have arrived");
            self.next += piece.len() as u64;
            self.ready.push_back(piece);
        }
        assert_eq!(self.next, end, "whole pieces become ready");
        self.len += count;
    }

    /// Moves bytes to `to`. Returns their number.
    pub(crate) fn read(&mut self, to: &mut [u8]) -> usize {
        let mut count = 0;
        while count < to.len()
            && let Some(piece) = self.ready.front_mut()
        {
            let part = piece.len().min(to.len() - count);
            to[count..count + part].copy_from_slice(&piece[..part]);
            count += part;
            if part == piece.len() {
                self.ready.pop_front();
            } else {
                *piece = piece.part(part..piece.len());
            }
        }
        self.len -= count;
        count
    }
}

/// Returns a distance within a buffer as an index.
fn index(distance: u64) -> usize {
    usize::try_from(distance).expect("a buffer lies in memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_send_buffer_may_span_pieces() {
        let mut buffer = SendBuffer::default();
        [&b"abc"[..], b"defg", b"h"].iter().for_each(|piece| buffer.push((*piece).into()));
        assert_eq!(&buffer.part(4, 2)[..], b"ef");
        assert_eq!(&buffer.part(1, 7)[..], b"bcdefgh");
        buffer.release(3);
        assert_eq!(&buffer.part(3, 5)[..], b"defgh");
        assert_eq!(buffer.pieces.len(), 2);
    }

    #[test]
    fn bytes_that_arrive_out_of_order_are_read_in_order() {
        let mut buffer = ReceiveBuffer::default();
        buffer.keep(3, b"defg"[..].into());
        buffer.keep(0, b"abc"[..].into());
        buffer.advance(7);
        let mut to = [0; 5];
        assert_eq!((buffer.read(&mut to), &to), (5, b"abcde"));
        assert_eq!((buffer.read(&mut to), &to[..2], buffer.len()), (2, &b"fg"[..], 0));
    }
}
