//! Processes begin on the hosts of a platform as a deployment file says, and end and begin again with them.

use parades_carriers::FlowLevel;
use parades_carriers::flow_level::{Deployment, Function, OnPlatform};
use parades_core::prelude::*;
use parades_engine::{rounds, sequential};
use parades_flow::network_model::{MaxMinModel, NetworkModel};
use parades_flow::xml;
use parades_program::{Node, Processes, Program, Start};

/// The host `b` fails from 3 s to 4 s.
const PLATFORM: &str = r#"<platform version="4.1"><zone id="world" routing="Full">
<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
<trace id="fails" periodicity="-1">3 0
4 1</trace><trace_connect trace="fails" element="b" kind="HOST_AVAIL"/>
</zone>
<actor host="a" function="works"><argument value="1e9"/><argument value="first"/></actor>
<actor host="a" function="works" start_time="1.5"><argument value="1e9"/><argument value=""/></actor>
<actor host="b" function="works" on_failure="RESTART"><argument value="5e9"/><argument value="begins again"/></actor>
<process host="b" function="works" kill_time="-1" on_failure="DIE"><argument value="5e9"/><argument value="dies"/></process>
<actor host="a" function="works" start_time="5" kill_time="6"><argument value="9e9"/><argument value="killed"/></actor>
<actor host="a" function="works" start_time="7" kill_time="20"><argument value="1e9"/><argument value="in time"/></actor>
</platform>"#;

struct Work {
    carrier: FlowLevel<u64>,
    deployment: Deployment<Work>,
    nodes: u32,
}

impl Program for Work {
    type Message = u64;
    type State = Vec<String>;
    type Carrier = FlowLevel<u64>;
    fn nodes(&self) -> u32 {
        self.nodes
    }
    fn carrier(&self) -> &Self::Carrier {
        &self.carrier
    }
    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        metrics.table("log", vec![Column::new("line", Unit::Count)]);
        metrics
    }
    fn start(&self, start: &mut Start<'_, Self>) -> Self::State {
        self.deployment.begin(start);
        Vec::new()
    }
    fn restart(&self, start: &mut Start<'_, Self>, _: &mut Self::State) {
        self.deployment.begin_again(start);
    }
    fn finish(&self, _: LpId, log: &Self::State, _: &End, metrics: &mut Metrics) {
        for line in log {
            metrics.row(MetricId(0), [Cell::Text(line.as_str().into())]);
        }
    }
}

async fn works(node: Node<Work>, arguments: Vec<String>) {
    let say = move |what: &str, who: &str| {
        let line = format!("{:.3} {who} {what}", node.now().as_secs_f64());
        node.with_state(|log| log.push(line));
    };
    let [flops, who] = &arguments[..] else { panic!("two arguments, not {arguments:?}") };
    say("begins", who);
    node.compute(flops.parse().expect("a number")).await.expect("a process does not outlive its host");
    say("ends", who);
}

const FUNCTIONS: [(&str, Function<Work>); 1] = [("works", |node, arguments| Box::pin(works(node, arguments)))];

/// Makes the program of a file with a platform and a deployment.
fn program(text: &str, nodes: u32) -> Processes<Work> {
    let platform = xml::parse("both.xml".as_ref(), text.as_bytes()).expect("it is right");
    let deployment = Deployment::parse("both.xml".as_ref(), text.as_bytes(), &platform, &FUNCTIONS);
    let deployment = deployment.expect("it is right");
    let model = NetworkModel::MaxMin(MaxMinModel::LV08);
    let carrier = FlowLevel::new(platform.into(), model, nodes, |&bytes| bytes as f64).with_ends_of_processes();
    Processes::new(Work { carrier, deployment, nodes })
}

/// Makes the program of these actors on the platform of [`PLATFORM`].
fn program_of(actors: &str, nodes: u32) -> Processes<Work> {
    let platform = PLATFORM.split_inclusive("</zone>").next().expect("it has a zone");
    program(&format!("{platform}\n{actors}</platform>"), nodes)
}

fn options() -> RunOptions<'static> {
    RunOptions::until(Time::from_secs(50))
}

/// Runs a program under two engines. Returns its log by node, and the outcome.
fn log_of(program: &Processes<Work>) -> (Vec<String>, Outcome) {
    let outcome = sequential::run(program, options()).expect("it runs");
    let settings = rounds::Settings { threshold: rounds::Threshold::Fixed(2), ..rounds::Settings::of_threads(2) };
    assert_eq!(rounds::run(program, options(), &settings).expect("it runs").digest, outcome.digest);
    let table = outcome.metrics.get("log").and_then(|metric| metric.table()).expect("it is declared");
    let text = |row: &Vec<Cell>| if let [Cell::Text(line)] = &row[..] { line.to_string() } else { String::new() };
    (table.rows().iter().map(text).collect(), outcome)
}

#[test]
fn processes_begin_end_and_begin_again_as_their_file_says() {
    let (log, outcome) = log_of(&program(PLATFORM, 2));
    // By hand.
    let expected = [
        "0.000 first begins",
        "1.000 first ends",
        "1.500  begins",
        "2.500  ends",
        "5.000 killed begins",
        "7.000 in time begins",
        "8.000 in time ends",
        "0.000 begins again begins",
        "0.000 dies begins",
        "4.000 begins again begins",
        "9.000 begins again ends",
    ];
    assert_eq!(log, expected);
    let counter = |name| outcome.metrics.get(name).and_then(|metric| metric.counter());
    // Both processes of the host that fails, and one of those with a time to be killed.
    assert_eq!((counter("processes_killed"), counter("processes_waiting")), (Some(3), Some(0)));
    assert_eq!(counter("processes_ended"), Some(4));
}

