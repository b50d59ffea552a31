//! The names of data that tools write for nodes, links and graphs, their units, and who writes them.
//!
//! Case, `_`, `-` and blanks make no difference: `packet_loss` is `packetloss`. A name of a rate, a delay or
//! a length may end with its unit, as in `delay_ms`.

/// The part of a graph that a value belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Of {
    Node,
    Edge,
    Graph,
}

impl Of {
    pub(super) fn plural(self) -> &'static str {
        match self {
            Of::Node => "nodes",
            Of::Edge => "edges",
            Of::Graph => "the graph",
        }
    }
}

/// The meaning of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Meaning {
    Label,
    Latitude,
    Longitude,
    Hyperedge,
    Internal,
    /// A rate. Numbers without a unit are in this many bits per second, if the tool has such a rule.
    Rate(Option<f64>),
    /// The unit of the Topology Zoo's `LinkSpeed`.
    SpeedUnits,
    /// A propagation delay. Numbers without a unit are in this many seconds, if the tool has such a rule.
    Delay(Option<f64>),
    /// A probability of loss, in parts of this: 1, or 0.01 for percent.
    Loss(f64),
    /// The length of a link, in this many kilometres.
    Length(f64),
    /// A text of quantities with their units, separated by commas.
    Quantities,
    /// The unit of all rates of the graph.
    RateUnit,
    /// The unit of all delays of the graph.
    DelayUnit,
    /// A quantity that a network here cannot have. The text says why.
    Impossible(&'static str),
    /// A description, which changes nothing.
    Description,
}

/// The number of kinds of [`Meaning`] that [`Meaning::slot`] tells apart.
pub(super) const SLOTS: usize = 11;

impl Meaning {
    /// Returns the place for the value of a node or edge; `None` if the value has no use.
    pub(super) fn slot(self) -> Option<usize> {
        Some(match self {
            Meaning::Label => 0,
            Meaning::Latitude => 1,
            Meaning::Longitude => 2,
            Meaning::Hyperedge => 3,
            Meaning::Internal => 4,
            Meaning::Rate(_) => 5,
            Meaning::SpeedUnits => 6,
            Meaning::Delay(_) => 7,
            Meaning::Loss(_) => 8,
            Meaning::Length(_) => 9,
            Meaning::Quantities => 10,
            Meaning::RateUnit | Meaning::DelayUnit | Meaning::Impossible(_) | Meaning::Description => return None,
        })
    }
}

/// A known name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// In lower case, without `_`, `-` and blanks.
    name: &'static str,
    of: Of,
    pub(super) meaning: Meaning,
    /// The tool that writes it; empty if several do.
    pub(super) tool: &'static str,
    /// Of two values with the same meaning, the one with the lower rank counts.
    pub(super) rank: usize,
}

const fn known(of: Of, name: &'static str, meaning: Meaning, tool: &'static str) -> Known {
    Known { name, of, meaning, tool, rank: 0 }
}

pub(super) const ZOO: &str = "the Topology Zoo";
const NODE_RATE: &str = "a node has no rate; give one to its links";

/// All names, the preferred ones first.
const NAMES: &[Known] = &[
    known(Of::Node, "label", Meaning::Label, ZOO),
    known(Of::Node, "name", Meaning::Label, "Cytoscape"),
    known(Of::Node, "y:nodelabel", Meaning::Label, "yEd"),
    known(Of::Node, "latitude", Meaning::Latitude, ZOO),
    known(Of::Node, "lat", Meaning::Latitude, ""),
    known(Of::Node, "longitude", Meaning::Longitude, ZOO),
    known(Of::Node, "lon", Meaning::Longitude, ""),
    known(Of::Node, "lng", Meaning::Longitude, ""),
    known(Of::Node, "long", Meaning::Longitude, ""),
    known(Of::Node, "hyperedge", Meaning::Hyperedge, ZOO),
    known(Of::Node, "internal", Meaning::Internal, ZOO),
    known(Of::Node, "bandwidthdown", Meaning::Impossible(NODE_RATE), "Shadow"),
    known(Of::Node, "bandwidthup", Meaning::Impossible(NODE_RATE), "Shadow"),
    known(Of::Node, "hostbandwidthdown", Meaning::Impossible(NODE_RATE), "Shadow"),
    known(Of::Node, "hostbandwidthup", Meaning::Impossible(NODE_RATE), "Shadow"),
    known(Of::Edge, "linkspeedraw", Meaning::Rate(Some(1.0)), ZOO),
    known(Of::Edge, "linkspeed", Meaning::Rate(None), ZOO),
    known(Of::Edge, "linkspeedunits", Meaning::SpeedUnits, ZOO),
    known(Of::Edge, "bw", Meaning::Rate(Some(1e6)), "Mininet"),
    known(Of::Edge, "bandwidth", Meaning::Rate(None), ""),
    known(Of::Edge, "datarate", Meaning::Rate(None), "OMNeT++"),
    known(Of::Edge, "capacity", Meaning::Rate(None), "fnss"),
    known(Of::Edge, "linkcapacity", Meaning::Rate(None), ""),
    known(Of::Edge, "linkbandwidth", Meaning::Rate(None), ""),
    known(Of::Edge, "linkfwdcap", Meaning::Rate(None), "coord-sim"),
    known(Of::Edge, "preinstalledcapacity", Meaning::Rate(None), "SNDlib"),
    known(Of::Edge, "rate", Meaning::Rate(None), ""),
    known(Of::Edge, "speed", Meaning::Rate(None), ""),
    known(Of::Edge, "linkdelay", Meaning::Delay(Some(1e-3)), "coord-sim"),
    known(Of::Edge, "latency", Meaning::Delay(Some(1e-3)), "Shadow"),
    known(Of::Edge, "delay", Meaning::Delay(None), "fnss"),
    known(Of::Edge, "linklatency", Meaning::Delay(None), ""),
    known(Of::Edge, "propagationdelay", Meaning::Delay(None), ""),
    known(Of::Edge, "packetloss", Meaning::Loss(1.0), "Shadow"),
    known(Of::Edge, "lossrate", Meaning::Loss(1.0), ""),
    known(Of::Edge, "loss", Meaning::Loss(0.01), "Mininet"),
    known(Of::Edge, "dist", Meaning::Length(1.0), "TopoHub"),
    known(Of::Edge, "y:edgelabel", Meaning::Quantities, "yEd"),
    known(Of::Edge, "jitter", Meaning::Impossible("the delay of a link is constant"), "Shadow"),
    known(Of::Graph, "capacityunit", Meaning::RateUnit, "fnss"),
    known(Of::Graph, "delayunit", Meaning::DelayUnit, "fnss"),
];

