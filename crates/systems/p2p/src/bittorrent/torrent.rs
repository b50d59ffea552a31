//! Pieces as a `.torrent` file has them (BEP 3, "Bencoding" and "metainfo files").
//!
//! Files of BitTorrent v1 are read, and hybrids of v1 and v2 (BEP 52), whose v1 part is read. Attributes of
//! files are those of BEP 47: padding is known to be zeros, so that nobody transfers it, and a symbolic link
//! has no data.

use parades_config::{ConfigError, Place, inputs};
use std::ops::Range;
use std::path::Path;

/// The longest file in bytes. A file of this length has over three million pieces.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// The greatest depth of lists and dictionaries in each other.
const DEPTH_MAX: u32 = 32;

/// The length of a piece's hash in bytes.
const HASH_BYTES: usize = 20;

/// The number and the lengths of the pieces that a `.torrent` file describes, without padding. A piece that
/// is padding alone does not count.
///
/// ```
/// use parades_p2p::bittorrent::Torrent;
///
/// let hashes = "h".repeat(40);
/// let text = format!("d4:infod6:lengthi1000e12:piece lengthi600e6:pieces40:{hashes}ee");
/// let torrent = Torrent::parse("a.torrent".as_ref(), text.as_bytes())?;
/// assert_eq!(torrent, Torrent { pieces: 2, piece_bits: 4800, shorter: vec![(1, 3200)] });
///
/// let error = Torrent::parse("a.torrent".as_ref(), b"d4:info").unwrap_err();
/// assert!(error.to_string().contains("at byte 7"));
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torrent {
    /// The number of pieces.
    pub pieces: u32,
    /// The length of a piece in bits.
    pub piece_bits: u64,
    /// The pieces that are shorter, by number, with their lengths in bits.
    pub shorter: Vec<(u32, u64)>,
}

impl Torrent {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or describes no pieces: one sentence, with the place.
    pub fn read(path: &Path) -> Result<Torrent, ConfigError> {
        let read = inputs::read_whole(path, FILE_BYTES_MAX);
        Torrent::parse(path, &read.map_err(|error| inputs::unreadable(path, &error))?)
    }

    /// Reads the bytes of a file; `file` is the name that errors give it.
    ///
    /// # Errors
    ///
    /// As [`Torrent::read`].
    pub fn parse(file: &Path, bytes: &[u8]) -> Result<Torrent, ConfigError> {
        const HELP: &str = "give a `.torrent` file as BEP 3 describes it";
        let refused = |(place, what): Mistake, help| {
            ConfigError::new(format!("at byte {place}, {what}")).with_help(help).at(Place::File(file.to_owned()))
        };
        let root = root(bytes).map_err(|mistake| refused(mistake, HELP))?;
        if let Some(place) = version_2_alone(&root) {
            let what = "the torrent is of BitTorrent v2 alone (BEP 52)".to_owned();
            return Err(refused(
                (place, what),
                "make a v1 or hybrid torrent of its files, or give `pieces` and `piece_bits`",
            ));
        }
        pieces(&root).map_err(|mistake| refused(mistake, HELP))
    }
}

/// The place of a mistake, and what it is.
type Mistake = (usize, String);

/// A value with the byte at which it begins.
struct Node<'a> {
    begin: usize,
    value: Value<'a>,
}

enum Value<'a> {
    Integer(i64),
    Text(&'a [u8]),
    List(Vec<Node<'a>>),
    Dictionary(Vec<(&'a [u8], Node<'a>)>),
}

impl<'a> Node<'a> {
    fn find(&self, key: &str) -> Option<&Node<'a>> {
        let Value::Dictionary(entries) = &self.value else { return None };
        entries.iter().find(|entry| entry.0 == key.as_bytes()).map(|entry| &entry.1)
    }

    fn get(&self, key: &str) -> Result<&Node<'a>, Mistake> {
        self.find(key).ok_or_else(|| (self.begin, format!("a dictionary with `{key}` is expected")))
    }

    /// Returns a length above zero, in bytes.
    fn length(&self) -> Result<u64, Mistake> {
        match self.value {
            Value::Integer(length) if length > 0 => Ok(length.unsigned_abs()),
            _ => Err((self.begin, "a length above zero is expected".into())),
        }
    }

    /// Returns whether a file has an attribute of BEP 47.
    fn has_attribute(&self, attribute: u8) -> bool {
        matches!(self.find("attr"), Some(Node { value: Value::Text(text), .. }) if text.contains(&attribute))
    }
}

/// Returns the value that is the whole file. Blanks and ends of lines may follow it.
fn root(bytes: &[u8]) -> Result<Node<'_>, Mistake> {
    let mut reader = Reader { bytes, place: 0 };
    let root = reader.node(0)?;
    match bytes[reader.place..].trim_ascii() {
        [] => Ok(root),
        _ => Err((reader.place, "the file goes on after its end".into())),
    }
}

