//! Names of files and folders.

use parades_core::digest::Digest;

/// The greatest length of a name, in bytes: file systems allow 255, and a suffix must fit as well.
const NAME_BYTES_MAX: usize = 120;

/// Returns the name of a file or folder for something of this name.
///
/// A name that is too long, or has letters that are not safe, is cut and cleaned, and gets a hash of the
/// whole. So does a name that looks like one with a hash: no two names come to one file.
///
/// ```
/// use parades_session::safe_name;
/// assert_eq!(safe_name("queue 1", |c| c != '/'), "queue 1");
/// assert!(safe_name("a/b", |c| c != '/').starts_with("a_b,"));
/// assert_ne!(safe_name("a/b", |c| c != '/'), safe_name("a_b", |c| c != '/'));
/// let cleaned = safe_name("a/b", |c| c != '/');
/// assert_ne!(safe_name(&cleaned, |c| c != '/'), cleaned);
/// ```
pub fn safe_name(name: &str, is_safe: impl Fn(char) -> bool) -> String {
    if name.len() <= NAME_BYTES_MAX && name.chars().all(&is_safe) && !ends_as_cleaned(name) {
        return name.to_owned();
    }
    let mut hash = Digest::default();
    hash.bytes(name.as_bytes());
    let safe: String = name.chars().map(|c| if is_safe(c) { c } else { '_' }).collect();
    format!("{},{:016x}", &safe[..safe.floor_char_boundary(NAME_BYTES_MAX)], hash.value())
}

/// Returns true if a name ends as cleaned names do: with a comma and 16 hexadecimal digits.
fn ends_as_cleaned(name: &str) -> bool {
    name.rsplit_once(',').is_some_and(|(_, hash)| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
