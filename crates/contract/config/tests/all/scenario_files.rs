//! Scenario files set values. An error in one is a sentence that points at the place.

use parades_config::{ConfigError, Parameter, Place, ScenarioFile, Settings, Values, write_scenario};
use parades_core::time::{Delay, Time};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

const PARAMETERS: &[Parameter] = &[
    Parameter::integer("lps", 1024, 1..=4_000_000_000, "logical processes"),
    Parameter::integer("salt", 0, 0..=u64::MAX, "folded into the digest"),
    Parameter::fraction("remote", 0.1, "share of remote events"),
    Parameter::float("load", 0.5, f64::NEG_INFINITY..=f64::INFINITY, "offered load"),
    Parameter::duration("mean_delay", Delay::from_secs(1), "mean delay of an event").positive().with_default_unit("s"),
    Parameter::duration("period", Delay::from_secs(20), "stabilisation period"),
    Parameter::size("segment", 1460, "data in a segment"),
    Parameter::rate("link", 10_000_000, "rate of a link"),
    Parameter::boolean("share", false, "whether data are shared"),
    Parameter::choice("delay", "exponential", &["exponential", "constant"], "distribution of the delay"),
    Parameter::text("note", "", "carried along"),
    Parameter::path("topology", "a GraphML file"),
];

fn parse(text: &str) -> Result<(Settings, Values), ConfigError> {
    let file = ScenarioFile::parse(Path::new("dir/a.toml"), text.to_owned())?;
    let mut values = Values::new("phold", PARAMETERS);
    file.apply(&mut values)?;
    Ok((file.settings(), values))
}

fn wrong(text: &str) -> String {
    parse(text).expect_err("a wrong file").to_string()
}

/// Returns the error of a wrong line below `[parameters]`.
fn wrong_parameter(line: &str) -> String {
    wrong(&format!("scenario = \"phold\"\n[parameters]\n{line}\n"))
}

#[test]
fn a_file_sets_settings_and_parameters() {
    let (settings, values) = parse(
        r#"
        scenario = "phold"
        seed = 18446744073709551615
        tie_seed = 0x10
        until = "1.5s"
        engine = "window"
        threads = 4
        processes = 2

        [parameters]
        lps = 1e6
        remote = "5%"
        load = -1
        mean_delay = 0.1
        period = "1 min"
        segment = "1KiB"
        link = "2Gbps"
        share = true
        delay = "constant"
        note = "tab\there"
        topology = "net/b.graphml"
        "#,
    )
    .expect("a right file");
    let expected = Settings {
        scenario: "phold".to_owned(),
        seed: Some(u64::MAX),
        tie_seed: Some(16),
        until: Some(Time::from_ps(1_500_000_000_000)),
        engine: Some("window".to_owned()),
        threads: Some(4),
        processes: Some(2),
    };
    assert_eq!(settings, expected);
    assert_eq!(values.integer("lps"), 1_000_000);
    assert_eq!(values.float("remote").to_bits(), 0.05_f64.to_bits());
    assert_eq!(values.float("load").to_bits(), (-1.0_f64).to_bits());
    assert_eq!(values.duration("mean_delay"), Delay::from_ms(100));
    assert_eq!(values.duration("period"), Delay::from_secs(60));
    assert_eq!(values.size("segment"), 1024);
    assert_eq!(values.rate("link"), 2_000_000_000);
    assert!(values.boolean("share"));
    assert_eq!(values.choice("delay"), "constant");
    assert_eq!(values.text("note"), "tab\there");
    // The path is relative to the folder of the file, so that a scenario and its data can move together.
    assert_eq!(values.path("topology"), Some(PathBuf::from("dir/net/b.graphml")));
}

#[test]
fn keys_that_a_file_leaves_out_are_not_set() {
    let (settings, values) = parse("scenario = \"phold\"").expect("a right file");
    assert_eq!(settings, Settings { scenario: "phold".to_owned(), ..Settings::default() });
    assert_eq!(values, Values::new("phold", PARAMETERS));
}

#[test]
fn a_later_value_from_the_command_line_replaces_that_of_the_file() {
    let (_, mut values) = parse("scenario = \"phold\"\n[parameters]\nlps = 5\nnote = \"a\"").expect("a right file");
    values.set_argument("--set", "lps=6").expect("a right assignment");
    assert_eq!(values.integer("lps"), 6);
    assert_eq!(values.error_at("lps", "too few", "add some").to_string(), "--set lps=6: too few; add some");
    assert_eq!(values.error_at("note", "odd", "change it").to_string(), "dir/a.toml:4:8: odd; change it");
}

