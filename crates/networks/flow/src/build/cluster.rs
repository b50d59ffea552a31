//! Clusters: many hosts alike, around a switch, on a torus, under a fat tree, or in a dragonfly.

use super::{Builder, NewHost, NewSharing};
use crate::fault::Fault;
use crate::platform::{Branch, Dragonfly, FatTree, LinkId, Parts, Routing, Star, Torus, Wiring};
use parades_config::quoted;

/// The most members and switches of a cluster, and the most links of each kind.
const NODES_MAX: u64 = 1 << 22;
/// The most levels of a fat tree: each node has a label with a digit for each.
const LEVELS_MAX: usize = 32;

/// A `<cluster>`.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    pub(crate) name: String,
    pub(crate) prefix: String,
    pub(crate) suffix: String,
    pub(crate) numbers: Vec<u32>,
    pub(crate) speeds: Vec<f64>,
    pub(crate) cores: u32,
    /// Bandwidth and latency of a host's link.
    pub(crate) link: (f64, f64),
    pub(crate) sharing: NewSharing,
    /// The same of the backbone.
    pub(crate) backbone: Option<(f64, f64)>,
    pub(crate) backbone_sharing: NewSharing,
    pub(crate) loopback: Option<(f64, f64)>,
    /// The bandwidth of the link that everything goes through which a host sends or receives.
    pub(crate) limiter: Option<f64>,
    pub(crate) router: Option<String>,
    pub(crate) topology: Topology,
    /// What the topology is told.
    pub(crate) parameters: String,
}

/// How a cluster's hosts are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topology {
    Flat,
    Torus,
    FatTree,
    Dragonfly,
}

/// Links of members, one each.
type PerMember = Option<Vec<LinkId>>;

impl Builder {
    /// Adds a cluster, which is a zone of its own.
    pub(crate) fn cluster(&mut self, cluster: &Cluster) -> Result<(), Fault> {
        let at = self.at;
        let star = Routing::Star { star: Star::default(), vivaldi: false };
        self.open_zone(&cluster.name, star)?;
        let routing = match cluster.topology {
            Topology::Flat => self.flat(cluster)?,
            Topology::Torus => self.torus(cluster)?,
            Topology::FatTree => self.fat_tree(cluster)?,
            Topology::Dragonfly => self.dragonfly(cluster)?,
        };
        let zone = self.zone()?;
        self.platform.zones[zone.0 as usize].routing = routing;
        self.end_zone()?;
        self.at = at;
        Ok(())
    }

    fn member(&mut self, cluster: &Cluster, number: u32) -> Result<(), Fault> {
        let name = format!("{}{number}{}", cluster.prefix, cluster.suffix);
        let (speeds, cores) = (cluster.speeds.clone(), cluster.cores);
        self.host(NewHost { name, speeds, cores, ..NewHost::default() }).map(|_| ())
    }

    /// Hosts around a switch, or on a backbone.
    fn flat(&mut self, cluster: &Cluster) -> Result<Routing, Fault> {
        let mut star = Star::default();
        let mut backbone = None;
        if let Some(quality) = cluster.backbone {
            backbone = Some(self.made_link(format!("{}_backbone", cluster.name), quality, cluster.backbone_sharing)?.0);
        }
        for (&number, place) in cluster.numbers.iter().zip(0..) {
            self.member(cluster, number)?;
            let name = format!("{}_link_{number}", cluster.name);
            let mut branch = Branch::default();
            if let Some(quality) = cluster.loopback {
                let (loopback, _) = self.made_link(format!("{name}_loopback"), quality, NewSharing::Pipe)?;
                branch.loopback = Some(loopback);
            }
            let mut limiter = None;
            if let Some(bandwidth) = cluster.limiter {
                limiter = Some(self.made_link(format!("{name}_limiter"), (bandwidth, 0.0), NewSharing::Shared)?.0);
            }
            let (up, down) = self.made_link(name, cluster.link, alike(cluster.sharing))?;
            branch.up = limiter.into_iter().chain([up]).chain(backbone).collect();
            branch.down = backbone.into_iter().chain([down]).chain(limiter).collect();
            *star.branch_mut(place) = branch;
        }
        let router = match &cluster.router {
            Some(name) => name.clone(),
            None => format!("{}{}_router{}", cluster.prefix, cluster.name, cluster.suffix),
        };
        self.router(&router, None)?;
        Ok(Routing::Star { star, vivaldi: false })
    }

    /// The members of a topology that needs this many, with their loopbacks and limiters.
    fn members(&mut self, cluster: &Cluster, count: u64) -> Result<(PerMember, PerMember), Fault> {
        let listed = cluster.numbers.len() as u64;
        if listed != count {
            let message =
                format!("the cluster {} needs {count} hosts, and its radical lists {listed}", quoted(&cluster.name));
            return Err(self.wrong(message, "make them agree"));
        }
        let (mut loopbacks, mut limiters) = (cluster.loopback.map(|_| Vec::new()), cluster.limiter.map(|_| Vec::new()));
        for (&number, place) in cluster.numbers.iter().zip(0u32..) {
            self.member(cluster, number)?;
            if let (Some(loopbacks), Some(quality)) = (&mut loopbacks, cluster.loopback) {
                let name = format!("{}_link_{number}_loopback", cluster.name);
                loopbacks.push(self.made_link(name, quality, NewSharing::Pipe)?.0);
            }
            if let Some(limiters) = &mut limiters {
                limiters.extend(self.limiter(cluster, place)?);
            }
        }
        Ok((loopbacks, limiters))
    }

