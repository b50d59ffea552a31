//! The names of logical processes, as a user writes them.

use parades_catalog::Simulation;
use parades_config::{nearest, quoted};
use parades_core::escape::escaped;
use parades_core::event::LpId;
use parades_core::trace::shown_name;
use std::collections::BTreeMap;

/// The names of the logical processes of a model. By default there are none.
#[derive(Clone, Debug, Default)]
pub struct LpNames {
    /// The logical processes of a name, as traces show it: the first of them, and their number.
    ids: BTreeMap<String, (LpId, u32)>,
}

/// The error of a text that names no logical process: a sentence, and a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoLp {
    /// The message: a sentence without a full stop.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl FromIterator<(LpId, String)> for LpNames {
    fn from_iter<T: IntoIterator<Item = (LpId, String)>>(names: T) -> LpNames {
        let mut ids = BTreeMap::new();
        for (lp, name) in names {
            ids.entry(shown_name(lp, Some(name)).trim().to_owned()).or_insert((lp, 0)).1 += 1;
        }
        LpNames { ids }
    }
}

impl LpNames {
    /// Returns the names in a model.
    pub fn of(simulation: &Simulation) -> LpNames {
        (0..simulation.lps()).map(LpId).filter_map(|lp| Some((lp, simulation.lp_name(lp)?))).collect()
    }

    /// Returns the logical process that a user means: by its name, or else by its number, as `13` or `LP 13`.
    ///
    /// # Errors
    ///
    /// If none has this name, or several have it.
    pub fn find(&self, text: &str) -> Result<LpId, NoLp> {
        let name = escaped(text.trim());
        match self.ids.get(&name) {
            Some((lp, 1)) => return Ok(*lp),
            Some((lp, count)) => {
                return Err(NoLp {
                    message: format!("{count} logical processes are called {}", quoted(&name)),
                    help: format!("write the number of one of them, as in `{lp}`"),
                });
            }
            None => {}
        }
        number_of(&name).ok_or_else(|| self.unknown(&name))
    }

    fn unknown(&self, name: &str) -> NoLp {
        let help = match (nearest(name, self.ids.keys().map(String::as_str)), self.ids.keys().next()) {
            (Some(near), _) => format!("did you mean {}?", quoted(near)),
            (None, Some(first)) => format!("the names are like {}; a number will do too", quoted(first)),
            (None, None) => "here they have no names: write a number".to_owned(),
        };
        NoLp { message: format!("there is no logical process {}", quoted(name)), help }
    }
}

/// Reads `13` or `LP 13`.
fn number_of(text: &str) -> Option<LpId> {
    let number = text.strip_prefix("LP").unwrap_or(text).trim();
    number.parse().ok().filter(|&id| id < u32::MAX).map(LpId)
}
