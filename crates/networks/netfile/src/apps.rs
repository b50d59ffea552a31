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

/// Returns the apps of a file.
pub(crate) fn read(
    tables: &[Fields<'_>],
    draft: &Draft,
    ip: IpVersion,
    packet: Option<Sizes>,
    seed: u64,
) -> Result<Vec<App>, ConfigError> {
    let rng = Rng::shared(seed, FLOW_STREAM);
    let mut places = BTreeMap::new();
    let mut apps = Vec::with_capacity(tables.len());
    let mut total = 0_usize;
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
        let flows = flows(fields, draft, &rng)?;
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
    Ok(apps)
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

/// Returns the flows of an app.
fn flows(fields: &Fields<'_>, draft: &Draft, rng: &Rng) -> Result<Vec<Ends>, ConfigError> {
    let start = fields.time("start")?;
    let spread = fields.duration("spread")?;
    let mut flows = if fields.has("flows") {
        if let Some(key) = ["from", "to", "pairs"].into_iter().find(|key| fields.has(key)) {
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
        let pairs = pairs(fields, &from?, &to?, rng)?;
        pairs.into_iter().map(|(from, to)| ends(from, to, start)).collect()
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
    Ok(flows)
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

/// Returns the pairs of nodes between which an app has flows.
fn pairs(fields: &Fields<'_>, from: &[u32], to: &[u32], rng: &Rng) -> Result<Vec<(u32, u32)>, ConfigError> {
    let itself = |key: &str| {
        fields.wrong(
            key,
            "a node cannot send to itself",
            "name different nodes in `from` and `to`, or set `pairs = \"random\"`",
        )
    };
    match fields.choice("pairs")? {
        "all" => {
            if from.len().saturating_mul(to.len()) > FLOWS_MAX {
                return Err(fields.wrong(
                    "pairs",
                    format!("each with each makes more than {FLOWS_MAX} flows"),
                    "let fewer nodes send",
                ));
            }
            let each = from.iter().flat_map(|&from| to.iter().map(move |&to| (from, to)));
            // If `from` and `to` have nodes in common, no node sends to itself.
            let pairs: Vec<_> = each.filter(|(from, to)| from != to).collect();
            if pairs.is_empty() { Err(itself("from")) } else { Ok(pairs) }
        }
        "random" => {
            // The places of each node in `to`.
            let mut places: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
            (0..).zip(to).for_each(|(place, &node)| places.entry(node).or_default().push(place));
            let draw = |&from: &u32| {
                let itself_at = places.get(&from).map_or(&[][..], Vec::as_slice);
                let others = to.len() - itself_at.len();
                if others == 0 {
                    return Err(itself("from"));
                }
                let drawn = usize::try_from(rng.below(others as u64)).expect("there are fewer than 2^24 nodes");
                let place = itself_at.iter().fold(drawn, |place, &itself| place + usize::from(itself <= place));
                Ok((from, to[place]))
            };
            from.iter().map(draw).collect()
        }
        _ => {
            let pairs = from.len().max(to.len());
            let pair = |number: usize| match (from[number % from.len()], to[number % to.len()]) {
                (from, to) if from == to => Err(itself("from")),
                ends => Ok(ends),
            };
            (0..pairs).map(pair).collect()
        }
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