/// Returns the place of what says that a torrent is of version 2, if it has no part of version 1.
fn version_2_alone(root: &Node<'_>) -> Option<usize> {
    let info = root.find("info").filter(|info| info.find("pieces").is_none())?;
    let version = info.find("meta version").filter(|version| matches!(version.value, Value::Integer(2)));
    Some(version.or_else(|| info.find("file tree"))?.begin)
}

fn pieces(root: &Node<'_>) -> Result<Torrent, Mistake> {
    let info = root.get("info")?;
    let piece = info.get("piece length")?.length()?;
    let hashes = info.get("pieces")?;
    let count = match hashes.value {
        Value::Text([]) => return Err((hashes.begin, "the torrent has zero pieces".into())),
        Value::Text(text) if text.len().is_multiple_of(HASH_BYTES) => (text.len() / HASH_BYTES) as u64,
        _ => return Err((hashes.begin, format!("`pieces` is not a text of hashes of {HASH_BYTES} bytes"))),
    };
    let too_long = || (info.begin, "the data is too long".to_owned());
    let (total, padding) = lengths(info)?;
    if total.div_ceil(piece) != count {
        let message = format!("{total} bytes of data make {} pieces, but `pieces` has {count}", total.div_ceil(piece));
        return Err((hashes.begin, message));
    }
    let piece_bits = piece.checked_mul(8).ok_or_else(too_long)?;
    let mut bytes = vec![piece; usize::try_from(count).map_err(|_| too_long())?];
    // The padding after the end of the data is that of the last piece.
    let after_end = total..count.checked_mul(piece).ok_or_else(too_long)?;
    for pad in padding.into_iter().chain([after_end]) {
        let mut begin = pad.start;
        while begin < pad.end {
            let end = pad.end.min((begin / piece + 1) * piece);
            bytes[usize::try_from(begin / piece).expect("it is below the count")] -= end - begin;
            begin = end;
        }
    }
    bytes.retain(|&bytes| bytes > 0);
    if bytes.is_empty() {
        return Err((info.begin, "the files have no data".into()));
    }
    let shorter = (0..).zip(&bytes).filter(|&(_, &bytes)| bytes < piece).map(|(number, bytes)| (number, bytes * 8));
    Ok(Torrent { pieces: u32::try_from(bytes.len()).map_err(|_| too_long())?, piece_bits, shorter: shorter.collect() })
}

/// Returns the length of the file, or of all files, in bytes, and the parts of that which are padding.
fn lengths(info: &Node<'_>) -> Result<(u64, Vec<Range<u64>>), Mistake> {
    if let Some(length) = info.find("length") {
        return Ok((length.length()?, Vec::new()));
    }
    let files = info.get("files")?;
    let Value::List(list) = &files.value else { return Err((files.begin, "a list of files is expected".into())) };
    let (mut total, mut padding) = (0_u64, Vec::new());
    for file in list {
        if file.has_attribute(b'l') && file.find("length").is_none() {
            continue;
        }
        let length = file.get("length")?;
        // A file may be empty.
        let bytes = if matches!(length.value, Value::Integer(0)) { 0 } else { length.length()? };
        let end = total.checked_add(bytes).ok_or_else(|| (length.begin, "the files are too long".to_owned()))?;
        if file.has_attribute(b'p') {
            padding.push(total..end);
        }
        total = end;
    }
    if total == 0 { Err((files.begin, "the files have no data".into())) } else { Ok((total, padding)) }
}

/// A reader of bencoded values.
struct Reader<'a> {
    bytes: &'a [u8],
    place: usize,
}