    fn limiter(&mut self, cluster: &Cluster, place: u32) -> Result<Option<LinkId>, Fault> {
        let Some(bandwidth) = cluster.limiter else { return Ok(None) };
        let name = format!("{}_link_{place}_limiter", cluster.name);
        Ok(Some(self.made_link(name, (bandwidth, 0.0), NewSharing::Shared)?.0))
    }

    /// The numbers above zero of a part of the topology's parameters.
    fn counts(&self, part: &str) -> Result<Vec<u32>, Fault> {
        let counts = part.split(',').map(|count| count.trim().parse().ok().filter(|&count: &u32| count > 0));
        counts.collect::<Option<_>>().ok_or_else(|| {
            let message = format!("{} in topo_parameters are not numbers above zero", quoted(part));
            self.wrong(message, "separate numbers by commas")
        })
    }

    fn too_big(&self, cluster: &Cluster) -> Fault {
        let message = format!("the cluster {} would have more than {NODES_MAX} nodes or links", quoted(&cluster.name));
        self.wrong(message, "make it smaller")
    }

    fn torus(&mut self, cluster: &Cluster) -> Result<Routing, Fault> {
        let dimensions = self.counts(&cluster.parameters)?;
        let count = dimensions.iter().map(|&size| u64::from(size)).try_fold(1, u64::checked_mul);
        let count =
            count.filter(|count| count * dimensions.len() as u64 <= NODES_MAX).ok_or_else(|| self.too_big(cluster))?;
        let (loopbacks, limiters) = self.members(cluster, count)?;
        let mut links = Vec::new();
        for member in 0..u32::try_from(count).expect("checked above") {
            let mut step = 1;
            for &size in &dimensions {
                let place = (member / step) % size;
                let next = if place == size - 1 { member - place * step } else { member + step };
                let name = format!("{}_link_from_{member}_to_{next}", cluster.name);
                links.push(self.made_link(name, cluster.link, alike(cluster.sharing))?);
                step *= size;
            }
        }
        Ok(Routing::Torus(Torus { dimensions, links, loopbacks, limiters }))
    }

    fn fat_tree(&mut self, cluster: &Cluster) -> Result<Routing, Fault> {
        let parts: Vec<&str> = cluster.parameters.split(';').collect();
        let [levels, children, parents, cables] = parts[..] else {
            let message = "topo_parameters of a fat tree have four parts";
            return Err(self.wrong(message, "write levels;children;parents;cables, such as 2;4,4;1,2;1,2"));
        };
        let wiring =
            Wiring { children: self.counts(children)?, parents: self.counts(parents)?, cables: self.counts(cables)? };
        let levels = levels.trim().parse::<usize>().unwrap_or_default();
        if [wiring.children.len(), wiring.parents.len(), wiring.cables.len()] != [levels; 3] || levels == 0 {
            let message = "topo_parameters of a fat tree do not have as many numbers in each part as there are levels";
            return Err(self.wrong(message, "write levels;children;parents;cables, such as 2;4,4;1,2;1,2"));
        }
        if levels > LEVELS_MAX {
            let message = format!("the fat tree {} has {levels} levels, more than {LEVELS_MAX}", quoted(&cluster.name));
            return Err(self.wrong(message, "give it fewer"));
        }
        let nodes = wiring.nodes().ok_or_else(|| self.too_big(cluster))?;
        let nodes_in_all: u64 = nodes.iter().map(|&nodes| u64::from(nodes)).sum();
        let cables = |level: usize| {
            u64::from(nodes[level])
                .checked_mul(u64::from(wiring.parents[level]))?
                .checked_mul(u64::from(wiring.cables[level]))
        };
        let cables_in_all = (0..levels).map(cables).try_fold(0, |sum: u64, cables| sum.checked_add(cables?));
        if nodes_in_all > NODES_MAX || cables_in_all.is_none_or(|cables| cables > NODES_MAX) {
            return Err(self.too_big(cluster));
        }
        let (loopbacks, limiters) = self.members(cluster, u64::from(nodes[0]))?;
        let first = self.fat_tree_members;
        self.fat_tree_members += nodes[0];
        let members = nodes[0];
        let builder = std::cell::RefCell::new(self);
        // SimGrid numbers switches downwards from twice the number of members.
        let switch = |node: u32| (2 * i64::from(members) - 1) - (i64::from(node) - i64::from(members));
        let limiter = |node: u32| match &limiters {
            Some(limiters) if node < members => Ok(Some(limiters[node as usize])),
            _ => builder.borrow_mut().limiter(cluster, node),
        };
        let wire = |child: u32, parent: u32| {
            let mut builder = builder.borrow_mut();
            let id = |node: u32| if node < members { i64::from(node) } else { switch(node) };
            let name = format!("link_from_{}_{}_{}", id(child), id(parent), builder.unique[0]);
            builder.unique[0] += 1;
            builder.made_link(name, cluster.link, alike(cluster.sharing))
        };
        let mut tree = FatTree::new(wiring, first, limiter, wire)?;
        tree.loopbacks = loopbacks;
        Ok(Routing::FatTree(tree))
    }

