//! Figures as lines of a file, and the comparison with those recorded before.
//!
//! A record holds all values of a figure, the commit and the machine. [`crate::noise`] tells whether two
//! lists of values differ by more than chance. Figures of another machine are shown, and not judged.

use crate::noise::{Comparison, SIGNIFICANT, Verdict};
use crate::sides::Spread;
use parades_config::{read_text, shortened};
use parades_report::ResultFile;
use parades_report::result_file::late;
use parades_session::Failure;
use parades_session::machine::Machine;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

/// The longest file of records in bytes. All benchmarks together record less than 1 MiB at a time.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// One figure of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name, which no other figure of the table has.
    pub name: String,
    /// Its values.
    pub spread: Spread,
}

/// The origin of figures.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The name of the table.
    pub table: &'a str,
    /// The commit from which the program was built.
    pub commit: &'a str,
    /// The machine on which the figures were measured.
    pub machine: &'a Machine,
}

/// Opens a file of records, before anything is measured. Its earlier records stay.
///
/// # Errors
///
/// [`Failure::Input`] if the file cannot be written, if another process writes it, or if it is too long.
pub fn open(path: &Path) -> Result<ResultFile, Failure> {
    let mut file = ResultFile::create(path)?;
    if path.is_file() {
        let earlier = read_text(path, FILE_BYTES_MAX).map_err(|error| Failure::cannot_write(path, &error))?;
        file.write_all(earlier.as_bytes()).map_err(|error| late(&error))?;
    }
    Ok(file)
}

/// Appends the figures, one JSON object a line.
///
/// # Errors
///
/// [`Failure::Simulation`] if a line cannot be written.
pub fn write(file: &mut impl Write, origin: Origin<'_>, figures: &[Figure]) -> Result<(), Failure> {
    let Origin { table, commit, machine } = origin;
    for Figure { name, spread: Spread { median, least, greatest, values } } in figures {
        let line = json!({
            "bench": table, "figure": name, "median": median, "least": least, "greatest": greatest, "values": values,
            "commit": commit, "machine": machine,
        });
        writeln!(file, "{line}").map_err(|error| late(&error))?;
    }
    Ok(())
}

/// Reads the records of a file, the latest last.
///
/// # Errors
///
/// [`Failure::Input`] if the file cannot be read, or if a line of it is no record.
pub fn read(path: &Path) -> Result<Vec<Value>, Failure> {
    let wrong = |place: String, what: String| {
        Failure::usage(format!("{place}: {what}"), "give a file that `bench --record` wrote")
    };
    let file = path.display();
    let text =
        read_text(path, FILE_BYTES_MAX).map_err(|error| wrong(file.to_string(), format!("cannot be read: {error}")))?;
    let parse = |(index, line)| match serde_json::from_str::<Value>(line) {
        Ok(record) if record["bench"].is_string() && record["figure"].is_string() && record["median"].is_number() => {
            Ok(record)
        }
        Ok(_) => Err(wrong(format!("{file}:{}", index + 1), "is no record of a figure".into())),
        Err(error) => Err(wrong(format!("{file}:{}:{}", index + 1, error.column()), error.to_string())),
    };
    text.lines().enumerate().map(parse).collect()
}

