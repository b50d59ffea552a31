//! Configurations of the simulator Speer, as scenario files.
//!
//! Speer (Alexandru Dan, <https://github.com/danalex97/Speer>) is configured by JSON files of two forms:
//!
//! - Speer's own, with `nodes`: the network, the links of the nodes, and a program in Go (`entry`).
//! - that of its BitTorrent simulations (<https://github.com/danalex97/nfsTorrent>), with `minNodes`: the
//!   parameters of the protocol too.
//!
//! Both become files of the scenario `bittorrent`. Virtual time is in milliseconds there, lengths are in
//! bits, and capacities in bits per millisecond. [`Converted::notes`] names everything that has no equivalent
//! here.

mod json;

use json::{Object, Text, without_comments};
use parades_config::{ConfigError, Fault, Place, inputs, read_text, shortened, toml_string};
use parades_p2p::bittorrent::{PEERS_MAX, Parameters};
use std::io::ErrorKind;
use std::path::Path;

/// The longest file in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The largest capacity in bits per millisecond: a terabit per second.
const CAPACITY_MAX: u64 = 1_000_000_000;

/// The shortest and the longest end of a run in seconds. Ten times the time in which a link carries the file
/// is between them.
const UNTIL_SECONDS: [u64; 2] = [1000, 10_000_000];

/// A scenario file, and notes about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converted {
    /// The scenario file. The notes are comments in it too.
    pub toml: String,
    /// A sentence on each key that has no equivalent here, or another value than in Speer. It begins with the
    /// key.
    pub notes: Vec<String>,
}

/// Converts the file at `path`.
///
/// # Errors
///
/// If the file cannot be read, or as [`convert`].
pub fn read(path: &Path) -> Result<Converted, ConfigError> {
    let text = read_text(path, FILE_BYTES_MAX).map_err(|error| {
        let help = match error.kind() {
            ErrorKind::FileTooLarge | ErrorKind::InvalidData => "give a JSON configuration of Speer",
            _ => "check its name and permissions",
        };
        let message = format!("cannot be read: {}", inputs::reason(&error));
        ConfigError::new(message).with_help(help).at(Place::File(path.to_owned()))
    })?;
    convert(path, &text)
}

/// Converts a configuration from memory. Errors name the file `file`.
///
/// ```
/// use parades_catalog::speer::convert;
///
/// let text = r#"{
///   "nodes": 100,
///   "network": {"transitDomains": 10, "transitDomainSize": 20, "stubDomains": 20, "stubDomainSize": 50},
///   "transferInterval": 10,
///   "capacityNodes": [{"number": 100, "upload": 10, "download": 20}]
/// }"#;
/// let converted = convert("swarm.json".as_ref(), text)?;
/// for line in ["peers = 100", "stub_nodes = 50", "network = \"both\"", "up = \"10kbps\"", "down = \"20kbps\""] {
///     assert!(converted.toml.lines().any(|of_file| of_file.starts_with(line)), "{line}");
/// }
/// assert!(converted.notes[0].starts_with("`transferInterval`: "));
///
/// let error = convert("swarm.json".as_ref(), &text.replace("\"upload\": 10", "\"upload\": -1")).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "swarm.json:5:47: `upload` cannot be `-1`; write a whole number from 0 to 1000000000"
/// );
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
///
/// # Errors
///
/// If the text is no configuration of Speer, or has an unknown key or an impossible value.
pub fn convert(file: &Path, text: &str) -> Result<Converted, ConfigError> {
    let plain = without_comments(text);
    let mut scenario = Scenario::default();
    scenario.fill(Text(&plain)).map_err(|fault| fault.within(file, text))?;
    Ok(scenario.finish(file))
}

const OWN_KEYS: &[&str] =
    &["lang", "entry", "logFile", "nodes", "network", "transferInterval", "capacityNodes", "latency", "parallel"];

const BITTORRENT_KEYS: &[&str] = &[
    "outPeers",
    "inPeers",
    "minNodes",
    "seeds",
    "pieceSize",
    "pieces",
    "uploads",
    "optimistics",
    "interval",
    "backlog",
    "transitDomains",
    "transitDomainSize",
    "stubDomains",
    "stubDomainSize",
    "transferInterval",
    "capacityNodes",
    "allNodesRunInterval",
    "latency",
    "parallel",
    "leaderPercent",
    "bias",
    "multi",
    "storagePieces",
    "chokerStrategy",
];

const NETWORK_KEYS: &[&str] = &["transitDomains", "transitDomainSize", "stubDomains", "stubDomainSize"];