#[test]
fn malformed_toml_points_at_the_place() {
    assert_eq!(wrong("scenario"), "dir/a.toml:1:9: malformed TOML: key with no value, expected `=`");
    assert_eq!(wrong("\n\na = [1,\n"), "dir/a.toml:3:8: malformed TOML: unclosed array, expected `]`");
    assert_eq!(wrong("seed = 1\nseed = 2"), "dir/a.toml:2:1: malformed TOML: duplicate key");
    assert_eq!(wrong("seed =  # 5"), "dir/a.toml:1:9: malformed TOML: there is no value");
    assert_eq!(wrong("a = \"b"), "dir/a.toml:1:7: malformed TOML: invalid basic string, expected `\"`");
}

#[test]
fn a_value_without_its_quotes_is_shown_with_them() {
    assert_eq!(
        wrong("scenario = \"phold\"\nuntil = 10s # long"),
        "dir/a.toml:2:9: malformed TOML: text, and a value with its unit, needs quotes; write `until = \"10s\"`"
    );
    assert_eq!(
        wrong("scenario = phold"),
        "dir/a.toml:1:12: malformed TOML: text, and a value with its unit, needs quotes; write `scenario = \"phold\"`"
    );
}

#[test]
fn columns_count_characters_and_no_byte_order_mark() {
    assert_eq!(
        wrong("\u{feff}\"é\" = 'é' x"),
        "dir/a.toml:1:11: malformed TOML: unexpected key or value, expected newline, `#`"
    );
    assert_eq!(parse("\u{feff}scenario = 'phold'\r\n").expect("a right file").0.scenario, "phold");
    assert!(wrong("\u{feff}sede = 1").starts_with("dir/a.toml:1:1: "));
}

#[test]
fn an_unknown_key_suggests_the_nearest_and_says_where_it_belongs() {
    assert_eq!(
        wrong("scenario = \"phold\"\nsede = 1"),
        "dir/a.toml:2:1: a scenario file has no key `sede`; did you mean `seed`?"
    );
    assert_eq!(
        wrong("scenario = \"phold\"\nlps = 1"),
        "dir/a.toml:2:1: a scenario file has no key `lps`; the scenario's own keys belong below `[parameters]`; \
         above it stand scenario, seed, tie_seed, until, engine, threads and processes"
    );
    assert_eq!(wrong_parameter("remot = 1"), "dir/a.toml:3:1: phold has no key `remot`; did you mean `remote`?");
    assert_eq!(
        wrong_parameter("seed = 1"),
        "dir/a.toml:3:1: phold has no key `seed`; `seed` belongs above `[parameters]`"
    );
}

#[test]
fn a_wrong_type_names_the_right_one() {
    assert_eq!(wrong("scenario = 3"), "dir/a.toml:1:12: `scenario` must be text, not a number; write it in quotes");
    assert_eq!(
        wrong_parameter("lps = \"5\""),
        "dir/a.toml:3:7: `lps` must be a whole number, not text in quotes; write it without quotes"
    );
    assert_eq!(wrong_parameter("lps = [5]"), "dir/a.toml:3:7: `lps` must be a whole number, not an array");
    assert_eq!(wrong_parameter("lps.a = 5"), "dir/a.toml:3:1: `lps` must be a whole number, not a table");
    assert_eq!(wrong_parameter("share = 1"), "dir/a.toml:3:9: `share` must be `true` or `false`, not a number");
    assert_eq!(
        wrong_parameter("share = \"true\""),
        "dir/a.toml:3:9: `share` must be `true` or `false`, not text in quotes; write it without quotes"
    );
    assert_eq!(wrong_parameter("delay = true"), "dir/a.toml:3:9: `delay` must be text, not `true`; write it in quotes");
    assert_eq!(
        wrong_parameter("period = 1979-05-27"),
        "dir/a.toml:3:10: `period` must be a number with its unit, not a date"
    );
    assert_eq!(
        wrong("parameters = 3"),
        "dir/a.toml:1:14: `parameters` must be a table, not a number; write `[parameters]` on a line of its own, \
         and the parameters below it"
    );
}

#[test]
fn the_error_of_a_wrong_value_gives_the_range_or_the_units() {
    assert_eq!(wrong_parameter("remote = 1.5"), "dir/a.toml:3:10: `remote` must be between 0 and 1, not 1.5");
    assert_eq!(wrong_parameter("mean_delay = 0"), "dir/a.toml:3:14: `mean_delay` must be above 0, not 0");
    assert_eq!(wrong_parameter("load = inf"), "dir/a.toml:3:8: `load` must be a number, not `inf`");
    assert_eq!(
        wrong_parameter("salt = 0xFFFFFFFFFFFFFFFFF"),
        "dir/a.toml:3:8: `salt` must be below 2^64, not 295147905179352825855"
    );
    assert_eq!(wrong("threads = 0"), "dir/a.toml:1:11: `threads` must be between 1 and 32767, not 0");
    assert_eq!(wrong("until = \"-5s\""), "dir/a.toml:1:9: `until`: `-5s` is negative; a duration is at least 0");
}

