//! Clusters: many equal hosts around a switch, on a torus, in a fat tree, or in a dragonfly.

use super::{Builder, DeclaredPolicy, HAVE_NO_EFFECT, NO_EFFECT, NewHost};
use crate::platform::{Branch, FatTree, LinkId, Routing, Star, Torus, Wiring};
use parades_config::Fault;
use parades_config::quoted;

/// The greatest number of members and switches of a cluster, and of its links of each kind.
pub(super) const NODES_MAX: u64 = 1 << 22;
/// The greatest number of levels of a fat tree. Each node has a label with a digit for each level.
const LEVELS_MAX: usize = 32;

/// A `<cluster>`, or its equivalent in TOML. Bandwidths are in bytes per second, latencies in seconds.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    pub(crate) name: String,
    pub(crate) prefix: String,
    pub(crate) suffix: String,
    /// The numbers of the hosts, which are parts of their names.
    pub(crate) numbers: Vec<u32>,
    /// The speeds of each host in flops per second, one for each power state.
    pub(crate) speeds: Vec<f64>,
    pub(crate) cores: u32,
    /// Bandwidth and latency of each host's link.
    pub(crate) link: (f64, f64),
    pub(crate) policy: DeclaredPolicy,
    /// Bandwidth and latency of the backbone.
    pub(crate) backbone: Option<(f64, f64)>,
    pub(crate) backbone_policy: DeclaredPolicy,
    /// Bandwidth and latency of the link from each host to itself.
    pub(crate) loopback: Option<(f64, f64)>,
    /// The bandwidth of each host's limiter: a link that all traffic of the host crosses.
    pub(crate) limiter: Option<f64>,
    /// The name of the router. `None` for the default name.
    pub(crate) router: Option<String>,
    pub(crate) topology: Topology,
    /// The sizes of the topology, in the form of SimGrid's `topo_parameters`.
    pub(crate) parameters: String,
}

/// The topologies of clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topology {
    Flat,
    Torus,
    FatTree,
    Dragonfly,
}

/// One link for each member, if the cluster has links of this kind.
type PerMember = Option<Vec<LinkId>>;

impl Builder {
    /// Adds a cluster, which is a zone of its own.
    pub(crate) fn cluster(&mut self, cluster: &Cluster) -> Result<(), Fault> {
        let offset = self.offset;
        self.ignore_parts_of(cluster);
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
        self.offset = offset;
        Ok(())
    }

    /// Records the parts of a cluster that its topology does not use.
    fn ignore_parts_of(&mut self, cluster: &Cluster) {
        self.ignore_computing(&NewHost { speeds: cluster.speeds.clone(), cores: cluster.cores, ..NewHost::default() });
        if cluster.policy == DeclaredPolicy::FatPipe {
            self.ignore("the sharing policy FATPIPE of a cluster's links", "means SHARED, as in SimGrid");
        }
        if cluster.topology == Topology::Flat {
            if !cluster.parameters.is_empty() {
                self.ignore("topo_parameters of a flat cluster", HAVE_NO_EFFECT);
            }
            return;
        }
        if cluster.backbone.is_some() {
            self.ignore("the backbone of a cluster that is not flat", NO_EFFECT);
        }
        if cluster.router.is_some() {
            self.ignore("the router of a cluster that is not flat", NO_EFFECT);
        }
    }

    /// Adds one host of a cluster.
    fn member(&mut self, cluster: &Cluster, number: u32) -> Result<(), Fault> {
        let name = format!("{}{number}{}", cluster.prefix, cluster.suffix);
        let (speeds, cores) = (cluster.speeds.clone(), cluster.cores);
        self.host(NewHost { name, speeds, cores, ..NewHost::default() }).map(|_| ())
    }

    /// Adds the hosts of a flat cluster: around a switch, or on a backbone.
    fn flat(&mut self, cluster: &Cluster) -> Result<Routing, Fault> {
        let mut star = Star::default();
        let mut backbone = None;
        if let Some(quality) = cluster.backbone {
            backbone =
                Some(self.generate_link(format!("{}_backbone", cluster.name), quality, cluster.backbone_policy)?.0);
        }
        for (&number, member) in cluster.numbers.iter().zip(0..) {
            self.member(cluster, number)?;
            let name = format!("{}_link_{number}", cluster.name);
            let mut branch = Branch::default();
            if let Some(quality) = cluster.loopback {
                let (loopback, _) = self.generate_link(format!("{name}_loopback"), quality, DeclaredPolicy::FatPipe)?;
                branch.loopback = Some(loopback);
            }
            let mut limiter = None;
            if let Some(bandwidth) = cluster.limiter {
                limiter =
                    Some(self.generate_link(format!("{name}_limiter"), (bandwidth, 0.0), DeclaredPolicy::Shared)?.0);
            }
            let (up, down) = self.generate_link(name, cluster.link, link_policy(cluster))?;
            branch.up = limiter.into_iter().chain([up]).chain(backbone).collect();
            branch.down = backbone.into_iter().chain([down]).chain(limiter).collect();
            *star.branch_mut(member) = branch;
        }
        let router = match &cluster.router {
            Some(name) => name.clone(),
            None => format!("{}{}_router{}", cluster.prefix, cluster.name, cluster.suffix),
        };
        self.router(&router, None)?;
        Ok(Routing::Star { star, vivaldi: false })
    }

