//! Programs on a platform whose parts have solvers of their own: they end as with one solver, under every
//! engine, and what would cross parts is refused.

use parades_carriers::{FlowLevel, OnPlatform};
use parades_core::prelude::*;
use parades_engine::{null_message, rounds, sequential, window};
use parades_flow::generators::clusters;
use parades_flow::network::Execution;
use parades_flow::network_model::{MaxMinModel, NetworkModel};
use parades_flow::platform::HostId;
use parades_program::{Node, ProcessId, Processes, Program, Start};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Mutex;

type Main = fn(Node<Script>) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// The hosts of each of the two clusters.
const HOSTS: u32 = 5;

/// Nodes that all begin with the same process, and keep the times of what they do.
struct Script {
    main: Main,
    carrier: FlowLevel<u64>,
}

impl Program for Script {
    type Message = u64;
    type State = Vec<Time>;
    type Carrier = FlowLevel<u64>;
    fn nodes(&self) -> u32 {
        2 * HOSTS
    }
    fn carrier(&self) -> &FlowLevel<u64> {
        &self.carrier
    }
    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        metrics.table("times", vec![Column::new("node", Unit::Count), Column::new("at", Unit::Picoseconds)]);
        metrics
    }
    fn start(&self, start: &mut Start<'_, Self>) -> Vec<Time> {
        start.spawn("main", self.main);
        Vec::new()
    }
    fn must_end(&self) -> bool {
        true
    }
    fn finish(&self, id: LpId, times: &Vec<Time>, _: &End, metrics: &mut Metrics) {
        for at in times {
            metrics.row(MetricId(0), [Cell::from(u64::from(id.0)), Cell::from(at.as_ps())]);
        }
    }
}

/// The process of each node, which is the same in all runs.
static PROCESSES: Mutex<BTreeMap<LpId, ProcessId>> = Mutex::new(BTreeMap::new());

fn register(node: Node<Script>) {
    PROCESSES.lock().expect("no test fails with it").insert(node.id(), node.process_id());
}

fn process_of(node: LpId) -> ProcessId {
    PROCESSES.lock().expect("no test fails with it")[&node]
}

fn done(node: Node<Script>) {
    node.with(|here| {
        let now = here.now();
        here.state.push(now);
    });
}

fn model(main: Main, solver_each: bool) -> Processes<Script> {
    let platform = clusters(2, HOSTS).expect("it is possible").into();
    let flows = FlowLevel::new(platform, NetworkModel::MaxMin(MaxMinModel::LV08), 2 * HOSTS, |&bytes| bytes as f64);
    let carrier = if solver_each { flows.with_solver_for_each_part() } else { flows };
    Processes::new(Script { main, carrier })
}

fn until() -> RunOptions<'static> {
    RunOptions::until(Time::from_secs(100))
}

/// Sends to the next node of the cluster in a ring, computes, meets the others of the cluster, and waits for
/// a process of the next node.
async fn busy(node: Node<Script>) {
    register(node);
    let LpId(me) = node.id();
    let first = me - me % HOSTS;
    let next = LpId(first + (me - first + 1) % HOSTS);
    for step in 0..5_u64 {
        node.send(next, 1_000_000 * (1 + step));
        node.receive().await;
        done(node);
        node.send_after(next, Delay::from_ms(u64::from(me)), 1);
        node.receive().await;
        node.compute(1e8 * f64::from(1 + me % 3)).await.expect("the host works");
        done(node);
        // The names hold within a part; other names tell the clusters apart if one solver has all.
        let last = node.shared_barrier(format!("step of {first}"), HOSTS).await;
        let mailbox = node.mailbox(format!("results of {first}"));
        if last {
            for _ in 1..HOSTS {
                mailbox.get().await.expect("it is put");
            }
        } else {
            mailbox.put(100_000).await.expect("it is got");
        }
        let permit = node.shared_mutex(format!("lock of {first}")).acquire().await;
        node.compute(1e6).await.expect("the host works");
        drop(permit);
        done(node);
    }
    if me != first {
        node.join(process_of(LpId(first))).await;
    }
    done(node);
}

#[test]
fn programs_end_as_with_one_solver_under_every_engine() {
    let main: Main = |node| Box::pin(busy(node));
    let with_one = sequential::run(&model(main, false), until()).expect("it runs");
    let split = model(main, true);
    assert_eq!((split.lps(), split.lp_name(LpId(11))), (12, Some("solver 1".into())));
    let expected = sequential::run(&split, until()).expect("it runs");
    assert_eq!(expected.metrics.get("times"), with_one.metrics.get("times"), "the same times");
    for threads in [1, 2, 3] {
        let fixed =
            rounds::Settings { threshold: rounds::Threshold::Fixed(2), ..rounds::Settings::of_threads(threads) };
        let found = [
            rounds::run(&split, until(), &fixed).expect("it runs"),
            window::run(&split, until(), &window::Settings::of_threads(threads)).expect("it runs"),
            null_message::run(&split, until(), &null_message::Settings::of_threads(threads)).expect("it runs"),
        ];
        for found in &found {
            assert_eq!((found.digest, &found.metrics), (expected.digest, &expected.metrics), "{threads} threads");
        }
        let workers =
            |outcome: &Outcome| outcome.engine_stats.iter().find(|(name, _)| *name == "workers").map(|of| of.1);
        assert_eq!(workers(&found[1]), Some(threads.min(2) as f64), "a worker for each part under `window`");
    }
}

#[test]
fn what_would_cross_parts_is_refused() {
    const OTHER: LpId = LpId(9);
    const OTHER_HOST: HostId = HostId(9);
    let sends: Main = |node| Box::pin(async move { drop(node.send(OTHER, 1)) });
    let sends_after: Main = |node| Box::pin(async move { node.send_after(OTHER, Delay::from_ms(1), 1) });
    let kills: Main = |node| {
        Box::pin(async move {
            register(node);
            node.sleep(Delay::from_ms(1)).await;
            node.kill(process_of(OTHER));
        })
    };
    let computes: Main = |node| {
        Box::pin(async move {
            let _ = node.execute_on(OTHER_HOST, Execution::new(1.0)).await;
        })
    };
    let switches: Main = |node| Box::pin(async move { node.switch_host(OTHER_HOST, false) });
    let refusals = [
        (sends, "the platform has no route from `c0-0` to `c1-4`"),
        (
            sends_after,
            "node 0 in part 0 of the platform acts on node 9 in part 1 of the platform: no route connects them",
        ),
        (kills, "node 0 in part 0 of the platform acts on node 9 in part 1 of the platform: no route connects them"),
        (computes, "it acts on the host `c1-4`, which is in another part of the platform"),
        (switches, "it acts on the host `c1-4`, which is in another part of the platform"),
    ];
    for (main, sentence) in refusals {
        let error = sequential::run(&model(main, true), until()).expect_err("it is refused");
        assert!(error.to_string().contains(sentence), "{error}");
    }
}

#[test]
fn a_platform_of_one_part_or_without_routes_keeps_one_solver() {
    let of = |clusters_: u32, network_model| {
        let platform = clusters(clusters_, HOSTS).expect("it is possible").into();
        FlowLevel::<u64>::new(platform, network_model, 5, |_| 1.0).with_solver_for_each_part().solvers()
    };
    let max_min = NetworkModel::MaxMin(MaxMinModel::LV08);
    assert_eq!((of(1, max_min), of(2, max_min)), (1, 2));
    assert_eq!(of(2, NetworkModel::Constant(Delay::from_ms(1))), 1, "messages need no route");
}
