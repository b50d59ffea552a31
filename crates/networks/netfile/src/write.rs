//! Networks written out in full: every node, link and flow by its name, without parts, parameters and draws.

mod definitions;

use crate::tcp;
use definitions::Definitions;

use parades_config::units::{format_duration, format_rate, format_size, format_time};
use parades_config::{Settings, toml_string};
use parades_core::time::Time;
use parades_packet::description::{
    App, AppKind, Change, Description, Event, Framing, IpVersion, Link, Measure, StaticRoute, Unfinished, Via,
    headers_by_default,
};
use parades_packet::flow::Limit;
use parades_packet::protocols::{Control, Datagrams};
use parades_packet::traffic::{Pattern, Period, Sizes};
use parades_topology::routing::{Metric, Paths};
use std::fmt::Write;

/// Returns true if the key `headers` says more than its absence. Apps of kind `tcp` have headers of their
/// own, and a file with such apps alone that has the key is told that it has no effect.
fn has_headers(description: &Description) -> bool {
    let has_frames = description.links.iter().any(|link| link.framing != Framing::None);
    let is_tcp = |app: &App| matches!(app.kind, AppKind::Tcp(_));
    let is_idle = !description.apps.is_empty() && description.apps.iter().all(is_tcp);
    !is_idle || description.headers != headers_by_default(description.ip, has_frames)
}

/// Writes a description as a network file that makes the same network. A run of it with the same seed has the
/// same digest.
pub fn explicit(title: &str, settings: &Settings, until: Time, description: &Description) -> String {
    let mut text = String::new();
    key(&mut text, "network", &toml_string(title));
    key(&mut text, "until", &toml_string(&format_time(until)));
    let numbers = [
        ("seed", settings.seed),
        ("tie_seed", settings.tie_seed),
        ("threads", settings.threads),
        ("processes", settings.processes),
    ];
    for (name, number) in numbers {
        number.into_iter().for_each(|number| key(&mut text, name, &number.to_string()));
    }
    settings.engine.iter().for_each(|engine| key(&mut text, "engine", &toml_string(engine)));
    key(&mut text, "routing", if description.routing == Metric::Hops { "\"hops\"" } else { "\"delay\"" });
    key(&mut text, "paths", if description.paths == Paths::One { "\"single\"" } else { "\"ecmp\"" });
    key(&mut text, "convergence", &toml_string(&format_duration(description.convergence)));
    if description.ip == IpVersion::V6 {
        key(&mut text, "ip", "6");
    }
    if has_headers(description) {
        key(&mut text, "headers", &toml_string(&format_size(description.headers.into())));
    }
    text.push_str("nodes = [\n");
    for name in &description.nodes {
        line(&mut text, format_args!("    {},", toml_string(name)));
    }
    text.push_str("]\n");
    let names = |node: u32| toml_string(&description.nodes[node as usize]);
    let definitions = Definitions::of(&description.links);
    definitions.write(&mut text);
    for of in &description.links {
        link(&mut text, of, &definitions, &names);
    }
    for of in &description.routes {
        route(&mut text, of, description);
    }
    for of in &description.apps {
        app(&mut text, of, &names);
    }
    // Events after the end too: a later failure may take a packet that is in flight at the end.
    for of in &description.events {
        event(&mut text, of, description);
    }
    measure(&mut text, description);
    text
}

fn line(text: &mut String, what: std::fmt::Arguments<'_>) {
    writeln!(text, "{what}").expect("text grows");
}

fn key(text: &mut String, name: &str, value: &str) {
    line(text, format_args!("{name} = {value}"));
}

/// Writes a floating-point number that reads back as itself.
fn float(x: f64) -> String {
    format!("{x:?}")
}

