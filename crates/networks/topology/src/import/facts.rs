//! The values of nodes and edges as numbers with their units.

use super::collector::{Name, Unused, Value};
use super::names::{Meaning, SLOTS, ZOO};
use crate::geo::{FIBRE_KM_PER_S, Position};
use parades_config::units::{parse_duration, parse_rate};
use parades_config::{Fault, quoted, shortened};
use parades_core::time::Delay;

/// The units of all numbers of a graph, where the file gives them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Units {
    pub(super) rate_bps: Option<f64>,
    pub(super) delay_s: Option<f64>,
}

/// The facts of a node.
#[derive(Debug)]
pub(super) struct NodeFacts {
    pub(super) label: Option<String>,
    pub(super) position: Option<Position>,
    /// True if the file has coordinates that are empty, incomplete or no numbers.
    pub(super) has_bad_coordinates: bool,
    /// The fault of coordinates that are no place on Earth. It counts only if a delay depends on places.
    pub(super) no_place: Option<Fault>,
    pub(super) is_hyperedge: bool,
    pub(super) is_external: bool,
}

/// The facts of an edge. A fact that the file does not give is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct EdgeFacts {
    pub(super) rate_bps: Option<u64>,
    pub(super) delay: Option<Delay>,
    pub(super) loss: Option<f64>,
}

/// The values that count, by [`Meaning::slot`].
type Slots<'v> = [Option<&'v Value>; SLOTS];

/// Finds the values that count. Others are counted as unused.
fn slots<'v>(values: &'v [Value], names: &mut [Name]) -> Result<Slots<'v>, Fault> {
    let mut slots: Slots<'v> = [None; SLOTS];
    let rank = |names: &[Name], value: &Value| names[value.name].known.map_or(usize::MAX, |known| known.rank);
    for value in values {
        let slot = names[value.name].known.and_then(|known| known.meaning.slot());
        let Some(slot) = slot else {
            names[value.name].skip(Unused::Name, &value.text, value.offset);
            continue;
        };
        // An empty value is none. Several tools write them.
        if value.text.trim().is_empty() && !matches!(slot, 1 | 2) {
            continue;
        }
        match slots[slot] {
            None => slots[slot] = Some(value),
            Some(before) if before.name == value.name => {
                let message = format!("{} is given a second time", shortened(&names[value.name].name));
                return Err(Fault::new(value.offset, message, "keep one of the two"));
            }
            Some(before) => {
                let before_counts = rank(names, before) <= rank(names, value);
                let (used, other) = if before_counts { (before, value) } else { (value, before) };
                slots[slot] = Some(used);
                let tool = |value: &Value| names[value.name].known.map_or("", |known| known.tool);
                // The Topology Zoo writes the same speed twice.
                if tool(used) != tool(other) || tool(used).is_empty() {
                    names[other.name].skip(Unused::Superseded, &other.text, other.offset);
                }
            }
        }
    }
    Ok(slots)
}

impl NodeFacts {
    pub(super) fn of(values: &[Value], names: &mut [Name]) -> Result<NodeFacts, Fault> {
        let [label, latitude, longitude, hyperedge, internal, ..] = slots(values, names)?;
        let flag = |value: Option<&Value>| value.map(|value| flag(value, &names[value.name].name)).transpose();
        let (is_hyperedge, is_internal) = (flag(hyperedge)?, flag(internal)?);
        let number = |value: Option<&Value>| value.and_then(|value| finite(&value.text));
        let coordinates = number(latitude).zip(number(longitude));
        let position = coordinates.and_then(|(north, east)| Position::from_degrees(north, east));
        let no_place = coordinates.filter(|_| position.is_none()).map(|(north, east)| {
            let message = format!("there is no place at latitude {north:?}, longitude {east:?}");
            let help = "a latitude lies in -90 to 90 degrees, a longitude in -180 to 180";
            Fault::new(latitude.map_or(0, |value| value.offset), message, help)
        });
        Ok(NodeFacts {
            label: label.and_then(|value| plain_label(&value.text)),
            position,
            has_bad_coordinates: coordinates.is_none() && (latitude.is_some() || longitude.is_some()),
            no_place,
            is_hyperedge: is_hyperedge.unwrap_or(false),
            is_external: !is_internal.unwrap_or(true),
        })
    }
}

