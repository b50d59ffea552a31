//! Random network files give the answer of `sequential` on every engine, and on ranks.

use parades_conformance::networks::{check_networks, shrunk};
use parades_conformance::random_network::{build, from_seed};
use parades_conformance::report::silence_panics;
use parades_packet::description::{AppKind, Change, Description};
use parades_packet::queue::Discipline;
use std::collections::BTreeSet;

/// The command `networks` runs any number of them.
#[test]
fn random_networks_give_one_answer() {
    silence_panics(false);
    let report = check_networks(0..10);
    assert!(report.differences.is_empty(), "{report}");
    assert_eq!((report.models, report.failing_models), (10, 0), "{report}");
    assert!(report.rollbacks > 1_000 && report.anti_messages > 1_000, "rollbacks are forced: {report}");
    assert!(report.crossed > 1_000, "events cross ranks: {report}");
}

/// Without this test, a part of the drawing might be dead, and its kind of network never be run.
#[test]
fn together_they_have_every_kind_of_queue_app_and_change() {
    let (mut queues, mut apps, mut changes) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let (mut routes, mut impaired, mut one_way, mut two_rates, mut slow, mut sampled) = (0, 0, 0, 0, 0, 0);
    for seed in 0..150 {
        let text = from_seed(seed);
        let description: Description = parades_conformance::random_network::describe(&text).expect("it is right");
        for link in &description.links {
            queues.insert(match link.queue {
                Discipline::DropTail(_) => "droptail",
                Discipline::Red(_) => "red",
                Discipline::Pie(_) => "pie",
                Discipline::Threshold(_) => "dctcp",
                Discipline::TokenBucket(_) => "token-bucket",
                Discipline::Codel(_) => "codel",
                Discipline::FairCodel(_) => "fqcodel",
                Discipline::Cake(_) => "cake",
                Discipline::Priority(_) => "priority",
                Discipline::Other(_) => "other",
            });
            impaired += usize::from(!link.impairments.is_none());
            one_way += usize::from(!link.is_duplex);
            two_rates += usize::from(link.back.is_some());
        }
        for app in &description.apps {
            slow += usize::from(matches!(&app.kind, AppKind::Tcp(tcp) if tcp.read_rate_bps.is_some()));
            apps.insert(match &app.kind {
                AppKind::Datagrams(_) => "datagrams",
                AppKind::Multicast(_) => "multicast",
                AppKind::Transfer(_) => "transfer",
                AppKind::Requests(_) => "requests",
                AppKind::Tcp(tcp) => tcp.settings.algorithm.name(),
                AppKind::Other(_) | AppKind::Stream(_) => "other",
            });
        }
        for event in &description.events {
            changes.insert(match event.change {
                Change::Link { is_up: true, .. } => "link up",
                Change::Link { is_up: false, .. } => "link down",
                Change::Node { is_up: true, .. } => "node up",
                Change::Node { is_up: false, .. } => "node down",
                Change::Quality { .. } => "quality",
            });
        }
        routes += description.routes.len();
        sampled += usize::from(!description.measure.links.is_empty());
    }
    let all = |of: &[&'static str]| of.iter().copied().collect::<BTreeSet<_>>();
    let kinds = ["droptail", "red", "pie", "dctcp", "token-bucket", "codel", "fqcodel", "cake", "priority"];
    assert_eq!(queues, all(&kinds));
    let protocols = ["datagrams", "multicast", "transfer", "requests", "newreno", "cubic", "dctcp", "bbr", "vegas"];
    assert_eq!(apps, all(&protocols));
    assert_eq!(changes, all(&["link up", "link down", "node up", "node down", "quality"]));
    assert!(two_rates > 10 && slow > 10, "{two_rates} {slow}");
    assert!(routes > 10 && impaired > 100 && one_way > 10 && sampled > 10, "{routes} {impaired} {one_way} {sampled}");
}

#[test]
fn a_file_is_shrunk_to_what_shows_the_difference() {
    let text = from_seed(3);
    let first = build(&text).expect("it is right").model;
    let has_node = |text: &str| build(text).is_ok_and(|built| built.model.topology().nodes() > 1);
    assert!(first.topology().nodes() > 1);
    let simplest = shrunk(text.clone(), has_node);
    assert!(has_node(&simplest) && !simplest.contains("[[app]]") && simplest.len() < text.len() / 2, "{simplest}");
}
