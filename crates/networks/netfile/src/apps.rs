//! The tables `[[app]]`, and their flows.

use crate::draft::Draft;
use crate::given::{Fields, Given, What};
use crate::shape::PACKET_DEFAULT;
use crate::tcp;

use parades_config::units::{parse_duration, parse_size};
use parades_config::{ConfigError, quoted};
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_packet::description::{App, AppKind, Ends, IpVersion, Marking, check_kind};
use parades_packet::flow::Limit;
use parades_packet::packet::PAYLOAD_MAX;
use parades_packet::protocols::{Control, Datagrams, Requests, Transfer};
use parades_packet::traffic::{Pattern, Period, Sizes};
use parades_topology::NodeId;
use std::collections::{BTreeMap, BTreeSet};

/// The purpose of the shared random stream that pairs and starts are drawn from.
const FLOW_STREAM: u32 = 12;
/// The largest number of flows.
const FLOWS_MAX: usize = 1 << 24;

/// Returns the apps of a file, and notes on pairs that were left out.
pub(crate) fn read(
    tables: &[Fields<'_>],
    draft: &Draft,
    ip: IpVersion,
    packet: Option<Sizes>,
    seed: u64,
) -> Result<(Vec<App>, Vec<String>), ConfigError> {
    let rng = Rng::shared(seed, FLOW_STREAM);
    let mut places = BTreeMap::new();
    let mut apps = Vec::with_capacity(tables.len());
    let mut total = 0_usize;
    let mut notes = Vec::new();
    for fields in tables {
        let name = fields.text("name")?;
        if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c)) {
            let message = format!("{} is no name for an app", quoted(&name));
            return Err(fields.wrong("name", message, "use letters, digits, `_`, `-` and `.`"));
        }
        if let Some(before) = places.insert(name.clone(), &fields.span) {
            // Counting lines takes time, so only for the error.
            let line = fields.reader.source.spot(before.clone()).line;
            let message = format!("there are two apps of the name {}, the first in line {line}", quoted(&name));
            return Err(fields.wrong("name", message, "give one another name"));
        }
        let (flows, note) = flows(fields, draft, &rng)?;
        notes.extend(note.map(|note| format!("of the app {}, {note}", quoted(&name))));
        total += flows.len();
        if total > FLOWS_MAX {
            return Err(fields.wrong(
                "name",
                format!("the apps have more than {FLOWS_MAX} flows"),
                "let fewer nodes send",
            ));
        }
        let class = u8::try_from(fields.integer("class")?).expect("the reader bounds it");
        let marking = Marking { class, is_ecn_capable: fields.boolean("ecn")? };
        let kind = kind(fields, ip, packet.as_ref())?;
        check_kind(&kind)
            .map_err(|what| fields.wrong("kind", format!("the app {} {what}", quoted(&name)), "change that"))?;
        if matches!(kind, AppKind::Multicast(_)) {
            check_receivers(fields, draft, &flows)?;
        }
        apps.push(App { name, kind, marking, flows });
    }
    Ok((apps, notes))
}

/// Checks that a multicast app leads to each of its receivers once.
fn check_receivers(fields: &Fields<'_>, draft: &Draft, flows: &[Ends]) -> Result<(), ConfigError> {
    let mut seen = BTreeSet::new();
    match flows.iter().find(|flow| !seen.insert(flow.destination)) {
        None => Ok(()),
        Some(twice) => {
            let name = quoted(&draft.nodes[twice.destination.index()]);
            let key = if fields.has("to") { "to" } else { "flows" };
            Err(fields.wrong(key, format!("{name} would receive each packet twice"), "name each node once"))
        }
    }
}

