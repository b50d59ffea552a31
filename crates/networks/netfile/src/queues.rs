//! The queues and impairments of links, and the tables `[[queue]]` and `[[impairment]]`, to which links refer
//! by name.

use crate::given::{Fields, What};
use crate::shape::{self, QUEUE_DEFAULT};
use parades_config::{ConfigError, nearest, quoted, units};
use parades_packet::impairment::{Bursts, Impairments, Jitter};
use parades_packet::probability::Probability;
use parades_packet::queue::{
    Cake, Cells, Codel, Discipline, FairCodel, Isolation, Pie, Priority, QueueLimit, Red, Threshold, TokenBucket,
};
use std::collections::BTreeMap;

/// A queue of a link: its discipline, and the packets that the device below it holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Queue {
    pub(crate) discipline: Discipline,
    pub(crate) device: u32,
}

/// The queues and impairments that a file defines, by name.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    queues: BTreeMap<String, Queue>,
    impairments: BTreeMap<String, Impairments>,
}

impl Definitions {
    /// Reads the tables of queues and impairments.
    pub(crate) fn read(queues: &[Fields<'_>], impairments: &[Fields<'_>]) -> Result<Definitions, ConfigError> {
        let mut definitions = Definitions::default();
        for fields in queues {
            define(fields, "queues", &mut definitions.queues, Queue::of(fields)?)?;
        }
        for fields in impairments {
            let impairments = read_impairments(fields)?;
            impairments.check().map_err(|what| wrong(fields, "impairment", &what))?;
            define(fields, "impairments", &mut definitions.impairments, impairments)?;
        }
        Ok(definitions)
    }

    /// Reads the key of a link's queue: packets, bytes, the name of a queue or of its kind, or a table.
    pub(crate) fn queue(&self, fields: &Fields<'_>, key: &str) -> Result<Option<Queue>, ConfigError> {
        if let Some(own) = fields.table(key, &shape::QUEUE_OF_LINK)? {
            return Queue::of(&own).map(Some);
        }
        let Some((found, span)) = fields.found(key)? else { return Ok(None) };
        if let What::Text(text) = &found.what {
            if let Some(queue) = self.queues.get(text) {
                return Ok(Some(queue.clone()));
            }
            if let Some(kind) = shape::QUEUES.kinds.iter().find(|kind| kind.is_called(text)) {
                return Queue::of(&fields.usual(key, &shape::QUEUE_OF_LINK, kind)?).map(Some);
            }
            let begins_size = text.trim().starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first));
            if text != UNBOUNDED && !begins_size {
                let error = ConfigError::new(format!("there is no queue {}", quoted(text)));
                return Err(found.explain(error.with_help(self.near(text))).at(fields.spot(span)));
            }
        }
        let limit = limit(fields, key)?;
        Ok(limit.map(|limit| Queue { discipline: limit.into(), device: 0 }))
    }

    /// Returns the help for the unknown name of a queue.
    fn near(&self, name: &str) -> String {
        let kinds = || shape::QUEUES.kinds.iter().flat_map(|kind| kind.also.iter().copied().chain([kind.name]));
        match nearest(name, self.queues.keys().map(String::as_str).chain(kinds())) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                let kinds: Vec<&str> = shape::QUEUES.kinds.iter().map(|kind| kind.name).collect();
                format!("define it below `[[queue]]`, or name one of {}", kinds.join(", "))
            }
        }
    }

    /// Reads the key `impairment`: a name.
    pub(crate) fn impairments(&self, fields: &Fields<'_>) -> Result<Option<Impairments>, ConfigError> {
        if !fields.has("impairment") {
            return Ok(None);
        }
        let name = fields.text("impairment")?;
        self.impairments.get(&name).map(|impairments| Some(*impairments)).ok_or_else(|| {
            let near = nearest(&name, self.impairments.keys().map(String::as_str));
            let help = near.map_or_else(
                || "define it below `[[impairment]]`".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            fields.wrong("impairment", format!("there is no impairment {}", quoted(&name)), help)
        })
    }
}

impl Queue {
    /// Reads a table of a queue.
    fn of(fields: &Fields<'_>) -> Result<Queue, ConfigError> {
        let discipline = discipline(fields)?;
        discipline.check().map_err(|what| wrong(fields, "queue", &what))?;
        Ok(Queue { discipline, device: fields.count("device")? })
    }
}

/// Returns an error of a table, at its name if it has one. The text after the last semicolon of `what` is the
/// help.
fn wrong(fields: &Fields<'_>, noun: &str, what: &str) -> ConfigError {
    let name = if fields.has("name") { fields.text("name").unwrap_or_default() } else { String::new() };
    let name = if name.is_empty() { name } else { format!(" {}", quoted(&name)) };
    let (what, help) = what.rsplit_once("; ").unwrap_or((what, "change that"));
    fields.wrong("name", format!("the {noun}{name} {what}"), help)
}

