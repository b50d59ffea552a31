//! Scores of peers, P1 to P7.

use crate::Invalid;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// The parameters of scores. Names are those of the specification; all topics have the same.
///
/// The specification gives no defaults, as good values depend on the traffic. Those here suit a low rate of
/// messages: P3, the penalty for too few messages, is off, because it needs a threshold below the real rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    /// Below this score, no gossip is sent to a peer, and its gossip is ignored. Below 0.
    pub gossip_threshold: f64,
    /// Below this score, a peer gets no messages that the node itself publishes.
    pub publish_threshold: f64,
    /// Below this score, all messages of a peer are ignored.
    pub graylist_threshold: f64,
    /// Below this score, peers that a PRUNE offers are not taken. 0 or above.
    pub accept_px_threshold: f64,
    /// If the median score of a mesh is below this, better peers are grafted now and then. 0 or above.
    pub opportunistic_graft_threshold: f64,
    /// The time between decays.
    pub decay_interval: Delay,
    /// A counter below this becomes 0 when it decays.
    pub decay_to_zero: f64,
    /// The weight of each topic.
    pub topic_weight: f64,
    /// The greatest sum over all topics; 0: no limit.
    pub topic_score_cap: f64,
    /// P1, time in the mesh: its weight.
    pub time_in_mesh_weight: f64,
    /// P1: the time for one point.
    pub time_in_mesh_quantum: Delay,
    /// P1: the greatest value.
    pub time_in_mesh_cap: f64,
    /// P2, first deliveries: its weight.
    pub first_message_deliveries_weight: f64,
    /// P2: its decay.
    pub first_message_deliveries_decay: f64,
    /// P2: the greatest value.
    pub first_message_deliveries_cap: f64,
    /// P3, too few deliveries in the mesh: its weight, 0 or below.
    pub mesh_message_deliveries_weight: f64,
    /// P3: its decay.
    pub mesh_message_deliveries_decay: f64,
    /// P3: the number of deliveries below which there is a penalty.
    pub mesh_message_deliveries_threshold: f64,
    /// P3: the greatest number of deliveries that counts.
    pub mesh_message_deliveries_cap: f64,
    /// P3: the time in the mesh before there is a penalty.
    pub mesh_message_deliveries_activation: Delay,
    /// P3: the time after validation in which a copy still counts as a delivery.
    pub mesh_message_deliveries_window: Delay,
    /// P3b, deficits at the time of a PRUNE: its weight, 0 or below.
    pub mesh_failure_penalty_weight: f64,
    /// P3b: its decay.
    pub mesh_failure_penalty_decay: f64,
    /// P4, invalid messages: its weight, 0 or below.
    pub invalid_message_deliveries_weight: f64,
    /// P4: its decay.
    pub invalid_message_deliveries_decay: f64,
    /// P5, the score that the application gives: its weight.
    pub app_specific_weight: f64,
    /// P5: the score of each node, by number. Missing nodes have 0.
    pub app_specific: Vec<f64>,
    /// P6, several peers at one address: its weight, 0 or below.
    pub ip_colocation_factor_weight: f64,
    /// P6: the number of peers at one address that is without penalty.
    pub ip_colocation_factor_threshold: u32,
    /// P6: the address of each node, by number. Missing nodes have one of their own.
    pub addresses: Vec<u32>,
    /// P7, misdemeanours: its weight, 0 or below.
    pub behaviour_penalty_weight: f64,
    /// P7: its decay.
    pub behaviour_penalty_decay: f64,
}

impl Default for Scores {
    fn default() -> Scores {
        Scores {
            gossip_threshold: -10.0,
            publish_threshold: -50.0,
            graylist_threshold: -80.0,
            accept_px_threshold: 0.0,
            opportunistic_graft_threshold: 1.0,
            decay_interval: Delay::from_secs(1),
            decay_to_zero: 0.01,
            topic_weight: 1.0,
            topic_score_cap: 0.0,
            time_in_mesh_weight: 0.01,
            time_in_mesh_quantum: Delay::from_secs(1),
            time_in_mesh_cap: 100.0,
            first_message_deliveries_weight: 1.0,
            first_message_deliveries_decay: 0.99,
            first_message_deliveries_cap: 50.0,
            mesh_message_deliveries_weight: 0.0,
            mesh_message_deliveries_decay: 0.97,
            mesh_message_deliveries_threshold: 5.0,
            mesh_message_deliveries_cap: 100.0,
            mesh_message_deliveries_activation: Delay::from_secs(30),
            mesh_message_deliveries_window: Delay::from_ms(5),
            mesh_failure_penalty_weight: 0.0,
            mesh_failure_penalty_decay: 0.97,
            invalid_message_deliveries_weight: -10.0,
            invalid_message_deliveries_decay: 0.99,
            app_specific_weight: 1.0,
            app_specific: Vec::new(),
            ip_colocation_factor_weight: -5.0,
            ip_colocation_factor_threshold: 10,
            addresses: Vec::new(),
            behaviour_penalty_weight: -10.0,
            behaviour_penalty_decay: 0.97,
        }
    }
}

