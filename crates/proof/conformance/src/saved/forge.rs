//! Changes of the bytes of a saved run.

use crate::engines::index_below;
use parades_core::random::Rng;
use parades_session::saved::{self, Head};
use twox_hash::XxHash3_128;

/// The length of a hash. The foot of a file ends with its seal and its hash.
const HASH_BYTES: usize = 16;
/// The bytes at the beginning of a cut or a file, in which lengths and counts lie close together.
const FIRST: usize = 400;

/// A change of a saved run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgery {
    /// Bytes of the file were changed.
    File,
    /// Bytes of the file were changed, and the hash of the file fits.
    FileHashed,
    /// Bytes of the cut were changed. All hashes fit but the seal.
    CutUnsealed,
    /// Bytes of the cut were changed. All hashes fit, the seal too.
    Cut,
    /// A number in the head was changed. All hashes fit, the seal too.
    Head,
}

impl Forgery {
    /// Draws a change. Half of them are changes of the cut.
    pub fn draw(rng: &Rng) -> Forgery {
        match rng.below(16) {
            0..=3 => Forgery::File,
            4..=6 => Forgery::FileHashed,
            7 => Forgery::Head,
            8 => Forgery::CutUnsealed,
            _ => Forgery::Cut,
        }
    }

    /// Returns true if the file no longer has all its hashes, so it must be refused.
    pub fn is_damage(self) -> bool {
        !matches!(self, Forgery::Cut | Forgery::Head)
    }

    /// Returns the changed file of a saved run.
    pub fn apply(self, rng: &Rng, file: &[u8], head: &Head, cut: &[u8]) -> Vec<u8> {
        let mut head = head.clone();
        match self {
            Forgery::File => changed(rng, file),
            Forgery::FileHashed => {
                let mut file = changed(rng, &file[..file.len() - HASH_BYTES]);
                file.extend(XxHash3_128::oneshot(&file).to_le_bytes());
                file
            }
            Forgery::Cut => sealed(&head, &changed(rng, cut)),
            Forgery::CutUnsealed => {
                let seal = &file[file.len() - 2 * HASH_BYTES..][..HASH_BYTES];
                let mut file = sealed(&head, &changed(rng, cut));
                let end = file.len() - HASH_BYTES;
                file[end - HASH_BYTES..end].copy_from_slice(seal);
                let hash = XxHash3_128::oneshot(&file[..end]);
                file[end..].copy_from_slice(&hash.to_le_bytes());
                file
            }
            Forgery::Head => {
                change_head(rng, &mut head);
                sealed(&head, cut)
            }
        }
    }
}

/// Returns the file of a head and the bytes of a cut, with all hashes right.
fn sealed(head: &Head, cut: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    saved::write(head, &mut |sink| sink(cut), &mut file).expect("memory takes everything");
    file
}

fn change_head(rng: &Rng, head: &mut Head) {
    let any = [0, 1, u64::MAX, rng.next_u64(), head.time_ps + 1][index_below(rng, 5)];
    match rng.below(6) {
        0 => head.time_ps = any,
        1 => head.events = any,
        2 => head.lps = u32::try_from(any & u64::from(u32::MAX)).expect("it has 32 bits"),
        3 => head.digest = [None, Some(any)][index_below(rng, 2)],
        4 => head.replayed = Some("it is so".into()),
        // Another value of a parameter, or a text that is no scenario file.
        _ => head.scenario = String::from_utf8_lossy(&changed(rng, head.scenario.as_bytes())).into_owned(),
    }
}

/// Returns bytes with one to three changes.
fn changed(rng: &Rng, bytes: &[u8]) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    // Most often one change, and a small one: it comes past more checks.
    let changes = 1 + rng.below(4).saturating_sub(1);
    (0..changes).for_each(|_| change(rng, &mut changed));
    changed
}

fn change(rng: &Rng, bytes: &mut Vec<u8>) {
    let most = if rng.chance(0.5) { bytes.len() } else { bytes.len().min(FIRST) };
    if most == 0 {
        return bytes.push(0);
    }
    let place = index_below(rng, most);
    let length = (1 + index_below(rng, 16)).min(bytes.len() - place);
    match rng.below(12) {
        0 | 1 => bytes[place] ^= 1 << rng.below(8),
        2 => bytes[place] = u8::try_from(rng.below(256)).expect("below 256"),
        3 => bytes[place] = bytes[place].wrapping_add(1),
        4 => bytes[place] = bytes[place].wrapping_sub(1),
        5 => bytes.truncate(place),
        6 => {
            let more: Vec<u8> = (0..length).map(|_| u8::try_from(rng.below(256)).expect("below 256")).collect();
            bytes.splice(place..place, more).for_each(drop);
        }
        7 => drop(bytes.drain(place..place + length)),
        8 => {
            // Two parts change places.
            let other = index_below(rng, bytes.len() - length + 1);
            if other.abs_diff(place) >= length {
                let part = bytes[place..place + length].to_vec();
                bytes.copy_within(other..other + length, place);
                bytes[other..other + length].copy_from_slice(&part);
            }
        }
        // A giant length or number: as many as 2^28 - 1, 2^35 - 1 or 2^64 - 1.
        9 | 10 => {
            let giant: &[u8] = [
                &[0xff, 0xff, 0xff, 0x7f][..],
                &[0xff, 0xff, 0xff, 0xff, 0x7f],
                &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            ][index_below(rng, 3)];
            let replaced = if rng.chance(0.5) { giant.len().min(bytes.len() - place) } else { 1 };
            bytes.splice(place..place + replaced, giant.iter().copied()).for_each(drop);
        }
        _ => bytes[place..place + length].fill([0, 0xff][index_below(rng, 2)]),
    }
}
