//! Generated parts of a network.

use crate::draft::{Draft, NODES_MAX, Quality};
use crate::given::{Fields, What};
use crate::shape;
use parades_config::{ConfigError, Place, Spot};
use parades_core::random::Rng;
use parades_core::time::Delay;
use parades_packet::campus;
use parades_topology::Topology;
use parades_topology::graphml::{self, Options};
use std::path::{Path, PathBuf};

mod edges;

/// The purpose of the random stream that a part is drawn from.
const PART_STREAM: u32 = 11;

/// A part in the making.
pub(crate) struct Part<'a, 'f> {
    pub(crate) draft: &'a mut Draft,
    pub(crate) fields: &'a Fields<'f>,
    pub(crate) name: String,
    pub(crate) quality: Quality,
    /// Between routers, where those links differ.
    trunk: Quality,
}

impl Part<'_, '_> {
    /// Adds the part that a table describes. `defaults` are the file's.
    pub(crate) fn add(draft: &mut Draft, fields: &Fields<'_>, defaults: Quality) -> Result<Vec<String>, ConfigError> {
        let own = Quality::of(fields)?;
        let quality = own.or(defaults);
        let kind = fields.kind.expect("a part has a kind").name;
        let trunk = match kind {
            "dumbbell" | "fat-tree" => Quality {
                rate_bps: fields.has("trunk_rate").then(|| fields.rate("trunk_rate")).transpose()?,
                delay: fields.has("trunk_delay").then(|| fields.duration("trunk_delay")).transpose()?,
                ..Quality::default()
            },
            _ => Quality::default(),
        };
        let mut part = Part { draft, fields, name: fields.text("name")?, quality, trunk: trunk.or(quality) };
        match kind {
            "line" => part.row(false)?,
            "ring" => part.row(true)?,
            "star" => part.star()?,
            "dumbbell" => part.dumbbell()?,
            "torus" => part.torus()?,
            "fat-tree" => part.fat_tree()?,
            "random-geometric" => part.random_geometric()?,
            "campus" => {
                let networks = part.fields.count("size")?;
                let lan_clients = part.fields.count("lan_clients")?;
                let queue = quality.queue.unwrap_or(parades_packet::queue::QueueLimit::Packets(shape::QUEUE_DEFAULT));
                let campus = campus::Parameters { networks, lan_clients, queue, ..campus::Parameters::default() };
                // Before anything is made of it, as that may take more memory than there is.
                if campus.nodes() > NODES_MAX as u64 {
                    let message = format!("the network has more than {NODES_MAX} nodes");
                    return Err(fields.wrong("size", message, "make it smaller"));
                }
                let network =
                    campus.network(1).map_err(|why| fields.wrong("size", why.to_string(), "make it smaller"))?;
                part.topology(network.topology(), own)?;
            }
            "backbone" => part.topology(&parades_topology::backbone(), own)?,
            "graphml" => return part.graphml(),
            "edges" => part.edges()?,
            kind => unreachable!("`{kind}` is in the shape of parts and not in this match"),
        }
        Ok(Vec::new())
    }

    pub(crate) fn node(&mut self, name: &str) -> Result<u32, ConfigError> {
        // Names in files may have any letters.
        let name = format!("{}.{}", self.name, name.replace(|c: char| c == '*' || c.is_control(), "_"));
        self.draft.node(self.fields.reader, name, &self.fields.span)
    }

    pub(crate) fn join(&mut self, (from, to): (u32, u32), quality: Quality) -> Result<(), ConfigError> {
        let name = self.draft.link_name(from, to);
        let link = quality.link(self.fields, name, (from, to))?;
        self.draft.parallel_link(self.fields.reader, link, &self.fields.span)
    }

    fn link(&mut self, from: u32, to: u32) -> Result<(), ConfigError> {
        self.join((from, to), self.quality)
    }

    fn nodes(&mut self, count: u32) -> Result<Vec<u32>, ConfigError> {
        (0..count).map(|number| self.node(&number.to_string())).collect()
    }

    fn row(&mut self, closed: bool) -> Result<(), ConfigError> {
        let size = self.fields.count("size")?;
        if closed && size < 3 {
            return Err(self.fields.wrong("size", format!("a ring of {size} is none"), "give it 3 nodes or more"));
        }
        let nodes = self.nodes(size)?;
        for pair in nodes.windows(2) {
            self.link(pair[0], pair[1])?;
        }
        if closed { self.link(nodes[nodes.len() - 1], nodes[0]) } else { Ok(()) }
    }