fn link(text: &mut String, link: &Link, definitions: &Definitions, names: &impl Fn(u32) -> String) {
    text.push_str("\n[[link]]\n");
    key(text, "name", &toml_string(&link.name));
    key(text, "from", &names(link.from));
    key(text, "to", &names(link.to));
    key(text, "rate", &toml_string(&format_rate(link.rate_bps)));
    link.back.iter().for_each(|back| key(text, "rate_back", &toml_string(&format_rate(back.rate_bps))));
    key(text, "delay", &toml_string(&format_duration(link.delay)));
    definitions.name(text, link);
    match link.framing {
        Framing::None => {}
        Framing::Ppp => key(text, "framing", "\"ppp\""),
        Framing::Ethernet => key(text, "framing", "\"ethernet\""),
    }
    if link.loss > 0.0 {
        key(text, "loss", &float(link.loss));
    }
    if !link.is_duplex {
        key(text, "duplex", "false");
    }
}

fn app(text: &mut String, app: &App, names: &impl Fn(u32) -> String) {
    text.push_str("\n[[app]]\n");
    key(text, "name", &toml_string(&app.name));
    if app.marking.class > 0 {
        key(text, "class", &app.marking.class.to_string());
    }
    if app.marking.is_ecn_capable {
        key(text, "ecn", "true");
    }
    let time = |text: &mut String, name: &str, time: Time| key(text, name, &toml_string(&format_time(time)));
    match &app.kind {
        AppKind::Datagrams(datagrams) | AppKind::Multicast(datagrams) => {
            let Datagrams { sizes, pattern, limit } = datagrams;
            write_pattern(text, pattern);
            if matches!(app.kind, AppKind::Multicast(_)) {
                key(text, "multicast", "true");
            }
            match sizes {
                Sizes::Constant(bytes) => key(text, "packet", &toml_string(&format_size((*bytes).into()))),
                Sizes::Mix(_) => key(text, "packet", "\"internet-mix\""),
            }
            match limit {
                Limit::Bytes(bytes) => key(text, "size", &toml_string(&format_size(*bytes))),
                Limit::Until(stop) => time(text, "stop", *stop),
                Limit::Never => {}
            }
        }
        AppKind::Transfer(transfer) => {
            key(text, "kind", "\"transfer\"");
            key(text, "size", &toml_string(&format_size(transfer.bytes)));
            key(text, "segment", &toml_string(&format_size(transfer.segment.into())));
            key(text, "window", &transfer.window.to_string());
            key(text, "control", if transfer.control == Control::Fixed { "\"fixed\"" } else { "\"reno\"" });
        }
        AppKind::Tcp(of) => tcp::write(of, &mut |name, value| key(text, name, value)),
        // The name and nothing else: only their crates know their parameters.
        AppKind::Other(of) => key(text, "kind", &toml_string(of.name())),
        AppKind::Stream(of) => key(text, "kind", &toml_string(of.name())),
        AppKind::Requests(requests) => {
            key(text, "kind", "\"request-response\"");
            key(text, "request", &toml_string(&format_size(requests.request.into())));
            key(text, "response", &toml_string(&format_size(requests.response)));
            key(text, "segment", &toml_string(&format_size(requests.packet.into())));
            for (mean, how, period) in
                [("think", "thinking", &requests.think), ("service", "serving", &requests.service)]
            {
                let (length, name) = length_and_kind(period);
                key(text, mean, &length);
                // A time of zero has no distribution.
                if length != "\"0s\"" {
                    key(text, how, name);
                }
            }
            key(text, "timeout", &toml_string(&format_duration(requests.timeout)));
            if requests.count < u64::MAX {
                key(text, "requests", &requests.count.to_string());
            }
            if requests.stop < Time::MAX {
                time(text, "stop", requests.stop);
            }
        }
    }
    text.push_str("flows = [\n");
    for flow in &app.flows {
        let start = toml_string(&format_time(flow.start));
        line(text, format_args!("    [{}, {}, {start}],", names(flow.source.0), names(flow.destination.0)));
    }
    text.push_str("]\n");
}

