//! Byte strings within messages.
//!
//! All bytes from one rank to another are one stream: the length of a byte string in 8 bytes, little-endian,
//! then the byte string. A message is any part of the stream, so a byte string may be longer than a message.

/// The bytes of a length.
const LENGTH: usize = size_of::<u64>();
/// Stands in the place of a length where the stream ends.
const END: u64 = u64::MAX;

/// Appends a byte string to a stream.
pub(crate) fn append(stream: &mut Vec<u8>, bytes: &[u8]) {
    stream.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    stream.extend_from_slice(bytes);
}

/// Appends the end mark to a stream.
pub(crate) fn append_end(stream: &mut Vec<u8>) {
    stream.extend_from_slice(&END.to_le_bytes());
}

/// Returns the first byte string of `stream` and the rest of `stream`. Returns `None` if no whole byte string
/// is there.
pub(crate) fn split_first(stream: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = stream.split_first_chunk::<LENGTH>()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
}

/// A stream as it arrives from one rank.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    /// The begin of a byte string whose end has not arrived.
    partial: Vec<u8>,
}

/// The whole byte strings that a message completes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Completed {
    /// The byte strings, as a stream.
    pub(crate) stream: Vec<u8>,
    /// True if the end mark follows them.
    pub(crate) ended: bool,
}

impl Incoming {
    /// Accepts the next message of the stream.
    pub(crate) fn accept(&mut self, message: Vec<u8>) -> Completed {
        let mut stream = std::mem::take(&mut self.partial);
        if stream.is_empty() {
            stream = message;
        } else {
            stream.extend_from_slice(&message);
        }
        let mut rest = &stream[..];
        while let Some((_, after)) = split_first(rest) {
            rest = after;
        }
        let ended = rest == END.to_le_bytes();
        let whole = stream.len() - rest.len();
        if whole == 0 && !ended {
            // Many messages may carry one byte string. It is not copied for each of them.
            self.partial = stream;
            return Completed { stream: Vec::new(), ended };
        }
        if !ended {
            self.partial = rest.to_vec();
        }
        stream.truncate(whole);
        Completed { stream, ended }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(mut stream: &[u8]) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        while let Some((bytes, rest)) = split_first(stream) {
            all.push(bytes.to_vec());
            stream = rest;
        }
        assert!(stream.is_empty());
        all
    }

    #[test]
    fn byte_strings_are_the_same_however_the_stream_is_cut() {
        let sent = [vec![1, 2, 3], vec![], vec![0xff; 40]];
        let mut stream = Vec::new();
        sent.iter().for_each(|bytes| append(&mut stream, bytes));
        append_end(&mut stream);
        for size in 1..=stream.len() {
            let mut incoming = Incoming::default();
            let completed: Vec<_> = stream.chunks(size).map(|message| incoming.accept(message.to_vec())).collect();
            let received: Vec<_> = completed.iter().flat_map(|completed| strings(&completed.stream)).collect();
            assert_eq!(received, sent, "messages of {size} bytes");
            let ends: Vec<_> = completed.iter().map(|completed| completed.ended).collect();
            assert_eq!(ends.iter().position(|ended| *ended), Some(ends.len() - 1));
        }
    }
}