    fn dragonfly(&mut self, cluster: &Cluster) -> Result<Routing, Fault> {
        let parts = self.dragonfly_parts(cluster)?;
        let Parts { groups, blue, chassis, black, routers, green, nodes } = parts;
        let all = u64::from(groups) * u64::from(chassis) * u64::from(routers);
        let (loopbacks, limiters) = self.members(cluster, all * u64::from(nodes))?;
        let mut router_limiters = cluster.limiter.map(|_| Vec::new());
        if let Some(limiters) = &mut router_limiters {
            for router in 0..all {
                let place = u32::try_from(2 * all * u64::from(nodes) - 1 - router).expect("bounded like members");
                limiters.extend(self.limiter(cluster, place)?);
            }
        }
        let (bandwidth, latency) = cluster.link;
        let pair = |builder: &mut Builder, count: u32, name: String| {
            let name = format!("{name}_{}", builder.unique[1]);
            builder.unique[1] += 1;
            builder.made_link(name, (bandwidth * f64::from(count), latency), alike(cluster.sharing))
        };
        let mut fly = Dragonfly {
            parts,
            local: Vec::new(),
            green: Vec::new(),
            black: Vec::new(),
            blue: Vec::new(),
            loopbacks,
            limiters,
            router_limiters,
        };
        for (router, node) in (0..all).flat_map(|router| (0..nodes).map(move |node| (router, node))) {
            fly.local.push(pair(self, 1, format!("local_link_from_router_{router}_to_node_{node}"))?);
        }
        let pairs = |count: u32| (0..count).flat_map(move |low| (low + 1..count).map(move |high| (low, high)));
        for place in 0..groups * chassis {
            for (low, high) in pairs(routers) {
                let name = format!("green_link_in_chassis_{}_between_routers_{low}_and_{high}", place % chassis);
                fly.green.push(pair(self, green, name)?);
            }
        }
        for group in 0..groups {
            for (low, high) in pairs(chassis) {
                for place in 0..routers {
                    let name = format!("black_link_in_group_{group}_between_chassis_{low}_and_{high}_blade_{place}");
                    fly.black.push(pair(self, black, name)?);
                }
            }
        }
        for (low, high) in pairs(groups) {
            let (one, other) = (low * routers * chassis + high, high * routers * chassis + low);
            let name = format!("blue_link_between_group_{low}_and_{high}_routers_{one}_and_{other}");
            fly.blue.push(pair(self, blue, name)?);
        }
        Ok(Routing::Dragonfly(fly))
    }

    fn dragonfly_parts(&self, cluster: &Cluster) -> Result<Parts, Fault> {
        let mut numbers = Vec::new();
        for part in cluster.parameters.split(';') {
            numbers.push(self.counts(part)?);
        }
        let lengths: Vec<usize> = numbers.iter().map(Vec::len).collect();
        let [groups, blue, chassis, black, routers, green, nodes] = numbers.concat()[..] else {
            return Err(self.wrong("topo_parameters of a dragonfly have seven numbers", DRAGONFLY_HELP));
        };
        if lengths != [2, 2, 2, 1] {
            return Err(self.wrong("topo_parameters of a dragonfly have four parts", DRAGONFLY_HELP));
        }
        if groups > routers {
            let message =
                format!("a dragonfly of {groups} groups has {routers} routers in a chassis, fewer than groups");
            return Err(self.wrong(message, "each group is reached from the router in the place of its number"));
        }
        let parts = Parts { groups, blue, chassis, black, routers, green, nodes };
        let product = |factors: &[u32]| factors.iter().map(|&factor| u64::from(factor)).try_fold(1, u64::checked_mul);
        let sizes = [
            product(&[groups, chassis, routers, nodes]),
            product(&[groups, chassis, routers, routers]),
            product(&[groups, chassis, chassis, routers]),
            product(&[groups, groups]),
        ];
        match sizes.iter().all(|size| size.is_some_and(|size| size <= NODES_MAX)) {
            true => Ok(parts),
            false => Err(self.too_big(cluster)),
        }
    }
}

const DRAGONFLY_HELP: &str =
    "write groups,blue links;chassis,black links;routers,green links;nodes, such as 3,4;4,3;5,1;2";

/// How a cluster's links are shared. SimGrid knows `FATPIPE` here and makes shared links of it; so it must be.
fn alike(sharing: NewSharing) -> NewSharing {
    if sharing == NewSharing::SplitDuplex { sharing } else { NewSharing::Shared }
}
