//! A value that cannot act is refused, with what it needs; or noted, where it acts for other values.

use crate::common::{Folder, check, parades};

#[test]
fn a_value_that_cannot_act_is_refused() {
    let folder = Folder::new("idle");
    folder.write("shape.toml", "scenario = \"kademlia\"\n[parameters]\nsession = \"0s\"\ncrash = 0.9\n");
    folder.write(
        "net.toml",
        "network = \"x\"\nnodes = [\"a\", \"b\"]\n[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Mbps\"\ndelay = \"1ms\"\n\
         [[app]]\nname = \"v\"\nfrom = \"a\"\nto = \"b\"\nkind = \"on-off\"\nrate = \"1Mbps\"\non = \"1ms\"\noff = \"1ms\"\nshape = 2.0\n",
    );
    check(
        &folder,
        &[
            (
                "run bittorrent --set session_law=weibull",
                2,
                "--set session_law=weibull: `session_law` acts only with `session`; set `session`, or leave `session_law` out",
            ),
            (
                "run bittorrent --set network=latency --set up=1Mbps",
                2,
                "--set up=1Mbps: `up` acts only with `network=capacity` or `network=both`; set `network=capacity`, or leave `up` out",
            ),
            (
                "run chord --set transit_domains=3",
                2,
                "--set transit_domains=3: `transit_domains` acts only with `network=underlay`; set `network=underlay`, or leave \
                 `transit_domains` out",
            ),
            (
                "run campus --set networks=1 --set ring_delay=1ms",
                2,
                "--set ring_delay=1ms: `ring_delay` acts only with `networks` above 1; set `networks` above 1, or leave `ring_delay` out",
            ),
            (
                "run shape.toml",
                2,
                "shape.toml:4:9: `crash` acts only with `session` or with `churn_file`; set `session`, or leave `crash` out",
            ),
            (
                "run net.toml",
                2,
                "net.toml:16:9: `shape` acts only with `periods=pareto` or `periods=pareto-least`; set `periods = \"pareto\"`, or leave \
                 `shape` out",
            ),
            (
                "sweep kademlia --set session=0s --set crash=0.8,0.9 --set nodes=8 --until 1s",
                2,
                "--set crash=0.8: `crash` acts only with `session` or with `churn_file`; set `session`, or leave `crash` out",
            ),
        ],
    );
}

#[test]
fn a_value_that_acts_for_other_values_is_noted() {
    let folder = Folder::new("noted");
    let said = |arguments: &str| {
        let output = parades(&folder.0, arguments);
        let said = String::from_utf8(output.stderr).expect("it is text");
        assert!(output.status.success(), "{arguments}: {said}");
        said
    };
    let of_sweep = said(
        "sweep chord --set form=machine --set nodes=8 --set network=constant,underlay --set jitter=1ms --until 1s --seeds 1",
    );
    assert!(
        of_sweep.contains("note: `jitter` has no effect at 1 of 2 points: it acts only with `network=underlay`"),
        "{of_sweep}"
    );
    folder.write("churn.toml", "scenario = \"chord\"\n[parameters]\nnodes = 8\nsession = \"1s\"\nabsence = \"2s\"\n");
    let of_file = said("run churn.toml --until 100ms --set session=0s --brief");
    assert!(of_file.contains("note: `absence` has no effect: it acts only with `session`"), "{of_file}");
    // A file of `show` has all defaults, some of which another choice switches off.
    folder.write("shown.toml", parades(&folder.0, "show bittorrent").stdout);
    let of_shown = said("run shown.toml --set network=latency --until 100ms --brief");
    assert!(!of_shown.contains("has no effect"), "{of_shown}");
    // A run that was recorded has all its values as arguments.
    said("run churn.toml --until 100ms --set session=0s --out recorded --quiet");
    said("diff recorded recorded");
    folder.write(
        "net.toml",
        "network = \"x\"\nnodes = [\"a\", \"b\"]\n[parameters]\nloss = 0\n[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Mbps\"\n\
         delay = \"1ms\"\nloss = \"$loss\"\n[[app]]\nname = \"v\"\nfrom = \"a\"\nto = \"b\"\nkind = \"tcp\"\nsize = \"9kB\"\n\
         congestion = \"dctcp\"\nclass = 3\n",
    );
    let of_network = said("run net.toml --brief");
    for note in ["no queue marks packets, so `dctcp` of `v`", "`class` of `v` has no effect"] {
        assert!(of_network.contains(note), "{note}: {of_network}");
    }
    // A parameter of a file has the kind of its use, not that of its digits.
    said("run net.toml --set loss=0.1 --brief --quiet");
}

#[test]
fn errors_name_the_key_and_its_place() {
    let folder = Folder::new("places");
    folder.write("packet.toml", "scenario = \"campus\"\n[parameters]\npacket = \"100kB\"\n");
    folder.write("delay.toml", "scenario = \"campus\"\n[parameters]\ninner_delay = \"200d\"\n");
    folder.write(
        "net.toml",
        "network = \"x\"\nnodes = [\"a\", \"b\", \"c\"]\n[defaults]\nrate = \"1Mbps\"\n[[link]]\nfrom = \"a\"\nto = \"b\"\n\
         delay = \"200d\"\n[[link]]\nfrom = \"b\"\nto = \"c\"\ndelay = \"199d\"\n[[app]]\nname = \"v\"\nfrom = \"a\"\nto = \"b\"\n\
         kind = \"constant\"\nrate = \"1Mbps\"\n",
    );
    let total = "the links' delays add up to more than virtual time holds, 213 days; the longest, between";
    check(
        &folder,
        &[
            (
                "run packet.toml",
                2,
                "packet.toml:3:10: `packet` is 100000B, more than a packet can carry; 65507B is the most",
            ),
            ("run delay.toml", 2, &format!("delay.toml:3:15: {total} `1.lr.1` and `1.net3.1`, is 17280000s; lower it")),
            ("run net.toml", 2, &format!("net.toml:8:9: {total} `a` and `b`, is 17280000s; lower it")),
        ],
    );
    let said = |arguments: &str| String::from_utf8_lossy(&parades(&folder.0, arguments).stderr).into_owned();
    // One rule for all durations: a number without a unit is none.
    assert!(said("run phold --until 10").contains("`10` has no unit"));
    assert!(said("run gossip --set latency=5 --set underlay=constant").contains("`5` has no unit"));
    let late = said("run phold --set lps=4 --until 1s --trace t.txt --trace-from 2s --brief");
    assert!(late.contains("note: nothing is traced: `--trace-from` is 2s, and the run ends at 1s"), "{late}");
}

#[test]
fn short_options_and_help_are_there_and_no_hidden_command_is_suggested() {
    let folder = Folder::new("short");
    let run = parades(&folder.0, "run phold -s lps=4 -q --until 1s -o results --brief");
    assert!(run.status.success() && run.stderr.is_empty() && folder.0.join("results/summary.json").exists());
    let sweep = parades(&folder.0, "sweep phold -s lps=4,5 -j 2 -q --until 1s");
    assert!(sweep.status.success());
    let help = parades(&folder.0, "help run");
    assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).contains("Runs one simulation"));
    for word in ["swep", "sweepworker", "ran"] {
        let said = String::from_utf8_lossy(&parades(&folder.0, word).stderr).into_owned();
        assert!(!said.contains("'sweep-worker'") && !said.contains("'rank'"), "{said}");
    }
}