    fn star(&mut self) -> Result<(), ConfigError> {
        let hub = self.node("hub")?;
        for number in 0..self.fields.count("size")? {
            let node = self.node(&number.to_string())?;
            self.link(node, hub)?;
        }
        Ok(())
    }

    fn dumbbell(&mut self) -> Result<(), ConfigError> {
        let size = self.fields.count("size")?;
        let (left, right) = (self.node("left")?, self.node("right")?);
        self.join((left, right), self.trunk)?;
        for (router, side) in [(left, "left"), (right, "right")] {
            for number in 0..size {
                let host = self.node(&format!("{side}.{number}"))?;
                self.link(host, router)?;
            }
        }
        Ok(())
    }

    fn torus(&mut self) -> Result<(), ConfigError> {
        let list = self.fields.list("sides")?;
        let mut sides = Vec::new();
        for given in list {
            let found = self.fields.reader.parameters.look_up(self.fields.reader, given)?;
            let side = match &found.what {
                What::Number(text) => text.parse::<u32>().ok().filter(|side| (3..=1 << 20).contains(side)),
                _ => None,
            };
            sides.push(side.ok_or_else(|| {
                self.fields.reader.error(
                    &given.span,
                    "a side of a torus must be a whole number from 3 to 1048576",
                    "write `sides = [4, 4]`",
                )
            })?);
        }
        let total = sides.iter().try_fold(1_u64, |total, &side| total.checked_mul(u64::from(side)));
        let total = total.filter(|&total| !sides.is_empty() && sides.len() <= 8 && total <= 1 << 24);
        let Some(total) = total else {
            return Err(self.fields.wrong(
                "sides",
                "a torus has 1 to 8 sides, and at most 16777216 nodes",
                "choose fewer or smaller ones",
            ));
        };
        let total = u32::try_from(total).expect("it was bounded");
        let place = |mut number: u32| -> Vec<u32> {
            // The last side varies fastest.
            let mut place: Vec<u32> = sides
                .iter()
                .rev()
                .map(|side| {
                    let at = number % side;
                    number /= side;
                    at
                })
                .collect();
            place.reverse();
            place
        };
        let name = |place: &[u32]| place.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
        let nodes = (0..total).map(|number| self.node(&name(&place(number)))).collect::<Result<Vec<_>, _>>()?;
        for number in 0..total {
            for (side, &length) in sides.iter().enumerate() {
                let mut next = place(number);
                next[side] = (next[side] + 1) % length;
                let next = next.iter().zip(&sides).fold(0, |number, (at, side)| number * side + at);
                self.link(nodes[number as usize], nodes[next as usize])?;
            }
        }
        Ok(())
    }

    /// M. Al-Fares, A. Loukissas, A. Vahdat, "A scalable, commodity data center network architecture", SIGCOMM 2008.
    fn fat_tree(&mut self) -> Result<(), ConfigError> {
        let arity = self.fields.count("arity")?;
        if !arity.is_multiple_of(2) {
            return Err(self.fields.wrong(
                "arity",
                format!("a fat tree's arity is even, not {arity}"),
                "choose the next one",
            ));
        }
        let half = arity / 2;
        let core =
            (0..half * half).map(|number| self.node(&format!("core.{number}"))).collect::<Result<Vec<_>, _>>()?;
        for pod in 0..arity {
            let layer = |part: &mut Self, what: &str| {
                (0..half).map(|number| part.node(&format!("{what}.{pod}.{number}"))).collect::<Result<Vec<u32>, _>>()
            };
            let upper = layer(self, "aggregation")?;
            let lower = layer(self, "edge")?;
            for (group, &switch) in upper.iter().enumerate() {
                for up in 0..half as usize {
                    self.join((switch, core[group * half as usize + up]), self.trunk)?;
                }
                for &below in &lower {
                    self.join((below, switch), self.trunk)?;
                }
            }
            for (edge, &switch) in lower.iter().enumerate() {
                for number in 0..half {
                    let host = self.node(&format!("host.{pod}.{edge}.{number}"))?;
                    self.link(host, switch)?;
                }
            }
        }
        Ok(())
    }

