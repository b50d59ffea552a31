//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.

mod cancelling_a_timer_that_is_not_set_changes_nothing;
mod metrics_intervals_hold_the_truth;
mod metrics_merge_alike_however_lps_are_spread;
mod metrics_of_integers_are_exact;
mod random;
mod recorded_changes_are_undone;
mod traces_speak_in_the_words_of_the_model;
