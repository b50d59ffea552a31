//! The form of the files of saved runs and of their parts: kind, head, cut, foot. See [`super`].

use super::Head;
use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};
use parades_core::cut::AtRest;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};
use twox_hash::XxHash3_128;

/// The first bytes of a saved run. A transfer as text would change the line's end.
pub const MAGIC: &[u8; 16] = b"parades save 1\r\n";
/// The length of the foot: length of the cut, its hash, the seal, and the hash of the file.
pub(super) const FOOT_BYTES: usize = 8 + 16 + 16 + 16;
/// The longest head, in bytes. It has the scenario file, in which a network may be written out in full.
pub(super) const HEAD_BYTES_MAX: usize = 1 << 28;
/// The longest file, in bytes.
pub(super) const FILE_BYTES_MAX: u64 = 1 << 40;

pub(super) fn read_head<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    serde_json::from_slice(text).map_err(|error| format!("its head is wrong: {error}"))
}

/// A file without its kind and its last hash.
pub(super) struct Packed<'a> {
    head: &'a [u8],
    /// The compressed part, and the hashes of other parts.
    body: &'a [u8],
    /// The length and the hash of the cut, and the seal.
    foot: &'a [u8],
}

impl<'a> Packed<'a> {
    /// Returns the head of a file, and the rest; or the fault of the file.
    pub(super) fn of(bytes: &'a [u8], magic: &[u8]) -> Result<(&'a [u8], Packed<'a>), String> {
        let rest = bytes.strip_prefix(magic).ok_or("it is no saved run of this version")?;
        let (rest, foot) = rest.split_last_chunk::<FOOT_BYTES>().ok_or("it ends too early")?;
        let (whole, hash) = bytes.split_at(bytes.len() - 16);
        if XxHash3_128::oneshot(whole).to_le_bytes() != hash {
            return Err("it is damaged, or not whole".into());
        }
        let (length, rest) = rest.split_first_chunk::<4>().ok_or("it ends too early")?;
        let length = u32::from_le_bytes(*length) as usize;
        let (head, body) = rest.split_at_checked(length).ok_or("its head is longer than the file")?;
        Ok((head, Packed { head, body, foot: &foot[..FOOT_BYTES - 16] }))
    }

    /// Returns the hashes of the other parts, which stand at the end of the body.
    pub(super) fn hashes(&self, head: &Head) -> Result<Vec<u128>, String> {
        let others = (head.ranks as usize).saturating_sub(1);
        let begin = self.body.len().checked_sub(others.saturating_mul(16)).ok_or("it ends too early")?;
        let (hashes, _) = self.body[begin..].as_chunks::<16>();
        Ok(hashes.iter().map(|bytes| u128::from_le_bytes(*bytes)).collect())
    }

    /// Checks that head and cut belong together.
    pub(super) fn check_seal(&self, cut: &[u8]) -> Result<(), String> {
        let mut seal = XxHash3_128::new();
        seal.write(self.head);
        seal.write(cut);
        match seal.finish_128().to_le_bytes() == self.foot[24..] {
            true => Ok(()),
            false => Err("it was changed after it was saved: its seal is not that of its head and its states".into()),
        }
    }

    /// Appends the bytes of the cut to `cut`, which then has at most `bytes_max` bytes. Returns their hash.
    pub(super) fn unpack(&self, bytes_max: u64, cut: &mut Vec<u8>) -> Result<u128, String> {
        let (length, hash) = self.foot[..24].split_at(8);
        let length = u64::from_le_bytes(length.try_into().expect("these are eight bytes"));
        let (begin, needed) = (cut.len(), (cut.len() as u64).saturating_add(length));
        if needed > bytes_max {
            return Err(format!("it needs {needed} bytes of memory, above the limit of {bytes_max}"));
        }
        let read = FrameDecoder::new(self.body).take(length + 1).read_to_end(cut);
        read.map_err(|error| format!("its compressed part is wrong: {error}"))?;
        let found = XxHash3_128::oneshot(&cut[begin..]);
        if cut.len() as u64 != needed || found.to_le_bytes() != hash {
            return Err("its compressed part is not what was saved".into());
        }
        Ok(found)
    }
}

