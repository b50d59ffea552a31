//! Generated parts of a network.

use crate::draft::{Draft, NODES_MAX, Quality};
use crate::given::{Fields, What};
use crate::shape;
use parades_config::{ConfigError, is_executed};
use parades_core::random::Rng;
use parades_core::time::Delay;
use parades_packet::description::Link;
use parades_topology::generators::campus::Campus;
use parades_topology::generators::{Class, Shape, backbone, scatter};
use parades_topology::import::{self, Options};
use parades_topology::{LinkId, Topology};
use std::path::{Path, PathBuf};

mod edges;

/// The purpose of the random stream that a part is drawn from.
const PART_STREAM: u32 = 11;

/// A part while it is made.
pub(crate) struct Part<'a, 'f> {
    pub(crate) draft: &'a mut Draft,
    pub(crate) fields: &'a Fields<'f>,
    pub(crate) name: String,
    pub(crate) quality: Quality,
    /// The quality of links between routers, if it differs.
    trunk: Quality,
}

impl Part<'_, '_> {
    /// Adds the part that a table describes, and returns notes for the user. `defaults` are the file's.
    pub(crate) fn add(draft: &mut Draft, fields: &Fields<'_>, defaults: &Quality) -> Result<Vec<String>, ConfigError> {
        let own = Quality::of(fields, &draft.definitions)?;
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
        let trunk = trunk.or(&quality);
        let mut part = Part { draft, fields, name: fields.text("name")?, quality, trunk };
        match kind {
            "line" => part.shape(&Shape::Line { size: fields.count("size")? })?,
            "ring" => part.ring()?,
            "star" => part.shape(&Shape::Star { size: fields.count("size")? })?,
            "dumbbell" => part.shape(&Shape::Dumbbell { size: fields.count("size")? })?,
            "torus" => part.torus()?,
            "fat-tree" => part.fat_tree()?,
            "random-geometric" => part.random_geometric()?,
            "campus" => part.campus(&own)?,
            "backbone" => part.topology(&backbone(), &own)?,
            "graph" | "graphml" => return part.graph(),
            "edges" => return part.edges(),
            kind => unreachable!("`{kind}` is in the shape of parts and not in this match"),
        }
        Ok(Vec::new())
    }

    pub(crate) fn node(&mut self, name: &str) -> Result<u32, ConfigError> {
        // Names in other files may have any letters.
        let name = format!("{}.{}", self.name, name.replace(|c: char| c == '*' || is_executed(c), "_"));
        self.draft.node(self.fields.reader, name, &self.fields.span)
    }

    pub(crate) fn join(&mut self, from: u32, to: u32, quality: Quality) -> Result<(), ConfigError> {
        let name = self.draft.link_name(from, to);
        let link = quality.link(self.fields, name, from, to)?;
        self.draft.parallel_link(self.fields.reader, link, &self.fields.span)?;
        self.draft.set_mtu(quality.mtu);
        Ok(())
    }

    /// Adds a link that carries packets from its first node to its second one only.
    fn join_one_way(&mut self, from: u32, to: u32, quality: Quality) -> Result<(), ConfigError> {
        let name = self.draft.link_name(from, to);
        let link = quality.link(self.fields, name, from, to)?;
        self.draft.parallel_link(self.fields.reader, Link { is_duplex: false, ..link }, &self.fields.span)?;
        self.draft.set_mtu(quality.mtu);
        Ok(())
    }

    /// Adds the nodes and links of a regular shape.
    fn shape(&mut self, shape: &Shape) -> Result<(), ConfigError> {
        let (nodes, links) = shape.size();
        self.draft.reserve(self.fields, "kind", nodes, links)?;
        let first = self.nodes(shape.names())?;
        for (from, to, class) in shape.links() {
            let quality = if class == Class::Trunk { &self.trunk } else { &self.quality };
            self.join(first + from, first + to, quality.clone())?;
        }
        Ok(())
    }

    /// Adds nodes. Returns the number of the first; the others follow.
    fn nodes(&mut self, names: impl Iterator<Item = String>) -> Result<u32, ConfigError> {
        let first = self.draft.nodes.len();
        for name in names {
            self.node(&name)?;
        }
        Ok(u32::try_from(first).expect("the number of nodes is bounded"))
    }

    fn ring(&mut self) -> Result<(), ConfigError> {
        let size = self.fields.count("size")?;
        if size < 3 {
            return Err(self.fields.wrong("size", format!("a ring of {size} is none"), "give it 3 nodes or more"));
        }
        self.shape(&Shape::Ring { size })
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
        if sides.is_empty() || sides.len() > 8 || total.is_none_or(|total| total > 1 << 24) {
            return Err(self.fields.wrong(
                "sides",
                "a torus has 1 to 8 sides, and at most 16777216 nodes",
                "choose fewer or smaller ones",
            ));
        }
        self.shape(&Shape::Torus { sides })
    }

