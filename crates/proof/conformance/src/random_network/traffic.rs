//! The traffic of a random network: apps of all kinds.

use super::Names;
use super::draw::{Draw, block, list, plain, text};

/// Returns the tables of apps.
pub(super) fn blocks(draw: &Draw, names: &Names) -> Vec<String> {
    let count = if names.nodes.len() > 1 { draw.between(1, 5) } else { 0 };
    (0..count).map(|number| app(draw, names, number)).collect()
}

fn app(draw: &Draw, names: &Names, number: u64) -> String {
    let mut keys = vec![text("name", format!("app{number}"))];
    let is_multicast = draw.chance(0.12);
    keys.extend(match if is_multicast { draw.place(3) } else { draw.place(9) } {
        0..=2 => datagrams(draw, is_multicast),
        3 => transfer(draw),
        4 => requests(draw),
        _ => tcp(draw),
    });
    keys.extend(if is_multicast { receivers(draw, names) } else { flows(draw, names) });
    if draw.chance(0.3) {
        keys.push(plain("class", draw.between(0, 7)));
    }
    if draw.chance(0.3) {
        keys.push(plain("ecn", true));
    }
    block("app", &keys)
}

fn start(draw: &Draw, names: &Names) -> String {
    format!("{}us", draw.between(0, names.until_ms * 500))
}

/// Returns the flows of an app: pairs with starts, or all pairs of two lists.
fn flows(draw: &Draw, names: &Names) -> Vec<String> {
    if draw.chance(0.2) {
        let is_same_start = draw.chance(0.5);
        let mut keys = vec![text("from", "*"), text("to", draw.name(&names.nodes)), text("pairs", "all")];
        // Not all pairs, of three nodes or more.
        let receiver = draw.name(&names.nodes);
        if names.nodes.len() > 2 && draw.chance(0.3) {
            let other = names.nodes.iter().find(|name| *name != receiver).expect("there are several nodes");
            keys[1] = text("to", receiver);
            keys.push(plain("except", format!("[[\"{other}\", \"{receiver}\"]]")));
        }
        if !is_same_start {
            keys.push(text("spread", format!("{}ms", names.until_ms / 2 + 1)));
        }
        return keys;
    }
    let pair = |_| {
        let (from, to) = draw.two_places(names.nodes.len());
        let [from, to] = [from, to].map(|node| &names.nodes[node]);
        match draw.chance(0.5) {
            true => format!("[\"{from}\", \"{to}\"]"),
            false => format!("[\"{from}\", \"{to}\", \"{}\"]", start(draw, names)),
        }
    };
    let pairs: Vec<String> = (0..draw.between(1, 6)).map(pair).collect();
    let mut keys = vec![format!("flows = [{}]", pairs.join(", "))];
    if draw.chance(0.3) {
        keys.push(text("start", start(draw, names)));
    }
    if draw.chance(0.3) {
        keys.push(text("spread", "3ms"));
    }
    keys
}

/// Returns the ends of a multicast app.
fn receivers(draw: &Draw, names: &Names) -> Vec<String> {
    let (from, to) = draw.two_places(names.nodes.len());
    let (from, to) = (&names.nodes[from], &names.nodes[to]);
    let mut receivers = draw.several(&names.nodes, 8);
    receivers.retain(|name| name != from);
    if receivers.is_empty() {
        receivers.push(to);
    }
    vec![text("from", from), plain("to", list(&receivers)), text("pairs", "all"), text("start", start(draw, names))]
}

