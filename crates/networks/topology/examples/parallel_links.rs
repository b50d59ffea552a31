//! Tells which topologies of a folder have parallel links, and whether flows between all pairs of nodes use
//! them all.
//!
//! ```sh
//! cargo run --release -p parades-topology --example parallel_links -- FOLDER [FLOWS]
//! ```
//!
//! `FOLDER` has GraphML files, such as those of the Internet Topology Zoo. Each pair of nodes has `FLOWS`
//! flows, 8 by default.

#![expect(clippy::print_stdout, reason = "the example prints its result")]

use parades_topology::import::{Options, read};
use parades_topology::routing::{Metric, Paths, Routes, Rules, StaticRoutes};
use parades_topology::{LinkId, NodeId, Topology};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("name a folder of GraphML files")?;
    let flows: usize = arguments.next().map_or(Ok(8), |text| text.parse())?;
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "graphml"));
    files.sort();
    let (mut read_count, mut with_parallel) = (0, 0);
    let mut all_used = [0; 4];
    for path in &files {
        let Ok(network) = read(path, &Options::default()) else { continue };
        read_count += 1;
        let topology = network.topology;
        let bundles = bundles(&topology);
        if bundles.is_empty() {
            continue;
        }
        with_parallel += 1;
        let cases = [
            (Metric::Hops, Paths::All),
            (Metric::Delay, Paths::All),
            (Metric::Hops, Paths::One),
            (Metric::Delay, Paths::One),
        ];
        let used = cases.map(|(metric, paths)| used(&topology, flows, metric, paths));
        let parallel: BTreeSet<LinkId> = bundles.values().flatten().copied().collect();
        let counts: [usize; 4] = std::array::from_fn(|case| parallel.intersection(&used[case]).count());
        all_used.iter_mut().zip(counts).for_each(|(all, count)| *all += usize::from(count == parallel.len()));
        let [hops, delay, ..] = counts;
        if hops.min(delay) < parallel.len() {
            println!(
                "{}: of {} parallel links, {hops} carry flows by hops and {delay} by delay",
                name(path),
                parallel.len()
            );
        }
    }
    println!("{} files, {read_count} of them connected networks, {with_parallel} with parallel links", files.len());
    let [hops, delay, hops_one, delay_one] = all_used;
    println!("all parallel links carry flows: in {hops} networks by hops, in {delay} by delay");
    println!("with one path for each pair of nodes: in {hops_one} networks by hops, in {delay_one} by delay");
    Ok(())
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the links between each two nodes that several links join.
fn bundles(topology: &Topology) -> BTreeMap<(NodeId, NodeId), Vec<LinkId>> {
    let mut bundles: BTreeMap<(NodeId, NodeId), Vec<LinkId>> = BTreeMap::new();
    for (id, link) in (0..).map(LinkId).zip(topology.links()) {
        bundles.entry((link.a.min(link.b), link.a.max(link.b))).or_default().push(id);
    }
    bundles.retain(|_, links| links.len() > 1);
    bundles
}

/// Returns the links that carry flows, if each pair of nodes has some.
fn used(topology: &Topology, flows: usize, metric: Metric, paths: Paths) -> BTreeSet<LinkId> {
    let pairs = topology.node_ids().flat_map(|a| topology.node_ids().map(move |b| (a, b))).filter(|(a, b)| a != b);
    let pairs: Vec<(NodeId, NodeId)> = pairs.flat_map(|pair| std::iter::repeat_n(pair, flows)).collect();
    let names: Vec<u32> = (0..).take(pairs.len()).collect();
    let statics = StaticRoutes::default();
    // One-way links may leave pairs without a path.
    let Ok(routes) = Routes::by_rules(topology, &pairs, &names, Rules { metric, paths, statics: &statics }) else {
        return BTreeSet::new();
    };
    let links = pairs.iter().enumerate().flat_map(|(flow, &(source, _))| {
        topology.follow(source, routes.route(flow)).map(|interface| interface.link).collect::<Vec<_>>()
    });
    links.collect()
}
