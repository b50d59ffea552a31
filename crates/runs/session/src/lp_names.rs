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
    /// The logical processes of a name, as traces show it.
    ids: BTreeMap<String, Vec<LpId>>,
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
        let mut ids = BTreeMap::<String, Vec<LpId>>::new();
        for (lp, name) in names {
            ids.entry(shown_name(lp, Some(name)).trim().to_owned()).or_default().push(lp);
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
        match self.ids.get(&name).map(Vec::as_slice) {
            Some([lp]) => Ok(*lp),
            Some(lps @ [first, ..]) => Err(NoLp {
                message: format!("{} logical processes are called {}", lps.len(), quoted(&name)),
                help: format!("write the number of one of them, as in `{first}`"),
            }),
            Some([]) | None => number_of(&name).ok_or_else(|| self.unknown(&name)),
        }
    }

    /// Returns the logical processes whose names match a pattern, in which `*` stands for any text.
    ///
    /// # Errors
    ///
    /// If no name matches.
    pub fn matching(&self, pattern: &str) -> Result<Vec<LpId>, NoLp> {
        let pattern = escaped(pattern.trim());
        let parts: Vec<&str> = pattern.split('*').collect();
        let matching = self.ids.iter().filter(|(name, _)| matches(name, &parts));
        let found: Vec<LpId> = matching.map(|(_, ids)| ids).flat_map(|ids| ids.iter().copied()).collect();
        if found.is_empty() { Err(self.unknown(&pattern)) } else { Ok(found) }
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

/// True if `name` consists of these parts in their order, with any text between two of them.
fn matches(name: &str, parts: &[&str]) -> bool {
    let [first, between @ .., last] = parts else { return parts == [name] };
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    for part in between {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_names_all_lps_whose_names_match() {
        let names = ["east.0", "east.1", "gw-east", "west.0", "east.1"];
        let names: LpNames = (0..).map(LpId).zip(names.map(str::to_owned)).collect();
        let found = |pattern| names.matching(pattern).map(|lps| lps.iter().map(|lp| lp.0).collect::<Vec<_>>());
        assert_eq!(found("east.*"), Ok(vec![0, 1, 4]));
        assert_eq!(found("*.0"), Ok(vec![0, 3]));
        assert_eq!(found("*e*t*0"), Ok(vec![0, 3]));
        assert_eq!(found("*"), Ok(vec![0, 1, 4, 2, 3]));
        assert_eq!(found("gw-*-east"), Err(names.unknown("gw-*-east")));
        assert_eq!(found("*east*east"), Err(names.unknown("*east*east")), "each part counts once");
    }
}
