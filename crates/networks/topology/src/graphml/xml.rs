//! The rules of XML that its reader leaves to its user: entities, attributes, encodings.

use super::error::{Fault, quote};
use quick_xml::events::{BytesRef, BytesStart};

/// How many attributes one element may have.
const ATTRIBUTES_MAX: usize = 64;

/// A position in a text that lies in memory.
pub(super) fn to_offset(position: u64) -> usize {
    usize::try_from(position).expect("the text is in memory")
}

/// XML that breaks XML's own rules.
pub(super) fn malformed(offset: usize, why: impl std::fmt::Display) -> Fault {
    Fault::new(
        offset,
        format!("this is not well-formed XML: {why}"),
        "compare the file with its source; it may be cut off",
    )
}

/// Refuses a declared encoding that would give the text's letters another meaning than UTF-8 does.
pub(super) fn check_encoding(declared: Option<&str>, text: &str, offset: usize) -> Result<(), Fault> {
    match declared {
        Some(other)
            if !["utf-8", "us-ascii", "ascii"].contains(&other.to_ascii_lowercase().as_str()) && !text.is_ascii() =>
        {
            Err(Fault::new(offset, format!("the file declares the encoding {}", quote(other)), "convert it to UTF-8"))
        }
        _ => Ok(()),
    }
}

/// The letter that `&...;` stands for. Entities that a document defines are never expanded.
pub(super) fn resolve(entity: &BytesRef<'_>, offset: usize) -> Result<char, Fault> {
    if let Some(letter) = entity.resolve_char_ref().map_err(|why| malformed(offset, why))? {
        return Ok(letter);
    }
    let letter = match &**entity {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        unknown => {
            let message = format!("the entity {} is not one of XML's own", quote(unknown));
            return Err(Fault::new(offset, message, "write the character itself, or its number as &#...;"));
        }
    };
    Ok(letter)
}

/// The values of the attributes of these names.
pub(super) fn attributes<const N: usize>(
    tag: &BytesStart<'_>,
    offset: usize,
    names: [&str; N],
) -> Result<[Option<String>; N], Fault> {
    let mut values = [const { None }; N];
    for (count, attribute) in tag.attributes().enumerate() {
        let attribute = attribute.map_err(|why| malformed(offset, why))?;
        if count == ATTRIBUTES_MAX {
            return Err(Fault::new(
                offset,
                format!("an element has more than {ATTRIBUTES_MAX} attributes"),
                "delete those without use",
            ));
        }
        if let Some(wanted) = names.iter().position(|name| attribute.key.as_ref() == *name) {
            let value =
                attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0).map_err(|why| malformed(offset, why))?;
            values[wanted] = Some(value.into_owned());
        }
    }
    Ok(values)
}

/// What must be there.
pub(super) fn required(value: Option<String>, element: &str, attribute: &str, offset: usize) -> Result<String, Fault> {
    value.ok_or_else(|| {
        Fault::new(offset, format!("<{element}> has no {attribute}"), "add the attribute; GraphML requires it")
    })
}