/// Returns the flows of an app, and a note on pairs that were left out.
fn flows(fields: &Fields<'_>, draft: &Draft, rng: &Rng) -> Result<(Vec<Ends>, Option<String>), ConfigError> {
    let start = fields.time("start")?;
    let spread = fields.duration("spread")?;
    let mut note = None;
    let mut flows = if fields.has("flows") {
        if let Some(key) = ["from", "to", "pairs", "except"].into_iter().find(|key| fields.has(key)) {
            return Err(fields.wrong(
                key,
                format!("`{key}` stands beside `flows`, which has the pairs"),
                "leave one of them out",
            ));
        }
        let list = fields.list("flows")?;
        if list.is_empty() {
            return Err(fields.wrong("flows", "`flows` names nothing", "name at least one pair, or leave the app out"));
        }
        list.iter().map(|given| listed(fields, draft, given, start)).collect::<Result<Vec<_>, _>>()?
    } else {
        if let Some(key) = ["from", "to"].into_iter().find(|key| !fields.has(key)) {
            let message = format!("an app needs the key `{key}`");
            return Err(fields.reader.error(&fields.span, message, format!("add `{key} = \"NODE\"`, or give `flows`")));
        }
        let [from, to] =
            ["from", "to"].map(|key| fields.texts(key).and_then(|names| draft.select_nodes(fields.reader, &names)));
        let made = pairs(fields, &from?, &to?, &Except::of(fields, draft)?, rng)?;
        note = made.note(fields);
        made.pairs.into_iter().map(|(from, to)| ends(from, to, start)).collect()
    };
    if spread > Delay::ZERO {
        for flow in &mut flows {
            let later = spread.scaled(rng.unit());
            flow.start = flow
                .start
                .checked_add(later)
                .ok_or_else(|| fields.wrong("spread", "flows would start past the end of time", "lower it"))?;
        }
    }
    Ok((flows, note))
}

fn ends(source: u32, destination: u32, start: Time) -> Ends {
    Ends { source: NodeId(source), destination: NodeId(destination), start }
}

/// Reads a flow of the list: two names, and perhaps a start.
fn listed(fields: &Fields<'_>, draft: &Draft, given: &Given, start: Time) -> Result<Ends, ConfigError> {
    let wrong =
        |help: &str| fields.reader.error(&given.span, "a flow is a list of two nodes, and perhaps a start", help);
    let What::List(parts) = &given.what else {
        return Err(wrong("write `[\"a\", \"b\"]` or `[\"a\", \"b\", \"1s\"]`"));
    };
    let texts = parts.iter().map(|part| fields.text_of("flows", part)).collect::<Result<Vec<_>, _>>()?;
    let (names, starts) = match texts.len() {
        2 | 3 => texts.split_at(2),
        _ => return Err(wrong("write `[\"a\", \"b\"]` or `[\"a\", \"b\", \"1s\"]`")),
    };
    let start = match starts {
        [(text, span)] => {
            let delay = parse_duration(text).map_err(|error| error.at(fields.spot(span)))?;
            Time::from_ps(delay.as_ps())
        }
        _ => start,
    };
    match draft.select_nodes(fields.reader, names)?[..] {
        [from, to] if from != to => Ok(ends(from, to, start)),
        [_, _] => Err(wrong("its two nodes must differ")),
        _ => Err(wrong("each of its names is that of one node")),
    }
}

/// The pairs that an app leaves out.
#[derive(Debug, Default)]
struct Except {
    nodes: BTreeSet<u32>,
    /// For each sender, its receivers.
    pairs: BTreeMap<u32, BTreeSet<u32>>,
}

impl Except {
    /// Reads the key `except`: names of nodes, and pairs of such names.
    fn of(fields: &Fields<'_>, draft: &Draft) -> Result<Except, ConfigError> {
        let mut except = Except::default();
        let Some((found, _)) = fields.found("except")? else { return Ok(except) };
        let What::List(list) = &found.what else {
            except.nodes.extend(draft.select_nodes(fields.reader, &fields.texts("except")?)?);
            return Ok(except);
        };
        for given in list {
            let What::List(pair) = &given.what else {
                let name = fields.text_of("except", given)?;
                except.nodes.extend(draft.select_nodes(fields.reader, &[name])?);
                continue;
            };
            let [from, to] = &pair[..] else {
                let message = format!("a pair has two names, and this one {}", pair.len());
                return Err(fields.reader.error(&given.span, message, "write `[\"a\", \"b\"]`"));
            };
            let select = |end| draft.select_nodes(fields.reader, &[fields.text_of("except", end)?]);
            let to = select(to)?;
            for from in select(from)? {
                except.pairs.entry(from).or_default().extend(&to);
            }
        }
        Ok(except)
    }

    fn has(&self, from: u32, to: u32) -> bool {
        let has_node = self.nodes.contains(&from) || self.nodes.contains(&to);
        has_node || self.pairs.get(&from).is_some_and(|receivers| receivers.contains(&to))
    }
}

/// The pairs of nodes between which an app has flows.
#[derive(Debug, Default)]
struct Pairs {
    pairs: Vec<(u32, u32)>,
    /// Pairs of a node with itself, which are left out.
    selves: usize,
    /// Pairs that `except` leaves out. Of drawn pairs, those that it has changed.
    excepted: usize,
}

impl Pairs {
    /// Adds a pair, unless it is left out.
    fn add(&mut self, except: &Except, from: u32, to: u32) {
        if from == to {
            self.selves += 1;
        } else if except.has(from, to) {
            self.excepted += 1;
        } else {
            self.pairs.push((from, to));
        }
    }

