//! The arguments that say what is shown of results.

use clap::Args;
use parades_report::View;

#[derive(Args, Clone, Debug)]
pub(crate) struct ViewArguments {
    /// Prints the summary only, without tables of flows, links, runs or samples.
    #[arg(long, conflicts_with_all = ["json", "table"])]
    brief: bool,
    /// Prints one table alone, with all rows and columns: `flows`, `links`; `runs` or `means` of a sweep.
    ///
    /// Tables are as wide as the terminal. Without one, the variable COLUMNS is their width, or else 80.
    /// Columns that do not fit follow below.
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    table: Option<String>,
}

impl ViewArguments {
    /// Returns what is shown, in the width of standard output.
    pub(crate) fn view(&self) -> View {
        View { is_brief: self.brief, table: self.table.clone(), ..View::of_standard_output() }
    }
}