/// Adds a definition. Its name must be new. The name of a kind of queue may only be that of a queue of this
/// kind.
fn define<T>(fields: &Fields<'_>, nouns: &str, known: &mut BTreeMap<String, T>, value: T) -> Result<(), ConfigError> {
    let name = fields.text("name")?;
    if known.contains_key(&name) {
        let message = format!("there are two {nouns} of the name {}", quoted(&name));
        return Err(fields.wrong("name", message, "give one another name"));
    }
    let is_other_kind =
        |kind: &&'static shape::Variant| kind.is_called(&name) && fields.kind.is_none_or(|own| own.name != kind.name);
    if shape::QUEUES.kinds.iter().any(|kind| is_other_kind(&kind)) || !name.starts_with(char::is_alphabetic) {
        let help = "use a letter first, and no name of another kind of queue";
        return Err(fields.wrong("name", format!("{} cannot be the name of this one", quoted(&name)), help));
    }
    known.insert(name, value);
    Ok(())
}

fn discipline(fields: &Fields<'_>) -> Result<Discipline, ConfigError> {
    let kind = fields.kind.expect("a queue has a kind").name;
    let given = limit(fields, "limit")?;
    let limit = given.unwrap_or(QueueLimit::Packets(QUEUE_DEFAULT));
    Ok(match kind {
        "droptail" => Discipline::DropTail(limit),
        "red" => Discipline::Red(red(fields, limit)?),
        "dctcp" => Discipline::Threshold(Threshold { mark_at: fields.count("mark_at")?, limit }),
        "pie" => Discipline::Pie(Pie {
            limit: given.unwrap_or(Pie::default().limit),
            target: fields.duration("target")?,
            update: fields.duration("update")?,
            burst: fields.duration("burst")?,
            mean_packet: size32(fields, "mean_packet")?,
            marks: fields.boolean("ecn")?,
        }),
        "token-bucket" => {
            let (rate_bps, burst_bytes) = (fields.rate("rate")?, fields.size("burst")?);
            Discipline::TokenBucket(TokenBucket { rate_bps, burst_bytes, limit })
        }
        "codel" => Discipline::Codel(codel(fields, given.unwrap_or(Codel::default().limit))?),
        "fqcodel" => {
            let codel = codel(fields, given.unwrap_or(FairCodel::default().codel.limit))?;
            let (queues, quantum) = (fields.count("queues")?, size32(fields, "quantum")?);
            Discipline::FairCodel(FairCodel { codel, queues, quantum, memory: fields.size("memory")? })
        }
        "cake" => Discipline::Cake(cake(fields, given.unwrap_or(Cake::default().limit))?),
        "priority" => Discipline::Priority(Priority { limit }),
        other => unreachable!("there is no kind of queue `{other}`"),
    })
}

fn red(fields: &Fields<'_>, limit: QueueLimit) -> Result<Red, ConfigError> {
    let mean_packet = size32(fields, "mean_packet")?;
    let packets = match limit {
        QueueLimit::Packets(packets) => packets,
        QueueLimit::Bytes(bytes) => u32::try_from(bytes / u64::from(mean_packet)).unwrap_or(u32::MAX).max(1),
    };
    let usual = Red::with_limit(packets);
    let average = |key: &str, usual: u64| if fields.has(key) { fields.float(key).map(thousandths) } else { Ok(usual) };
    Ok(Red {
        limit,
        min_average_milli: average("min", usual.min_average_milli)?,
        max_average_milli: average("max", usual.max_average_milli)?,
        max_probability: probability(fields, "probability")?,
        weight: probability(fields, "weight")?,
        is_gentle: fields.boolean("gentle")?,
        waits: fields.boolean("wait")?,
        mean_packet,
        marks: fields.boolean("ecn")?,
    })
}

/// The words for ways to isolate, and for cells.
pub(crate) const ISOLATIONS: [(&str, Isolation); 8] = [
    ("none", Isolation::None),
    ("srchost", Isolation::SourceHosts),
    ("dsthost", Isolation::DestinationHosts),
    ("hosts", Isolation::Hosts),
    ("flows", Isolation::Flows),
    ("dual-srchost", Isolation::DualSource),
    ("dual-dsthost", Isolation::DualDestination),
    ("triple", Isolation::Triple),
];
pub(crate) const CELLS: [(&str, Cells); 3] = [("none", Cells::None), ("atm", Cells::Atm), ("ptm", Cells::Ptm)];

