//! A stepped network as bytes: what the program knows of it, and the run.

use super::refused;
use parades_core::digest::Digest;
use parades_core::error::{Error, ErrorKind};
use parades_core::model::Model;
use parades_core::wire::{self, Wire};
use parades_engine::stepped::Run;
use std::io::{Read, Write};

/// The first bytes. A transfer as text would change the line's end.
const MAGIC: &[u8; 18] = b"parades network1\r\n";

/// Writes a run, behind what the program knows of it.
pub(super) fn save<M: Model + Send + 'static>(
    run: &mut Run<M>,
    head: &impl Wire,
    mut to: impl Write,
) -> Result<(), Error> {
    let (mut bytes, mut of_head) = (MAGIC.to_vec(), Vec::new());
    wire::write(head, &mut of_head);
    wire::write(&(&of_head, check_sum(&of_head)), &mut bytes);
    run.save(&mut bytes)?;
    to.write_all(&bytes)
        .and_then(|()| to.flush())
        .map_err(|error| refused(format!("the network cannot be saved: {error}")))
}

/// Reads what [`save`] has written. Returns what the program knows, and the bytes of the run.
pub(super) fn load<H: Wire>(mut from: impl Read) -> Result<(H, Vec<u8>), Error> {
    let malformed = |what: &str| Error::new(ErrorKind::Malformed(what.into()));
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).map_err(|error| malformed(&error.to_string()))?;
    let mut rest = bytes.strip_prefix(MAGIC).ok_or_else(|| malformed("it is no saved network"))?;
    let head: Result<(Vec<u8>, u64), _> = wire::read(&mut rest);
    let (head, sum) = head.map_err(|error| malformed(&error.to_string()))?;
    if check_sum(&head) != sum {
        return Err(malformed("it is damaged, or not whole"));
    }
    let head = wire::read(&mut &head[..]).map_err(|error| malformed(&error.to_string()))?;
    Ok((head, rest.to_vec()))
}

fn check_sum(bytes: &[u8]) -> u64 {
    let mut digest = Digest::default();
    digest.bytes(bytes);
    digest.value()
}
