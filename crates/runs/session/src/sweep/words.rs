//! The words of the command that a sweep was requested by.

use super::SweepRequest;
use crate::Request;

impl SweepRequest {
    /// Returns the words of a command that requests the same runs, without the name of the program. The
    /// command has no shard, no files for results and no limits of resources.
    pub fn words(&self) -> Vec<String> {
        let Request { scenario, set, seed, tie_seed, until, engine, threads, processes, tune, digest, .. } = &self.base;
        let mut words = vec!["sweep".to_owned()];
        match self.from.is_empty() {
            true => words.push(scenario.clone()),
            false => {
                words.extend(self.from.iter().flat_map(|saved| ["--from".into(), saved.path().display().to_string()]))
            }
        }
        words.extend(self.fresh_metrics.then(|| "--fresh-metrics".to_owned()));
        let mut option = |name: &str, value: Option<String>| {
            words.extend(value.into_iter().flat_map(|value| [format!("--{name}"), value]));
        };
        set.iter().for_each(|set| option("set", Some(set.clone())));
        option("seeds", self.seeds.clone());
        option("seed", seed.map(|seed| seed.to_string()));
        let several = self.tie_seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let one = tie_seed.map(|seed| seed.to_string());
        option("tie-seed", if self.tie_seeds.len() > 1 { Some(several) } else { one });
        option("until", until.map(|until| until.to_string()));
        option("engine", engine.clone());
        option("threads", threads.map(|threads| threads.to_string()));
        option("processes", processes.map(|processes| processes.to_string()));
        tune.iter().for_each(|setting| option("tune", Some(setting.clone())));
        if !digest {
            words.push("--no-digest".into());
        }
        words
    }
}