    /// B. M. Waxman's plane without his probabilities: E. N. Gilbert, "Random plane networks", SIAM Journal 9, 1961. What it leaves in pieces is
    /// joined by the shortest links that do.
    fn random_geometric(&mut self) -> Result<(), ConfigError> {
        let (size, radius) = (self.fields.count("size")?, self.fields.float("radius")?);
        let across = self.fields.duration("across")?;
        let mut rng = Rng::shared(self.fields.integer("seed")?, PART_STREAM);
        if size > 1 << 14 {
            return Err(self.fields.wrong(
                "size",
                format!("a random geometric part of {size} nodes is too large"),
                "16384 is the most",
            ));
        }
        let places: Vec<(f64, f64)> = (0..size).map(|_| (rng.unit(), rng.unit())).collect();
        let nodes = self.nodes(size)?;
        let distance = |a: usize, b: usize| libm::hypot(places[a].0 - places[b].0, places[a].1 - places[b].1);
        let base = self.quality.delay.unwrap_or(Delay::ZERO);
        let of_length =
            |length: f64| Quality { delay: Some(base.saturating_add(across.scaled(length))), ..self.quality };
        let mut piece: Vec<usize> = (0..places.len()).collect();
        let mut links = Vec::new();
        for b in 0..places.len() {
            for a in 0..b {
                if distance(a, b) <= radius {
                    links.push((a, b));
                    unite(&mut piece, a, b);
                }
            }
        }
        join_pieces(&mut piece, &mut links, distance);
        let links: Vec<_> = links.into_iter().map(|(a, b)| ((nodes[a], nodes[b]), of_length(distance(a, b)))).collect();
        links.into_iter().try_for_each(|(ends, quality)| self.join(ends, quality))
    }

    /// The nodes and links of a topology. Where the table itself says how links are, they are so.
    fn topology(&mut self, topology: &Topology, own: Quality) -> Result<(), ConfigError> {
        let nodes = topology.node_ids().map(|node| self.node(topology.name(node))).collect::<Result<Vec<_>, _>>()?;
        for link in topology.links() {
            let of_file = Quality { rate_bps: Some(link.rate_bps), delay: Some(link.delay), ..Quality::default() };
            let quality = own.or(of_file).or(self.quality);
            self.join((nodes[link.a.index()], nodes[link.b.index()]), quality)?;
        }
        Ok(())
    }

    fn graphml(&mut self) -> Result<Vec<String>, ConfigError> {
        let given = Options::default();
        let options = Options {
            rate_bps: self.quality.rate_bps.unwrap_or(given.rate_bps),
            delay: self.quality.delay.unwrap_or(given.delay),
            ..given
        };
        let network = graphml::read(&path(self.fields)?, &options).map_err(|error| {
            let place = match error.line {
                0 => Place::File(error.file.into()),
                line => Place::Spot(Spot {
                    file: error.file.into(),
                    line,
                    column: error.column,
                    width: 1,
                    source_line: None,
                }),
            };
            ConfigError::new(error.message).with_help(error.help).at(place)
        })?;
        self.topology(&network.topology, Quality { rate_bps: None, delay: None, ..self.quality })?;
        Ok(network.notes)
    }
}

/// The file that the table of a part names, relative to the folder of its own.
pub(crate) fn path(part: &Fields<'_>) -> Result<PathBuf, ConfigError> {
    let path = part.text(shape::FILE.name)?;
    Ok(part.reader.source.path.parent().unwrap_or(Path::new("")).join(path))
}

fn root(piece: &mut [usize], mut of: usize) -> usize {
    while piece[of] != of {
        piece[of] = piece[piece[of]];
        of = piece[of];
    }
    of
}

fn unite(piece: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(piece, a), root(piece, b));
    piece[a.max(b)] = a.min(b);
}

/// Joins all pieces, by the shortest link from the first to another, again and again (Prim's algorithm on pieces).
fn join_pieces(piece: &mut [usize], links: &mut Vec<(usize, usize)>, distance: impl Fn(usize, usize) -> f64) {
    let count = piece.len();
    let mut inside: Vec<bool> = (0..count).map(|node| root(piece, node) == 0).collect();
    // The nearest node inside, for each outside.
    let mut nearest: Vec<(f64, usize)> = vec![(f64::INFINITY, 0); count];
    let mut new: Vec<usize> = (0..count).filter(|&node| inside[node]).collect();
    while inside.iter().any(|inside| !inside) {
        for outside in (0..count).filter(|&node| !inside[node]) {
            for &node in &new {
                let length = distance(outside, node);
                if length < nearest[outside].0 {
                    nearest[outside] = (length, node);
                }
            }
        }
        let outside = (0..count).filter(|&node| !inside[node]);
        let next = outside.min_by(|&a, &b| nearest[a].0.total_cmp(&nearest[b].0)).expect("one is outside");
        links.push((nearest[next].1.min(next), nearest[next].1.max(next)));
        let joined = root(piece, next);
        new = (0..count).filter(|&node| !inside[node] && root(piece, node) == joined).collect();
        new.iter().for_each(|&node| inside[node] = true);
    }
}