    fn fat_tree(&mut self) -> Result<(), ConfigError> {
        let arity = self.fields.count("arity")?;
        if !arity.is_multiple_of(2) {
            return Err(self.fields.wrong(
                "arity",
                format!("a fat tree's arity is even, not {arity}"),
                format!("choose {} or {}", arity - 1, arity + 1),
            ));
        }
        self.shape(&Shape::FatTree { arity })
    }

    fn random_geometric(&mut self) -> Result<(), ConfigError> {
        let (size, radius) = (self.fields.count("size")?, self.fields.float("radius")?);
        let across = self.fields.duration("across")?;
        let rng = Rng::shared(self.fields.integer("seed")?, PART_STREAM);
        if size > 1 << 14 {
            return Err(self.fields.wrong(
                "size",
                format!("a random geometric part of {size} nodes is too large"),
                "16384 is the most",
            ));
        }
        let fits = |links: u64| match links > NODES_MAX as u64 {
            // Links are counted no further.
            true => Err(self.fields.wrong(
                "radius",
                format!("this makes more than {NODES_MAX} links, the largest number that a network may have"),
                "make it smaller",
            )),
            false => self.draft.reserve(self.fields, "radius", u64::from(size), links),
        };
        let links = scatter(size, radius, &rng, fits)?;
        let first = self.nodes((0..size).map(|number| number.to_string()))?;
        let base = self.quality.delay.unwrap_or(Delay::ZERO);
        for (from, to, length) in links {
            let quality = Quality { delay: Some(base.saturating_add(across.scaled(length))), ..self.quality.clone() };
            self.join(first + from, first + to, quality)?;
        }
        Ok(())
    }

    fn campus(&mut self, own: &Quality) -> Result<(), ConfigError> {
        let (networks, lan_clients) = (self.fields.count("size")?, self.fields.count("lan_clients")?);
        let campus = Campus { networks, lan_clients, ..Campus::default() };
        // A campus has about as many links as nodes.
        self.draft.reserve(self.fields, "size", campus.nodes(), campus.nodes())?;
        let topology =
            campus.topology().map_err(|why| self.fields.wrong("size", why.to_string(), "make it smaller"))?;
        self.topology(&topology, own)
    }

    /// Adds the nodes and links of a topology. Qualities in the table itself override the topology's.
    fn topology(&mut self, topology: &Topology, own: &Quality) -> Result<(), ConfigError> {
        self.imported(topology, own, |_| None)
    }

    /// Adds a topology whose links have these losses.
    fn imported(
        &mut self,
        topology: &Topology,
        own: &Quality,
        loss: impl Fn(usize) -> Option<f64>,
    ) -> Result<(), ConfigError> {
        self.draft.reserve(self.fields, "kind", topology.nodes() as u64, topology.links().len() as u64)?;
        let nodes = topology.node_ids().map(|node| self.node(topology.name(node))).collect::<Result<Vec<_>, _>>()?;
        for (id, link) in (0..).map(LinkId).zip(topology.links()) {
            let (rate_bps, delay, loss) = (Some(link.rate_bps), Some(link.delay), loss(id.index()));
            let quality = own.or(&Quality { rate_bps, delay, loss, ..Quality::default() }).or(&self.quality);
            let (from, to) = (nodes[link.a.index()], nodes[link.b.index()]);
            if topology.is_one_way(id) { self.join_one_way(from, to, quality)? } else { self.join(from, to, quality)? }
        }
        Ok(())
    }

    fn graph(&mut self) -> Result<Vec<String>, ConfigError> {
        let given = Options::default();
        let options = Options {
            rate_bps: self.quality.rate_bps.unwrap_or(given.rate_bps),
            delay: self.quality.delay.unwrap_or(given.delay),
            ..given
        };
        let network = import::read(&path(self.fields)?, &options)?;
        let Quality { queue, impairments, framing, .. } = self.quality.clone();
        let own = Quality { queue, impairments, framing, ..Quality::default() };
        self.imported(&network.topology, &own, |link| network.losses[link])?;
        Ok(network.notes)
    }
}

/// Returns the path in the table of a part, which is relative to the folder of the network file.
pub(crate) fn path(part: &Fields<'_>) -> Result<PathBuf, ConfigError> {
    let path = part.text(shape::FILE.name)?;
    Ok(part.reader.source.path.parent().unwrap_or(Path::new("")).join(path))
}