/// The times are those of SimGrid 3.32, unless a comment says otherwise.
#[test]
fn processes_that_begin_after_a_failure_of_their_host_begin_once_at_their_time() {
    let (log, outcome) = log_of(&program_of(
        r#"<actor host="b" function="works" start_time="5"><argument value="1e9"/><argument value="dies"/></actor>
           <actor host="b" function="works" start_time="5" on_failure="RESTART"><argument value="1e9"/>
               <argument value="restarts"/></actor>
           <actor host="b" function="works" kill_time="3.5" on_failure="RESTART"><argument value="4e9"/>
               <argument value="is killed before"/></actor>
           <actor host="b" function="works" kill_time="4.5" on_failure="RESTART"><argument value="9e9"/>
               <argument value="is killed after"/></actor>
           <actor host="b" function="works" start_time="3.5" on_failure="RESTART"><argument value="0"/>
               <argument value="begins with the host"/></actor>
           <actor host="a" function="works" start_time="60"><argument value="0"/><argument value="never"/></actor>"#,
        2,
    ));
    // SimGrid begins the second actor twice, at 4 s and at 5 s, and refuses the fifth.
    let expected = [
        "0.000 is killed before begins",
        "0.000 is killed after begins",
        "4.000 is killed before begins",
        "4.000 is killed after begins",
        "4.000 begins with the host begins",
        "4.000 begins with the host ends",
        "5.000 dies begins",
        "5.000 restarts begins",
    ];
    let begin: Vec<&str> = log.iter().map(|line| &**line).take(expected.len()).collect();
    assert_eq!(begin, expected);
    // By hand: of 4 Gflop, 0.75 are done at 5 s, and 1.75 when three computations have shared the core for 3
    // s.
    assert_eq!(log[expected.len()..], ["8.000 dies ends", "8.000 restarts ends", "10.250 is killed before ends"]);
    let counter = |name| outcome.metrics.get(name).and_then(|metric| metric.counter());
    // Two at 3 s, the fifth as it begins at 3.5 s, and one at 4.5 s. The last one has not begun at the end.
    assert_eq!((counter("processes_killed"), counter("processes_waiting")), (Some(4), Some(0)));
    assert_eq!((counter("processes_ended"), counter("nodes_asleep")), (Some(4), Some(1)));
}

#[test]
fn processes_that_have_no_node_or_no_host_end_the_run_with_the_place_in_the_file() {
    let error = |actors: &str, nodes| {
        sequential::run(&program_of(actors, nodes), options()).expect_err("it is wrong").to_string()
    };
    let actors = "<actor host=\"a\" function=\"works\"><argument value=\"1\"/><argument value=\"\"/></actor>\n  \
                  <actor host=\"b\" function=\"works\" start_time=\"3.5\"/>";
    let found = error(actors, 1);
    let sentence = "both.xml:7:3: the host `b` has no node, as the program has 1; let the program have as many nodes as \
                    the platform has hosts";
    assert!(found.contains(sentence), "{found}");
    let found = error(actors, 2);
    let sentence = "both.xml:7:3: its host has failed at the start_time of the actor; begin it at another time, or add \
                    on_failure=\"RESTART\"";
    assert!(found.contains(sentence), "{found}");
}

#[test]
fn what_is_wrong_in_a_deployment_is_named_with_its_place_and_remedy() {
    let platform = xml::parse("both.xml".as_ref(), PLATFORM.as_bytes()).expect("it is right");
    let wrong = |actor: &str| {
        let text = format!("<platform version=\"4.1\">\n{actor}</platform>");
        Deployment::<Work>::parse("d.xml".as_ref(), text.as_bytes(), &platform, &FUNCTIONS)
            .expect_err(actor)
            .to_string()
    };
    for (actor, sentence) in [
        (r#"<actor host="aa" function="works"/>"#, "d.xml:2:1: the platform has no host `aa`; did you mean `a`?"),
        (r#"<actor host="a" function="work"/>"#, "d.xml:2:1: there is no function `work`; did you mean `works`?"),
        (r#"<actor host="a" function="zzzzzzz"/>"#, "d.xml:2:1: there is no function `zzzzzzz`; the program has works"),
        (r#"<actor host="a"/>"#, "d.xml:2:1: <actor> has no function; add the attribute"),
        (
            r#"<actor host="a" function="works" on_failure="AGAIN"/>"#,
            "d.xml:2:1: the on_failure of <actor>, `AGAIN`, is none of DIE, RESTART; correct it",
        ),
        (
            r#"<actor host="a" function="works" start_time="soon"/>"#,
            "d.xml:2:1: the start_time of <actor>, `soon`, is not a number; correct it",
        ),
        (
            r#"<actor host="a" function="works" kill_time="1e99"/>"#,
            "d.xml:2:1: the kill_time of <actor>, `1e99`, is past the end of virtual time; correct it",
        ),
        (
            r#"<actor host="a" function="works" start_time="3" kill_time="3"/>"#,
            "d.xml:2:1: the kill_time of <actor>, `3`, is not after its start_time; correct it",
        ),
        (
            r#"<actor host="a" function="works"><arg value="1"/></actor>"#,
            "d.xml:2:34: there is no element `arg` in an actor; write arguments as <argument value=\"…\"/>",
        ),
        (
            r#"<actor host="a" function="works"><prop id="x" value="1"/></actor>"#,
            "d.xml:2:34: properties of actors are not read; give an <argument>, or delete it",
        ),
        (
            r#"<actr host="a" function="works"/>"#,
            "d.xml:2:1: there is no element `actr` in deployments; did you mean `actor`?",
        ),
        ("", "d.xml:1:1: the file deploys nothing; add an <actor host=\"…\" function=\"…\"/>"),
    ] {
        assert_eq!(wrong(actor), sentence);
    }
}
