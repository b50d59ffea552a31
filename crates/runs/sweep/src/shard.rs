//! A shard of a sweep: the runs that one of several independent processes executes.
//!
//! *Read next*: [`crate::schedule`].

use crate::outcome::Run;
use parades_config::{ConfigError, quoted};
use std::fmt;

/// The greatest number of shards of a sweep.
const SHARDS_MAX: u64 = 1_000_000;

/// A shard of a sweep. The runs of a shard depend on the grid and the seeds alone, and on no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard {
    /// The number of the shard, from 1.
    number: u64,
    /// The number of shards of the sweep.
    count: u64,
}

impl Shard {
    /// Returns the shard with this number, from 1, of `count`.
    ///
    /// # Errors
    ///
    /// If there is no such shard.
    pub fn new(number: u64, count: u64) -> Result<Shard, ConfigError> {
        match (1..=count).contains(&number) && count <= SHARDS_MAX {
            true => Ok(Shard { number, count }),
            false => Err(ConfigError::new(format!("there is no shard `{number}/{count}`")).with_help(HELP)),
        }
    }

    /// Reads a shard: `2/4` is the second of four.
    ///
    /// # Errors
    ///
    /// If the text is not of this form, or if there is no such shard.
    pub fn parse(text: &str) -> Result<Shard, ConfigError> {
        let numbers = text.split_once('/').and_then(|(number, count)| Some((whole(number)?, whole(count)?)));
        let no_shard = || ConfigError::new(format!("{} is no shard", quoted(text))).with_help(HELP);
        numbers.ok_or_else(no_shard).and_then(|(number, count)| Shard::new(number, count))
    }

    /// Returns the shard of this task of a Slurm job array. `variable` returns a variable of the environment.
    ///
    /// ```
    /// use parades_sweep::Shard;
    /// // sbatch --array=0-6:2
    /// let array = [("ID", "4"), ("MIN", "0"), ("MAX", "6"), ("STEP", "2"), ("COUNT", "4")];
    /// let variable = |name: &str| {
    ///     let of = |(key, value): &(&str, &str)| (name == format!("SLURM_ARRAY_TASK_{key}")).then(|| value.to_string());
    ///     array.iter().find_map(of)
    /// };
    /// assert_eq!(Shard::of_slurm(&variable)?.to_string(), "3/4");
    /// # Ok::<(), parades_config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If this is no task of an array, or if the numbers of the tasks are not evenly spaced.
    pub fn of_slurm(variable: &dyn Fn(&str) -> Option<String>) -> Result<Shard, ConfigError> {
        let number = |name: &str| variable(&format!("SLURM_ARRAY_TASK_{name}")).and_then(|text| whole(&text));
        let wrong = |message: &str| {
            ConfigError::new(message)
                .with_help("submit it with `sbatch --array=1-4`, or write the shard, as `--shard 2/4`")
        };
        let id =
            number("ID").ok_or_else(|| wrong("this is no task of a Slurm array: `SLURM_ARRAY_TASK_ID` is not set"))?;
        let (first, step) = (number("MIN").unwrap_or(1), number("STEP").unwrap_or(1).max(1));
        let spanned = number("MAX").and_then(|last| Some(last.checked_sub(first)? / step + 1));
        let count = spanned.or_else(|| number("COUNT"));
        let count =
            count.ok_or_else(|| wrong("the size of the Slurm array is unknown: `SLURM_ARRAY_TASK_MAX` is not set"))?;
        let offset = id.checked_sub(first).filter(|offset| offset % step == 0);
        match offset {
            Some(offset) if number("COUNT").is_none_or(|tasks| tasks == count) => Shard::new(offset / step + 1, count),
            _ => Err(wrong("the numbers of the tasks of the Slurm array are not evenly spaced")),
        }
    }

    /// Returns the shard that has a run, if the sweep has this number of points and of shards.
    ///
    /// Runs are dealt out in turn, seed by seed. Each seed begins at another point: otherwise, with as many
    /// shards as points, one shard would get all runs of the most expensive point.
    #[must_use]
    pub fn of_run(run: Run, points: usize, shards: Shard) -> Shard {
        let place = (run.point + run.replication) % points;
        let index = (run.replication * points + place) as u64;
        Shard { number: index % shards.count + 1, count: shards.count }
    }

