//! Reading files of users, which may be devices or pipes without an end.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads a text of at most `bytes_max` bytes, whatever the metadata of the file say.
///
/// ```
/// # use parades_config::read_text;
/// # #[cfg(target_os = "linux")] {
/// let error = read_text("/dev/zero".as_ref(), 1 << 20).unwrap_err();
/// assert_eq!(error.to_string(), "it is longer than 1 MiB");
/// # }
/// ```
///
/// # Errors
///
/// If the file cannot be read, is longer, or is not UTF-8.
pub fn read_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is longer than {} MiB", bytes_max >> 20)));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8"))
}
