//! Peers with links of their own (`link_classes`).

use parades_catalog::{Choice, Scenario, Simulation, Wish};
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;

#[test]
fn peers_with_fast_links_download_sooner() {
    let scenario = Scenario::named("bittorrent").expect("it is built in");
    let mut values = scenario.values();
    let fast_and_slow = "link_classes=10x100kbps/100kbps,10x10kbps/4kbps";
    for argument in ["peers=20", "pieces=200", fast_and_slow] {
        values.set_argument("--set", argument).expect("it is possible");
    }
    let simulation = Simulation::new(scenario, &values, 1).expect("the parameters are possible");
    let wish = Wish { engine: "sequential", threads: None, processes: None, processes_here: None, tune: &[] };
    let choice = Choice::of(wish).expect("there is such an engine");
    let outcome = simulation.run(&choice, RunOptions::until(simulation.until)).expect("it runs");
    let rows = outcome.metrics.get("peers").and_then(MetricValue::table).expect("it is declared").rows();
    let completed = |row: &Vec<Cell>| match row[2] {
        Cell::Integer(ps) => Delay::from_ps(ps).as_secs_f64(),
        _ => 0.0, // the seed
    };
    let times: Vec<f64> = rows.iter().map(completed).collect();
    let (fast, slow) = times.split_at(10);
    // 200 pieces of 196 bits at 4 kbit/s.
    let least = 200.0 * 196.0 / 4e3;
    assert!(fast.iter().all(|&time| time < least) && slow.iter().all(|&time| time >= least), "{fast:?}, {slow:?}");
    assert_eq!(slow.len(), 10);
}
