//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.
//!
//! `no_object_is_given_back_too_early` is a program of its own: it counts the objects of its process.

mod a_run_is_the_same_by_every_scheme;