/// Returns a line for each figure: the figure beside its latest record.
///
/// The latest record on this machine is judged. If there is none, the latest on another machine is shown.
pub fn compare(origin: Origin<'_>, figures: &[Figure], before: &[Value]) -> String {
    let Origin { table, machine, .. } = origin;
    let machine = json!(machine);
    let mut text = String::new();
    let mut elsewhere = None;
    for Figure { name, spread } in figures {
        let of_this = |record: &&Value| record["bench"] == table && record["figure"] == name.as_str();
        let here = |record: &&Value| same_machine(&record["machine"], &machine);
        let records = || before.iter().rev().filter(of_this);
        let Some(record) = records().find(here).or_else(|| records().next()) else {
            let _ = writeln!(text, "{name}: no record");
            continue;
        };
        let old = spread_of(record);
        let change = (spread.median / old.median - 1.0) * 100.0;
        let verdict = if here(&record) {
            judge(&old.values, &spread.values)
        } else {
            elsewhere = Some(&record["machine"]);
            "on another machine: not judged".to_owned()
        };
        let commit = shortened(record["commit"].as_str().unwrap_or("an unknown commit"));
        let _ =
            writeln!(text, "{name}: {} against {} at {commit}, {change:+.1} %, {verdict}", spread.show(3), old.show(3));
    }
    let percent = SIGNIFICANT * 100.0;
    let _ = writeln!(
        text,
        "a change is what chance alone brings about in {percent:.0} of 100 comparisons at most (Mann-Whitney); two sessions may also differ in the state of the machine"
    );
    if let Some(other) = elsewhere {
        let (cpu, cores) =
            (shortened(other["cpu"].as_str().unwrap_or("unknown")), shortened(&other["cores"].to_string()));
        let _ = writeln!(text, "recorded on {cpu}, {cores} cores; record the figures here to compare them");
    }
    text
}

/// True if figures of these two machines can be compared.
fn same_machine(a: &Value, b: &Value) -> bool {
    a["cpu"] == b["cpu"] && a["cores"] == b["cores"]
}

fn spread_of(record: &Value) -> Spread {
    let number = |field: &str| record[field].as_f64().unwrap_or(f64::NAN);
    let values = record["values"].as_array().map(Vec::as_slice).unwrap_or_default().iter().filter_map(Value::as_f64);
    Spread { median: number("median"), least: number("least"), greatest: number("greatest"), values: values.collect() }
}

/// Returns a judgement on the difference of two lists of values.
fn judge(before: &[f64], now: &[f64]) -> String {
    let Some(found) = Comparison::of(before, now) else {
        return "the record has no single values, so it cannot be judged".to_owned();
    };
    let p = found.p;
    match found.verdict() {
        Verdict::TooFew => "too few values to tell from chance: measure more pairs".to_owned(),
        Verdict::Noise => format!("within chance (p = {p:.2})"),
        Verdict::Higher | Verdict::Lower => {
            let way = if found.verdict() == Verdict::Higher { "higher" } else { "lower" };
            format!("{way}, typically by {:.1} % (p = {p:.4})", (found.ratio - 1.0).abs() * 100.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(cpu: &str) -> Machine {
        Machine { cpu: cpu.into(), cores: 2, memory_bytes: 1 << 30 }
    }

    fn figure(factor: f64, n: u32) -> Figure {
        let values: Vec<f64> = (0..n).map(|i| factor * (1.0 + 0.01 * f64::from(i * 7 % 10))).collect();
        Figure { name: "x".into(), spread: Spread::of(&values) }
    }

    /// Records a figure, and returns the text that compares another one with it.
    fn said(recorded: &Figure, on: &str, now: &Figure, here: &str) -> String {
        let mut file = Vec::new();
        let (there, here) = (machine(on), machine(here));
        let origin = |machine| Origin { table: "b", commit: "c", machine };
        write(&mut file, origin(&there), std::slice::from_ref(recorded)).expect("memory can be written");
        let text = String::from_utf8(file).expect("it is text");
        let before: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
        assert!(before[0]["commit"] == "c" && before[0]["machine"]["cpu"] == on);
        compare(origin(&here), std::slice::from_ref(now), &before)
    }

    #[test]
    fn a_change_is_told_from_noise() {
        let same = said(&figure(1.0, 10), "a", &figure(1.0, 10), "a");
        assert!(same.contains("within chance (p = 1.00)"), "{same}");
        let slower = said(&figure(1.0, 10), "a", &figure(0.8, 10), "a");
        assert!(slower.contains("lower, typically by 20.0 % (p = 0.0000)"), "{slower}");
        let few = said(&figure(1.0, 3), "a", &figure(0.8, 3), "a");
        assert!(few.contains("too few values to tell from chance"), "{few}");
    }

    #[test]
    fn figures_of_another_machine_are_not_judged() {
        let other = said(&figure(1.0, 10), "a", &figure(0.8, 10), "b");
        assert!(
            other.contains("on another machine: not judged") && other.contains("recorded on a, 2 cores"),
            "{other}"
        );
    }
}