impl EdgeFacts {
    pub(super) fn of(values: &[Value], names: &mut [Name], units: Units) -> Result<EdgeFacts, Fault> {
        let [.., rate, speed_units, delay, loss, length, label] = slots(values, names)?;
        let mut facts = EdgeFacts::default();
        // The least exact first: a later one replaces it.
        if let Some(value) = label {
            match quantities(&value.text) {
                Some(found) => facts = found,
                None => names[value.name].skip(Unused::Unit, &value.text, value.offset),
            }
        }
        if let Some(value) = length {
            facts.delay = Some(length_delay(value, &mut names[value.name])?);
        }
        if let Some(value) = rate {
            facts.rate_bps = rate_of(value, speed_units, names, units)?.or(facts.rate_bps);
        }
        if let Some(value) = delay {
            facts.delay = delay_of(value, &mut names[value.name], units)?.or(facts.delay);
        }
        if let Some(value) = loss {
            facts.loss = Some(loss_of(value, &mut names[value.name])?);
        }
        Ok(facts)
    }
}

fn finite(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|number| number.is_finite())
}

fn not_a_number(value: &Value, name: &str) -> Fault {
    let message = format!("{} is {}, which is not a number", shortened(name), quoted(&value.text));
    Fault::new(value.offset, message, "write a plain number")
}

/// Reads true or false, as any tool writes them: `1`, `1.0`, `True`.
fn flag(value: &Value, name: &str) -> Result<bool, Fault> {
    match (value.text.trim().to_ascii_lowercase().as_str(), finite(&value.text)) {
        ("true" | "yes", _) => Ok(true),
        ("false" | "no", _) => Ok(false),
        (_, Some(number)) => Ok(number.abs() > 0.0),
        _ => {
            let message = format!("{} is {}, which is neither 0 nor 1", shortened(name), quoted(&value.text));
            Err(Fault::new(value.offset, message, "write 0 or 1"))
        }
    }
}

/// Returns a label with white space collapsed. `None` if nothing is left.
fn plain_label(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let label: String = words.join(" ").chars().filter(|&letter| !parades_config::is_executed(letter)).collect();
    (!label.is_empty()).then_some(label)
}

/// Returns the rate of an edge. `None` if the value has no unit.
fn rate_of(value: &Value, speed_units: Option<&Value>, names: &mut [Name], units: Units) -> Result<Option<u64>, Fault> {
    let name = &mut names[value.name];
    let known = name.known.expect("only known names have a slot");
    let is_zoo_speed = known.tool == ZOO && known.meaning == Meaning::Rate(None);
    let (unit, is_assumed) = match (known.meaning, units.rate_bps) {
        (Meaning::Rate(Some(unit)), _) => (Some(unit), known.tool != ZOO && !known.tool.is_empty()),
        (_, given) => (given, false),
    };
    let Some(number) = finite(&value.text) else {
        return match rate_text(&value.text) {
            Some(bps) => rate(bps, value.offset).map(Some),
            None if unit.is_some() || is_zoo_speed => Err(not_a_number(value, &name.name)),
            None => {
                name.skip(Unused::Unit, &value.text, value.offset);
                Ok(None)
            }
        };
    };
    if is_zoo_speed {
        let Some(units) = speed_units else {
            let message = "LinkSpeed is given without LinkSpeedUnits";
            return Err(Fault::new(value.offset, message, "add K, M, G or T, or give LinkSpeedRaw"));
        };
        return match prefix(&units.text.trim().to_ascii_uppercase()) {
            Some(unit) => rate(number * unit, value.offset).map(Some),
            None => {
                let message = format!("LinkSpeedUnits is {}, which is no unit", quoted(&units.text));
                Err(Fault::new(units.offset, message, "write K, M, G or T"))
            }
        };
    }
    match unit {
        Some(unit) => {
            name.assumed += u64::from(is_assumed);
            rate(number * unit, value.offset).map(Some)
        }
        None => {
            name.skip(Unused::Unit, &value.text, value.offset);
            Ok(None)
        }
    }
}

