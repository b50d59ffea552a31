//! A grid of parameters: the axes, each from a `--set k=a,b,c`, and the points that they span.
//!
//! *Read next*: [`crate::schedule`].

use crate::range;
use parades_config::{ConfigError, Place, Values, quoted};
use std::collections::BTreeSet;

/// The greatest number of points of a grid.
pub const POINTS_MAX: usize = 100_000;

/// A parameter with its values. It is a dimension of the grid if it has several values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The name of the parameter.
    pub key: String,
    /// The values, without quotes.
    pub values: Vec<String>,
    /// The whole assignment as the user typed it.
    pub assignment: String,
}

impl Axis {
    /// Reads `assignment`, the `KEY=VALUE,VALUE,…` of the option `option`.
    ///
    /// A value of a number may be a range: `1..4`, or with a step `10ms..50ms..20ms`.
    ///
    /// As in CSV, a value with a comma is enclosed in double quotes, and a double quote inside is doubled.
    ///
    /// ```
    /// use parades_sweep::Axis;
    /// let axis = Axis::parse("--set", r#"note=plain,"one, two","say ""three""""#)?;
    /// assert_eq!((axis.key.as_str(), axis.values), ("note", vec!["plain".into(), "one, two".into(), r#"say "three""#.into()]));
    /// # Ok::<(), parades_config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the text has no `=`, or if a quote is not closed or does not end where its value ends.
    pub fn parse(option: &str, assignment: &str) -> Result<Axis, ConfigError> {
        let wrong = |message: String, help: &str| {
            let place = Place::Argument(format!("{option} {assignment}"));
            Err(ConfigError::new(message).with_help(help).at(place))
        };
        let Some((key, list)) = assignment.split_once('=') else {
            return wrong(
                format!("{} is not KEY=VALUE", quoted(assignment)),
                "write the parameter, `=`, and its values with commas",
            );
        };
        let key = key.trim().to_owned();
        let mut values = Vec::new();
        let mut rest = list;
        loop {
            let (value, after) = match rest.strip_prefix('"') {
                None => {
                    let end = rest.find(',').unwrap_or(rest.len());
                    (rest[..end].to_owned(), &rest[end..])
                }
                Some(text) => match unquote(text) {
                    Some((value, after)) if after.is_empty() || after.starts_with(',') => (value, after),
                    Some(_) => {
                        return wrong(
                            format!("a quoted value of `{key}` goes on after its quote"),
                            "write a double quote within a quoted value twice",
                        );
                    }
                    None => {
                        return wrong(format!("a quoted value of `{key}` has no end"), "close it with a double quote");
                    }
                },
            };
            values.push(value);
            match after.strip_prefix(',') {
                Some(next) => rest = next,
                None => return Ok(Axis { key, values, assignment: assignment.to_owned() }),
            }
        }
    }
}

impl Axis {
    /// Replaces ranges by their values. A key that is unknown has none.
    fn expand(&mut self, values: &Values) -> Result<(), ConfigError> {
        let Some(parameter) = values.declaration(&self.key)? else { return Ok(()) };
        let mut all = Vec::with_capacity(self.values.len());
        for text in self.values.drain(..) {
            match range::values(parameter, &text)? {
                Some(values) => all.extend(values),
                None => all.push(text),
            }
        }
        self.values = all;
        Ok(())
    }
}

/// Returns the quoted value at the beginning of `text`, whose opening quote is removed, and the text after
/// the closing quote.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"')?;
        value.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(more) => {
                value.push('"');
                rest = more;
            }
            None => return Some((value, rest)),
        }
    }
}

/// The points that the axes span. Each point has values for all parameters of the scenario.
#[derive(Clone, Debug)]
pub struct Grid {
    axes: Vec<Axis>,
    points: Vec<Values>,
}

impl Grid {
    /// Returns the grid of all combinations of the axes' values. Other parameters have the values in
    /// `values`.
    ///
    /// The last axis varies fastest. `option` is the option's name in errors.
    ///
    /// # Errors
    ///
    /// If a key is unknown or occurs twice, if a value is invalid or occurs twice, or if there are more than
    /// [`POINTS_MAX`] points.
    pub fn of(values: &Values, option: &str, mut axes: Vec<Axis>) -> Result<Grid, ConfigError> {
        let at = |axis: &Axis, error: ConfigError| error.at(Place::Argument(format!("{option} {}", axis.assignment)));
        for axis in &mut axes {
            axis.expand(values).map_err(|error| at(axis, error))?;
        }
        let mut count = 1_usize;
        for (index, axis) in axes.iter().enumerate() {
            if axes[..index].iter().any(|other| other.key == axis.key) {
                let error = ConfigError::new(format!("{} is set twice", quoted(&axis.key)));
                return Err(at(axis, error.with_help(format!("write all its values in one `{option}`, with commas"))));
            }
            count = count.saturating_mul(axis.values.len());
            if count > POINTS_MAX {
                return Err(at(
                    axis,
                    ConfigError::new(format!("the grid has more than {POINTS_MAX} points"))
                        .with_help("sweep over fewer values"),
                ));
            }
            // Checking each axis alone finds a wrong value without building all combinations.
            let mut seen = BTreeSet::new();
            for text in &axis.values {
                let mut one = values.clone();
                one.set_argument(option, &format!("{}={text}", axis.key))?;
                let value = one.get(&axis.key).expect("it was just set");
                if !seen.insert(value.to_string()) {
                    let error = ConfigError::new(format!("{} has the value {} twice", quoted(&axis.key), quoted(text)));
                    return Err(at(axis, error.with_help("a run counts once; leave one out")));
                }
            }
        }
        let mut points = vec![values.clone()];
        for axis in &axes {
            let mut longer = Vec::with_capacity(points.len() * axis.values.len());
            for point in &points {
                for text in &axis.values {
                    let mut point = point.clone();
                    point.set_argument(option, &format!("{}={text}", axis.key))?;
                    longer.push(point);
                }
            }
            points = longer;
        }
        Ok(Grid { axes, points })
    }