const LINK_KEYS: &[&str] = &["number", "upload", "download"];

/// The keys without an equivalent, and why.
const DROPPED: &[(&str, &str)] = &[
    ("lang", "no program of a node is converted, so its language has no use"),
    ("entry", "the program of a node is not converted; the peers here speak BitTorrent"),
    ("logFile", "`--out` and `--trace` write results and events"),
    ("transferInterval", "rates are computed whenever a transfer begins or ends, without a tick"),
    ("allNodesRunInterval", "each peer handles each message at its time, so nothing has to make it go on"),
    ("parallel", "`--engine` and `--threads` choose how a run is executed, and every choice has the same result"),
    ("inPeers", "Speer's peers accept every connection, and `connections` here is large enough for that"),
    ("leaderPercent", "there are no leaders here: this is a key of CacheTorrent"),
    ("bias", "the tracker here answers with random peers: this is a key of the biased tracker"),
    ("multi", "a swarm here has one torrent: this is a key of MultiTorrent"),
    ("storagePieces", "a swarm here has one torrent: this is a key of MultiTorrent"),
    ("chokerStrategy", "peers here choose by tit-for-tat"),
];

/// The scenario file that is being made.
#[derive(Default)]
struct Scenario {
    until_seconds: Option<u64>,
    parameters: Vec<(&'static str, String, &'static str)>,
    notes: Vec<String>,
}

/// The links of the nodes.
struct Links {
    /// The number of nodes with a link.
    nodes: u64,
    /// The capacities of most nodes, in bits per millisecond.
    upload: u64,
    download: u64,
    /// Number, upload and download of the groups of nodes, in their order. Empty if all nodes have links
    /// alike.
    groups: Vec<[u64; 3]>,
}

impl Links {
    /// Returns the classes of links of `peers` peers, as the scenario writes them.
    fn classes(&self, peers: u64) -> String {
        let mut left = peers;
        let mut classes = Vec::new();
        for [number, upload, download] in &self.groups {
            let number = left.min(*number);
            left -= number;
            if number > 0 {
                classes.push(format!("{number}x{upload}kbps/{download}kbps"));
            }
        }
        classes.join(", ")
    }
}

impl Scenario {
    fn set(&mut self, key: &'static str, value: impl ToString, from: &'static str) {
        self.parameters.push((key, value.to_string(), from));
    }

    fn fill(&mut self, text: Text<'_>) -> Result<(), Fault> {
        let members = text.members()?;
        let begin = text.0.find('{').unwrap_or(0);
        let has = |key: &str| members.keys().any(|name| name.eq_ignore_ascii_case(key));
        match (has("minNodes"), has("nodes")) {
            (true, _) => self.fill_bittorrent(&text.object("the configuration", begin, members, BITTORRENT_KEYS)?),
            (false, true) => self.fill_own(&text.object("the configuration", begin, members, OWN_KEYS)?),
            (false, false) => Err(Fault::whole(
                "the configuration has neither `nodes` nor `minNodes`",
                "give a JSON configuration of Speer, or of its BitTorrent simulations",
            )),
        }
    }

    /// Converts Speer's own form.
    fn fill_own(&mut self, top: &Object<'_>) -> Result<(), Fault> {
        self.note_dropped(top);
        let nodes = top.required("nodes", 1..=PEERS_MAX.into())?;
        let links = self.links(top)?;
        // Speer makes the nodes of `capacityNodes`, and no more than `nodes`.
        let peers = links.as_ref().map_or(nodes, |links| links.nodes.min(nodes));
        if peers < nodes {
            self.notes.push(format!(
                "`nodes`: {nodes} nodes are asked for, but Speer makes the {peers} that have a link in `capacityNodes`"
            ));
        }
        self.set("peers", peers, "nodes");
        self.set("connections", peers.clamp(55, 60_000), "Speer refuses no connection");
        self.set("spacing", "\"0s\"", "all nodes join at the start");
        let network = top.object("network", "`network`", NETWORK_KEYS)?;
        if network.is_none() && links.is_none() {
            return Err(top.fault(
                "nodes",
                "the configuration has neither `network` nor `capacityNodes`, so that nothing in it takes time",
                "add one of the two",
            ));
        }
        let takes_latency = network.is_some() && top.boolean("latency")? != Some(false);
        match &network {
            Some(network) => self.underlay(network, peers)?,
            None => self.set("underlay", "\"constant\"", "no `network`"),
        }
        self.network(takes_latency, links.as_ref(), peers, top)
    }

