//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.

mod classes_of_links_differ;
mod every_parameter_acts_or_is_refused;
mod impossible_values_are_refused_at_their_parameter;
mod no_default_stands_twice;
mod replays_note_what_has_no_effect;
mod settings_of_the_user_replace_those_of_a_platform;
mod speer_configurations_become_scenario_files;
