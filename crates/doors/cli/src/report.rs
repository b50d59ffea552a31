//! Results: as JSON for scripts, as tables for people, as files in a folder.

mod folder;
mod json;
mod people;

pub(crate) use folder::{
    aside, can_be_written, command_of, make_folder, parquet_is_possible, results_in, safe_name, trace_in, write_folder,
    write_whole,
};
pub(crate) use json::{engine_stats, figures, unit_of, write_json_line};
pub(crate) use people::{draw, figure, for_people, group, table};
