//! The screens that people read: their width, their tables, and the digits and units in them.

use crate::common::{Folder, command, parades};
use serde_json::Value;

/// Returns standard output of a successful command, as a terminal of this width shows it.
fn screen(folder: &Folder, arguments: &str, columns: &str) -> String {
    let output = command(&folder.0, arguments).env("COLUMNS", columns).output().expect("the command was built");
    assert!(output.status.success(), "parades {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is text")
}

fn widest(screen: &str) -> usize {
    screen.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// A network without random draws, and with a long title.
fn network(folder: &Folder) {
    let title = "a link of one megabit in a second between two nodes, and the video that takes half of it";
    folder.write(
        "net.toml",
        format!(
            "network = \"{title}\"\nuntil = \"2s\"\nnodes = [\"a\", \"b\"]\n[parameters]\nrate = \"1Mbps\"\n\
             [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"$rate\"\ndelay = \"1ms\"\n\
             [[app]]\nname = \"a_video_with_quite_a_long_name\"\nkind = \"constant\"\nfrom = \"a\"\nto = \"b\"\nrate = \"500kbps\"\n"
        ),
    );
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let folder = Folder::new("width");
    network(&folder);
    let commands = [
        "run campus --until 2s --quiet",
        "run network --until 2s --quiet",
        "run network --until 2s --quiet --table flows",
        "run net.toml --quiet",
        "run mm1 --set customers=1000 --quiet",
        "run transfer --until 1s --quiet",
        "sweep network --set rate=4Mbps,8Mbps --seeds 1..2 --until 1s --quiet",
        "sweep net.toml --seeds 1..2 --quiet",
        "sweep net.toml --seeds 1..2 --quiet --table means",
        "compare phold --until 1s --quiet --threads 2",
    ];
    for arguments in commands {
        for columns in [80, 120] {
            let screen = screen(&folder, arguments, &columns.to_string());
            assert!(widest(&screen) <= columns, "{arguments}: {} of {columns}:\n{screen}", widest(&screen));
        }
    }
    let run = "run network --until 1s --quiet";
    assert!(widest(&screen(&folder, run, "80")) < widest(&screen(&folder, run, "120")), "more columns fit");
}

#[test]
fn a_table_by_name_has_all_rows_and_columns() {
    let folder = Folder::new("one-table");
    let whole = screen(&folder, "run campus --until 1s --quiet --table links", "80");
    let run: Value =
        serde_json::from_slice(&parades(&folder.0, "run campus --until 1s --quiet --json").stdout).unwrap();
    let links = run["metrics"]["links"].as_array().unwrap();
    let is_node = |word: &str| word.contains(".net") || word.contains(".lr.");
    let to = |line: &str| line.split_whitespace().any(is_node);
    assert!(whole.lines().filter(|line| to(line)).count() >= links.len(), "{whole}");
    let flows = screen(&folder, "run campus --until 1s --quiet --table flows", "80");
    for word in ["reordered", "duration", "delivered", "complete"] {
        assert!(flows.contains(word), "{word}");
    }
    // The headings of the figures of a run are not there.
    assert!(!flows.contains("logical processes"));
    let wrong = parades(&folder.0, "run campus --until 1s --quiet --table flow");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("did you mean `flows`?"));
    assert_eq!(parades(&folder.0, "sweep phold --quiet --table flows").status.code(), Some(2));
}

#[test]
fn brief_results_have_no_tables_of_flows_or_runs() {
    let folder = Folder::new("brief");
    let lines = |arguments: &str| screen(&folder, arguments, "80").lines().count();
    let run = "run network --until 1s --quiet";
    let brief = screen(&folder, &format!("{run} --brief"), "80");
    assert!(lines(run) > brief.lines().count() + 20);
    assert!(brief.contains("packets lost") && brief.contains("delay video"), "{brief}");
    let sweep = "sweep mm1 --set customers=500 --seeds 1..9 --quiet";
    assert!(lines(sweep) > lines(&format!("{sweep} --brief")) + 8);
}

#[test]
fn the_title_of_a_file_and_the_error_of_percentiles_are_shown() {
    let folder = Folder::new("title");
    network(&folder);
    let run = screen(&folder, "run net.toml --quiet", "80");
    assert!(run.starts_with("network: a link of one megabit"), "{run}");
    assert!(run.contains("p99") && run.contains("percentiles are within 0.8 %"), "{run}");
    let flows = screen(&folder, "run net.toml --quiet --table flows", "80");
    assert!(flows.contains("percentiles are within 0.8 %"), "{flows}");
    // All runs of this network are alike: no interval of a percentile is exact.
    let means = |metric: &str| {
        let arguments = format!(
            "sweep net.toml --seeds 1..3 --quiet --brief --metric delay_a_video_with_quite_a_long_name_s.{metric}"
        );
        screen(&folder, &arguments, "80")
    };
    assert!(means("p95").contains("within 0.8 %") && !means("p95").contains('±'), "{}", means("p95"));
    assert!(means("mean").contains("± 0"), "{}", means("mean"));
}