    /// Calls `complete` for each point, which derives further values from those that are set.
    pub fn complete(&mut self, complete: impl FnMut(&mut Values)) {
        self.points.iter_mut().for_each(complete);
    }

    /// Returns the points; the last axis varies fastest. There is at least one.
    pub fn points(&self) -> &[Values] {
        &self.points
    }

    /// Returns the `KEY=VALUE` of each axis at a point.
    pub fn assignments(&self, point: usize) -> Vec<String> {
        let mut rest = point;
        let mut assignments: Vec<String> = self
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let value = &axis.values[rest % axis.values.len()];
                rest /= axis.values.len();
                format!("{}={value}", axis.key)
            })
            .collect();
        assignments.reverse();
        assignments
    }

    /// Returns the keys with several values, in the order of their axes.
    pub fn swept(&self) -> impl Iterator<Item = &str> + Clone {
        self.axes.iter().filter(|axis| axis.values.len() > 1).map(|axis| axis.key.as_str())
    }

    /// Returns the axes.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parades_config::Parameter;

    const PARAMETERS: &[Parameter] = &[
        Parameter::integer("lps", 1024, 1..=1_000_000, "logical processes"),
        Parameter::fraction("remote", 0.1, "share of remote events"),
        Parameter::text("note", "", "carried along"),
    ];

    fn grid(sets: &[&str]) -> Result<Grid, ConfigError> {
        let axes = sets.iter().map(|set| Axis::parse("--set", set)).collect::<Result<_, _>>()?;
        Grid::of(&Values::new("phold", PARAMETERS), "--set", axes)
    }

    fn error(sets: &[&str]) -> String {
        grid(sets).expect_err("it is wrong").to_string()
    }

    #[test]
    fn the_last_axis_varies_fastest() {
        let grid = grid(&["lps=8,4", "note=only", "remote=0,50%,1"]).unwrap();
        let points: Vec<_> = grid.points().iter().map(|point| (point.integer("lps"), point.float("remote"))).collect();
        assert_eq!(points, [(8, 0.0), (8, 0.5), (8, 1.0), (4, 0.0), (4, 0.5), (4, 1.0)]);
        assert!(grid.points().iter().all(|point| point.text("note") == "only"));
        assert_eq!(grid.swept().collect::<Vec<_>>(), ["lps", "remote"]);
        assert_eq!(grid.assignments(4), ["lps=4", "note=only", "remote=50%"]);
    }

    #[test]
    fn ranges_become_their_values() {
        let grid = grid(&["lps=1..3,10", "note=1..3"]).unwrap();
        let lps: Vec<_> = grid.points().iter().map(|point| point.integer("lps")).collect();
        assert_eq!(lps, [1, 2, 3, 10]);
        assert_eq!(grid.assignments(3), ["lps=10", "note=1..3"]);
        assert_eq!(error(&["lps=3..1"]), "--set lps=3..1: the range of `lps` has no values; write FIRST..LAST..STEP");
    }

    #[test]
    fn a_grid_without_axes_has_one_point() {
        let grid = grid(&[]).unwrap();
        assert_eq!((grid.points().len(), grid.points()[0].integer("lps"), grid.swept().count()), (1, 1024, 0));
    }

    #[test]
    fn values_with_commas_are_quoted() {
        let grid = grid(&[r#"note="a,b",c,,"x=""y""""#]).unwrap();
        let notes: Vec<_> = grid.points().iter().map(|point| point.text("note").to_owned()).collect();
        assert_eq!(notes[..4], ["a,b", "c", "", "x=\"y\""]);
    }

    #[test]
    fn wrong_grids_are_refused() {
        assert_eq!(error(&["lsp=1,2"]), "--set lsp=1: phold has no key `lsp`; did you mean `lps`?");
        assert_eq!(error(&["lps=1,2,0"]), "--set lps=0: `lps` must be between 1 and 1000000, not 0");
        assert_eq!(error(&["lps=1,,2"]), "--set lps=: `lps` must be a whole number, not ``");
        assert_eq!(
            error(&["lps"]),
            "--set lps: `lps` is not KEY=VALUE; write the parameter, `=`, and its values with commas"
        );
        assert_eq!(
            error(&["lps=1", "lps=2"]),
            "--set lps=2: `lps` is set twice; write all its values in one `--set`, with commas"
        );
        assert_eq!(
            error(&["lps=5,1,5"]),
            "--set lps=5,1,5: `lps` has the value `5` twice; a run counts once; leave one out"
        );
        assert_eq!(
            error(&["remote=0.1,10%"]),
            "--set remote=0.1,10%: `remote` has the value `10%` twice; a run counts once; leave one out"
        );
        assert_eq!(
            error(&["note=\"a,b"]),
            "--set note=\"a,b: a quoted value of `note` has no end; close it with a double quote"
        );
        assert_eq!(
            error(&["note=\"a\"b"]),
            "--set note=\"a\"b: a quoted value of `note` goes on after its quote; write a double quote within a quoted value twice"
        );
        let many = |key: &str| format!("{key}={}", (1..=1000).map(|n| n.to_string()).collect::<Vec<_>>().join(","));
        assert!(
            error(&[&many("lps"), &many("note")])
                .ends_with("the grid has more than 100000 points; sweep over fewer values")
        );
    }
}
