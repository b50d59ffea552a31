//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.

mod a_trace_tells_what_became_of_a_packet;
mod common;
mod copies_are_no_data;
mod every_engine_gives_the_same_answer;
mod every_key_acts_or_is_refused;
mod every_protocol_delivers_once_over_bad_links;
mod failures_report_what_they_hit;
mod flows_have_names_for_samples;
mod flows_take_all_shortest_paths;
mod impossible_networks_get_one_sentence;
mod ip_and_framing_decide_on_headers;
mod keys_that_scripts_use;
mod networks_behave_as_theory_says;
mod one_line_says_many;
mod parts_from_files_of_other_tools;
mod queues_and_impairments_have_names;
mod queues_of_links;
mod tcp_apps_of_a_file;
mod tcp_sends_no_data_twice_without_need;
mod the_page_of_keys_is_true;
mod the_schema_is_true;
mod ties_that_a_tie_seed_shuffles;
mod too_large_networks_are_refused_at_once;
mod unfinished_flows_are_counted;
mod wrong_files_get_one_clear_message;