/// Returns the delay of an edge. `None` if the value has no unit.
fn delay_of(value: &Value, name: &mut Name, units: Units) -> Result<Option<Delay>, Fault> {
    let known = name.known.expect("only known names have a slot");
    let (unit, is_assumed) = match known.meaning {
        Meaning::Delay(Some(unit)) => (Some(unit), !known.tool.is_empty()),
        _ => (units.delay_s, false),
    };
    match (finite(&value.text), unit) {
        (Some(number), Some(unit)) => {
            name.assumed += u64::from(is_assumed);
            seconds(number * unit, value).map(Some)
        }
        (None, _) if parse_duration(&value.text).is_ok() => Ok(parse_duration(&value.text).ok()),
        (None, Some(_)) => Err(not_a_number(value, &name.name)),
        _ => {
            name.skip(Unused::Unit, &value.text, value.offset);
            Ok(None)
        }
    }
}

fn seconds(number: f64, value: &Value) -> Result<Delay, Fault> {
    let delay = (number >= 0.0).then(|| Delay::try_from_secs_f64(number)).flatten();
    delay.ok_or_else(|| {
        let message = format!("a link cannot have a delay of {}", quoted(&value.text));
        Fault::new(value.offset, message, "a delay lies between 0 and 213 days")
    })
}

fn length_delay(value: &Value, name: &mut Name) -> Result<Delay, Fault> {
    let known = name.known.expect("only known names have a slot");
    let Meaning::Length(unit) = known.meaning else { unreachable!("the slot is of lengths") };
    let number = finite(&value.text).ok_or_else(|| not_a_number(value, &name.name))?;
    name.assumed += u64::from(!known.tool.is_empty());
    seconds(number * unit / FIBRE_KM_PER_S, value)
}

fn loss_of(value: &Value, name: &mut Name) -> Result<f64, Fault> {
    let known = name.known.expect("only known names have a slot");
    let Meaning::Loss(part) = known.meaning else { unreachable!("the slot is of losses") };
    let loss = match value.text.trim().strip_suffix('%') {
        Some(percent) => finite(percent).map(|percent| percent / 100.0),
        None => {
            name.assumed += u64::from(!known.tool.is_empty());
            // A division is exact for more of the usual values than a product with 0.01.
            finite(&value.text).map(|number| number / (1.0 / part))
        }
    };
    loss.filter(|loss| (0.0..=1.0).contains(loss)).ok_or_else(|| {
        let message = format!("{} is {}, which is no probability", shortened(&name.name), quoted(&value.text));
        let help = if part < 1.0 { "it is in percent, from 0 to 100" } else { "it lies between 0 and 1" };
        Fault::new(value.offset, message, help)
    })
}

/// Reads a label such as `10 Mbit/s, 5 ms`. `None` if a part of it is anything else.
fn quantities(text: &str) -> Option<EdgeFacts> {
    let mut facts = EdgeFacts::default();
    for part in text.split([',', ';', '\n']).map(str::trim).filter(|part| !part.is_empty()) {
        if let Ok(delay) = parse_duration(part) {
            facts.delay = Some(delay);
        } else if let Some(bps) = rate_text(part) {
            facts.rate_bps = Some(rate(bps, 0).ok()?);
        } else {
            let percent = part.strip_suffix('%').and_then(finite)?;
            facts.loss = Some(percent / 100.0).filter(|loss| (0.0..=1.0).contains(loss));
            facts.loss?;
        }
    }
    Some(facts)
}

