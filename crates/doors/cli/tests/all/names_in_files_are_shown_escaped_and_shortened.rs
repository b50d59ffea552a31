//! Names in files of users may contain characters that a terminal executes, and may be long. Output has
//! neither.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use crate::common::{Folder, command};
use parades_config::is_executed;

/// Characters that set the title of a terminal, colour its text, and reverse it.
const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}";

/// The greatest length of a line, in characters. Each line of a test's command names a few things at most.
const LINE_CHARS_MAX: usize = 1500;

/// Returns files with this name in every place where a name may be, and the commands that use them.
fn files(folder: &Folder, name: &str) -> Vec<String> {
    let xml: String = name.chars().map(|c| format!("&#{};", u32::from(c))).collect();
    let toml = parades_config::toml_string(name);
    folder.write("platform.xml", format!(
        r#"<platform version="4.1"><config><prop id="{xml}" value="{xml}"/></config><zone id="w" routing="Full"><host id="{xml}" speed="1Gf"/><host id="b" speed="1Gf"/><link id="l" bandwidth="1MBps" latency="0"/><route src="{xml}" dst="b"><link_ctn id="l"/></route></zone></platform>"#
    ));
    folder.write("element.xml", format!(r#"<platform version="4.1"><a{name}/></platform>"#));
    folder.write("attribute.xml", format!(r#"<platform version="4.1"><zone id="{xml}" routing="{xml}"/></platform>"#));
    folder.write("known.txt", format!("'{name}' '{name}' b 1000 0\n"));
    folder.write("unknown.txt", format!("1 '{name}x' b 1000 0\n"));
    folder.write("words.txt", format!("1 '{name}' b {name} 0\n"));
    folder.write("many.txt", format!("{name} {name} {name} {name} {name} {name}\n"));
    folder.write("network.toml", format!(
        "network = {toml}\nuntil = \"1s\"\nnodes = [{toml}, \"b\"]\nlink = [{{ from = {toml}, to = \"b\", rate = \"1Mbps\", delay = \"1ms\" }}]\napp = [{{ name = {toml}, kind = \"constant\", from = {toml}, to = \"b\", rate = \"10kbps\" }}]\n"
    ));
    folder.write("key.toml", format!("network = \"n\"\n{toml} = 1\n"));
    folder.write(
        "node.toml",
        format!("network = \"n\"\nuntil = \"1s\"\nnodes = [\"b\"]\nlink = [{{ from = {toml}, to = \"b\" }}]\n"),
    );
    folder.write("scenario.toml", format!("scenario = {toml}\n"));
    folder.write("network.graphml", format!(
        r#"<graphml><key id="{name}" for="node" attr.name="{name}" attr.type="double"/><graph edgedefault="undirected"><node id="a"><data key="{name}">{name}</data></node><node id="{name}"/><edge source="a" target="{name}"/></graph></graphml>"#
    ));
    folder.write("broken.graphml", format!("<graphml><graph><node id=\"a\"></{name}></graph></graphml>"));
    for (run, value) in [("a", "1"), ("b", name)] {
        folder.write(
            &format!("{run}/summary.json"),
            serde_json::json!({"scenario": name, name: 1, "seed": value}).to_string(),
        );
        folder.write(&format!("{run}/trace.txt"), format!("0s LP 0 <- LP 0 #0 {value}\n"));
    }
    let flows = |platform: &str, pattern: &str| format!("run flows --set platform={platform} --set pattern={pattern}");
    let wan = "run wan --until 1s --set flows=2 --set topology=";
    [
        flows("platform.xml", "known.txt"),
        flows("platform.xml", "known.txt") + " --json",
        flows("platform.xml", "unknown.txt"),
        flows("platform.xml", "words.txt"),
        flows("platform.xml", "many.txt"),
        flows("element.xml", "known.txt"),
        flows("attribute.xml", "known.txt"),
        "run network.toml".into(),
        "run network.toml --json".into(),
        "show network.toml".into(),
        "sweep network.toml --seeds 1..2".into(),
        "sweep network.toml --seeds 1..2 --csv".into(),
        "sweep network.toml --seeds 1..2 --json".into(),
        "why network.toml --event 0s".into(),
        "compare network.toml --json".into(),
        "run key.toml".into(),
        "run node.toml".into(),
        "run scenario.toml".into(),
        format!("{wan}network.graphml"),
        format!("{wan}broken.graphml"),
        "diff a b".into(),
    ]
    .into()
}

/// Runs a command and returns its output.
fn output_of(folder: &Folder, arguments: &str) -> [String; 2] {
    let output = command(&folder.0, arguments).output().unwrap();
    assert!(output.status.code().is_some_and(|status| status <= 2), "{arguments}: {output:?}");
    [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("output is text"))
}

#[test]
fn nothing_from_a_file_is_executed_by_a_terminal() {
    let folder = Folder::new("hostile");
    let mut named = 0;
    for arguments in files(&folder, HOSTILE) {
        for text in output_of(&folder, &arguments) {
            let executed = text.chars().find(|&c| is_executed(c) && !matches!(c, '\n' | '\t'));
            assert_eq!(executed, None, "{arguments}: {text:?}");
            named += usize::from(text.contains("owned"));
        }
    }
    assert!(named > 10, "the outputs name the things in the files: {named}");
}

#[test]
fn long_names_in_files_are_shortened_for_people() {
    let folder = Folder::new("long");
    for arguments in files(&folder, &"long".repeat(50_000)) {
        let [stdout, stderr] = output_of(&folder, &arguments);
        let is_for_people = ["--json", "--csv", "show"].iter().all(|other| !arguments.contains(other));
        for text in [stderr].iter().chain([stdout].iter().filter(|_| is_for_people)) {
            let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            let start: String = text.chars().take(300).collect();
            assert!(longest <= LINE_CHARS_MAX, "{arguments}: a line of {longest} characters in: {start}");
        }
    }
}