impl<'a> Reader<'a> {
    fn node(&mut self, depth: u32) -> Result<Node<'a>, Mistake> {
        let begin = self.place;
        if depth > DEPTH_MAX {
            return Err((begin, format!("values are nested deeper than {DEPTH_MAX}")));
        }
        let value = match self.bytes.get(begin) {
            Some(b'i') => {
                self.place += 1;
                Value::Integer(self.number(b'e')?)
            }
            Some(b'l') => {
                let mut list = Vec::new();
                self.each(|reader| {
                    list.push(reader.node(depth + 1)?);
                    Ok(())
                })?;
                Value::List(list)
            }
            Some(b'd') => {
                let mut entries = Vec::new();
                self.each(|reader| {
                    let key = reader.text()?;
                    entries.push((key, reader.node(depth + 1)?));
                    Ok(())
                })?;
                Value::Dictionary(entries)
            }
            Some(b'0'..=b'9') => Value::Text(self.text()?),
            Some(_) => return Err((begin, "no bencoded value begins".into())),
            None => return Err((begin, "the file ends too early".into())),
        };
        Ok(Node { begin, value })
    }

    /// Reads elements up to the `e` that ends them.
    fn each(&mut self, mut read: impl FnMut(&mut Self) -> Result<(), Mistake>) -> Result<(), Mistake> {
        self.place += 1;
        while self.bytes.get(self.place) != Some(&b'e') {
            read(self)?;
        }
        self.place += 1;
        Ok(())
    }

    fn text(&mut self) -> Result<&'a [u8], Mistake> {
        let begin = self.place;
        let length = usize::try_from(self.number(b':')?).map_err(|_| (begin, "a length is negative".to_owned()))?;
        let end = self.place.checked_add(length).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or_else(|| (begin, format!("a text of {length} bytes goes past the end of the file")))?;
        let text = &self.bytes[self.place..end];
        self.place = end;
        Ok(text)
    }

    /// Reads a number and the byte that ends it.
    fn number(&mut self, end: u8) -> Result<i64, Mistake> {
        let begin = self.place;
        let rest = &self.bytes[begin.min(self.bytes.len())..];
        let Some(length) = rest.iter().take(21).position(|&byte| byte == end) else {
            return Err((begin, format!("a number that ends with `{}` is expected", char::from(end))));
        };
        let number = std::str::from_utf8(&rest[..length]).ok().and_then(|text| text.parse().ok());
        self.place = begin + length + 1;
        number.ok_or_else(|| (begin, "a number is expected".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        Torrent::parse("x.torrent".as_ref(), text.as_bytes()).expect_err("it is malformed").to_string()
    }

    #[test]
    fn several_files_are_one_run_of_bytes() {
        let hashes = "h".repeat(60);
        let text = format!(
            "d4:infod5:filesld6:lengthi10eed6:lengthi0eed6:lengthi15eee12:piece lengthi10e6:pieces60:{hashes}ee"
        );
        let torrent = Torrent::parse("x".as_ref(), text.as_bytes()).expect("it is right");
        assert_eq!(torrent, Torrent { pieces: 3, piece_bits: 80, shorter: vec![(2, 40)] });
    }

    /// Three files that begin at pieces of 16 bytes, with padding of more than a piece, and a symbolic link.
    #[test]
    fn padding_and_links_have_no_data() {
        let file = |rest: &str, length: u32, name: &str| format!("d{rest}6:lengthi{length}e4:pathl1:{name}ee");
        let pad = |length| file("4:attr1:p", length, "p");
        let link = "d4:attr1:l4:pathl1:le12:symlink pathl1:aee".to_owned();
        let files = [file("", 10, "a"), pad(6), link, file("4:attr1:x", 20, "b"), pad(28), file("", 4, "c")].concat();
        let hashes = "h".repeat(100);
        let text = format!("d4:infod5:filesl{files}e12:piece lengthi16e6:pieces100:{hashes}ee\r\n");
        let torrent = Torrent::parse("x".as_ref(), text.as_bytes()).expect("it is right");
        // The third piece of `b` is padding alone.
        assert_eq!(torrent, Torrent { pieces: 4, piece_bits: 128, shorter: vec![(0, 80), (2, 32), (3, 32)] });
    }

    #[test]
    fn hybrids_are_read_and_version_2_alone_is_refused() {
        let (hash, tree) = ("h".repeat(20), "9:file treed1:ad0:d6:lengthi9eeee");
        let of = |pieces: &str| format!("d4:infod{tree}6:lengthi9e12:meta versioni2e12:piece lengthi9e{pieces}ee");
        let torrent = Torrent::parse("x".as_ref(), of(&format!("6:pieces20:{hash}")).as_bytes()).expect("it is right");
        assert_eq!(torrent, Torrent { pieces: 1, piece_bits: 72, shorter: vec![] });
        let expected = "x.torrent: at byte 67, the torrent is of BitTorrent v2 alone (BEP 52); make a v1 or hybrid \
                        torrent of its files, or give `pieces` and `piece_bits`";
        assert_eq!(refusal(&of("")), expected);
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        for (text, what) in [
            ("", "at byte 0, the file ends too early"),
            ("hello", "at byte 0, no bencoded value begins"),
            ("de", "at byte 0, a dictionary with `info` is expected"),
            ("d4:infod6:lengthi9e12:piece lengthi0e6:pieces0:ee", "at byte 34, a length above zero is expected"),
            ("d4:infod6:lengthi9e12:piece lengthi9e6:pieces0:ee", "at byte 45, the torrent has zero pieces"),
            ("d4:infod6:lengthi9e12:piece lengthi9e6:pieces3:abcee", "at byte 45, `pieces` is not a text of hashes"),
            ("d4:infod6:lengthi9e12:piece lengthi9e6:pieces99:aee", "a text of 99 bytes goes past the end"),
            ("d4:infodeei1e", "at byte 10, the file goes on after its end"),
            ("i12", "at byte 1, a number that ends with `e` is expected"),
            ("d-1:xe", "at byte 1, a length is negative"),
        ] {
            let refusal = refusal(text);
            assert!(refusal.contains(what), "{text}: {refusal}");
        }
        assert!(refusal(&"l".repeat(1000)).contains("nested deeper"));
    }
}