/// Returns the unit of rates that a graph gives, in bits per second.
pub(super) fn rate_unit(text: &str, offset: usize) -> Result<f64, Fault> {
    let wrong = || Fault::new(offset, format!("the unit of capacity is {}", quoted(text)), "write for example `Mbps`");
    rate_text(&format!("1 {}", text.trim())).ok_or_else(wrong)
}

/// Returns the unit of delays that a graph gives, in seconds.
pub(super) fn delay_unit(text: &str, offset: usize) -> Result<f64, Fault> {
    let wrong = || Fault::new(offset, format!("the unit of delay is {}", quoted(text)), "write for example `ms`");
    parse_duration(&format!("1 {}", text.trim())).map(Delay::as_secs_f64).map_err(|_| wrong())
}

/// Reads a rate with its unit as tools write it: `10Mbps`, `81920 Kibit`, `1 Gbit/s`, `100 MB/s`, `10G`.
/// Returns bits per second.
fn rate_text(text: &str) -> Option<f64> {
    if let Ok(bps) = parse_rate(text) {
        return Some(bps as f64);
    }
    let text = text.trim();
    let split = text.find(|c: char| c.is_alphabetic() && !matches!(c, 'e' | 'E'))?;
    let (number, unit) = (finite(&text[..split])?, text[split..].trim());
    let unit = unit.strip_suffix("/s").or_else(|| unit.strip_suffix("ps")).unwrap_or(unit);
    let (prefix_text, bits) = match unit.strip_suffix("bit").or_else(|| unit.strip_suffix('b')) {
        Some(prefix) => (prefix, 1.0),
        None => match unit.strip_suffix('B') {
            Some(prefix) => (prefix, 8.0),
            None => (unit, 1.0),
        },
    };
    let binary = prefix_text.strip_suffix('i');
    let size = match binary {
        Some(letter) => binary_prefix(letter)?,
        None => prefix(&prefix_text.to_ascii_uppercase())?,
    };
    Some(number * bits * size)
}

fn prefix(letter: &str) -> Option<f64> {
    Some(match letter {
        "" => 1.0,
        "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        _ => return None,
    })
}

fn binary_prefix(letter: &str) -> Option<f64> {
    Some(match letter.to_ascii_uppercase().as_str() {
        "K" => 1024.0,
        "M" => 1_048_576.0,
        "G" => 1_073_741_824.0,
        "T" => 1_099_511_627_776.0,
        _ => return None,
    })
}

/// Returns a rate in whole bits per second.
fn rate(bits_per_second: f64, offset: usize) -> Result<u64, Fault> {
    // 10^18 is a thousand times the fastest fibre. A larger number is a mistake of units.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked on this very line"
    )]
    let whole = (1.0..=1e18).contains(&bits_per_second).then(|| bits_per_second.round() as u64);
    whole.ok_or_else(|| {
        let message = format!("a link cannot have a speed of {bits_per_second:?} bits per second");
        Fault::new(offset, message, "a speed lies between 1 and 10^18 bits per second")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_tools_write_them() {
        for (text, bps) in [
            ("10Mbps", Some(1e7)),
            ("81920 Kibit", Some(83_886_080.0)),
            ("1 Gbit", Some(1e9)),
            ("100 Mbit/s", Some(1e8)),
            ("10 MB/s", Some(8e7)),
            ("10G", Some(1e10)),
            ("1e3 Mb/s", Some(1e9)),
            ("fast", None),
            ("10", None),
            ("10 parsecs", None),
        ] {
            assert_eq!(rate_text(text), bps, "{text}");
        }
    }

    #[test]
    fn a_label_of_quantities_gives_rate_delay_and_loss() {
        let facts = |rate_bps, delay, loss| Some(EdgeFacts { rate_bps, delay, loss });
        assert_eq!(quantities("10 Mbit/s, 5 ms"), facts(Some(10_000_000), Some(Delay::from_ms(5)), None));
        assert_eq!(quantities("1%"), facts(None, None, Some(0.01)));
        assert_eq!(quantities("to the north"), None);
    }
}
