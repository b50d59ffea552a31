//! Results: as JSON for scripts, as tables for people, as files in a folder.

mod folder;
mod json;
mod people;

pub(crate) use folder::{command_of, make_folder, write_folder};
pub(crate) use json::write_json_line;
pub(crate) use people::{figure, for_people, table};
