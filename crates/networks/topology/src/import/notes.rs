//! Notes for the user: guesses, dropped parts, and data without use.

use super::collector::{Name, Unused};
use super::names::{Meaning, Of};
use parades_config::quoted;
use std::collections::BTreeSet;

/// The largest number of names without use that have a note each.
const NAMES_SHOWN_MAX: usize = 12;

/// Returns a few names, and the number of the others.
pub(super) fn few<T>(all: &[T], shown: impl Fn(&T) -> String) -> String {
    const SHOWN_MAX: usize = 3;
    let names: Vec<String> = all.iter().take(SHOWN_MAX).map(shown).collect();
    let more = match all.len().saturating_sub(SHOWN_MAX) {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    names.join(", ") + &more
}

/// Returns the notes on the names of a file's values.
pub(super) fn of_names(text: &str, names: &[Name]) -> Vec<String> {
    let mut notes: Vec<String> = names.iter().filter_map(assumption).collect();
    let (mut without_use, mut descriptions) = (Vec::new(), BTreeSet::new());
    for name in names.iter().filter(|name| name.unused > 0) {
        let is_label = name.known.is_some_and(|known| known.meaning.slot() == Some(0));
        match name.known.map(|known| known.meaning) {
            Some(Meaning::Description) => _ = descriptions.insert((name.of, name.name.as_str())),
            _ if is_label => _ = descriptions.insert((name.of, name.name.as_str())),
            _ => without_use.push(name),
        }
    }
    notes.extend(without_use.iter().take(NAMES_SHOWN_MAX).map(|name| unused(text, name)));
    if without_use.len() > NAMES_SHOWN_MAX {
        let rest: Vec<String> = without_use[NAMES_SHOWN_MAX..].iter().map(|name| quoted(&name.name)).collect();
        notes.push(format!("data without use, too: {}", few(&rest, String::clone)));
    }
    let of = |of: Of| {
        let names: Vec<&str> = descriptions.iter().filter(|(whose, _)| *whose == of).map(|(_, name)| *name).collect();
        (!names.is_empty()).then(|| format!("{} of {}", few(&names, |name| quoted(name)), of.plural()))
    };
    let described: Vec<String> = [Of::Node, Of::Edge, Of::Graph].into_iter().filter_map(of).collect();
    if !described.is_empty() {
        notes.push(format!("descriptions, which change nothing: {}", described.join("; ")));
    }
    notes
}

/// Returns the note on numbers that were read in the unit of a tool.
fn assumption(name: &Name) -> Option<String> {
    let known = name.known.filter(|_| name.assumed > 0)?;
    let unit = match known.meaning {
        Meaning::Rate(Some(unit)) if unit > 1.0 => "as Mbit/s",
        Meaning::Rate(_) => "as bit/s",
        Meaning::Delay(_) => "as milliseconds",
        Meaning::Loss(part) if part < 1.0 => "as percent",
        Meaning::Loss(_) => "as a probability of loss",
        _ => "as kilometres of fibre",
    };
    Some(format!("{} of {} is read {unit}, as {} writes it", quoted(&name.name), name.of.plural(), known.tool))
}

/// Returns the note on values without use.
fn unused(text: &str, name: &Name) -> String {
    let (value, offset, why) = name.first.as_ref().expect("a value has no use");
    let reason = match (why, name.known.map(|known| known.meaning)) {
        (_, Some(Meaning::Impossible(why))) => format!(": {why}"),
        (Unused::Unit, Some(Meaning::Quantities)) => ", as it holds more than rate, delay and loss".to_owned(),
        (Unused::Unit, Some(Meaning::Delay(_))) => ", as it has no unit; write it as in `5ms`".to_owned(),
        (Unused::Unit, _) => ", as it has no unit; write it as in `10Mbps`".to_owned(),
        (Unused::Superseded, _) => ", as another name says the same".to_owned(),
        _ => ": its name has no meaning here".to_owned(),
    };
    let line = 1 + text.as_bytes()[..*offset.min(&text.len())].iter().filter(|&&byte| byte == b'\n').count();
    let values = if name.unused == 1 { "1 value".to_owned() } else { format!("{} values", name.unused) };
    format!(
        "{} of {} is not used ({values}, the first {} in line {line}){reason}",
        quoted(&name.name),
        name.of.plural(),
        quoted(value),
    )
}