fn datagrams(draw: &Draw, is_multicast: bool) -> Vec<String> {
    let rate = || text("rate", draw.pick(&["200kbps", "1Mbps", "3Mbps", "8Mbps"]));
    let mut keys = match draw.place(4) {
        0 => vec![text("kind", "constant"), rate()],
        1 => vec![text("kind", "poisson"), rate()],
        2 => vec![text("kind", "poisson"), text("gap", draw.pick(&["500us", "3ms"]))],
        _ => {
            let periods = draw.pick(&["exponential", "constant", "pareto", "pareto-least"]);
            let mut keys = vec![text("kind", "on-off"), rate(), text("periods", periods)];
            keys.extend([text("on", draw.pick(&["2ms", "20ms"])), text("off", draw.pick(&["1ms", "20ms"]))]);
            keys
        }
    };
    keys.push(text("packet", draw.pick(&["100B", "1000B", "1472B", "internet-mix", "9000B"])));
    match draw.place(3) {
        0 => keys.push(text("size", format!("{}B", draw.between(1, 50_000)))),
        1 => keys.push(text("stop", draw.pick(&["1ms", "40ms", "500ms"]))),
        _ => {}
    }
    if is_multicast {
        keys.push(plain("multicast", true));
    }
    keys
}

fn transfer(draw: &Draw) -> Vec<String> {
    vec![
        text("kind", "transfer"),
        text("size", format!("{}B", draw.between(1, 200_000))),
        text("segment", format!("{}B", draw.pick(&[100, 500, 1460, 1460]))),
        plain("window", draw.between(1, 40)),
        text("control", draw.pick(&["reno", "fixed"])),
    ]
}

fn requests(draw: &Draw) -> Vec<String> {
    let means = ["0s", "1ms", "10ms"];
    let laws = ["exponential", "constant"];
    let (service, serving) = (draw.pick(&means), draw.pick(&laws));
    let mut keys = vec![
        text("kind", "request-response"),
        text("request", format!("{}B", draw.between(1, 2000))),
        text("response", format!("{}B", draw.between(1, 20_000))),
        text("segment", format!("{}B", draw.pick(&[200, 1460]))),
        text("think", draw.pick(&["1ms", "10ms"])),
        text("thinking", draw.pick(&laws)),
        text("service", service),
        text("timeout", draw.pick(&["5ms", "30ms", "200ms"])),
        plain("requests", draw.between(0, 20)),
    ];
    // A time of zero has no distribution.
    if service != "0s" {
        keys.push(text("serving", serving));
    }
    if draw.chance(0.3) {
        keys.push(text("stop", draw.pick(&["1ms", "40ms", "500ms"])));
    }
    keys
}

/// Returns the keys of an app of the kind `tcp`. Each key may be left out.
fn tcp(draw: &Draw) -> Vec<String> {
    let mut keys = vec![text("kind", "tcp")];
    let writes = draw.chance(0.3);
    if writes {
        keys.push(text("writes", format!("{}B", draw.pick(&[1, 100, 1000, 5000]))));
        keys.push(text("rate", draw.pick(&["50kbps", "500kbps", "4Mbps"])));
    }
    if !writes || draw.chance(0.5) {
        keys.push(text("size", format!("{}B", draw.between(1, 300_000))));
    }
    let congestion = draw.pick(&["newreno", "cubic", "cubic", "dctcp", "bbr", "vegas"]);
    let mut maybe = |probability: f64, key: String| {
        if draw.chance(probability) {
            keys.push(key);
        }
    };
    maybe(0.4, text("profile", "ns3"));
    if congestion == "cubic" {
        maybe(0.3, plain("hystart", false));
    }
    maybe(0.8, text("congestion", congestion));
    maybe(0.4, text("mss", format!("{}B", draw.pick(&[100, 536, 1000, 1460, 8960]))));
    maybe(0.2, text("read_rate", draw.pick(&["200kbps", "2Mbps", "50Mbps"])));
    maybe(0.3, plain("initial_window", draw.between(1, 20)));
    maybe(0.4, text("buffer", format!("{}B", draw.between(9000, 70_000))));
    maybe(0.3, plain("sack", false));
    maybe(0.3, plain("timestamps", false));
    maybe(0.3, plain("delayed_ack", draw.between(1, 4)));
    maybe(0.4, text("min_rto", draw.pick(&["1ms", "10ms", "50ms", "1s"])));
    if congestion != "bbr" {
        maybe(0.2, plain("pacing", draw.chance(0.7)));
    }
    keys
}