    /// Adds the `count` hosts of a topology. Returns their loopbacks and limiters.
    pub(super) fn members(&mut self, cluster: &Cluster, count: u64) -> Result<(PerMember, PerMember), Fault> {
        let listed = cluster.numbers.len() as u64;
        if listed != count {
            let message =
                format!("the cluster {} needs {count} hosts, and its radical lists {listed}", quoted(&cluster.name));
            return Err(self.wrong(message, "make them agree"));
        }
        let (mut loopbacks, mut limiters) = (cluster.loopback.map(|_| Vec::new()), cluster.limiter.map(|_| Vec::new()));
        for (&number, member) in cluster.numbers.iter().zip(0u32..) {
            self.member(cluster, number)?;
            if let (Some(loopbacks), Some(quality)) = (&mut loopbacks, cluster.loopback) {
                let name = format!("{}_link_{number}_loopback", cluster.name);
                loopbacks.push(self.generate_link(name, quality, DeclaredPolicy::FatPipe)?.0);
            }
            if let Some(limiters) = &mut limiters {
                limiters.extend(self.limiter(cluster, member)?);
            }
        }
        Ok((loopbacks, limiters))
    }

    /// Adds the limiter of a member or switch, if the cluster has limiters.
    pub(super) fn limiter(&mut self, cluster: &Cluster, node: u32) -> Result<Option<LinkId>, Fault> {
        let Some(bandwidth) = cluster.limiter else { return Ok(None) };
        let name = format!("{}_link_{node}_limiter", cluster.name);
        Ok(Some(self.generate_link(name, (bandwidth, 0.0), DeclaredPolicy::Shared)?.0))
    }

    /// Reads a list of positive numbers, a part of the topology's parameters.
    pub(super) fn counts(&self, part: &str) -> Result<Vec<u32>, Fault> {
        let counts = part.split(',').map(|count| count.trim().parse().ok().filter(|&count: &u32| count > 0));
        counts.collect::<Option<_>>().ok_or_else(|| {
            let message = format!("{} in topo_parameters are not numbers above zero", quoted(part));
            self.wrong(message, "separate numbers by commas")
        })
    }

    pub(super) fn too_big(&self, cluster: &Cluster) -> Fault {
        let message = format!("the cluster {} would have more than {NODES_MAX} nodes or links", quoted(&cluster.name));
        self.wrong(message, "make it smaller")
    }

    /// Adds the hosts and links of a torus.
    fn torus(&mut self, cluster: &Cluster) -> Result<Routing, Fault> {
        let dimensions = self.counts(&cluster.parameters)?;
        let count = dimensions.iter().map(|&size| u64::from(size)).try_fold(1, u64::checked_mul);
        let fits = |count: &u64| count.checked_mul(dimensions.len() as u64).is_some_and(|links| links <= NODES_MAX);
        let count = count.filter(fits).ok_or_else(|| self.too_big(cluster))?;
        let (loopbacks, limiters) = self.members(cluster, count)?;
        let mut links = Vec::new();
        for member in 0..u32::try_from(count).expect("checked above") {
            let mut stride = 1;
            for &size in &dimensions {
                let coordinate = (member / stride) % size;
                let next = if coordinate == size - 1 { member - coordinate * stride } else { member + stride };
                let name = format!("{}_link_from_{member}_to_{next}", cluster.name);
                links.push(self.generate_link(name, cluster.link, link_policy(cluster))?);
                stride *= size;
            }
        }
        Ok(Routing::Torus(Torus { dimensions, links, loopbacks, limiters }))
    }

    /// Reads the sizes of a fat tree, and checks that nodes and cables are not too many.
    fn fat_tree_wiring(&self, cluster: &Cluster) -> Result<Wiring, Fault> {
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
        Ok(wiring)
    }

    /// Adds the hosts, limiters and cables of a fat tree.
    fn fat_tree(&mut self, cluster: &Cluster) -> Result<Routing, Fault> {
        let wiring = self.fat_tree_wiring(cluster)?;
        let members = wiring.nodes().expect("checked with the wiring")[0];
        let (loopbacks, limiters) = self.members(cluster, u64::from(members))?;
        let first_position = self.fat_tree_members;
        self.fat_tree_members += members;
        let builder = std::cell::RefCell::new(self);
        // In SimGrid's names, the first switch has the number `2 * members - 1`, and numbers descend from
        // there.
        let switch = |node: u32| (2 * i64::from(members) - 1) - (i64::from(node) - i64::from(members));
        let limiter = |node: u32| match &limiters {
            Some(limiters) if node < members => Ok(Some(limiters[node as usize])),
            _ => builder.borrow_mut().limiter(cluster, node),
        };
        let wire = |child: u32, parent: u32| {
            let mut builder = builder.borrow_mut();
            let id = |node: u32| if node < members { i64::from(node) } else { switch(node) };
            let name = format!("link_from_{}_{}_{}", id(child), id(parent), builder.fat_tree_cables);
            builder.fat_tree_cables += 1;
            builder.generate_link(name, cluster.link, link_policy(cluster))
        };
        let mut tree = FatTree::new(wiring, first_position, limiter, wire)?;
        tree.loopbacks = loopbacks;
        Ok(Routing::FatTree(tree))
    }
}

/// Returns the sharing policy of a cluster's links. As in SimGrid, `FATPIPE` is accepted here and means
/// `SHARED`.
pub(super) fn link_policy(cluster: &Cluster) -> DeclaredPolicy {
    match cluster.policy {
        DeclaredPolicy::SplitDuplex => DeclaredPolicy::SplitDuplex,
        DeclaredPolicy::Shared | DeclaredPolicy::FatPipe => DeclaredPolicy::Shared,
    }
}
