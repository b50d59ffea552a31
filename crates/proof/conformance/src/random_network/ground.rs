//! The ground of a random network: nodes, links, queues and impairments.

use super::Names;
use super::draw::{Draw, block, plain, text};

/// Returns the keys above all tables, the definitions, and the first nodes and links.
pub(super) fn blocks(draw: &Draw) -> String {
    let mut top = vec![
        text("routing", draw.pick(&["delay", "hops"])),
        text("paths", draw.pick(&["ecmp", "ecmp", "ecmp", "single"])),
        text("convergence", draw.pick(&["0s", "0s", "2ms", "20ms"])),
        text("headers", draw.pick(&["30B", "30B", "0B", "28B", "60B"])),
    ];
    let count = draw.between(2, 14);
    let (nodes, topology) = match draw.place(9) {
        0 | 1 => graph(draw, count, false),
        2 | 3 => graph(draw, count, true),
        _ => (0, part(draw)),
    };
    let names: Vec<String> = (0..nodes).map(|node| format!("\"n{node}\"")).collect();
    top.push(format!("nodes = [{}]", names.join(", ")));
    let queues = (0..2).map(|number| {
        let keys = [vec![text("name", format!("q{number}"))], queue_keys(draw)].concat();
        block("queue", &keys)
    });
    let queues: String = queues.collect();
    let impairments: String = (0..2).map(|number| impairment(draw, number)).collect();
    let defaults = format!("\n[defaults]\n{}\n", quality(draw, true).join("\n"));
    format!("{}\n{defaults}{queues}{impairments}{topology}", top.join("\n"))
}

/// Returns a generated part.
fn part(draw: &Draw) -> String {
    let mut keys = vec![text("name", "p")];
    let size = |least, most| plain("size", draw.between(least, most));
    keys.extend(match draw.place(8) {
        0 => vec![text("kind", "line"), size(2, 8)],
        1 => vec![text("kind", "ring"), size(3, 12)],
        2 => vec![text("kind", "star"), size(2, 10)],
        3 => vec![text("kind", "dumbbell"), size(1, 5), text("trunk_rate", draw.pick(&RATES))],
        4 => vec![text("kind", "torus"), plain("sides", draw.pick(&["[3, 3]", "[5]", "[3, 4]"]))],
        5 | 6 => vec![text("kind", "fat-tree"), plain("arity", draw.pick(&[2, 4, 4]))],
        _ => vec![
            text("kind", "random-geometric"),
            size(2, 16),
            plain("radius", draw.pick(&[0.2, 0.4, 0.7])),
            text("across", draw.pick(&["2ms", "10ms"])),
            plain("seed", draw.between(1, 99)),
        ],
    });
    if draw.chance(0.4) {
        keys.extend(quality(draw, false));
    }
    block("part", &keys)
}

/// Returns the number of nodes, and links: a random tree, and perhaps further links between random nodes.
fn graph(draw: &Draw, count: u64, has_circles: bool) -> (u64, String) {
    let mut links = String::new();
    let mut link = |from: u64, to: u64, name: String| {
        let mut keys = vec![text("name", name), text("from", format!("n{from}")), text("to", format!("n{to}"))];
        if draw.chance(0.3) {
            keys.extend(quality(draw, false));
        }
        if draw.chance(0.2) {
            keys.extend([text("rate_back", draw.pick(&RATES)), plain("queue_back", queue(draw))]);
        }
        links += &block("link", &keys);
    };
    for to in 1..count {
        link(draw.between(0, to - 1), to, format!("t{to}"));
    }
    for number in 0..if has_circles { count } else { 0 } {
        let from = draw.between(0, count - 1);
        let to = (from + draw.between(1, count - 1)) % count;
        link(from, to, format!("x{number}"));
    }
    (count, links)
}

/// Returns links between nodes that there are: some beside another link, and some one way.
pub(super) fn further_links(draw: &Draw, names: &Names) -> Vec<String> {
    let count = if names.nodes.len() > 1 && draw.chance(0.5) { draw.between(1, 3) } else { 0 };
    let one = |number: u64| {
        let (from, to) = match draw.chance(0.6) && !names.ends.is_empty() {
            true => names.ends[draw.place(names.ends.len())],
            false => draw.two_places(names.nodes.len()),
        };
        let mut keys = vec![
            text("name", format!("further{number}")),
            text("from", &names.nodes[from]),
            text("to", &names.nodes[to]),
        ];
        if draw.chance(0.3) {
            keys.extend(quality(draw, false));
        }
        if draw.chance(0.3) {
            keys.push(plain("duplex", false));
        }
        block("link", &keys)
    };
    (0..count).map(one).collect()
}

pub(super) const RATES: [&str; 6] = ["1Mbps", "2Mbps", "8Mbps", "10Mbps", "80Mbps", "1.5Mbps"];
pub(super) const DELAYS: [&str; 6] = ["0s", "100us", "1ms", "1ms", "5ms", "333us"];

/// Returns keys of a link's quality. `all` gives its rate and delay too.
fn quality(draw: &Draw, all: bool) -> Vec<String> {
    let mut keys = Vec::new();
    if all || draw.chance(0.5) {
        keys.push(text("rate", draw.pick(&RATES)));
    }
    if all || draw.chance(0.5) {
        keys.push(text("delay", draw.pick(&DELAYS)));
    }
    if draw.chance(0.7) {
        keys.push(plain("queue", queue(draw)));
    }
    if draw.chance(0.3) {
        keys.push(plain("loss", draw.pick(&["0.01", "0.1", "\"2%\"", "1.0"])));
    }
    // No packet is above these.
    if draw.chance(0.2) {
        keys.push(text("mtu", draw.pick(&["9100B", "65535B"])));
    }
    if draw.chance(0.3) {
        keys.push(text("framing", draw.pick(&["none", "ppp", "ethernet"])));
    }
    if draw.chance(0.3) {
        keys.push(text("impairment", draw.pick(&["i0", "i1"])));
    }
    keys
}