impl Scores {
    /// Checks the parameters against the constraints of the specification.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let refuse = |name, what: &str| Err((name, what.to_owned()));
        if self.gossip_threshold >= 0.0 {
            return refuse("gossip_threshold", "it must be below 0");
        }
        if self.publish_threshold > self.gossip_threshold || self.graylist_threshold > self.publish_threshold {
            return refuse("publish_threshold", "graylist <= publish <= gossip threshold must hold");
        }
        if self.accept_px_threshold < 0.0 || self.opportunistic_graft_threshold < 0.0 {
            return refuse("accept_px_threshold", "it and the opportunistic threshold must be 0 or above");
        }
        if self.decay_interval == Delay::ZERO || self.time_in_mesh_quantum == Delay::ZERO {
            return refuse("decay_interval", "it and the quantum of P1 must be above zero");
        }
        if self.time_in_mesh_weight < 0.0 || self.time_in_mesh_cap < 0.0 {
            return refuse("time_in_mesh_cap", "it and the weight of P1 must be 0 or above");
        }
        if self.mesh_message_deliveries_cap < self.mesh_message_deliveries_threshold {
            return refuse("mesh_message_deliveries_cap", "it must be at least the threshold of P3");
        }
        let decays = [
            self.first_message_deliveries_decay,
            self.mesh_message_deliveries_decay,
            self.mesh_failure_penalty_decay,
            self.invalid_message_deliveries_decay,
            self.behaviour_penalty_decay,
        ];
        if !decays.iter().all(|decay| (0.0..=1.0).contains(decay)) {
            return refuse("behaviour_penalty_decay", "all decays must be 0 to 1");
        }
        let penalties = [
            self.mesh_message_deliveries_weight,
            self.mesh_failure_penalty_weight,
            self.invalid_message_deliveries_weight,
            self.ip_colocation_factor_weight,
            self.behaviour_penalty_weight,
        ];
        if !penalties.iter().all(|&weight| weight <= 0.0) {
            return refuse("behaviour_penalty_weight", "the weights of P3, P3b, P4, P6 and P7 must be 0 or below");
        }
        Ok(())
    }

    /// Multiplies a counter by its decay.
    pub(super) fn decay(&self, counter: &mut f64, factor: f64) {
        *counter *= factor;
        if *counter < self.decay_to_zero {
            *counter = 0.0;
        }
    }

    /// Returns the address of a node; distinct for nodes that have none in the list.
    pub(super) fn address(&self, node: u32) -> u64 {
        self.addresses.get(node as usize).map_or(1 << 32 | u64::from(node), |&address| u64::from(address))
    }
}

/// The counters of a peer in a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Counters {
    /// The time at which the peer came into the mesh, while it is there.
    pub(super) grafted: Option<Time>,
    /// The time in the mesh, as of the last decay.
    pub(super) in_mesh: Delay,
    pub(super) first: f64,
    pub(super) deliveries: f64,
    pub(super) failures: f64,
    pub(super) invalid: f64,
}

impl Counters {
    /// Returns the deliveries that the peer is short of.
    fn deficit(&self, scores: &Scores) -> f64 {
        let is_active = self.grafted.is_some() && self.in_mesh > scores.mesh_message_deliveries_activation;
        if is_active { (scores.mesh_message_deliveries_threshold - self.deliveries).max(0.0) } else { 0.0 }
    }

    /// Returns the part of the topic in the peer's score.
    pub(super) fn score(&self, scores: &Scores) -> f64 {
        let mut score = 0.0;
        if self.grafted.is_some() {
            let points = self.in_mesh.as_ps() / scores.time_in_mesh_quantum.as_ps();
            score += scores.time_in_mesh_weight * (points as f64).min(scores.time_in_mesh_cap);
        }
        let deficit = self.deficit(scores);
        score += scores.first_message_deliveries_weight * self.first;
        score += scores.mesh_message_deliveries_weight * deficit * deficit;
        score += scores.mesh_failure_penalty_weight * self.failures;
        score += scores.invalid_message_deliveries_weight * self.invalid * self.invalid;
        scores.topic_weight * score
    }

    /// Takes the peer into the mesh.
    pub(super) fn graft(&mut self, now: Time) {
        (self.grafted, self.in_mesh, self.deliveries) = (Some(now), Delay::ZERO, 0.0);
    }

    /// Takes the peer out of the mesh. A deficit is remembered in P3b.
    pub(super) fn prune(&mut self, scores: Option<&Scores>) {
        let deficit = scores.map_or(0.0, |scores| self.deficit(scores));
        self.failures += deficit * deficit;
        (self.grafted, self.in_mesh) = (None, Delay::ZERO);
    }

    /// Counts the first delivery of a message.
    pub(super) fn delivers_first(&mut self, scores: &Scores) {
        self.first = (self.first + 1.0).min(scores.first_message_deliveries_cap);
        self.delivers(scores);
    }

    /// Counts a first or nearly first delivery by a peer of the mesh.
    pub(super) fn delivers(&mut self, scores: &Scores) {
        if self.grafted.is_some() {
            self.deliveries = (self.deliveries + 1.0).min(scores.mesh_message_deliveries_cap);
        }
    }

    /// Lets all counters decay.
    pub(super) fn decay(&mut self, scores: &Scores, now: Time) {
        scores.decay(&mut self.first, scores.first_message_deliveries_decay);
        scores.decay(&mut self.deliveries, scores.mesh_message_deliveries_decay);
        scores.decay(&mut self.failures, scores.mesh_failure_penalty_decay);
        scores.decay(&mut self.invalid, scores.invalid_message_deliveries_decay);
        if let Some(grafted) = self.grafted {
            self.in_mesh = now.since(grafted);
        }
    }
}
