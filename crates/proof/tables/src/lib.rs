//! Tables of measurements, and the variants of the engines' parts that exist to be measured. Benchmarks
//! report figures; they do not judge them. The program `parades-bench` prints them.
//!
//! A figure is a ratio from one session: both sides are run in turn, several times. The median of the ratios
//! is printed with its spread.
//!
//! - [`TABLES`]: the tables, by name.
//! - [`measure`]: measures one of them; [`validate`]: compares results computed elsewhere with ours.
//! - [`record`]: figures as lines of a file, beside those recorded before.
//! - [`noise`]: the test whether two samples of a figure differ by more than chance.
//! - [`refcount`]: schemes of counting references to shared data.
//! - [`variants`]: settings of engines that exist to be compared.
//!
//! ```
//! use parades_tables::{Options, TABLES, measure};
//!
//! assert!(TABLES.iter().any(|table| table.name == "phold"));
//! let options = Options { pairs: 5, program: "target/release/parades-bench".into(), rivals: vec![], simgrid: None, ns3: None, large: false };
//! let error = measure("fold", &options).unwrap_err();
//! assert_eq!(error.to_string(), "there is no table `fold`; did you mean `phold`?");
//! ```

#![forbid(unsafe_code)]

mod bare;
mod child;
mod counters;
pub mod noise;
mod probe;
pub mod record;
pub mod refcount;
mod sides;
mod tables;
pub mod variants;

pub use record::Figure;
pub use sides::Spread;
pub use tables::{TABLES, Table, is_rank};

use parades_config::quoted;
use parades_session::Failure;
use parades_session::machine::Machine;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The options of a measurement.
#[derive(Clone, Debug)]
pub struct Options {
    /// The number of times that all sides are run in turn.
    pub pairs: u32,
    /// The program `parades-bench`, for runs in processes of their own.
    pub program: PathBuf,
    /// The programs of other simulators by name, for the table `rivals`.
    pub rivals: Vec<(String, PathBuf)>,
    /// The program of `crates/systems/p2p/simgrid`, for the table `chord`.
    pub simgrid: Option<PathBuf>,
    /// The program of `crates/proof/tables/ns3`, for the table `packets`.
    pub ns3: Option<PathBuf>,
    /// True if the table `chord` measures sizes that take a quarter of an hour.
    pub large: bool,
}

/// A table and its figures.
#[derive(Debug, Default)]
pub struct Measured {
    /// The table, drawn.
    pub text: String,
    /// The figures, for [`record`].
    pub figures: Vec<Figure>,
}

/// A comparison with results that were computed elsewhere.
#[derive(Debug)]
pub struct Validation {
    /// The comparison, drawn.
    pub text: String,
    /// The same as a JSON object.
    pub json: serde_json::Value,
}

/// Checks that there is a table of this name, and that each option is meant for it.
///
/// # Errors
///
/// [`Failure::Input`] if there is no such table, or if an option is meant for another.
pub fn check(name: &str, options: &Options) -> Result<&'static Table, Failure> {
    let table = Table::named(name)?;
    if (options.simgrid.is_some() || options.large) && !table.takes_simgrid {
        let message = "only the table `chord` knows SimGrid and large sizes";
        return Err(Failure::usage(message, "leave --simgrid and --large out"));
    }
    if options.ns3.is_some() && !table.takes_ns3 {
        return Err(Failure::usage("only the table `packets` knows ns-3", "leave --ns3 out"));
    }
    if !options.rivals.is_empty() && !table.takes_rivals {
        return Err(Failure::usage("only the table `rivals` takes the programs of rivals", "leave --rival out"));
    }
    let names: Vec<&str> = tables::rivals::names().collect();
    if let Some((name, _)) = options.rivals.iter().find(|(name, _)| !names.contains(&&**name)) {
        let message = format!("no rival is called {}", quoted(name));
        return Err(Failure::usage(message, format!("choose one of {}", names.join(", "))));
    }
    let times = |wanted: &str| options.rivals.iter().filter(|(name, _)| name == wanted).count();
    if let Some(name) = names.iter().find(|name| times(name) > 1) {
        return Err(Failure::usage(format!("the program of {} is given twice", quoted(name)), "give it once"));
    }
    Ok(table)
}

/// Measures the table of this name.
///
/// # Errors
///
/// Those of [`check`]; [`Failure::Simulation`] if a side fails, or if the sides' answers differ.
pub fn measure(name: &str, options: &Options) -> Result<Measured, Failure> {
    let table = check(name, options)?;
    let mut measured = (table.measure)(options)?;
    let machine = Machine::this();
    let _ = writeln!(
        measured.text,
        "{}, {} cores; figures with brackets are medians of up to {} runs of each side in turn, the least and greatest in brackets",
        machine.cpu, machine.cores, options.pairs
    );
    Ok(measured)
}

/// Compares results computed elsewhere with ours.
///
/// # Errors
///
/// [`Failure::Input`] if there is no such table, if it has no validation, or if a file of the folder
/// is wrong.
pub fn validate(name: &str, folder: &Path) -> Result<Validation, Failure> {
    match Table::named(name)?.validate {
        Some(validate) => validate(folder),
        None => {
            Err(Failure::usage("only the tables `flows` and `packets` have a validation", "leave --validation out"))
        }
    }
}
