//! Attributes of elements.

use crate::xml::malformed;
use parades_config::Fault;
use quick_xml::events::BytesStart;

/// The largest number of attributes of an element.
const ATTRIBUTES_MAX: usize = 64;

/// Returns the values of the attributes of these names.
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

/// Checks that an attribute is given.
pub(super) fn required(value: Option<String>, element: &str, attribute: &str, offset: usize) -> Result<String, Fault> {
    value.ok_or_else(|| {
        Fault::new(offset, format!("<{element}> has no {attribute}"), "add the attribute; GraphML requires it")
    })
}
