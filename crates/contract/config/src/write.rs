//! Writing a scenario as a file that users can edit and run.

use crate::error::is_escaped;
use crate::parameter::Parameter;
use crate::scenario::Settings;
use crate::units::format_time;
use crate::value::Value;
use crate::values::Values;
use std::fmt::Write;

/// Largest width of a comment line, in characters.
const COMMENT_CHARS: usize = 100;

/// Writes `settings` and `values` as a scenario file.
///
/// The file begins with the comment `about`, a sentence on the scenario. Before each parameter, comments give
/// its meaning, the values accepted, the default, what it needs to act, and whether it may change
/// in a branch. A setting or path that is not set
/// becomes a comment, which the user can complete. Reading the file returns the same settings and values.
///
/// ```
/// # use parades_config::{Parameter, ScenarioFile, Settings, Values, write_scenario};
/// const PARAMETERS: &[Parameter] = &[Parameter::integer("lps", 1024, 1..=4_000_000_000, "logical processes")];
/// let settings = Settings { scenario: "phold".to_owned(), ..Settings::default() };
/// let values = Values::new("phold", PARAMETERS);
/// let text = write_scenario(&settings, "Messages that go from LP to LP at random.", &values);
/// assert!(text.ends_with(
///     "[parameters]\n\n# logical processes\n# (integer from 1 to 4000000000; default 1024)\nlps = 1024\n"
/// ));
/// let file = ScenarioFile::parse("phold.toml".as_ref(), text)?;
/// assert_eq!(file.settings(), settings);
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
pub fn write_scenario(settings: &Settings, about: &str, values: &Values) -> String {
    let mut text = String::new();
    comment(&mut text, about);
    text.push('\n');
    setting(&mut text, "scenario", Some(toml_string(&settings.scenario)), "", "");
    let number = |value: Option<u64>| value.map(|value| value.to_string());
    setting(&mut text, "seed", number(settings.seed), "1", "random streams");
    let ties = "shuffles simultaneous events, alike on every engine; off by default";
    setting(&mut text, "tie_seed", number(settings.tie_seed), "1", ties);
    let until = settings.until.map(|time| toml_string(&format_time(time)));
    setting(&mut text, "until", until, "\"10s\"", "end of virtual time");
    setting(&mut text, "engine", settings.engine.as_deref().map(toml_string), "\"auto\"", "how the run is executed");
    let threads = "worker threads in each process; as many as there are cores by default";
    setting(&mut text, "threads", number(settings.threads), "2", threads);
    setting(&mut text, "processes", number(settings.processes), "1", "processes on this machine");
    text.push_str("\n[parameters]\n");
    for (key, value) in values.iter() {
        parameter(&mut text, key, value);
    }
    text
}

/// Writes a line above `[parameters]`. A setting without a value becomes a comment with an example.
fn setting(text: &mut String, key: &str, value: Option<String>, example: &str, meaning: &str) {
    let line = match value {
        Some(value) => format!("{key} = {value}"),
        None => format!("# {key} = {example}"),
    };
    let end = if meaning.is_empty() { String::new() } else { format!("  # {meaning}") };
    writeln!(text, "{line}{end}").expect("text grows");
}

fn parameter(text: &mut String, parameter: &Parameter, value: &Value) {
    text.push('\n');
    comment(text, parameter.meaning());
    let key = toml_key(parameter.key());
    let accepts = match parameter.default_value() {
        Value::Path(_) => format!("{}; relative to the folder of this file", parameter.accepts()),
        Value::Text(default) => format!("{}; default {}", parameter.accepts(), toml_string(&default)),
        default => format!("{}; default {default}", parameter.accepts()),
    };
    let needs = parameter.condition().in_words().map_or_else(String::new, |needs| format!("; acts only {needs}"));
    let changes = if parameter.may_change() { "; may change in a branch" } else { "" };
    comment(text, &format!("({accepts}{needs}{changes})"));
    match value {
        Value::Path(path) if path.is_empty() => writeln!(text, "# {key} = \"FILE\""),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => {
            writeln!(text, "{key} = {value}")
        }
        value => writeln!(text, "{key} = {}", toml_string(&value.to_string())),
    }
    .expect("text grows");
}

/// Returns a key as TOML writes it: between quotes if it has other characters than letters, digits, `-`, `_`.
fn toml_key(key: &str) -> String {
    let is_bare = key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if is_bare { key.to_owned() } else { toml_string(key) }
}

/// Returns `text` as a TOML string on one line.
///
/// ```
/// assert_eq!(parades_config::toml_string("say \"hi\"\n"), r#""say \"hi\"\u000a""#);
/// ```
pub fn toml_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if is_escaped(c) && c <= '\u{ffff}' => write!(quoted, "\\u{:04x}", u32::from(c)).expect("text grows"),
            c if is_escaped(c) => write!(quoted, "\\U{:08x}", u32::from(c)).expect("text grows"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Writes `words` as comment lines.
fn comment(text: &mut String, words: &str) {
    let mut line = String::from("#");
    for word in words.split_whitespace() {
        if line.len() > 1 && line.chars().count() + 1 + word.chars().count() > COMMENT_CHARS {
            text.push_str(&line);
            line.replace_range(.., "\n#");
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}