/// Adds everything that is written to a hash.
struct Hashing<W> {
    to: W,
    hash: XxHash3_128,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hash.write(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// A function that passes the bytes of a cut to another one, in pieces.
pub(super) type Pieces<'a> = dyn FnMut(&mut dyn FnMut(&[u8])) + 'a;

/// Returns the hash of the bytes of a run's cut, as the file has it.
///
/// # Panics
///
/// If the model's runs cannot be saved.
pub fn hash_of(run: &mut AtRest<'_, '_>) -> u128 {
    let mut hash = XxHash3_128::new();
    run.write_in_pieces(&mut |piece| hash.write(piece));
    hash.finish_128()
}

/// Writes a run of one process. `cut` passes on the bytes of its cut; a replayed run has none.
///
/// # Errors
///
/// Those of `to`.
pub fn write(head: &Head, cut: &mut Pieces<'_>, to: impl Write) -> io::Result<()> {
    let cut = head.replayed.is_none().then_some(cut);
    Writing::begin(MAGIC, head, cut, to)?.finish(&[]).map(drop)
}

/// A file that is being written, of which the foot is missing.
pub(super) struct Writing<W> {
    to: Hashing<W>,
    /// The length and the hash of the cut.
    cut: (u64, u128),
    seal: u128,
}

impl<W: Write> Writing<W> {
    /// Writes the kind, the head, and the bytes of a part of a cut, if there is one.
    ///
    /// # Errors
    ///
    /// Those of `to`.
    pub(super) fn begin(
        magic: &[u8],
        head: &impl Serialize,
        cut: Option<&mut Pieces<'_>>,
        to: W,
    ) -> io::Result<Writing<W>> {
        let mut to = Hashing { to, hash: XxHash3_128::new() };
        let text = serde_json::to_vec(head).map_err(io::Error::other)?;
        let length = u32::try_from(text.len()).ok().filter(|_| text.len() <= HEAD_BYTES_MAX);
        let length = length.ok_or_else(|| io::Error::other("the scenario file is too long"))?;
        to.write_all(magic)?;
        to.write_all(&length.to_le_bytes())?;
        to.write_all(&text)?;
        let (mut bytes, mut hash, mut seal) = (0, XxHash3_128::new(), XxHash3_128::new());
        seal.write(&text);
        if let Some(cut) = cut {
            let info = FrameInfo::new().block_mode(BlockMode::Independent).block_size(BlockSize::Max4MB);
            let mut frame = FrameEncoder::with_frame_info(info, &mut to);
            let mut written = Ok(());
            cut(&mut |piece| {
                if written.is_ok() {
                    bytes += piece.len() as u64;
                    hash.write(piece);
                    seal.write(piece);
                    written = frame.write_all(piece);
                }
            });
            written?;
            frame.finish().map_err(io::Error::from)?;
        }
        Ok(Writing { to, cut: (bytes, hash.finish_128()), seal: seal.finish_128() })
    }

    /// Writes the foot, with the hashes of the other parts. Returns the hash of the file.
    ///
    /// # Errors
    ///
    /// Those of `to`.
    pub(super) fn finish(self, parts: &[u128]) -> io::Result<(W, u128)> {
        let Writing { mut to, cut: (bytes, hash), seal } = self;
        parts.iter().try_for_each(|part| to.write_all(&part.to_le_bytes()))?;
        to.write_all(&bytes.to_le_bytes())?;
        to.write_all(&hash.to_le_bytes())?;
        to.write_all(&seal.to_le_bytes())?;
        let whole = to.hash.finish_128();
        to.to.write_all(&whole.to_le_bytes())?;
        Ok((to.to, whole))
    }
}
