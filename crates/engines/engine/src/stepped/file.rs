//! A stepped run as bytes: a head, the bytes of its cut, and a check sum.

use super::Kept;
use parades_core::digest::Digest;
use parades_core::time::Time;
use parades_core::wire;

/// The first bytes. A transfer as text would change the line's end.
const MAGIC: &[u8; 16] = b"parades run  1\r\n";
/// The version of the library, which alone reads the bytes.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The fields of the head: version, type of the model, time, end, seed, tie seed, memory limit, digest so
/// far.
type Head = (String, String, Time, Time, u64, Option<u64>, Option<u64>, Option<u64>);

/// Returns a run as bytes.
pub(super) fn write(options: &Kept, now: Time, digest: Option<u64>, model: &str, cut: &[u8]) -> Vec<u8> {
    let Kept { until, seed, tie_seed, memory_limit, .. } = *options;
    let head: Head = (VERSION.into(), model.into(), now, until, seed, tie_seed, memory_limit, digest);
    let mut bytes = MAGIC.to_vec();
    wire::write(&head, &mut bytes);
    bytes.extend_from_slice(cut);
    let sum = check_sum(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

/// Reads a run of the type of model `model`: its options, its digest and the bytes of its cut.
///
/// # Errors
///
/// A part of a sentence: what is wrong.
pub(super) fn read(bytes: &[u8], model: &str) -> Result<(Kept, Option<u64>, Vec<u8>), String> {
    let (whole, sum) = bytes.split_last_chunk::<8>().ok_or("it ends too early")?;
    let mut rest = whole.strip_prefix(MAGIC).ok_or("it is no saved run of the library")?;
    if u64::from_le_bytes(*sum) != check_sum(whole) {
        return Err("it is damaged, or not whole".into());
    }
    let head: Head = wire::read(&mut rest).map_err(|error| error.to_string())?;
    let (version, of, _, until, seed, tie_seed, memory_limit, digest) = head;
    if version != VERSION {
        return Err(format!("version {version} has saved it, and this is version {VERSION}"));
    }
    if of != model {
        return Err(format!("it is a run of `{of}`, and not of `{model}`"));
    }
    Ok((Kept { until, seed, tie_seed, digest: digest.is_some(), memory_limit }, digest, rest.to_vec()))
}

fn check_sum(bytes: &[u8]) -> u64 {
    let mut digest = Digest::default();
    digest.word(bytes.len() as u64);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        digest.word(u64::from_le_bytes(word));
    }
    digest.value()
}
