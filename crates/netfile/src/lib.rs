//! Networks described in files.
#![forbid(unsafe_code)]

mod apps;
mod check;
pub mod description;
mod draft;
mod events;
mod file;
mod given;
pub mod model;
mod parameters;
mod parts;
mod shape;

pub use file::{Built, NetworkFile};