#[test]
fn the_first_error_of_the_file_is_the_one_reported() {
    assert!(wrong_parameter("remote = 2\nlps = 0\nabc = 1").contains("`remote`"));
    assert!(wrong("zz = 1\naa = 1").contains("`zz`"));
}

#[test]
fn a_file_without_a_scenario_is_refused() {
    let expected = "dir/a.toml: the file names no scenario; write `scenario = \"NAME\"` as its first line, or `network = \"TITLE\"` if it describes a network";
    assert_eq!(wrong(""), expected);
    assert_eq!(wrong("seed = 1"), expected);
}

#[test]
fn the_caller_can_report_a_wrong_setting_at_its_place() {
    let file = ScenarioFile::parse(Path::new("a.toml"), "scenario = 'phold'\nengine = 'windw'".to_owned());
    let error = file.expect("a right file").error_at("engine", "there is no engine `windw`", "did you mean `window`?");
    assert_eq!(error.to_string(), "a.toml:2:10: there is no engine `windw`; did you mean `window`?");
}

#[test]
fn an_error_carries_the_line_for_a_snippet() {
    let error = parse("scenario = \"phold\"\n[parameters]\n\tremote = 1.5  # \u{7}\r\n").expect_err("a wrong file");
    // A control character in a comment is malformed TOML already. The snippet shows a replacement character
    // for it.
    let Some(Place::Spot(spot)) = error.place() else { panic!("{error} has no spot") };
    assert_eq!((spot.line, spot.source_line.as_deref()), (3, Some(" remote = 1.5  # \u{fffd}")));
    let error = parse("scenario = \"phold\"\n[parameters]\n  remote = 1.5\n").expect_err("a wrong file");
    let Some(Place::Spot(spot)) = error.place() else { panic!("{error} has no spot") };
    assert_eq!((spot.line, spot.column, spot.width), (3, 12, 3));
    let error = parse(&format!("lps = '{}'", "x".repeat(1000))).expect_err("a wrong file");
    let Some(Place::Spot(spot)) = error.place() else { panic!("{error} has no spot") };
    assert_eq!(spot.source_line, None);
}

#[test]
fn hostile_files_cost_little_and_overflow_no_stack() {
    let n = 1 << 20;
    let texts = [
        "[".repeat(n),
        format!("a={}", "[".repeat(n - 2)),
        "a={a=".repeat(n / 5),
        "a.".repeat(n / 2),
        format!("[{}a]", "a.".repeat(n / 2 - 2)),
        "[a]\n".repeat(n / 4),
        "[[a]]\n".repeat(n / 6),
        "a=1\n".repeat(n / 4),
        format!("a=[{}]", "1,".repeat(n / 2 - 3)),
        "\0".repeat(n),
        format!("seed={}", "1".repeat(n - 5)),
        format!("until='{}s'", "1".repeat(n - 9)),
        format!("{}=1", "k".repeat(n - 2)),
    ];
    // A small stack, on which a recursion as deep as the input would overflow.
    let worker = std::thread::Builder::new().stack_size(1 << 20).spawn(move || {
        for text in texts {
            let error = wrong(&text);
            assert!(error.starts_with("dir/a.toml:") && error.len() < 400, "{error}");
        }
    });
    worker.expect("a thread").join().expect("no overflow and no panic");
    assert_eq!(wrong(&format!("a={}", "[".repeat(1000))), "dir/a.toml:1:83: malformed TOML: nested too deeply");
}