    /// Adds a pair of each node of `from` with a node of `to` that is drawn.
    fn draw(&mut self, except: &Except, from: &[u32], to: &[u32], rng: &Rng) {
        // The places of each node in `to`.
        let mut places: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        (0..).zip(to).for_each(|(place, &node)| places.entry(node).or_default().push(place));
        let places_of = |node: u32| places.get(&node).map_or(&[][..], Vec::as_slice).iter().copied();
        for &from in from {
            let mut others = except.pairs.get(&from).cloned().unwrap_or_default();
            others.extend(&except.nodes);
            others.remove(&from);
            let mut without: Vec<usize> = others.into_iter().flat_map(places_of).collect();
            let is_excepted = except.nodes.contains(&from);
            self.excepted += usize::from(is_excepted || !without.is_empty());
            without.extend(places_of(from));
            without.sort_unstable();
            let left = to.len() - without.len();
            if is_excepted || left == 0 {
                self.selves += usize::from(!is_excepted);
                continue;
            }
            let drawn = usize::try_from(rng.below(left as u64)).expect("there are fewer than 2^24 nodes");
            let place = without.iter().fold(drawn, |place, &without| place + usize::from(without <= place));
            self.pairs.push((from, to[place]));
        }
    }

    /// Returns a note if the flows are not as many as the pairs that the file seems to name.
    fn note(&self, fields: &Fields<'_>) -> Option<String> {
        if fields.has("except") && self.excepted == 0 {
            return Some("`except` has no effect: no pair is one of those".to_owned());
        }
        // Of each with each, nobody counts a node itself.
        if self.selves == 0 || fields.choice("pairs").is_ok_and(|pairs| pairs == "all") {
            return None;
        }
        let (selves, flows) = (self.selves, self.pairs.len());
        let verb = if selves == 1 {
            "node would send to itself, and does not"
        } else {
            "nodes would send to themselves, and do not"
        };
        Some(format!("{selves} {verb}: {flows} flows are left"))
    }
}

/// Returns the pairs of nodes between which an app has flows.
fn pairs(fields: &Fields<'_>, from: &[u32], to: &[u32], except: &Except, rng: &Rng) -> Result<Pairs, ConfigError> {
    let mut made = Pairs::default();
    match fields.choice("pairs")? {
        "all" => {
            if from.len().saturating_mul(to.len()) > FLOWS_MAX {
                return Err(fields.wrong(
                    "pairs",
                    format!("each with each makes more than {FLOWS_MAX} flows"),
                    "let fewer nodes send",
                ));
            }
            from.iter().for_each(|&from| to.iter().for_each(|&to| made.add(except, from, to)));
        }
        "random" => made.draw(except, from, to, rng),
        _ => {
            let count = from.len().max(to.len());
            (0..count).for_each(|number| made.add(except, from[number % from.len()], to[number % to.len()]));
        }
    }
    match (made.pairs.is_empty(), made.excepted) {
        (false, _) => Ok(made),
        (true, 0) => {
            let help = "name different nodes in `from` and `to`, or set `pairs = \"random\"`";
            Err(fields.wrong("from", "a node cannot send to itself", help))
        }
        (true, _) => Err(fields.wrong("except", "`except` leaves no pair", "leave fewer out, or leave the app out")),
    }
}

/// Reads the key `packet`, if it is given.
pub(crate) fn packet(fields: &Fields<'_>) -> Result<Option<Sizes>, ConfigError> {
    let Some((found, span)) = fields.found("packet")? else { return Ok(None) };
    let text = match &found.what {
        What::Text(text) if text == "internet-mix" => return Ok(Some(Sizes::internet_mix())),
        What::Text(text) | What::Number(text) => text,
        other => {
            let message = format!("`packet` must be a number with its unit, not {}", other.noun());
            return Err(fields.wrong("packet", message, "write `\"1000B\"` or `\"internet-mix\"`"));
        }
    };
    let size = parse_size(text).map_err(|error| {
        let message = ConfigError::new(format!("`packet`: {}", error.message()));
        let message = error.help().map_or(message.clone(), |help| message.with_help(help));
        found.explain(message).at(fields.spot(span))
    })?;
    match u32::try_from(size) {
        Ok(bytes) if (1..=PAYLOAD_MAX).contains(&bytes) => Ok(Some(Sizes::Constant(bytes))),
        _ => {
            let message = format!("`packet` must be between 1B and {}B, not {}", PAYLOAD_MAX, quoted(text));
            Err(fields.wrong("packet", message, "write for example `\"1000B\"`"))
        }
    }
}