    /// Converts the form of the BitTorrent simulations.
    fn fill_bittorrent(&mut self, top: &Object<'_>) -> Result<(), Fault> {
        self.note_dropped(top);
        let peers = top.required("minNodes", 1..=u64::from(PEERS_MAX))?;
        let pieces = top.required("pieces", 1..=10_000_000)?;
        let piece_bits = top.required("pieceSize", 1..=1_000_000_000_000)?;
        let backlog = top.required("backlog", 1..=1_000_000)?;
        let neighbours = top.required("outPeers", 1..=60_000)?;
        self.set("peers", peers, "minNodes, beside the tracker");
        self.set("seeds", top.required("seeds", 0..=peers.min(1_000_000))?, "seeds");
        self.set("pieces", pieces, "pieces");
        self.set("piece_bits", piece_bits, "pieceSize, in bits");
        if piece_bits > Parameters::default().block_bits {
            self.set("block_bits", piece_bits, "fixed in Speer's program: a request is for a whole piece");
        }
        self.set("outgoing", neighbours, "outPeers");
        self.set("answer", neighbours, "outPeers: the tracker names that number of peers");
        self.set("connections", peers.clamp(55, 60_000), "Speer refuses no connection");
        self.set("unchokes", top.required("uploads", 0..=60_000)?, "uploads");
        let interval = top.required("interval", 1..=1_000_000_000)?;
        self.set("rechoke", format!("\"{interval}ms\""), "interval, in milliseconds");
        self.set("pipeline", backlog, "backlog");
        self.set("on_way", backlog, "backlog: a link takes all requests at once");
        self.fixed_by_the_program();
        let optimistics = top.integer("optimistics", 0..=60_000)?.unwrap_or(0);
        if optimistics != 1 {
            self.notes.push(format!("`optimistics`: there are {optimistics} in Speer, and there is one here"));
        }
        let links = self.links(top)?;
        let Some(mut links) = links else {
            return Err(top.fault("capacityNodes", "the configuration has no `capacityNodes`", "add it"));
        };
        if links.nodes <= peers {
            let message = format!(
                "`capacityNodes` has links for {} nodes, and the {peers} peers of `minNodes` and the tracker need {}",
                links.nodes,
                peers + 1
            );
            return Err(top.fault("capacityNodes", message, "raise `number`, or lower `minNodes`"));
        }
        // The first node is the tracker. It moves no data.
        if let Some([number, ..]) = links.groups.first_mut() {
            *number -= 1;
        }
        self.underlay(top, peers)?;
        let is_given = top.boolean("latency")?;
        if is_given.is_none() {
            self.notes.push(
                "`latency`: Speer's flag `-latency` is no part of the file, and taken as given; without it, \
                 set `network = \"capacity\"`"
                    .to_owned(),
            );
        }
        let bits_per_ms = links.upload.min(links.download);
        let seconds = (u128::from(pieces) * u128::from(piece_bits)).div_ceil(u128::from(bits_per_ms) * 100);
        let [least, most] = UNTIL_SECONDS;
        self.until_seconds = Some(u64::try_from(seconds).unwrap_or(most).clamp(least, most));
        self.network(is_given != Some(false), Some(&links), peers, top)
    }

    /// Sets what Speer's BitTorrent program has no key for.
    fn fixed_by_the_program(&mut self) {
        self.set("spacing", "\"2ms\"", "fixed in Speer's program");
        self.set("optimistic_turns", 1, "fixed in Speer's program: each choice draws another");
        self.set("random_first", 0, "fixed in Speer's program: the rarest piece from the start");
        self.set("snub", "\"100d\"", "fixed in Speer's program: no snubbing");
    }

    /// Sets the parts of the network that a message meets.
    fn network(
        &mut self,
        takes_latency: bool,
        links: Option<&Links>,
        peers: u64,
        top: &Object<'_>,
    ) -> Result<(), Fault> {
        let network = match (takes_latency, links) {
            (true, Some(_)) => "both",
            (true, None) => "latency",
            (false, Some(_)) => "capacity",
            (false, None) => {
                let message = "without latencies and `capacityNodes` nothing takes time";
                return Err(top.fault("latency", message, "add `capacityNodes`, or make `latency` true"));
            }
        };
        self.set("network", toml_string(network), "latency, capacityNodes");
        if let Some(links @ &Links { upload, download, .. }) = links {
            // A bit per millisecond is a kilobit per second.
            self.set("up", format!("\"{upload}kbps\""), "upload, in bits per millisecond");
            self.set("down", format!("\"{download}kbps\""), "download, in bits per millisecond");
            let classes = links.classes(peers);
            if !classes.is_empty() {
                self.set("link_classes", toml_string(&classes), "the groups of capacityNodes, in their order");
            }
        }
        Ok(())
    }

