//! The JSON schema of network files. Editors complete and check files by it. It is made from the shapes that
//! the reader uses.

use crate::queues::UNBOUNDED;
use crate::shape::{Form, Key, QUEUE_OF_LINK, Shape, TABLES, TOP, Variant};
use parades_config::units::{DURATION, Quantity, RATE, SIZE};
use parades_config::{Kind, Parameter, SETTINGS};
use serde_json::{Map, Value, json};

/// The schema, of draft 2020-12.
pub fn schema() -> Value {
    let mut properties = Map::new();
    for key in TOP {
        properties.insert(key.name.to_owned(), of_key(key));
    }
    for parameter in SETTINGS.iter().filter(|parameter| parameter.key() != "scenario") {
        properties.insert(parameter.key().to_owned(), described(of_parameter(parameter), parameter.meaning()));
    }
    let scalar = json!({"type": ["string", "number", "boolean"]});
    let parameters = json!({
        "type": "object",
        "description": "values to which others refer as \"$name\", and which --set name=value sets",
        "propertyNames": {"pattern": "^[A-Za-z0-9_-]+$"},
        "additionalProperties": scalar,
    });
    properties.insert("parameters".into(), parameters);
    for shape in TABLES {
        let one = of_shape(shape);
        let value = if shape.several { json!({"type": "array", "items": one}) } else { one };
        properties.insert(shape.name.to_owned(), described(value, shape.meaning));
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A network for parades",
        "type": "object",
        "properties": properties,
        "required": ["network"],
        "additionalProperties": false,
    })
}

fn described(mut schema: Value, meaning: &str) -> Value {
    if let Value::Object(fields) = &mut schema {
        fields.insert("description".into(), meaning.into());
    }
    schema
}

fn of_shape(shape: &Shape) -> Value {
    if shape.kinds.is_empty() {
        return table(shape.keys, None);
    }
    let of_kind = |kind: &'static Variant| {
        let keys: Vec<Key> = shape.keys_of(Some(kind)).copied().collect();
        described(table(&keys, Some(kind)), kind.meaning)
    };
    let kinds: Vec<&str> = shape.kinds.iter().flat_map(names_of).collect();
    // The list of kinds for editors; which keys each has, by the first that fits.
    json!({
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"enum": kinds}},
        "oneOf": shape.kinds.iter().map(of_kind).collect::<Vec<_>>(),
    })
}

/// Returns the names of a kind.
fn names_of(kind: &Variant) -> impl Iterator<Item = &'static str> + use<> {
    [kind.name].into_iter().chain(kind.also.iter().copied())
}

fn table(keys: &[Key], kind: Option<&Variant>) -> Value {
    let mut properties = Map::new();
    let mut required: Vec<&str> = Vec::new();
    if let Some(kind) = kind {
        properties.insert("kind".into(), json!({"enum": names_of(kind).collect::<Vec<_>>()}));
        required.push("kind");
    }
    for key in keys {
        for name in key.also.iter().copied().chain([key.name]) {
            properties.insert(name.to_owned(), of_key(key));
        }
        if key.required {
            required.push(key.name);
        }
    }
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// The pattern of a reference to a parameter.
const REFERENCE: &str = r"\$[A-Za-z0-9_-]+";

fn reference() -> Value {
    json!({"type": "string", "pattern": format!("^{REFERENCE}$")})
}

fn of_key(key: &Key) -> Value {
    let text = json!({"type": "string"});
    let size = || quantity(&SIZE);
    let schema = match &key.form {
        Form::One(parameter) => of_parameter(parameter),
        Form::Limit => {
            let packets = json!({"type": "integer", "minimum": 0, "maximum": u32::MAX});
            json!({"anyOf": [packets, size(), {"const": UNBOUNDED}, reference()]})
        }
        Form::Queue => json!({"anyOf": [
            {"type": "integer", "minimum": 0, "maximum": u32::MAX},
            size(),
            {"type": "string", "pattern": r"^[^0-9+.-]"},
            of_shape(&QUEUE_OF_LINK),
        ]}),
        Form::Packet => json!({"anyOf": [size(), {"const": "internet-mix"}, reference()]}),
        Form::Select => json!({"anyOf": [text, {"type": "array", "items": text}]}),
        Form::Names => json!({"type": "array", "items": text}),
        Form::Sides => {
            json!({"type": "array", "items": {"anyOf": [{"type": "integer", "minimum": 3}, reference()]}, "minItems": 1, "maxItems": 8})
        }
        Form::Except => {
            let pair = json!({"type": "array", "items": text, "minItems": 2, "maxItems": 2});
            json!({"anyOf": [text, {"type": "array", "items": {"anyOf": [text, pair]}, "minItems": 1}]})
        }
        Form::Flows => {
            json!({"type": "array", "items": {"type": "array", "items": text, "minItems": 2, "maxItems": 3}, "minItems": 1})
        }
    };
    described(schema, key.meaning)
}

/// A number and a unit of `quantity`.
fn quantity(quantity: &Quantity) -> Value {
    let units = quantity.all_unit_names().collect::<Vec<_>>().join("|");
    let number = r"\+?[0-9][0-9_]*(\.[0-9][0-9_]*)?([eE][+-]?[0-9]+)?";
    json!({"type": "string", "pattern": format!(r"^\s*{number}\s*({units})\s*$")})
}

fn of_parameter(parameter: &Parameter) -> Value {
    let value = match parameter.kind() {
        Kind::Integer { min, max, .. } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Kind::Float { min, max, .. } => {
            let mut number = Map::from_iter([("type".to_owned(), json!("number"))]);
            for (name, bound) in [("minimum", min), ("maximum", max)] {
                if bound.is_finite() {
                    number.insert(name.into(), json!(bound));
                }
            }
            Value::Object(number)
        }
        Kind::Fraction { .. } => json!({"anyOf": [
            {"type": "number", "minimum": 0, "maximum": 1},
            {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?%$"},
        ]}),
        Kind::Duration { .. } => quantity(&DURATION),
        Kind::Size { .. } if parameter.default_unit().is_some() => {
            json!({"anyOf": [{"type": "integer", "minimum": 0}, quantity(&SIZE)]})
        }
        Kind::Size { .. } => quantity(&SIZE),
        Kind::Rate { .. } => quantity(&RATE),
        Kind::Boolean { .. } => json!({"type": "boolean"}),
        Kind::Choice { of, .. } => json!({"enum": of}),
        _ => return json!({"type": "string"}),
    };
    json!({"anyOf": [value, reference()]})
}