fn kind(fields: &Fields<'_>, ip: IpVersion, packet_default: Option<&Sizes>) -> Result<AppKind, ConfigError> {
    match fields.kind.expect("an app has a kind").name {
        "transfer" => Ok(AppKind::Transfer(Transfer {
            bytes: fields.size("size")?,
            segment: fields.small_size("segment")?,
            window: fields.count("window")?,
            control: if fields.choice("control")? == "fixed" { Control::Fixed } else { Control::Reno },
        })),
        "tcp" => Ok(AppKind::Tcp(Box::new(tcp::read(fields, ip)?))),
        "request-response" => {
            let period = |mean: &str, how: &str| -> Result<Period, ConfigError> {
                let length = fields.duration(mean)?;
                Ok(if fields.choice(how)? == "constant" {
                    Period::Constant(length)
                } else {
                    Period::Exponential(length)
                })
            };
            let wanted = fields.integer("requests")?;
            Ok(AppKind::Requests(Requests {
                request: fields.small_size("request")?,
                response: fields.size("response")?,
                packet: fields.small_size("segment")?,
                think: period("think", "thinking")?,
                service: period("service", "serving")?,
                timeout: fields.duration("timeout")?,
                stop: fields.time("stop")?,
                count: if wanted == 0 { u64::MAX } else { wanted },
            }))
        }
        name => {
            let sizes = packet(fields)?.or_else(|| packet_default.cloned()).unwrap_or(Sizes::Constant(PACKET_DEFAULT));
            let pattern = pattern(fields, name, &sizes)?;
            let datagrams = Datagrams { sizes, pattern, limit: limit(fields)? };
            let is_multicast = fields.boolean("multicast")?;
            Ok(if is_multicast { AppKind::Multicast(datagrams) } else { AppKind::Datagrams(datagrams) })
        }
    }
}

fn pattern(fields: &Fields<'_>, name: &str, sizes: &Sizes) -> Result<Pattern, ConfigError> {
    Ok(match name {
        "constant" => Pattern::Constant { rate_bps: fields.rate("rate")? },
        "poisson" => match (fields.has("rate"), fields.has("gap")) {
            (true, false) => {
                let seconds = sizes.mean() * 8.0 / fields.rate("rate")? as f64;
                let mean_gap = Delay::try_from_secs_f64(seconds).filter(|&gap| gap > Delay::ZERO);
                Pattern::Poisson {
                    mean_gap: mean_gap.ok_or_else(|| {
                        fields.wrong(
                            "rate",
                            "packets would come less than a picosecond, or more than 213 days, apart",
                            "choose another",
                        )
                    })?,
                }
            }
            (false, true) => Pattern::Poisson { mean_gap: fields.duration("gap")? },
            (true, true) => {
                return Err(fields.wrong(
                    "gap",
                    "`gap` stands beside `rate`, and one follows from the other",
                    "leave one of them out",
                ));
            }
            (false, false) => {
                return Err(fields.reader.error(
                    &fields.span,
                    "an app of kind `poisson` needs the key `rate`",
                    "add `rate = \"10Mbps\"`: bits of payload in a second, on average",
                ));
            }
        },
        _ => {
            let (on, off) = (fields.duration("on")?, fields.duration("off")?);
            let shape = fields.float("shape")?;
            let periods = fields.choice("periods")?;
            if periods.starts_with("pareto") && shape <= 1.0 {
                return Err(fields.wrong(
                    "shape",
                    "Pareto periods of that shape have no mean",
                    "give them a shape above 1",
                ));
            }
            let period = |mean: Delay| match periods {
                "constant" => Period::Constant(mean),
                "pareto" => Period::Pareto { least: mean.scaled((shape - 1.0) / shape), shape },
                "pareto-least" => Period::Pareto { least: mean, shape },
                _ => Period::Exponential(mean),
            };
            Pattern::OnOff { rate_bps: fields.rate("rate")?, on: period(on), off: period(off) }
        }
    })
}

fn limit(fields: &Fields<'_>) -> Result<Limit, ConfigError> {
    match (fields.has("size"), fields.has("stop")) {
        (true, true) => {
            Err(fields.wrong("stop", "`stop` stands beside `size`, and only one can end it", "leave one of them out"))
        }
        (true, false) => Ok(Limit::Bytes(fields.size("size")?)),
        (false, true) => Ok(Limit::Until(fields.time("stop")?)),
        (false, false) => Ok(Limit::Never),
    }
}