    /// Sets the transit–stub network.
    fn underlay(&mut self, of: &Object<'_>, peers: u64) -> Result<(), Fault> {
        let transit_domains = of.required("transitDomains", 1..=10_000)?;
        let transit_nodes = of.required("transitDomainSize", 1..=10_000)?;
        let stub_domains = of.required("stubDomains", 1..=10_000_000)?;
        let stub_nodes = of.required("stubDomainSize", 1..=10_000)?;
        // A domain has at most two routers more than the mean.
        let routers = stub_domains * (stub_nodes + 2);
        if routers <= peers {
            let message = format!(
                "{stub_domains} stub domains of {stub_nodes} routers have no router for each of {peers} peers and the \
                 tracker"
            );
            return Err(of.fault("stubDomains", message, "raise `stubDomains` or `stubDomainSize`"));
        }
        self.set("underlay", "\"transit-stub\"", "Speer's underlay");
        self.set("transit_domains", transit_domains, "transitDomains");
        self.set("transit_nodes", transit_nodes, "transitDomainSize");
        self.set("stub_domains", stub_domains, "stubDomains");
        self.set("stub_nodes", stub_nodes, "stubDomainSize");
        Ok(())
    }

    /// Returns the links of the nodes.
    fn links(&mut self, top: &Object<'_>) -> Result<Option<Links>, Fault> {
        let Some(objects) = top.objects("capacityNodes", "an entry of `capacityNodes`", LINK_KEYS)? else {
            return Ok(None);
        };
        let mut groups: Vec<[u64; 3]> = Vec::new();
        for group in &objects {
            let number = group.required("number", 1..=u64::from(PEERS_MAX))?;
            let upload = group.required("upload", 0..=CAPACITY_MAX)?;
            let download = group.required("download", 0..=CAPACITY_MAX)?;
            groups.push([number, upload, download]);
        }
        let is_usable = |[_, upload, download]: &[u64; 3]| *upload > 0 && *download > 0;
        let mut kinds: Vec<[u64; 3]> = Vec::new();
        for group @ [number, ..] in groups.iter().filter(|group| is_usable(group)) {
            match kinds.iter_mut().find(|kind| kind[1..] == group[1..]) {
                Some(kind) => kind[0] += number,
                None => kinds.push(*group),
            }
        }
        // Of kinds with the same number of nodes, the first is taken.
        let Some(&[_, upload, download]) = kinds.iter().rev().max_by_key(|kind| kind[0]) else {
            return Err(top.fault(
                "capacityNodes",
                "`capacityNodes` has no nodes that both upload and download",
                "give an entry `upload` and `download` above 0",
            ));
        };
        let nodes = groups.iter().map(|group| group[0]).sum();
        for [number, up, down] in groups.iter_mut().filter(|group| !is_usable(group)) {
            self.notes.push(format!(
                "`capacityNodes`: {number} with `upload` {up} and `download` {down}; a link has capacity here, so that 0 \
                 becomes the {upload} and {download} of most nodes"
            ));
            *up = if *up > 0 { *up } else { upload };
            *down = if *down > 0 { *down } else { download };
        }
        if groups.iter().all(|group| group[1..] == [upload, download]) {
            groups.clear();
        }
        Ok(Some(Links { nodes, upload, download, groups }))
    }

    fn note_dropped(&mut self, top: &Object<'_>) {
        let dropped = DROPPED.iter().filter(|(key, _)| top.has(key));
        self.notes.extend(dropped.map(|(key, why)| format!("`{key}`: {why}")));
    }

    fn finish(self, file: &Path) -> Converted {
        let mut toml = String::new();
        let mut line = |line: &str| {
            toml.push_str(line.trim_end());
            toml.push('\n');
        };
        line(&format!("# Converted from {}, a configuration of Speer.", shortened(&file.to_string_lossy())));
        if !self.notes.is_empty() {
            line("#\n# Not converted, or not as in Speer:");
        }
        for note in &self.notes {
            line(&format!("# - {note}"));
        }
        line("\nscenario = \"bittorrent\"");
        if let Some(seconds) = self.until_seconds {
            line(&format!("until = \"{seconds}s\"  # Speer ends with the last download"));
        }
        line("\n[parameters]");
        for (key, value, from) in &self.parameters {
            line(&format!("{key} = {value}  # {from}"));
        }
        Converted { toml, notes: self.notes }
    }
}