/// A file in the folder of the tests, removed when this value is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, bytes: &[u8]) -> Scratch {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&path, bytes).expect("a writable folder");
        Scratch(path)
    }

    /// Returns the error of reading the file, without the folder's name.
    fn wrong(&self) -> String {
        let error = ScenarioFile::read(&self.0).expect_err("a wrong file").to_string();
        error.replace(&format!("{}/", env!("CARGO_TARGET_TMPDIR")), "")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A file that remains does no harm.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn files_that_cannot_be_read_say_why() {
    let missing = ScenarioFile::read(Path::new("no/such.toml")).unwrap_err().to_string();
    assert_eq!(missing, "no/such.toml: cannot be read: No such file or directory; check its name and permissions");
    let folder = ScenarioFile::read(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap_err().to_string();
    assert!(folder.ends_with(": cannot be read: it is a folder; check its name and permissions"), "{folder}");
    let binary = Scratch::new("binary.toml", b"scenario = 'x'\nnote = '\xff\xfe'\n");
    assert_eq!(binary.wrong(), "binary.toml:2:9: the file is not UTF-8 text; save it as UTF-8");
    let large = Scratch::new("large.toml", &vec![b'['; (1 << 20) + 1]);
    assert_eq!(
        large.wrong(),
        "large.toml: is larger than 1 MiB, too large for a scenario; check that it is the file you meant"
    );
    let right = Scratch::new("right.toml", b"scenario = 'phold'\n");
    assert_eq!(ScenarioFile::read(&right.0).expect("a right file").settings().scenario, "phold");
}

#[test]
fn a_scenario_is_written_with_meanings_units_and_defaults() {
    let settings = Settings {
        scenario: "phold".to_owned(),
        until: Some(Time::from_ps(100_000_000_000_000)),
        ..Settings::default()
    };
    let mut values = Values::new("phold", &PARAMETERS[..5]);
    values.set_argument("--set", "mean_delay=0.25").expect("a right assignment");
    let expected = r#"# The synthetic workload of the field.

scenario = "phold"
# seed = 1  # random streams
# tie_seed = 1  # shuffles simultaneous events, alike on every engine; off by default
until = "100s"  # end of virtual time
# engine = "auto"  # how the run is executed
# threads = 2  # worker threads in each process; as many as there are cores by default
# processes = 1  # processes on this machine

[parameters]

# logical processes
# (integer from 1 to 4000000000; default 1024)
lps = 1024

# folded into the digest
# (integer; default 0)
salt = 0

# share of remote events
# (number between 0 and 1; default 0.1)
remote = 0.1

# offered load
# (number; default 0.5)
load = 0.5

# mean delay of an event
# (duration, above 0; a number alone counts in s; default 1s)
mean_delay = "250ms"
"#;
    assert_eq!(write_scenario(&settings, "The synthetic workload of the field.", &values), expected);
}

#[test]
fn keys_that_are_not_set_are_written_as_comments_that_are_right_when_uncommented() {
    let settings = Settings { scenario: "phold".to_owned(), ..Settings::default() };
    let text = write_scenario(&settings, "About.", &Values::new("phold", PARAMETERS));
    let uncomment = |line: &str| match line.strip_prefix("# ") {
        Some(rest) if rest.contains(" = ") => format!("{rest}\n"),
        _ => format!("{line}\n"),
    };
    let uncommented: String = text.lines().map(uncomment).collect();
    let (settings, values) = parse(&uncommented).expect("a right file");
    assert_eq!((settings.seed, settings.engine.as_deref()), (Some(1), Some("auto")));
    assert_eq!(values.path("topology"), Some(PathBuf::from("dir/FILE")));
}

proptest! {
    #[test]
    fn written_scenarios_read_back(
        numbers: (u64, u32, Option<u64>, Option<u64>),
        fraction in 0.0_f64..=1.0,
        load in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL | proptest::num::f64::ZERO,
        share: bool,
        texts in ("(?s).*", "(?s).*", "\\PC*"),
    ) {
        let (large, small, seed, until) = numbers;
        let (scenario, note, path) = texts;
        let settings = Settings { scenario, seed, until: until.map(Time::from_ps), ..Settings::default() };
        let mut values = Values::new("phold", PARAMETERS);
        let lps = 1 + u64::from(small) % 4_000_000_000;
        for assignment in [
            format!("lps={lps}"), format!("salt={large}"), format!("remote={fraction}"), format!("load={load}"),
            format!("mean_delay={}ps", large.max(1)), format!("period={large}ps"), format!("segment={large}B"),
            format!("link={large}bps"), format!("share={share}"), format!("note={note}"), format!("topology={path}"),
        ] {
            values.set_argument("--set", &assignment).expect("a right assignment");
        }
        let text = write_scenario(&settings, "About.", &values);
        let (read_settings, read_values) = parse(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(read_settings, settings);
        prop_assert!(read_values == values, "{}", text);
    }

    #[test]
    fn no_text_is_a_panic_or_more_than_a_line(
        text in "(?s).{0,40}|(scenario|seed|\\[parameters\\]|lps|note|\\[|\\]|\\{|=|\"|'|\n| |1|\\.|true|é|\u{1b}){0,30}"
    ) {
        if let Err(error) = parse(&text) {
            prop_assert!(!error.to_string().contains(char::is_control), "{error:?}");
            prop_assert!(error.place().is_some());
        }
    }
}
