//! The integration tests of this crate, one module for each subject.

mod replays_take_the_times_of_smpi;
