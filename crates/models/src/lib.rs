//! (see the crate's description)
