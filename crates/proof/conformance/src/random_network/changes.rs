//! Static routes, failures, changes and measurements of a random network.

use super::Names;
use super::draw::{Draw, block, list, plain, text};
use super::ground::{DELAYS, RATES};

/// Returns static routes, each from a node to a neighbour of it.
pub(super) fn routes(draw: &Draw, names: &Names) -> Vec<String> {
    let count = if names.ends.is_empty() || !draw.chance(0.4) { 0 } else { draw.between(1, 3) };
    let one = |_| {
        let link = draw.place(names.ends.len());
        let (from, to) = names.ends[link];
        let (at, via) = if draw.chance(0.5) { (from, to) } else { (to, from) };
        let destination = draw.name(&names.nodes);
        let hop = match draw.chance(0.5) {
            true => text("via", &names.nodes[via]),
            false => text("link", &names.links[link]),
        };
        block("route", &[text("at", &names.nodes[at]), text("to", destination), hop])
    };
    (0..count).map(one).collect()
}

/// Returns failures, returns and changes of links and nodes.
pub(super) fn events(draw: &Draw, names: &Names) -> Vec<String> {
    let count = if names.links.is_empty() || draw.chance(0.3) { 0 } else { draw.between(1, 6) };
    (0..count).map(|_| event(draw, names)).collect()
}

fn event(draw: &Draw, names: &Names) -> String {
    // Some events are at one time, and some come after the end of the run.
    let at = match draw.chance(0.3) {
        true => format!("{}ms", names.until_ms / 2),
        false => format!("{}us", draw.between(1, names.until_ms * 1100)),
    };
    let mut keys = vec![text("at", at)];
    let is_node = draw.chance(0.3);
    keys.push(match is_node {
        true => text("node", draw.name(&names.nodes)),
        false if draw.chance(0.1) => text("link", "*"),
        false => text("link", draw.name(&names.links)),
    });
    let is_failure = is_node || draw.chance(0.6);
    if is_failure {
        keys.push(text("state", draw.pick(&["down", "down", "down", "up"])));
    }
    if !is_node {
        let mut has_change = is_failure;
        let mut maybe = |key: String, last: bool| {
            if draw.chance(if is_failure { 0.2 } else { 0.5 }) || (last && !has_change) {
                has_change = true;
                keys.push(key);
            }
        };
        maybe(text("rate", draw.pick(&RATES)), false);
        maybe(text("delay", draw.pick(&DELAYS)), false);
        maybe(plain("loss", draw.pick(&[0.0, 0.1, 1.0])), true);
    }
    if draw.chance(0.6) {
        keys.push(text("for", format!("{}us", draw.between(1, names.until_ms * 500))));
    }
    block("event", &keys)
}

/// Returns the table of measurements, or nothing.
pub(super) fn measure(draw: &Draw, names: &Names) -> String {
    if draw.chance(0.4) {
        return String::new();
    }
    let every = names.until_ms * 1000 / draw.between(3, 40);
    let mut keys = vec![text("every", format!("{every}us")), plain("percentiles", draw.chance(0.5))];
    keys.push(text("unfinished", draw.pick(&["left-out", "so-far"])));
    let [links, apps] = [draw.several(&names.links, 4), draw.several(&names.apps, 2)];
    for (key, names) in [("links", links), ("apps", apps)] {
        if !names.is_empty() {
            keys.push(plain(key, list(&names)));
        }
    }
    format!("\n[measure]\n{}\n", keys.join("\n"))
}
