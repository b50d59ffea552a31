//! The names of metrics, as users shorten them.

use crate::Failure;
use parades_config::{nearest, quoted};

/// Returns the full name of the metric that `name` means, among the names that runs will have.
///
/// A name may leave out `.mean` at its end, and the unit.
///
/// ```
/// use parades_session::sweep::full_name;
/// let all = ["events".to_owned(), "sojourn_s.mean".to_owned()];
/// assert_eq!(full_name("sojourn", &all)?, "sojourn_s.mean");
/// assert!(full_name("wait", &all).is_err());
/// # Ok::<(), parades_session::Failure>(())
/// ```
///
/// # Errors
///
/// [`Failure::Input`] where there is no such metric, with the nearest name.
pub fn full_name(name: &str, among: &[String]) -> Result<String, Failure> {
    let names = |full: &String| {
        let short = full.strip_suffix(".mean").unwrap_or(full);
        let units = ["_per_s", "_bytes", "_bps", "_s"];
        let bare = units.iter().find_map(|unit| short.strip_suffix(unit)).unwrap_or(short);
        [full.clone(), short.to_owned(), bare.to_owned()]
    };
    let same = |full: &&String| names(full).iter().any(|other| other == name);
    let found = among.iter().find(|full| *full == name).or_else(|| among.iter().find(same));
    found.cloned().ok_or_else(|| {
        let names: Vec<String> = among.iter().flat_map(names).collect();
        let help = match nearest(name, names.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("choose one of {}", among.join(", ")),
        };
        Failure::usage(format!("--metric {name}: there is no metric {} in these runs", quoted(name)), help)
    })
}
