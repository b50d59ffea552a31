//! Branches: saved runs that go on with other values of some parameters, or with other random streams.
//!
//! A branch is a saved run itself ([`Saved::branch`]). Its scenario file has the new values, and its head the
//! list of changes. Its cut is that of the run before; plans that rest on changed values are made again. So a
//! branch goes on, is saved and goes on again like any other saved run.
//!
//! *Networks in files.* A link changes by an event of the file, at the time of the cut. So the branch is the
//! run of a file that anybody could write.

use crate::request::quote;
use crate::{Failure, Plan, Request, Saved};
use parades_catalog::program_name;
use parades_config::units::format_time;
use parades_config::{ConfigError, Place, Values, list, nearest, quoted, toml_string};
use parades_core::cut::Branch;
use parades_core::time::Time;
use parades_netfile::{CHANGEABLE, looks_up_routes, value_at};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use twox_hash::XxHash3_128;

/// A change of a saved run, as records and saves have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branched {
    /// The file of the saved run.
    pub file: PathBuf,
    /// The virtual time of its cut, in picoseconds.
    pub time_ps: u64,
    /// The digest of the run until then, in hexadecimal digits; `None` if digests were switched off.
    pub digest: Option<String>,
    /// The values that changed.
    pub changes: Vec<Change>,
    /// The seed of the random streams from then on; `None` if they went on.
    pub seed: Option<u64>,
    /// True if the metrics began again then.
    #[serde(default)]
    pub fresh_metrics: bool,
}

/// The user's wish for a branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Values from the cut on, as `KEY=VALUE`.
    pub set: Vec<String>,
    /// The seed of new random streams. `None` if the streams go on.
    pub seed: Option<u64>,
    /// True if the metrics begin again at the cut.
    pub fresh_metrics: bool,
}

/// A value that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The key.
    pub key: String,
    /// The value before the cut. Of several links, that of the first.
    pub before: String,
    /// The value from the cut on.
    pub after: String,
}

impl Branched {
    /// Returns a sentence on the branch.
    pub fn note(&self) -> String {
        let (file, time) = (quoted(&self.file.display().to_string()), Time::from_ps(self.time_ps));
        let changes =
            self.changes.iter().map(|Change { key, before, after }| format!("`{key}={after}` ({before} before)"));
        let streams = self.seed.map(|seed| format!("the random streams of seed {seed}"));
        let metrics = self.fresh_metrics.then(|| "metrics that begin there".to_owned());
        let what: Vec<String> = changes.chain(streams).chain(metrics).collect();
        format!("a branch of {file}, from {time} on with {}", list(what.iter().map(String::as_str), "and"))
    }

    /// Returns the command that makes the branch again.
    pub fn command(&self) -> String {
        let mut words = vec![program_name().to_owned(), "branch".into(), self.file.display().to_string()];
        words.extend(
            self.changes.iter().flat_map(|Change { key, after, .. }| ["--set".into(), format!("{key}={after}")]),
        );
        words.extend(self.seed.iter().flat_map(|seed| ["--seed".into(), seed.to_string()]));
        words.extend(self.fresh_metrics.then(|| "--fresh-metrics".to_owned()));
        words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
    }
}

impl Saved {
    /// Returns the branch of this run that has `wish` from the cut on. With a seed, each LP draws from a new
    /// random stream from then on ([`parades_core::random::Rng::afresh`]); what it has drawn before stays,
    /// such as the times of events on their way. `base` is the request of this run ([`Saved::request`]).
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] if a key cannot change during a run, or a value makes no sense; if the run has no
    /// states, so that nothing of it can change; if its states cannot go on with these values; or if the run
    /// ends where it was saved.
    pub fn branch(&mut self, base: &Request, wish: &Wish) -> Result<Saved, Failure> {
        let file = self.path.display().to_string();
        if let Some(why) = &self.head.replayed {
            let message = format!("{file} has no states, since {why}: nothing can change in the middle of the run");
            return Err(Failure::usage(message, "change the parameter from the start on, with `run`"));
        }
        let Wish { set, seed, fresh_metrics } = wish;
        let before = Plan::of(&self.hold(base))?;
        let Changed { text, plan, changes, notes } = match before.network {
            Some(_) => of_network(&before, self.head.time(), set)?,
            None => of_scenario(&before, set)?,
        };
        self.check_digest(&before)?;
        let mut head = self.head.clone();
        head.scenario = text;
        // Files of the saved run are no files of its branch.
        head.outputs = None;
        let (seed, fresh_metrics, time_ps) = (*seed, *fresh_metrics, head.time_ps);
        let digest = head.digest.map(|digest| format!("{digest:016x}"));
        head.branches.push(Branched { file: self.path.clone(), time_ps, digest, changes, seed, fresh_metrics });
        let mut branch = Saved { head, notes, ..self.clone() };
        branch.notes.extend(branch.head.branches.last().map(Branched::note));
        let request = branch.hold(base);
        let after = plan.map_or_else(|| Plan::of(&request), Ok)?;
        let how = Branch { seed, tie_seed: before.tie_seed, fresh_metrics };
        let (cut, digest) = after.simulation()?.branch(&self.cut, &how).map_err(|what| {
            let message = format!("{file} cannot go on from {} in this way: {what}", self.head.time());
            Failure::usage(message, "change less, or start the run again with these values")
        })?;
        self.check_time_left(&before)?;
        branch.cut_hash = Some(XxHash3_128::oneshot(&cut));
        (branch.cut, branch.head.digest) = (cut, branch.head.digest.map(|_| digest));
        Ok(branch)
    }

    /// Checks that the run of `plan` ends after the cut: a branch would change nothing otherwise.
    pub(crate) fn check_time_left(&self, plan: &Plan) -> Result<(), Failure> {
        let (file, time) = (self.path.display(), self.head.time());
        if plan.until.is_some_and(|until| until <= time) {
            let message = format!("{file} was saved at {time}, where the run ends: a branch would change nothing");
            return Err(Failure::usage(message, "give a later end with `--until`"));
        }
        Ok(())
    }

    /// Checks that the cut is one of the run of `plan`, once.
    fn check_digest(&mut self, plan: &Plan) -> Result<(), Failure> {
        if !self.is_checked {
            let digest = plan.simulation()?.digest_at(&self.cut).map_err(|what| self.malformed(&what))?;
            if self.head.digest.is_some_and(|of_head| of_head != digest) {
                return Err(self.differs());
            }
            self.is_checked = true;
        }
        Ok(())
    }
}