/// Names of descriptions of nodes and edges. All values of a graph are descriptions, but for those above.
const DESCRIPTIONS: &[&str] = &[
    "country",
    "description",
    "doubted",
    "geocodeappend",
    "geocodecountry",
    "geocodeid",
    "geocodename",
    "graphics",
    "id",
    "key",
    "label",
    "linklabel",
    "linknote",
    "linkstatus",
    "linktype",
    "name",
    "networkxkey",
    "relationship",
    "sharedname",
    "type",
    "url",
];

/// Units that a name may end with, in bits per second, seconds or kilometres.
const RATE_UNITS: &[(&str, f64)] = &[("kbps", 1e3), ("mbps", 1e6), ("gbps", 1e9), ("tbps", 1e12), ("bps", 1.0)];
const DELAY_UNITS: &[(&str, f64)] = &[("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("seconds", 1.0), ("s", 1.0)];

/// Returns the meaning of a name; `None` if the name is unknown.
pub(super) fn meaning(of: Of, name: &str) -> Option<Known> {
    let plain: String =
        name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).map(|c| c.to_ascii_lowercase()).collect();
    let entry = |plain: &str| NAMES.iter().zip(0..).find(|(known, _)| known.of == of && known.name == plain);
    if let Some((known, rank)) = entry(&plain) {
        return Some(Known { rank, ..*known });
    }
    if of == Of::Graph || DESCRIPTIONS.contains(&plain.as_str()) {
        return Some(known(of, "", Meaning::Description, ""));
    }
    let stem = |units: &'static [(&'static str, f64)]| {
        let stem_of = |&(unit, size): &(&str, f64)| plain.strip_suffix(unit).map(|stem| (stem.to_owned(), size));
        units.iter().filter_map(stem_of).collect::<Vec<_>>()
    };
    for (stem, size) in
        stem(RATE_UNITS).into_iter().chain(stem(DELAY_UNITS)).chain(stem(&[("km", 1.0), ("percent", 0.01)]))
    {
        let meaning = match (entry(&stem).map(|(known, _)| known.meaning), stem.as_str(), size) {
            (Some(Meaning::Rate(_)), ..) if plain.ends_with("bps") => Meaning::Rate(Some(size)),
            (Some(Meaning::Delay(_)), ..) if plain.ends_with('s') => Meaning::Delay(Some(size)),
            (Some(Meaning::Loss(_)), ..) if plain.ends_with("percent") => Meaning::Loss(size),
            (_, "length" | "distance" | "dist", _) if plain.ends_with("km") => Meaning::Length(size),
            _ => continue,
        };
        // After the names of tools.
        return Some(Known { rank: NAMES.len(), ..known(of, "", meaning, "") });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_separators_make_no_difference_and_units_may_end_a_name() {
        let of_edge = |name| meaning(Of::Edge, name).map(|known| known.meaning);
        assert_eq!(of_edge("Packet_Loss"), Some(Meaning::Loss(1.0)));
        assert_eq!(of_edge("LinkDelay"), Some(Meaning::Delay(Some(1e-3))));
        assert_eq!(of_edge("delay_us"), Some(Meaning::Delay(Some(1e-6))));
        assert_eq!(of_edge("bandwidthMbps"), Some(Meaning::Rate(Some(1e6))));
        assert_eq!(of_edge("distance_km"), Some(Meaning::Length(1.0)));
        assert_eq!(of_edge("loss_percent"), Some(Meaning::Loss(0.01)));
        assert_eq!(of_edge("weight"), None);
        assert_eq!(meaning(Of::Node, "LinkDelay").map(|known| known.meaning), None);
        assert_eq!(meaning(Of::Graph, "anything").map(|known| known.meaning), Some(Meaning::Description));
    }
}