fn cake(fields: &Fields<'_>, limit: QueueLimit) -> Result<Cake, ConfigError> {
    let isolation = fields.choice("isolation")?;
    let cells = fields.choice("cells")?;
    Ok(Cake {
        rate_bps: fields.has("bandwidth").then(|| fields.rate("bandwidth")).transpose()?,
        isolation: ISOLATIONS.iter().find(|(word, _)| *word == isolation).expect("the shape has this word").1,
        rtt: fields.duration("rtt")?,
        overhead: fields.count("overhead")?,
        mpu: fields.count("mpu")?,
        cells: CELLS.iter().find(|(word, _)| *word == cells).expect("the shape has this word").1,
        is_ingress: fields.boolean("ingress")?,
        marks: fields.boolean("ecn")?,
        mtu: size32(fields, "mtu")?,
        queues: fields.count("queues")?,
        limit,
        memory: fields.has("memory").then(|| fields.size("memory")).transpose()?,
    })
}

fn codel(fields: &Fields<'_>, limit: QueueLimit) -> Result<Codel, ConfigError> {
    let (target, interval) = (fields.duration("target")?, fields.duration("interval")?);
    let (mtu, marks) = (size32(fields, "mtu")?, fields.boolean("ecn")?);
    Ok(Codel { target, interval, mtu, marks, limit, ..Codel::default() })
}

fn read_impairments(fields: &Fields<'_>) -> Result<Impairments, ConfigError> {
    let jitter = fields.duration("jitter")?;
    let jitter = match fields.choice("distribution")? {
        _ if !fields.has("jitter") => Jitter::None,
        "normal" => Jitter::Normal { mean: jitter, deviation: fields.duration("deviation")? },
        "pareto" => {
            let shape_milli = u32::try_from(thousandths(fields.float("shape")?)).expect("the shape is at most 100");
            Jitter::Pareto { scale: jitter, shape_milli }
        }
        _ => Jitter::Uniform { most: jitter },
    };
    let bursts = Bursts {
        to_bad: probability(fields, "to_bad")?,
        to_good: probability(fields, "to_good")?,
        loss_good: probability(fields, "loss_good")?,
        loss_bad: probability(fields, "loss_bad")?,
    };
    let has_bursts = ["to_bad", "to_good", "loss_good", "loss_bad"].into_iter().any(|key| fields.has(key));
    Ok(Impairments {
        jitter,
        keeps_order: fields.boolean("keep_order")?,
        reorder: probability(fields, "reorder")?,
        duplicate: probability(fields, "duplicate")?,
        bursts: has_bursts.then_some(bursts),
    })
}

fn probability(fields: &Fields<'_>, key: &str) -> Result<Probability, ConfigError> {
    Ok(Probability::new(fields.float(key)?).expect("the reader checks fractions"))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the reader bounds the number")]
fn thousandths(number: f64) -> u64 {
    (number * 1000.0).round() as u64
}

/// Returns a size below 4 GiB.
pub(crate) fn size32(fields: &Fields<'_>, key: &str) -> Result<u32, ConfigError> {
    let size = fields.size(key)?;
    u32::try_from(size)
        .map_err(|_| fields.wrong(key, format!("`{key}` is {size}B, which is too much"), "4294967295B is the most"))
}

/// The word for a limit that no queue reaches.
pub(crate) const UNBOUNDED: &str = "unbounded";

/// Reads a key of the form [`shape::Form::Limit`]: packets, bytes, or [`UNBOUNDED`].
fn limit(fields: &Fields<'_>, key: &str) -> Result<Option<QueueLimit>, ConfigError> {
    const HELP: &str = "write packets as `100`, bytes as `\"64KiB\"`";
    let Some((found, span)) = fields.found(key)? else { return Ok(None) };
    let wrong_at = |message: String, help: &str| {
        let error = ConfigError::new(message).with_help(help);
        found.explain(error).at(fields.spot(span))
    };
    let wrong = |message: String| wrong_at(message, HELP);
    match &found.what {
        What::Number(text) => {
            let packets = text.replace('_', "").parse::<u32>();
            packets.map(|packets| Some(QueueLimit::Packets(packets))).map_err(|_| {
                wrong(format!("`{key}` must be a whole number of packets from 0 to {}, not {text}", u32::MAX))
            })
        }
        What::Text(text) if text == UNBOUNDED => Ok(Some(QueueLimit::UNBOUNDED)),
        What::Text(text) => match units::parse_size(text) {
            Ok(0) => Err(wrong_at(
                format!("`{key}` has zero bytes, room for no packet"),
                "give it room for a packet; `0`, in packets, lets no packet wait",
            )),
            Ok(bytes) => Ok(Some(QueueLimit::Bytes(bytes))),
            Err(error) => Err(wrong(format!("`{key}`: {}", error.message()))),
        },
        other => Err(wrong(format!("`{key}` must be packets or bytes, not {}", other.noun()))),
    }
}
