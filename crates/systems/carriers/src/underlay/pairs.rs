//! Least latencies between all pairs of peers on a graph.

use super::error::{UnderlayError, check_memory};
use super::graph::{Graph, UNREACHED};
use crate::Matrix;
use parades_core::time::Delay;
use parades_topology::routing::Open;
use parades_topology::{NodeId, Topology};

/// Finds the least latency between each two places: one search from each place. The table takes four bytes
/// for each pair and direction where links are alike in both directions, or else eight.
///
/// # Errors
///
/// If no path leads from a place to another one, or if the table takes too much memory.
pub(super) fn least_latencies(topology: &Topology, places: &[NodeId]) -> Result<Matrix, UnderlayError> {
    let is_symmetric = topology.is_symmetric();
    let count = places.len() as u64;
    let entries = if is_symmetric { count * (count + 1) / 2 } else { count * count };
    let bytes = entries * size_of::<Delay>() as u64;
    check_memory("a table of the latencies between all peers", bytes)?;
    let routers = u32::try_from(topology.nodes()).expect("nodes are counted in 32 bits");
    let graph = Graph::of(topology, 0..routers);
    let (mut distances, mut open) = (Vec::new(), Open::new());
    let mut table = Vec::with_capacity(usize::try_from(entries).expect("the memory was checked"));
    for (row, from) in places.iter().enumerate() {
        graph.search(from.0, &mut distances, &mut open);
        let columns = if is_symmetric { &places[..=row] } else { places };
        for to in columns {
            let distance = distances[to.index()];
            if distance == UNREACHED {
                let [from, to] = [from, to].map(|&place| topology.name(place).to_owned());
                return Err(UnderlayError::Unreachable { from, to });
            }
            table.push(distance);
        }
    }
    let places = u32::try_from(places.len()).expect("places are among the nodes");
    Ok(Matrix::of(places, table, is_symmetric))
}
