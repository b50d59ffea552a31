//! (see the crate's description)
pub mod geo;
pub mod graphml;
pub mod routing;
pub mod topology;