#[test]
fn tables_of_numbers_have_base_units_and_name_them_once() {
    let folder = Folder::new("base-units");
    let sweep = "sweep network --set rate=4Mbps,8Mbps --until 1s --quiet";
    for table in ["--csv", "--csv=means"] {
        let csv = screen(&folder, &format!("{sweep} {table}"), "80");
        let rates: Vec<&str> = csv.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
        assert!(csv.starts_with("rate,"), "{csv}");
        assert!(rates.contains(&"4000000") && rates.contains(&"8000000"), "{rates:?}");
    }
    // JSON has the values as they were typed.
    let json: Value = serde_json::from_str(&screen(&folder, &format!("{sweep} --json"), "80")).unwrap();
    assert_eq!(json["swept"]["rate"][0], "4Mbps");
    let run = screen(&folder, "run network --until 1s --quiet --json", "80");
    for name in ["\"bytes\"", "\"bytes_received\"", "\"bytes_acknowledged\""] {
        assert!(run.contains(name), "{name}");
    }
    assert!(!run.contains("bytes_bytes") && !run.contains("received_bytes"));
}

#[test]
fn compare_runs_the_engines_that_its_help_names() {
    let folder = Folder::new("compared");
    let json: Value = serde_json::from_str(&screen(&folder, "compare phold --until 1s --quiet --json", "80")).unwrap();
    let engines: Vec<&str> = json["runs"].as_array().unwrap().iter().filter_map(|run| run["engine"].as_str()).collect();
    assert_eq!(engines, ["sequential", "rounds", "window", "null-message", "time-warp"]);
    let help = screen(&folder, "compare --help", "200");
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        help.contains("[default: sequential, rounds, window, null-message and time-warp]. Engines that cannot"),
        "{help}"
    );
    let table = screen(&folder, "compare phold --until 3s --quiet --engines sequential,rollback-check", "80");
    assert!(table.contains("rollback-check") && table.contains("same") && table.contains("digest"), "{table}");
}

#[cfg(unix)]
#[test]
fn a_comparison_stopped_by_hand_keeps_the_runs_that_are_over() {
    let folder = Folder::new("stopped-compare");
    // Thousands of short runs: some of them are over at any time after the start, and never all.
    let engines = vec!["sequential"; 10_000].join(",");
    let arguments = format!("compare phold --until 3s --json --quiet --engines {engines}");
    let piped = std::process::Stdio::piped;
    let child = command(&folder.0, &arguments).stdout(piped()).stderr(piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2000));
    let kill = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let [runs, stopped] = ["runs", "stopped"].map(|key| json[key].as_array().unwrap().len());
    assert!(runs > 0 && stopped > 0 && runs + stopped == 10_000, "{runs} {stopped}");
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("stopped: without the runs on sequential"));
}

#[test]
fn completions_know_scenarios_engines_parameters_and_benches() {
    let folder = Folder::new("completions");
    for shell in ["bash", "zsh", "fish"] {
        let script = screen(&folder, &format!("completions {shell}"), "80");
        for word in ["time-warp", "utilisation=", "lookahead="] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    // The script itself is asked, as bash asks it after TAB.
    folder.write("script", screen(&folder, "completions bash", "80"));
    let complete = |words: &str| {
        let test = format!(
            "source ./script; COMP_WORDS=(parades {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _parades parades \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\" 2>/dev/null; echo \"${{COMPREPLY[*]}}\""
        );
        let output = std::process::Command::new("bash").args(["-c", &test]).current_dir(&folder.0).output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Ok(scenarios) = complete("run pho") else { return };
    assert_eq!(scenarios, "phold");
    assert_eq!(complete("run phold --engine tim").unwrap(), "time-warp");
    assert_eq!(complete("run phold --set remo").unwrap(), "remote=");
    assert!(complete("bench scal").unwrap().contains("scaling"));
    assert!(complete("run phold --tune ahe").unwrap().contains("ahead="));
}

#[test]
fn a_sweep_draws_its_means_with_a_line_for_each_value_of_the_other_parameters() {
    let folder = Folder::new("plot");
    let grid = "--set utilisation=0.3,0.5,0.7 --set customers=500,1000 --seeds 1..3 --quiet";
    screen(&folder, &format!("sweep mm1 {grid} --metric sojourn --plot chart.svg"), "80");
    let chart = folder.read("chart.svg");
    assert!(chart.starts_with("<svg"), "{chart}");
    assert_eq!(chart.matches("<circle").count(), 6, "a mark for each point of the grid");
    for text in ["utilisation", "sojourn (ms)", "customers=500", "customers=1000"] {
        assert!(chart.contains(text), "{text}");
    }
    let refused = ["sweep mm1 --seeds 1..2 --metric sojourn --plot c.svg", "sweep mm1 --seeds 1..2 --plot c.svg"];
    for arguments in refused {
        assert_eq!(parades(&folder.0, arguments).status.code(), Some(2), "{arguments}");
    }
    let word = "sweep campus --set traffic=udp,multicast --metric delay --quiet --plot c.svg";
    assert!(String::from_utf8_lossy(&parades(&folder.0, word).stderr).contains("a swept parameter that is a number"));
}
