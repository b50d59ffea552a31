//! `convert speer`: the scenario file on standard output or in a file, the notes, and runs of it.

use crate::common::{Folder, check, parades};

/// A swarm in the form of Speer's BitTorrent simulations.
const SWARM: &str = r#"// A small swarm.
{
  "outPeers": 4, "inPeers": 4,
  "minNodes": 12, "seeds": 1,
  "pieceSize": 1960, "pieces": 20,
  "uploads": 4, "optimistics": 1, "interval": 10000, "backlog": 10,
  "transitDomains": 3, "transitDomainSize": 5, "stubDomains": 3, "stubDomainSize": 8,
  "transferInterval": 10,
  "capacityNodes": [{"number": 13, "upload": 10, "download": 20}]
}
"#;

#[test]
fn a_converted_swarm_runs() {
    let folder = Folder::new("convert");
    folder.write("swarm.json", SWARM);
    let output = parades(&folder.0, "convert speer swarm.json");
    let (printed, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{said}");
    for line in ["scenario = \"bittorrent\"", "peers = 12 ", "piece_bits = 1960 ", "up = \"10kbps\" "] {
        assert!(printed.lines().any(|of_file| of_file.starts_with(line)), "{line}: {printed}");
    }
    let keys: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("note: ")?.split(':').next()).collect();
    assert_eq!(keys, ["`transferInterval`", "`inPeers`", "`latency`"], "{said}");

    let written = parades(&folder.0, "convert speer swarm.json --out swarm.toml");
    assert!(written.status.success() && written.stdout.is_empty() && written.stderr == output.stderr);
    assert_eq!(folder.read("swarm.toml"), printed);
    let digest = |arguments: &str| {
        let run = parades(&folder.0, arguments);
        let json: serde_json::Value = serde_json::from_slice(&run.stdout).expect("the run prints JSON");
        assert_eq!(json["metrics"]["completed"], 11, "{json}");
        assert_eq!(json["parameters"]["stub_nodes"], 8, "{json}");
        json["digest"].clone()
    };
    let sequential = digest("run swarm.toml --json --quiet --until 300s --engine sequential");
    assert_eq!(digest("run swarm.toml --json --quiet --until 300s --engine window --threads 2"), sequential);
}

#[test]
fn wrong_configurations_get_one_sentence() {
    let folder = Folder::new("convert-wrong");
    folder.write("swarm.json", SWARM);
    folder.write("key.json", SWARM.replace("\"pieces\"", "\"peices\""));
    folder.write("type.json", SWARM.replace("\"backlog\": 10", "\"backlog\": \"ten\""));
    folder.write("seeds.json", SWARM.replace("\"seeds\": 1", "\"seeds\": 13"));
    folder.write("links.json", SWARM.replace("\"number\": 13", "\"number\": 12"));
    folder.write("cut.json", SWARM.split_once("\"stubDomains\"").map_or("", |(before, _)| before));
    folder.write("other.json", "{\"nodes\": []}");
    folder.write("bytes.json", b"{\"nodes\": \"\xff\"}");
    check(
        &folder,
        &[
            (
                "convert speer none.json",
                2,
                "none.json: cannot be read: No such file or directory; check its name and permissions",
            ),
            (
                "convert speer key.json",
                2,
                "key.json:5:32: the configuration has no key `peices`; did you mean `pieces`?",
            ),
            (
                "convert speer type.json",
                2,
                "type.json:6:65: `backlog` cannot be `\"ten\"`; write a whole number from 1 to 1000000",
            ),
            (
                "convert speer seeds.json",
                2,
                "seeds.json:4:28: `seeds` cannot be `13`; write a whole number from 0 to 12",
            ),
            (
                "convert speer links.json",
                2,
                "links.json:9:20: `capacityNodes` has links for 12 nodes, and the 12 peers of `minNodes` and the tracker need 13; raise `number`, or lower `minNodes`",
            ),
            (
                "convert speer cut.json",
                2,
                "cut.json:7:47: malformed JSON: EOF while parsing a value; give a JSON configuration of Speer: an object between `{` and `}`",
            ),
            (
                "convert speer other.json",
                2,
                "other.json:1:11: `nodes` cannot be `[]`; write a whole number from 1 to 4294967291",
            ),
            (
                "convert speer bytes.json",
                2,
                "bytes.json: cannot be read: it is not text in UTF-8; give a JSON configuration of Speer",
            ),
            (
                "convert speer swarm.json --out none/swarm.toml",
                2,
                "none/swarm.toml cannot be written: No such file or directory; name a place where files can be written",
            ),
        ],
    );
}