/// Returns the value of a key `queue`.
fn queue(draw: &Draw) -> String {
    match draw.place(5) {
        0 => draw.between(0, 20).to_string(),
        1 => format!("\"{}B\"", draw.between(1, 9000)),
        2 => draw.pick(&["\"q0\"", "\"q1\""]).to_owned(),
        3 => draw
            .pick(&[
                "\"red\"",
                "\"pie\"",
                "\"codel\"",
                "\"fqcodel\"",
                "\"cake\"",
                "\"dctcp\"",
                "\"priority\"",
                "\"droptail\"",
            ])
            .to_owned(),
        _ => format!("{{ {} }}", queue_keys(draw).join(", ")),
    }
}

/// Returns the keys of a queue.
fn queue_keys(draw: &Draw) -> Vec<String> {
    let kinds = ["droptail", "red", "pie", "codel", "fqcodel", "cake", "dctcp", "priority", "token-bucket"];
    let kind = draw.pick(&kinds);
    let mut keys = vec![text("kind", kind)];
    if draw.chance(0.7) {
        keys.push(match draw.chance(0.5) {
            true => plain("limit", draw.between(1, 12)),
            false => text("limit", format!("{}B", draw.between(1, 12_000))),
        });
    }
    if draw.chance(0.2) {
        keys.push(plain("device", draw.between(1, 3)));
    }
    let ecn = || plain("ecn", draw.chance(0.5));
    let waits = || [text("target", draw.pick(&["100us", "1ms", "5ms"])), text("interval", draw.pick(&["5ms", "20ms"]))];
    match kind {
        "red" => {
            let min = draw.between(0, 4);
            keys.extend([plain("min", min), plain("max", min + draw.between(1, 5))]);
            keys.extend([plain("max_probability", draw.pick(&[0.02, 0.5, 1.0])), ecn()]);
            keys.extend([plain("weight", draw.pick(&[0.002, 0.1, 1.0])), plain("gentle", draw.chance(0.5))]);
            keys.push(plain("wait", draw.chance(0.5)));
        }
        "pie" => {
            keys.extend([text("target", draw.pick(&["1ms", "15ms"])), text("update", draw.pick(&["2ms", "15ms"]))]);
            keys.extend([text("burst", draw.pick(&["0s", "10ms"])), text("mean_packet", "100B"), ecn()]);
        }
        "dctcp" => keys.push(plain("k", draw.between(1, 5))),
        "token-bucket" => {
            keys.push(text("rate", draw.pick(&RATES)));
            keys.push(text("burst", format!("{}B", draw.between(500, 5000))));
        }
        "codel" => keys.extend(waits().into_iter().chain([ecn()])),
        "fqcodel" => {
            keys.extend(waits().into_iter().chain([ecn(), plain("queues", draw.between(1, 8))]));
            keys.push(text("quantum", format!("{}B", draw.between(100, 3000))));
            keys.push(text("memory", format!("{}B", draw.between(1000, 40_000))));
        }
        "cake" => {
            let isolations = ["none", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple", "triple"];
            keys.extend([
                text("isolation", draw.pick(&isolations)),
                text("rtt", draw.pick(&["500us", "5ms", "100ms"])),
            ]);
            keys.extend([plain("ingress", draw.chance(0.3)), ecn(), plain("queues", 8 * draw.between(1, 2))]);
            if draw.chance(0.6) {
                keys.extend([text("bandwidth", draw.pick(&RATES)), plain("overhead", draw.between(0, 44))]);
                keys.extend([plain("mpu", draw.between(0, 100)), text("cells", draw.pick(&["none", "atm", "ptm"]))]);
            }
            if draw.chance(0.5) {
                keys.push(text("memory", format!("{}B", draw.between(1000, 40_000))));
            }
        }
        _ => {}
    }
    keys
}

fn impairment(draw: &Draw, number: usize) -> String {
    let mut keys = vec![text("name", format!("i{number}"))];
    if draw.chance(0.7) {
        keys.push(text("jitter", draw.pick(&["10us", "500us", "3ms"])));
        keys.extend(match draw.place(3) {
            0 => vec![text("distribution", "uniform")],
            1 => vec![text("distribution", "normal"), text("deviation", draw.pick(&["0s", "1ms"]))],
            _ => vec![text("distribution", "pareto"), plain("shape", draw.pick(&[1.5, 3.0]))],
        });
        keys.push(plain("reorder", draw.pick(&[0.0, 0.2])));
        keys.push(plain("keep_order", draw.chance(0.4)));
    }
    if draw.chance(0.5) {
        keys.push(plain("duplicate", draw.pick(&[0.01, 0.2, 1.0])));
    }
    if draw.chance(0.5) {
        keys.extend([plain("to_bad", draw.pick(&[0.01, 0.3])), plain("to_good", draw.pick(&[0.0, 0.3, 1.0]))]);
        keys.extend([plain("loss_good", draw.pick(&[0.0, 0.05])), plain("loss_bad", draw.pick(&[0.5, 1.0]))]);
    }
    block("impairment", &keys)
}