/// The scenario of a branch.
struct Changed {
    /// The text of its file.
    text: String,
    /// The plan, whose values name the arguments that set them. `None` if the text has all of it.
    plan: Option<Plan>,
    changes: Vec<Change>,
    /// Notes for the user, a sentence each.
    notes: Vec<String>,
}

/// Changes parameters of a scenario.
fn of_scenario(before: &Plan, set: &[String]) -> Result<Changed, Failure> {
    let mut plan = before.clone();
    let (mut changes, mut notes) = (Vec::new(), Vec::new());
    for assignment in set {
        let (parameter, value) = plan.values.change_argument("--set", assignment)?;
        note_change(parameter.key(), value.to_string(), &plan.values, &mut changes, &mut notes);
    }
    let is_changed = |key: &str| changes.iter().any(|change| change.key == key);
    if let Some(idle) = plan.values.idle().find(|idle| is_changed(idle.key)) {
        return Err(plan.values.refusal(&idle).into());
    }
    Ok(Changed { text: plan.as_file(None)?, plan: Some(plan), changes, notes })
}

/// Notes the change of a key from the value `before` to that in `values`, or that it is none.
fn note_change(key: &str, before: String, values: &Values, changes: &mut Vec<Change>, notes: &mut Vec<String>) {
    let after = values.get(key).map_or_else(String::new, ToString::to_string);
    if before == after {
        notes.push(format!("`{key}` is {after} already"));
    }
    changes.retain(|change| change.key != key);
    changes.push(Change { key: key.to_owned(), before, after });
}

/// Changes links and apps of a network in a file. Links change by events at the time of the cut.
fn of_network(before: &Plan, at: Time, set: &[String]) -> Result<Changed, Failure> {
    let network = before.network.as_ref().expect("the caller has asked");
    let (description, ..) = network.describe(&before.values, before.seed)?;
    let mut plan = before.clone();
    let (mut events, mut changes, mut notes) = (String::new(), Vec::new(), Vec::new());
    for assignment in set {
        let wrong = |message: String, help: &str| {
            ConfigError::new(message).with_help(help).at(Place::Argument(format!("--set {assignment}")))
        };
        let path = assignment.split_once('=').map_or(assignment.as_str(), |(path, _)| path).trim();
        let parts = path.split_once('.').and_then(|(table, rest)| Some((table, rest.rsplit_once('.')?)));
        let form = parts.map_or_else(|| path.to_owned(), |(table, (_, key))| format!("{table}.NAME.{key}"));
        let Some((table, (name, key))) = parts.filter(|_| CHANGEABLE.contains(&form.as_str())) else {
            let keys = list(CHANGEABLE.map(|key| format!("`{key}`")).iter().map(String::as_str), "and");
            let help = match nearest(&form, CHANGEABLE) {
                Some(near) => format!("did you mean `{near}`, of the keys that may: {keys}?"),
                None => format!("the keys that may are {keys}"),
            };
            return Err(wrong(format!("{} may not change during a run", quoted(path)), &help).into());
        };
        // The reader of files knows the names, and which values are possible.
        let mut values = before.values.clone();
        values.set_argument("--set", assignment)?;
        let after = values.get(path).map_or_else(String::new, ToString::to_string);
        if table == "app" || key == "queue" {
            if name.contains('*') {
                return Err(wrong(format!("{} names several", quoted(path)), "give each a `--set` of its own").into());
            }
            let earlier = value_at(&description, table, name, key, at)
                .ok_or_else(|| wrong(format!("{} is nothing that may change", quoted(path)), "leave it out"))?;
            plan.values.set_argument("--set", assignment)?;
            note_change(path, earlier, &plan.values, &mut changes, &mut notes);
            continue;
        }
        if key == "delay" && !looks_up_routes(&description) {
            let message = format!("{} decides on routes, and packets carry theirs", quoted(path));
            let help = "give the network an event that changes routes, such as a failure after its end";
            return Err(wrong(message, help).into());
        }
        let earlier = value_at(&description, table, name, key, at).unwrap_or_default();
        note_change(path, earlier, &values, &mut changes, &mut notes);
        let value = if key == "loss" { after } else { toml_string(&after) };
        let (at, link) = (toml_string(&format_time(at)), toml_string(name));
        events.push_str(&format!("\n[[event]]\nat = {at}\nlink = {link}\n{key} = {value}\n"));
    }
    Ok(Changed { text: plan.as_file(None)? + &events, plan: None, changes, notes })
}
