//! The header of a journal. Runs of an earlier sweep are of use only where it is the same.

use super::SweepPlan;
use crate::Program;
use parades_config::{Kind, inputs};
use parades_core::digest::Digest;
use parades_sweep::Header;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// The most bytes of a file that are hashed: no input may be larger.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// The field of a header that names the shard.
pub(super) const SHARD: &str = "shard";
/// The field of a shard's header that has the words of the sweep's command.
pub(super) const SWEEP: &str = "sweep";

impl SweepPlan {
    /// Reads all files that the runs will read. If the process holds its inputs
    /// ([`parades_config::inputs::hold`]), they then are what the runs are made from, even if a file changes.
    pub fn read_inputs(&self) {
        self.files();
    }

    /// Returns the header. Seeds, and values of swept parameters, may be added to a sweep, so they are not
    /// part of it, except in a shard.
    pub(super) fn header(&self, program: &Program) -> Header {
        let mut header = self.whole_header(program);
        // The journal of a shard says what the whole sweep is, for the merge of all shards.
        if let Some(shard) = self.request.shard {
            header.0.insert(SHARD.into(), json!(shard.to_string()));
            header.0.insert(SWEEP.into(), json!(self.request.words()));
        }
        header
    }

    /// Returns the header of the whole sweep, without the fields of a shard.
    pub(super) fn whole_header(&self, program: &Program) -> Header {
        let fields = json!({
            "version": program.version,
            "commit": program.commit,
            "scenario": self.plan.scenario.name,
            "parameters": self.fixed(),
            "files": self.files(),
            "until": self.plan.until.map(|until| until.to_string()),
            "tie_seed": self.plan.tie_seed,
            "engine": self.choice.engine.name(),
            "settings": self.choice.settings,
            "threads": self.threads,
            "digest": self.request.base.digest,
        });
        match fields {
            Value::Object(mut fields) => {
                if !self.request.from.is_empty() {
                    let hashes: Map<String, Value> = self
                        .request
                        .from
                        .iter()
                        .map(|saved| (saved.path().display().to_string(), json!(saved.file_hash())))
                        .collect();
                    fields.insert("from".into(), json!(hashes));
                    fields.insert("fresh_metrics".into(), json!(self.request.fresh_metrics));
                }
                Header(fields)
            }
            _ => unreachable!("it is written as an object above"),
        }
    }

    /// Returns a hash of each file that the runs read: where a file changes, so do the results.
    ///
    /// These are the file of the network, the files that parameters name, and those that these files name in
    /// turn. Files that cannot be read are left out; making the model reports them.
    fn files(&self) -> Map<String, Value> {
        let mut named = BTreeSet::new();
        let mut files = BTreeSet::new();
        for values in self.grid.points() {
            let of_kind = values.iter().filter(|(parameter, _)| matches!(parameter.kind(), Kind::Path));
            named.extend(of_kind.filter_map(|(parameter, _)| Some((parameter.key(), values.path(parameter.key())?))));
            files.extend(self.plan.network.iter().filter_map(|network| network.files(values).ok()).flatten());
        }
        for (parameter, path) in named {
            files.extend(self.plan.scenario.files_named_in(parameter, &path));
            files.insert(path);
        }
        let entry = |path: &Path, bytes: &[u8]| {
            let mut hash = Digest::default();
            hash.bytes(bytes);
            (path.to_string_lossy().into_owned(), Value::from(format!("{:016x}", hash.value())))
        };
        let network = self.plan.network.iter().map(|network| entry(network.path(), network.text().as_bytes()));
        // The content of a pipe is gone for the run once it is read here, unless this process holds its
        // inputs. Then the run gets that content.
        let read = |path: &Path| if path.is_file() { inputs::read(path, FILE_BYTES_MAX).ok() } else { None };
        network.chain(files.iter().filter_map(|path| Some(entry(path, &read(path)?)))).collect()
    }
}
