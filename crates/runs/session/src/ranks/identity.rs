//! The facts on which all ranks of a run must agree.

use crate::Plan;
use parades_catalog::{Choice, Simulation};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The facts about a rank that decide the answer, or on which the engine relies. By name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity(Vec<(String, Value)>);

impl Identity {
    pub(super) fn of(plan: &Plan, choice: &Choice, simulation: &Simulation) -> Identity {
        let program = std::env::current_exe().and_then(std::fs::metadata).map_or(0, |file| file.len());
        let until = plan.until.unwrap_or(simulation.until).to_string();
        let facts = [
            ("version of the program", json!(env!("CARGO_PKG_VERSION"))),
            ("size of the program", json!(program)),
            ("scenario", json!(plan.scenario.name)),
            ("parameters", json!(plan.values)),
            ("number of logical processes", json!(simulation.lps())),
            ("seed", json!(plan.seed)),
            ("tie seed", json!(plan.tie_seed)),
            ("end", json!(until)),
            ("digest", json!(plan.request.digest)),
            ("engine", json!(choice.engine.name())),
            ("settings of the engine", json!(choice.settings)),
            ("number of threads", json!(choice.threads)),
        ];
        Identity(facts.map(|(name, value)| (name.to_owned(), value)).into())
    }

    /// Returns a sentence on the first fact in which the rank `other` differs from rank 0.
    pub(super) fn difference(&self, rank: usize, other: &Identity) -> Option<String> {
        let pairs = self.0.iter().zip(&other.0);
        let differing = pairs.into_iter().find(|(mine, theirs)| mine != theirs);
        let (name, mine, theirs) = match differing {
            Some(((name, mine), (_, theirs))) => (name.as_str(), mine, theirs),
            None if self.0.len() == other.0.len() => return None,
            None => ("version of the program", &Value::Null, &Value::Null),
        };
        Some(format!(
            "rank {rank} has another {name} than rank 0: {theirs}, not {mine}; start the same command on every rank"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        let of = |seed: u64| Identity(vec![("scenario".into(), json!("phold")), ("seed".into(), json!(seed))]);
        assert_eq!(of(1).difference(2, &of(1)), None);
        assert_eq!(
            of(1).difference(2, &of(7)).as_deref(),
            Some("rank 2 has another seed than rank 0: 7, not 1; start the same command on every rank")
        );
    }
}
