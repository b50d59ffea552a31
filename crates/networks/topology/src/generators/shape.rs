//! Regular shapes: which nodes there are, and which of them are linked.

/// A regular network without rates and delays.
///
/// # Examples
///
/// ```
/// use parades_topology::generators::Shape;
/// let ring = Shape::Ring { size: 3 };
/// assert_eq!(ring.names().collect::<Vec<_>>(), ["0", "1", "2"]);
/// assert_eq!(ring.links().map(|(a, b, _)| (a, b)).collect::<Vec<_>>(), [(0, 1), (1, 2), (2, 0)]);
///
/// // A fat tree of arity 4: 4 core switches, and 4 pods of 4 switches and 4 hosts.
/// let tree = Shape::FatTree { arity: 4 };
/// assert_eq!((tree.names().count(), tree.links().count()), (4 + 4 * (4 + 4), 16 + 16 + 16));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Nodes in a line.
    Line {
        /// The number of nodes.
        size: u32,
    },
    /// Nodes in a ring: at least three.
    Ring {
        /// The number of nodes.
        size: u32,
    },
    /// Nodes around a hub.
    Star {
        /// The number of nodes, the hub not included.
        size: u32,
    },
    /// Two routers with hosts at each, and a trunk between them.
    Dumbbell {
        /// The number of hosts at each router.
        size: u32,
    },
    /// A grid whose ends are joined in every dimension. The last dimension varies fastest.
    Torus {
        /// The number of nodes in each dimension: at least three. Their product must be below 2^32.
        sides: Vec<u32>,
    },
    /// Three levels of equal switches over hosts, full bisection bandwidth: M. Al-Fares, A. Loukissas, A.
    /// Vahdat, "A scalable, commodity data center network architecture", SIGCOMM 2008.
    FatTree {
        /// The number of ports of each switch; even.
        arity: u32,
    },
}

/// The part that a link plays in a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// An ordinary link, or the link of a host.
    Access,
    /// A link between the switches of a fat tree, or between the routers of a dumbbell.
    Trunk,
}

/// The names of a shape's nodes.
type Names<'a> = Box<dyn Iterator<Item = String> + 'a>;
/// The links of a shape: two nodes, by their places among the names, and the link's class.
type Links<'a> = Box<dyn Iterator<Item = (u32, u32, Class)> + 'a>;

impl Shape {
    /// Returns the number of nodes and the number of links, without making any.
    pub fn size(&self) -> (u64, u64) {
        match *self {
            Shape::Line { size } => (u64::from(size), u64::from(size.saturating_sub(1))),
            Shape::Ring { size } => (u64::from(size), u64::from(size)),
            Shape::Star { size } => (u64::from(size) + 1, u64::from(size)),
            Shape::Dumbbell { size } => (2 * u64::from(size) + 2, 2 * u64::from(size) + 1),
            Shape::Torus { ref sides } => {
                let nodes = sides.iter().fold(1, |nodes: u64, &side| nodes.saturating_mul(side.into()));
                (nodes, nodes.saturating_mul(sides.len() as u64))
            }
            Shape::FatTree { arity } => {
                let (arity, half) = (u64::from(arity), u64::from(arity / 2));
                (half * half + arity * (arity + half * half), 3 * arity * half * half)
            }
        }
    }

