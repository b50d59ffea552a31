//! Reading XML: the rules that every reader of this project keeps.
//!
//! A file may be hostile. Tags and texts are bounded, a document type with declarations of its own is
//! refused, and no entity but the five predefined ones is expanded. [`Elements`] decides on the meaning of an
//! element and on the depth of nesting.

use parades_config::{ConfigError, Fault, inputs, one_line, quoted};
use quick_xml::events::{BytesRef, BytesStart, Event};
use std::path::Path;

/// A reader of elements.
pub trait Elements {
    /// The greatest length of a tag, in bytes.
    const TAG_BYTES_MAX: usize;
    /// The greatest length of a text or comment, in bytes.
    const TEXT_BYTES_MAX: usize;

    /// An element begins.
    ///
    /// # Errors
    ///
    /// If the element does not belong here.
    fn start(&mut self, tag: &BytesStart<'_>, offset: usize) -> Result<(), Fault>;

    /// The innermost element ends. The XML reader checks that its name matches.
    ///
    /// # Errors
    ///
    /// If the element lacks something.
    fn end(&mut self) -> Result<(), Fault>;

    /// Letters inside an element.
    ///
    /// # Errors
    ///
    /// If the letters do not belong here.
    fn text(&mut self, letters: &str, offset: usize) -> Result<(), Fault>;
}

/// Reads a text, in one pass.
///
/// # Errors
///
/// If it is not well-formed XML, breaks a rule, or `elements` refuse it.
pub fn read(text: &str, elements: &mut impl Elements) -> Result<(), Fault> {
    let mut xml = quick_xml::Reader::from_str(text);
    loop {
        let offset = to_offset(xml.buffer_position());
        let event = xml.read_event().map_err(|why| malformed(to_offset(xml.error_position()), why))?;
        check_length(elements, &event, offset, to_offset(xml.buffer_position()) - offset)?;
        match event {
            Event::Start(tag) => elements.start(&tag, offset)?,
            Event::Empty(tag) => {
                elements.start(&tag, offset)?;
                elements.end()?;
            }
            Event::End(_) => elements.end()?,
            Event::Text(letters) => elements.text(&letters.xml10_content(), offset)?,
            Event::CData(letters) => elements.text(&letters.xml10_content(), offset)?,
            Event::GeneralRef(entity) => elements.text(resolve(&entity, offset)?.encode_utf8(&mut [0; 4]), offset)?,
            Event::DocType(declarations) if declarations.contains('[') => {
                let message = "the document type declares entities or elements of its own, which are not expanded";
                return Err(Fault::new(offset, message, "delete the <!DOCTYPE ...> declaration"));
            }
            Event::Decl(declaration) => {
                let encoding = declaration.encoding().transpose().map_err(|why| malformed(offset, why))?;
                check_encoding(encoding.as_deref(), text, offset)?;
            }
            Event::Comment(_) | Event::PI(_) | Event::DocType(_) => {}
            Event::Eof => return Ok(()),
        }
    }
}

/// Checks the length of a tag, text or comment.
fn check_length<E: Elements>(_: &E, event: &Event<'_>, offset: usize, length: usize) -> Result<(), Fault> {
    let is_tag = matches!(event, Event::Start(_) | Event::Empty(_));
    let (what, max) = if is_tag { ("tag", E::TAG_BYTES_MAX) } else { ("text", E::TEXT_BYTES_MAX) };
    match length > max {
        true => Err(Fault::new(offset, format!("one {what} is longer than {} KiB", max >> 10), "shorten it")),
        false => Ok(()),
    }
}

/// Converts a position of the XML reader into an index into the text.
fn to_offset(position: u64) -> usize {
    usize::try_from(position).expect("the text is in memory")
}

/// Returns the fault of text that is not well-formed XML.
pub fn malformed(offset: usize, why: impl std::fmt::Display) -> Fault {
    let message = format!("this is not well-formed XML: {}", one_line(&why.to_string()));
    Fault::new(offset, message, "compare the file with its source; it may be cut off")
}

/// Refuses a declared encoding by which the text's letters would mean something else than by UTF-8.
fn check_encoding(declared: Option<&str>, text: &str, offset: usize) -> Result<(), Fault> {
    let is_utf_8 = |name: &str| ["utf-8", "us-ascii", "ascii"].contains(&name.to_ascii_lowercase().as_str());
    match declared {
        Some(other) if !is_utf_8(other) && !text.is_ascii() => {
            let message = format!("the file declares the encoding {}", quoted(other));
            Err(Fault::new(offset, message, "convert it to UTF-8"))
        }
        _ => Ok(()),
    }
}

/// Returns the character that the reference `&...;` stands for. Entities that a document defines are not
/// expanded.
fn resolve(entity: &BytesRef<'_>, offset: usize) -> Result<char, Fault> {
    if let Some(letter) = entity.resolve_char_ref().map_err(|why| malformed(offset, why))? {
        return Ok(letter);
    }
    match &**entity {
        "lt" => Ok('<'),
        "gt" => Ok('>'),
        "amp" => Ok('&'),
        "quot" => Ok('"'),
        "apos" => Ok('\''),
        unknown => {
            let message = format!("the entity {} is not one of XML's own", quoted(unknown));
            Err(Fault::new(offset, message, "write the character itself, or its number as &#...;"))
        }
    }
}

/// Returns the fault of a file that ends before the element at `offset` is closed.
pub fn unclosed(text: &str, offset: usize) -> Fault {
    let tag = text[offset..].split(|letter: char| letter.is_whitespace() || letter == '>').next().unwrap_or_default();
    let message = format!("the file ends before {} is closed", quoted(&format!("{tag}>")));
    Fault::new(offset, message, "compare the file with its source; it may be cut off")
}

/// Returns the bytes of a file as text, without a byte order mark.
///
/// # Errors
///
/// If they are not UTF-8.
pub fn text_of<'b>(file: &Path, bytes: &'b [u8]) -> Result<&'b str, ConfigError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(why) => {
            let good = std::str::from_utf8(&bytes[..why.valid_up_to()]).unwrap_or_default();
            Err(Fault::new(good.len(), "the file is not text in UTF-8", "convert it to UTF-8").within(file, good))
        }
    }
}

/// Reads a file of at most `max` bytes.
///
/// # Errors
///
/// If the file cannot be read, or is longer. Then `help` says how to shorten it.
pub fn bytes_of(path: &Path, max: usize, help: &str) -> Result<Vec<u8>, ConfigError> {
    match inputs::read(path, max as u64) {
        Err(why) => {
            let message = format!("the file cannot be read: {}", inputs::reason(&why));
            Err(Fault::whole(message, "check its name and permissions").within(path, ""))
        }
        Ok(bytes) if bytes.len() > max => Err(too_long(max, help).within(path, "")),
        Ok(bytes) => Ok(bytes),
    }
}

/// Returns the fault of a file of more than `max` bytes.
pub fn too_long(max: usize, help: &str) -> Fault {
    Fault::whole(format!("the file is longer than {} MiB", max >> 20), help)
}
