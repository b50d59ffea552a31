//! The keys of a network that may change during a run, and their values at a time.

use parades_config::units::{format_duration, format_rate, format_size};
use parades_core::time::Time;
use parades_packet::description::{App, AppKind, Change, Description, Link};
use parades_packet::queue::{Discipline, QueueLimit};
use parades_packet::traffic::{Pattern, Period};

/// The keys that may change during a run, in the order of lists.
pub const CHANGEABLE: [&str; 8] = [
    "link.NAME.rate",
    "link.NAME.rate_back",
    "link.NAME.delay",
    "link.NAME.loss",
    "link.NAME.queue",
    "app.NAME.rate",
    "app.NAME.gap",
    "app.NAME.think",
];

/// Returns the value of a key of the link or app `name` at a time, as a file has it. `None` if that link or
/// app has no value there that may change.
pub fn value_at(description: &Description, table: &str, name: &str, key: &str, at: Time) -> Option<String> {
    if table == "app" {
        return description.apps.iter().find(|app| app.name == name).and_then(|app| of_app(app, key));
    }
    let matches = |link: &&Link| crate::draft::matches(name, &link.name);
    let (number, link) = (0..).zip(&description.links).find(|(_, link)| matches(link))?;
    let mut link = link.clone();
    let mut events: Vec<_> = description.events.iter().filter(|event| event.at < at).collect();
    events.sort_by_key(|event| event.at);
    for event in events {
        let Change::Quality { link: of, rate_bps, rate_back_bps, delay, loss } = event.change else { continue };
        if of == number {
            link.rate_bps = rate_bps.unwrap_or(link.rate_bps);
            link.delay = delay.unwrap_or(link.delay);
            link.loss = loss.unwrap_or(link.loss);
            if let (Some(back), Some(rate_bps)) = (&mut link.back, rate_back_bps) {
                back.rate_bps = rate_bps;
            }
        }
    }
    match (key, &link.queue) {
        ("rate", _) => Some(format_rate(link.rate_bps)),
        ("rate_back", _) => link.back.map(|back| format_rate(back.rate_bps)),
        ("delay", _) => Some(format_duration(link.delay)),
        ("loss", _) => Some(link.loss.to_string()),
        ("queue", Discipline::DropTail(QueueLimit::Packets(packets))) => Some(packets.to_string()),
        ("queue", Discipline::DropTail(QueueLimit::Bytes(bytes))) => Some(format_size(*bytes)),
        _ => None,
    }
}

fn of_app(app: &App, key: &str) -> Option<String> {
    match (&app.kind, key) {
        (AppKind::Datagrams(of) | AppKind::Multicast(of), _) => match (&of.pattern, key) {
            (Pattern::Constant { rate_bps } | Pattern::OnOff { rate_bps, .. }, "rate") => Some(format_rate(*rate_bps)),
            (Pattern::Poisson { mean_gap }, "gap") => Some(format_duration(*mean_gap)),
            _ => None,
        },
        (AppKind::Requests(of), "think") => match of.think {
            Period::Constant(length) | Period::Exponential(length) => Some(format_duration(length)),
            Period::Pareto { .. } => None,
        },
        _ => None,
    }
}

/// Returns true if the routes of a network may change during a run: then packets look up their next hops.
/// Otherwise they carry their routes, which a link's delay must not change.
pub fn looks_up_routes(description: &Description) -> bool {
    let is_turn = |change: &Change| !matches!(change, Change::Quality { delay: None, .. });
    description.events.iter().any(|event| is_turn(&event.change))
}