    /// Returns the names of all nodes, in order.
    pub fn names(&self) -> Names<'_> {
        match *self {
            Shape::Line { size } | Shape::Ring { size } => Box::new(numbers(size)),
            Shape::Star { size } => Box::new(std::iter::once("hub".to_owned()).chain(numbers(size))),
            Shape::Dumbbell { size } => {
                let hosts = move |side| numbers(size).map(move |number| format!("{side}.{number}"));
                Box::new(
                    ["left", "right"]
                        .map(str::to_owned)
                        .into_iter()
                        .chain(["left", "right"].into_iter().flat_map(hosts)),
                )
            }
            Shape::Torus { ref sides } => {
                let name =
                    move |number| position(sides, number).iter().map(u32::to_string).collect::<Vec<_>>().join(".");
                Box::new((0..sides.iter().product()).map(name))
            }
            Shape::FatTree { arity } => Box::new(fat_tree_names(arity)),
        }
    }

    /// Returns all links, in order.
    pub fn links(&self) -> Links<'_> {
        let access = |(a, b): (u32, u32)| (a, b, Class::Access);
        match *self {
            Shape::Line { size } => Box::new((1..size).map(move |node| access((node - 1, node)))),
            Shape::Ring { size } => Box::new((0..size).map(move |node| access((node, (node + 1) % size)))),
            Shape::Star { size } => Box::new((1..=size).map(move |node| access((node, 0)))),
            Shape::Dumbbell { size } => {
                let hosts = move |router| (0..size).map(move |host| access((2 + router * size + host, router)));
                Box::new(std::iter::once((0, 1, Class::Trunk)).chain((0..2).flat_map(hosts)))
            }
            Shape::Torus { ref sides } => {
                let of_node =
                    move |node| (0..sides.len()).map(move |side| access((node, neighbour(sides, node, side))));
                Box::new((0..sides.iter().product()).flat_map(of_node))
            }
            Shape::FatTree { arity } => Box::new(fat_tree_links(arity)),
        }
    }
}

fn numbers(size: u32) -> impl Iterator<Item = String> {
    (0..size).map(|number| number.to_string())
}

/// Returns the coordinates of a node of a torus.
fn position(sides: &[u32], mut number: u32) -> Vec<u32> {
    let mut position: Vec<u32> = Vec::with_capacity(sides.len());
    for side in sides.iter().rev() {
        position.push(number % side);
        number /= side;
    }
    position.reverse();
    position
}

/// Returns the next node of a torus in one dimension.
fn neighbour(sides: &[u32], node: u32, dimension: usize) -> u32 {
    let mut next = position(sides, node);
    next[dimension] = (next[dimension] + 1) % sides[dimension];
    next.iter().zip(sides).fold(0, |number, (at, side)| number * side + at)
}

/// Core switches come first, then the pods: aggregation switches, edge switches, and the hosts by edge
/// switch.
fn fat_tree_names(arity: u32) -> impl Iterator<Item = String> {
    let half = arity / 2;
    let pod = move |pod: u32| {
        let layer = move |name| (0..half).map(move |number| format!("{name}.{pod}.{number}"));
        let hosts = move |edge| (0..half).map(move |number| format!("host.{pod}.{edge}.{number}"));
        layer("aggregation").chain(layer("edge")).chain((0..half).flat_map(hosts))
    };
    (0..half * half).map(|number| format!("core.{number}")).chain((0..arity).flat_map(pod))
}

fn fat_tree_links(arity: u32) -> impl Iterator<Item = (u32, u32, Class)> {
    let half = arity / 2;
    let pod = move |pod: u32| {
        let aggregation = half * half + pod * (arity + half * half);
        let (edge, host) = (aggregation + half, aggregation + arity);
        let upper = move |group: u32| {
            let switch = aggregation + group;
            let up = (0..half).map(move |core| (switch, group * half + core, Class::Trunk));
            up.chain((0..half).map(move |below| (edge + below, switch, Class::Trunk)))
        };
        let lower =
            move |number: u32| (0..half).map(move |below| (host + number * half + below, edge + number, Class::Access));
        (0..half).flat_map(upper).chain((0..half).flat_map(lower))
    };
    (0..arity).flat_map(pod)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_shapes() {
        let shapes = [
            Shape::Line { size: 5 },
            Shape::Ring { size: 4 },
            Shape::Star { size: 3 },
            Shape::Dumbbell { size: 2 },
            Shape::Torus { sides: vec![3, 4, 5] },
            Shape::FatTree { arity: 6 },
        ];
        for shape in shapes {
            let made = (shape.names().count() as u64, shape.links().count() as u64);
            assert_eq!(shape.size(), made, "{shape:?}");
        }
    }
}