fn write_pattern(text: &mut String, pattern: &Pattern) {
    match pattern {
        Pattern::Constant { rate_bps } => {
            key(text, "kind", "\"constant\"");
            key(text, "rate", &toml_string(&format_rate(*rate_bps)));
        }
        Pattern::Poisson { mean_gap } => {
            key(text, "kind", "\"poisson\"");
            key(text, "gap", &toml_string(&format_duration(*mean_gap)));
        }
        Pattern::OnOff { rate_bps, on, off } => {
            key(text, "kind", "\"on-off\"");
            key(text, "rate", &toml_string(&format_rate(*rate_bps)));
            let ((on_length, kind), (off_length, _)) = (length_and_kind(on), length_and_kind(off));
            key(text, "on", &on_length);
            key(text, "off", &off_length);
            key(text, "periods", kind);
            if let Period::Pareto { shape, .. } = on {
                key(text, "shape", &float(*shape));
            }
        }
    }
}

fn length_and_kind(period: &Period) -> (String, &'static str) {
    let (length, kind) = match period {
        Period::Constant(length) => (length, "\"constant\""),
        Period::Exponential(mean) => (mean, "\"exponential\""),
        Period::Pareto { least, .. } => (least, "\"pareto-least\""),
    };
    (toml_string(&format_duration(*length)), kind)
}

fn route(text: &mut String, route: &StaticRoute, Description { nodes, links, .. }: &Description) {
    text.push_str("\n[[route]]\n");
    let list = |of: &[u32]| {
        let names: Vec<String> = of.iter().map(|&node| toml_string(&nodes[node as usize])).collect();
        format!("[{}]", names.join(", "))
    };
    key(text, "at", &list(&route.at));
    key(text, "to", &list(&route.to));
    match route.via {
        Via::Link(link) => key(text, "link", &toml_string(&links[link as usize].name)),
        Via::Node(node) => key(text, "via", &toml_string(&nodes[node as usize])),
    }
}

fn event(text: &mut String, event: &Event, Description { nodes, links, .. }: &Description) {
    text.push_str("\n[[event]]\n");
    key(text, "at", &toml_string(&format_time(event.at)));
    let state = |is_up| if is_up { "\"up\"" } else { "\"down\"" };
    match event.change {
        Change::Link { link, is_up } => {
            key(text, "link", &toml_string(&links[link as usize].name));
            key(text, "state", state(is_up));
        }
        Change::Node { node, is_up } => {
            key(text, "node", &toml_string(&nodes[node as usize]));
            key(text, "state", state(is_up));
        }
        Change::Quality { link, rate_bps, rate_back_bps, delay, loss } => {
            key(text, "link", &toml_string(&links[link as usize].name));
            rate_bps.into_iter().for_each(|rate| key(text, "rate", &toml_string(&format_rate(rate))));
            rate_back_bps.into_iter().for_each(|rate| key(text, "rate_back", &toml_string(&format_rate(rate))));
            delay.into_iter().for_each(|delay| key(text, "delay", &toml_string(&format_duration(delay))));
            loss.into_iter().for_each(|loss| key(text, "loss", &float(loss)));
        }
    }
}

fn measure(text: &mut String, description: &Description) {
    let Measure { every, links, apps, flows, percentiles, unfinished, .. } = &description.measure;
    text.push_str("\n[measure]\n");
    key(text, "every", &toml_string(&format_duration(*every)));
    let list = |names: Vec<&str>| format!("[{}]", names.into_iter().map(toml_string).collect::<Vec<_>>().join(", "));
    if !links.is_empty() {
        key(text, "links", &list(links.iter().map(|&link| &*description.links[link as usize].name).collect()));
    }
    if !apps.is_empty() {
        key(text, "apps", &list(apps.iter().map(|&app| &*description.apps[app as usize].name).collect()));
    }
    if !flows.is_empty() {
        let names = flow_names(description);
        key(text, "flows", &list(flows.iter().map(|&flow| &*names[flow as usize]).collect()));
    }
    key(text, "percentiles", if *percentiles { "true" } else { "false" });
    if *unfinished == Unfinished::SoFar {
        key(text, "unfinished", &toml_string("so-far"));
    }
}

/// Returns the names of all flows.
fn flow_names(description: &Description) -> Vec<String> {
    let apps = description.apps.iter().flat_map(|app| app.flows.iter().map(|_| &app.name));
    (0..).zip(apps).map(|(number, app)| parades_packet::flow::name(app, number)).collect()
}
