//! Programs on clusters of a platform. No route connects the clusters, so each has a solver of its own, and
//! engines run clusters in parallel.
//!
//! The programs of a cluster form a ring. In each step a program computes, sends data to the next one, and
//! receives data from the one before. All messages of a cluster share its backbone.
//!
//! *References*: M. Quinson, C. Rosa, C. Thiéry, *Parallel Simulation of Peer-to-Peer Systems*, CCGrid 2012
//! (programs in parallel, the platform in sequence).

use parades_carriers::{FlowLevel, OnPlatform};
use parades_core::prelude::*;
use parades_flow::generators;
use parades_flow::network_model::{MaxMinModel, NetworkModel};
use parades_program::{Node, Processes, Program, Start};
use serde::{Deserialize, Serialize};

/// The parameters.
#[derive(Clone, Debug, PartialEq, parades_config::Parameters)]
pub struct Parameters {
    /// The number of clusters.
    #[parameter(integer, default = 64, range = 1..=10_000, meaning = "clusters, without a route between them")]
    pub clusters: u32,
    /// The number of programs of a cluster, each on a host of its own.
    #[parameter(integer, default = 100, range = 2..=10_000, meaning = "programs of each cluster, in a ring")]
    pub programs: u32,
    /// The number of steps of a program.
    #[parameter(
        integer,
        default = 20,
        range = 1..=1_000_000,
        meaning = "steps of each program: compute, send to the next one, receive"
    )]
    pub steps: u32,
    /// The mean of what a program computes in a step, in flops.
    #[parameter(float, default = 1e7, range = 0.0..=1e18, meaning = "what a program computes in a step, in the mean")]
    pub flops: f64,
    /// The greatest deviation of such an amount, as a share of the mean. It is drawn uniformly.
    #[parameter(
        fraction,
        default = 0.0,
        meaning = "greatest deviation of what a program computes, to either side; 0: all programs are in step"
    )]
    pub deviation: f64,
    /// The data that a program sends in a step.
    #[parameter(size, default = 100_000, meaning = "data that a program sends in a step")]
    pub data: u64,
    /// True if each cluster has a solver of its own. Otherwise, all share one.
    #[parameter(boolean, default = true, meaning = "whether each cluster has a solver of its own, or one has all")]
    pub solver_each: bool,
}

/// The programs.
#[derive(Debug)]
pub struct Clusters {
    parameters: Parameters,
    carrier: FlowLevel<Data>,
}

/// A message, in bytes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Data(f64);

impl Payload for Data {
    fn fold(&self, digest: &mut Digest) {
        digest.word(self.0.to_bits());
    }
}

const METRICS: Declared<2> = Declared::new([
    Declaration::counter("programs_finished", Unit::Count),
    Declaration::tally("duration", Unit::Picoseconds),
]);
const FINISHED: CounterId = METRICS.counter("programs_finished");
const DURATION: IntegerId = METRICS.integer("duration");

impl Clusters {
    /// Makes the model of these parameters.
    ///
    /// # Errors
    ///
    /// The key of a parameter, and the sentence about its value, if there would be more hosts than a platform
    /// has.
    ///
    /// # Examples
    ///
    /// ```
    /// use parades_core::prelude::*;
    /// use parades_models::clusters::{Clusters, Parameters};
    /// let parameters = Parameters { clusters: 3, programs: 4, steps: 2, ..Parameters::default() };
    /// let model = Clusters::model(parameters).expect("some hosts");
    /// assert_eq!(model.lps(), 3 * 4 + 3); // the programs, and a solver for each cluster
    /// let outcome = parades_engine::sequential::run(&model, RunOptions::until(Time::MAX))?;
    /// assert_eq!(outcome.metrics.get("programs_finished").and_then(|metric| metric.counter()), Some(12));
    /// # Ok::<(), parades_core::error::Error>(())
    /// ```
    pub fn model(parameters: Parameters) -> Result<Processes<Clusters>, (&'static str, String)> {
        let &Parameters { clusters, programs, solver_each, .. } = &parameters;
        let platform = generators::clusters(clusters, programs).map_err(|error| ("programs", error.to_string()))?;
        let network_model = NetworkModel::MaxMin(MaxMinModel::LV08);
        let carrier = FlowLevel::new(platform.into(), network_model, clusters * programs, |data: &Data| data.0);
        let carrier = if solver_each { carrier.with_solver_for_each_part() } else { carrier };
        Ok(Processes::new(Clusters { parameters, carrier }))
    }

    /// Returns the program after this one in the ring of its cluster.
    fn next(&self, LpId(program): LpId) -> LpId {
        let first = program - program % self.parameters.programs;
        LpId(first + (program - first + 1) % self.parameters.programs)
    }
}

impl Program for Clusters {
    type Message = Data;
    /// The time at which the program ended.
    type State = Option<Time>;
    type Carrier = FlowLevel<Data>;

    fn nodes(&self) -> u32 {
        self.parameters.clusters * self.parameters.programs
    }

    fn carrier(&self) -> &FlowLevel<Data> {
        &self.carrier
    }

    fn metrics(&self) -> Metrics {
        METRICS.metrics()
    }

    fn start(&self, start: &mut Start<'_, Self>) -> Option<Time> {
        let (next, Parameters { steps, flops, deviation, data, .. }) = (self.next(start.id()), self.parameters.clone());
        start.spawn("program", move |node: Node<Clusters>| async move {
            for _ in 0..steps {
                let factor =
                    if deviation > 0.0 { node.random(|rng| 1.0 + deviation * (2.0 * rng.unit() - 1.0)) } else { 1.0 };
                node.compute(flops * factor).await.expect("hosts do not fail here");
                node.send(next, Data(data as f64));
                node.receive().await;
            }
            node.with(|here| {
                let now = here.now();
                here.observe(DURATION, now.as_ps());
                *here.state = Some(now);
            });
        });
        None
    }

    fn must_end(&self) -> bool {
        true
    }

    fn finish(&self, _: LpId, end: &Option<Time>, _: &End, metrics: &mut Metrics) {
        metrics.count(FINISHED, u64::from(end.is_some()));
    }
}