    /// Returns true if this shard has the run, in a sweep of this number of points.
    #[must_use]
    pub fn has(self, run: Run, points: usize) -> bool {
        Shard::of_run(run, points, self) == self
    }

    /// Returns the number of runs that this shard has of a sweep's `runs`.
    #[must_use]
    pub fn share_of(self, runs: usize) -> usize {
        let (runs, earlier) = (runs as u64, self.number - 1);
        usize::try_from(runs.saturating_sub(earlier).div_ceil(self.count)).unwrap_or(usize::MAX)
    }

    /// Returns the name of a folder for this shard.
    #[must_use]
    pub fn folder_name(self) -> String {
        format!("shard-{}-of-{}", self.number, self.count)
    }
}

/// The help of an error about a shard.
const HELP: &str = "write I/N with I from 1 to N: `2/4` is the second of four";

/// Returns the whole number that the text is, without a sign.
fn whole(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_no_shard_is_refused_in_a_sentence() {
        let help = "write I/N with I from 1 to N: `2/4` is the second of four";
        for text in ["5/4", "0/4", "1/0"] {
            assert_eq!(Shard::parse(text).unwrap_err().to_string(), format!("there is no shard `{text}`; {help}"));
        }
        for text in ["x/4", "4", "", "/", "1/x", "+1/4", "1/4/2", "-1/4", "1/18446744073709551616"] {
            assert_eq!(Shard::parse(text).unwrap_err().to_string(), format!("`{text}` is no shard; {help}"));
        }
    }

    #[test]
    fn each_run_is_in_one_shard_and_shards_differ_by_one_run_at_most() {
        for (points, seeds, count) in [(3, 20, 4), (4, 4, 4), (1, 7, 3), (5, 3, 8), (2, 1, 5)] {
            let all = || (0..seeds).flat_map(|replication| (0..points).map(move |point| Run { replication, point }));
            let shards: Vec<Shard> = (1..=count).map(|number| Shard::new(number, count).unwrap()).collect();
            let sizes: Vec<usize> =
                shards.iter().map(|shard| all().filter(|run| shard.has(*run, points)).count()).collect();
            assert_eq!(sizes.iter().sum::<usize>(), points * seeds);
            assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{sizes:?}");
            let shares: Vec<usize> = shards.iter().map(|shard| shard.share_of(points * seeds)).collect();
            assert_eq!(sizes, shares);
        }
    }

    #[test]
    fn as_many_shards_as_points_share_each_point() {
        let first = Shard::parse("1/4").unwrap();
        let points: Vec<usize> = (0..4)
            .flat_map(|replication| (0..4).map(move |point| Run { replication, point }))
            .filter(|run| first.has(*run, 4))
            .map(|run| run.point)
            .collect();
        assert_eq!(points, [0, 3, 2, 1]);
    }

    fn in_slurm(variables: &[(&str, &str)]) -> Result<String, String> {
        let variable = |name: &str| {
            let key = name.strip_prefix("SLURM_ARRAY_TASK_")?;
            variables.iter().find(|(other, _)| *other == key).map(|(_, value)| (*value).to_owned())
        };
        Shard::of_slurm(&variable).map(|shard| shard.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_task_of_a_slurm_array_is_a_shard() {
        let array = |id| in_slurm(&[("ID", id), ("MIN", "1"), ("MAX", "7"), ("STEP", "2"), ("COUNT", "4")]);
        assert_eq!(array("1"), Ok("1/4".into()));
        assert_eq!(array("7"), Ok("4/4".into()));
        assert_eq!(in_slurm(&[("ID", "0"), ("MIN", "0"), ("MAX", "3")]), Ok("1/4".into()));
        assert_eq!(in_slurm(&[("ID", "3"), ("COUNT", "4")]), Ok("3/4".into()));
    }

    #[test]
    fn a_slurm_array_with_gaps_is_refused() {
        let gaps = in_slurm(&[("ID", "3"), ("MIN", "1"), ("MAX", "7"), ("STEP", "1"), ("COUNT", "3")]);
        assert!(gaps.unwrap_err().starts_with("the numbers of the tasks of the Slurm array are not evenly spaced; "));
        assert!(in_slurm(&[]).unwrap_err().starts_with("this is no task of a Slurm array: "));
        assert!(in_slurm(&[("ID", "1")]).unwrap_err().starts_with("the size of the Slurm array is unknown: "));
    }
}
