//! Clusters whose topology is a dragonfly.

use super::Builder;
use super::cluster::{Cluster, NODES_MAX, link_policy};
use crate::platform::{Dragonfly, Routing, Shape};
use parades_config::Fault;

const DRAGONFLY_HELP: &str =
    "write groups,blue links;chassis,black links;routers,green links;nodes, such as 3,4;4,3;5,1;2";

impl Builder {
    /// Adds the hosts and links of a dragonfly.
    pub(super) fn dragonfly(&mut self, cluster: &Cluster) -> Result<Routing, Fault> {
        let shape = self.dragonfly_shape(cluster)?;
        let (router_count, nodes) = (shape.router_count(), shape.nodes);
        let (loopbacks, limiters) = self.members(cluster, router_count * u64::from(nodes))?;
        let mut router_limiters = cluster.limiter.map(|_| Vec::new());
        if let Some(limiters) = &mut router_limiters {
            for router in 0..router_count {
                // As in SimGrid's names, the numbers of routers descend from twice the number of members.
                let number = 2 * router_count * u64::from(nodes) - 1 - router;
                limiters.extend(self.limiter(cluster, u32::try_from(number).expect("bounded like members"))?);
            }
        }
        let mut dragonfly = Dragonfly {
            shape,
            local: Vec::new(),
            green: Vec::new(),
            black: Vec::new(),
            blue: Vec::new(),
            loopbacks,
            limiters,
            router_limiters,
        };
        self.add_dragonfly_links(cluster, &mut dragonfly)?;
        Ok(Routing::Dragonfly(dragonfly))
    }

    /// Adds the links of a dragonfly. Their order determines their ids.
    fn add_dragonfly_links(&mut self, cluster: &Cluster, dragonfly: &mut Dragonfly) -> Result<(), Fault> {
        let Dragonfly { shape, local, green, black, blue, .. } = dragonfly;
        let Shape { groups, chassis, routers, nodes, .. } = *shape;
        let (bandwidth, latency) = cluster.link;
        // Adds two links, up and down, that stand for `count` parallel cables.
        let mut add = |count: u32, name: String| {
            let name = format!("{name}_{}", self.dragonfly_links);
            self.dragonfly_links += 1;
            self.generate_link(name, (bandwidth * f64::from(count), latency), link_policy(cluster))
        };
        for (router, node) in (0..shape.router_count()).flat_map(|router| (0..nodes).map(move |node| (router, node))) {
            local.push(add(1, format!("local_link_from_router_{router}_to_node_{node}"))?);
        }
        let pairs = |count: u32| (0..count).flat_map(move |low| (low + 1..count).map(move |high| (low, high)));
        for number in 0..groups * chassis {
            for (low, high) in pairs(routers) {
                let name = format!("green_link_in_chassis_{}_between_routers_{low}_and_{high}", number % chassis);
                green.push(add(shape.green, name)?);
            }
        }
        for group in 0..groups {
            for (low, high) in pairs(chassis) {
                for place in 0..routers {
                    let name = format!("black_link_in_group_{group}_between_chassis_{low}_and_{high}_blade_{place}");
                    black.push(add(shape.black, name)?);
                }
            }
        }
        for (low, high) in pairs(groups) {
            let (one, other) = (low * routers * chassis + high, high * routers * chassis + low);
            let name = format!("blue_link_between_group_{low}_and_{high}_routers_{one}_and_{other}");
            blue.push(add(shape.blue, name)?);
        }
        Ok(())
    }

    /// Reads the sizes of a dragonfly.
    fn dragonfly_shape(&self, cluster: &Cluster) -> Result<Shape, Fault> {
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
        let shape = Shape { groups, blue, chassis, black, routers, green, nodes };
        let product = |factors: &[u32]| factors.iter().map(|&factor| u64::from(factor)).try_fold(1, u64::checked_mul);
        let sizes = [
            product(&[groups, chassis, routers, nodes]),
            product(&[groups, chassis, routers, routers]),
            product(&[groups, chassis, chassis, routers]),
            product(&[groups, groups]),
        ];
        match sizes.iter().all(|size| size.is_some_and(|size| size <= NODES_MAX)) {
            true => Ok(shape),
            false => Err(self.too_big(cluster)),
        }
    }
}
