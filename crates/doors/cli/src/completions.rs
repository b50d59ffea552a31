//! `parades completions`: a script by which a shell completes this command, with the names of scenarios,
//! engines, parameters, settings and tables of measurements.

use crate::BENCH_WORDS;
use crate::arguments::Arguments;
use crate::printing::print;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory, ValueHint};
use clap_complete::Shell;
use parades_catalog::{Engine, program_name, scenarios};
use parades_session::Failure;
use std::collections::BTreeSet;
use std::process::ExitCode;

pub(crate) fn completions(shell: Shell) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut with_names(), program_name(), &mut script);
    let script = without_hidden(&String::from_utf8_lossy(&script));
    print(&match shell {
        Shell::Zsh => with_files(&script),
        Shell::Fish => script + &positional_for_fish(),
        _ => script,
    })
}

/// Leaves out the commands that are hidden from users. The generators offer them in zsh and fish.
fn without_hidden(script: &str) -> String {
    let grammar = Arguments::command();
    let hidden: Vec<&str> = grammar.get_subcommands().filter(|of| of.is_hide_set()).map(Command::get_name).collect();
    let offers = |line: &str, name: &str| {
        line.starts_with(&format!("'{name}:")) || line.contains(&format!("_needs_command\" -f -a \"{name}\""))
    };
    let lines = script.lines().filter(|line| !hidden.iter().any(|name| offers(line, name)));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Returns the lines by which fish completes arguments without an option. Its generator leaves them out.
fn positional_for_fish() -> String {
    let program = program_name();
    let line = |command: &str, files: &str, names: &[&str]| {
        let condition = format!("__fish_{}_using_subcommand {command}", program.replace('-', "_"));
        format!("complete -c {program} -n \"{condition}\" {files}-a \"{}\"\n", names.join(" "))
    };
    let of_scenarios = ["run", "compare", "sweep", "diff", "why", "show"].map(|of| line(of, "", &scenario_names()));
    of_scenarios.concat() + &line("bench", "-f ", BENCH_WORDS)
}

/// Returns the grammar, with the names that arguments may have. The command itself accepts more: the paths of
/// scenario files, for example.
fn with_names() -> Command {
    let command = Arguments::command().name(program_name());
    command.mut_subcommands(|subcommand| {
        let of_bench = subcommand.get_name() == "bench";
        subcommand.mut_args(|argument| match argument.get_id().as_str() {
            "scenario" => named(argument, scenario_names()),
            "engine" | "engines" => named(argument, engine_names()),
            "set" => beginning(argument, parameters()),
            "tune" => beginning(argument, settings()),
            "words" if of_bench => named(argument, BENCH_WORDS.to_vec()),
            _ => argument,
        })
    })
}

fn named(argument: Arg, names: Vec<&'static str>) -> Arg {
    argument.value_parser(PossibleValuesParser::new(names))
}

/// Completes the beginning of a value, without a blank after it.
fn beginning(argument: Arg, keys: BTreeSet<&'static str>) -> Arg {
    // The grammar borrows its words, and lives as long as this short process.
    let leaked = |key: &str| -> &'static str { Box::leak(format!("{key}=").into_boxed_str()) };
    named(argument, keys.into_iter().map(leaked).collect()).value_hint(ValueHint::Other)
}

fn scenario_names() -> Vec<&'static str> {
    scenarios().iter().map(|scenario| scenario.name).collect()
}

fn engine_names() -> Vec<&'static str> {
    Engine::ALL.iter().map(|engine| engine.name()).collect()
}

/// Returns the keys of the parameters of all scenarios.
fn parameters() -> BTreeSet<&'static str> {
    let of_scenario = |values: &parades_config::Values| -> Vec<&'static str> {
        values.iter().map(|(parameter, _)| parameter.key()).collect()
    };
    scenarios().iter().flat_map(|scenario| of_scenario(&scenario.values())).collect()
}

/// Returns the keys of the settings of all engines.
fn settings() -> BTreeSet<&'static str> {
    Engine::algorithms().flat_map(Engine::settings).map(|setting| setting.key()).collect()
}

/// Lets zsh complete the paths of files beside the names of scenarios.
fn with_files(script: &str) -> String {
    let names = format!("({})", scenario_names().join(" "));
    let action = format!("{{_alternative \"scenarios:scenario:{names}\" \"files:file:_files\"}}");
    script.replace(&format!(":{names}'"), &format!(":{action}'"))
}
