//! Every parameter of every scenario has a row here: a change that has an effect on the answer, and the
//! values of other parameters that it needs. A parameter that needs others declares it
//! (`parades_config::needs`), and is refused without them.
//!
//! A new parameter needs a row, or this test fails. The kinds of rows are the functions [`acts`], [`needs`],
//! [`by_data`], [`same`], [`noted`] and [`refused`].

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use parades_catalog::{Choice, SCENARIOS, Scenario, Simulation, Wish};
use parades_config::units::parse_time;
use parades_config::{ConfigError, Parameter, Values};
use parades_core::cut::{AtRest, Cuts, Then};
use parades_core::run::RunOptions;
use parades_core::time::Time;
use std::path::PathBuf;

/// A scenario at a small size, with a row for each parameter.
struct Small {
    scenario: &'static str,
    /// The end of the runs.
    until: &'static str,
    /// The parameters of all runs, as `key=value` with blanks between them.
    set: &'static str,
    rows: &'static [&'static [Row]],
}

/// What a change of one parameter does.
#[derive(Clone, Copy)]
struct Row {
    /// The change, as `key=value`. A file has its name from [`FILES`].
    change: &'static str,
    /// The parameters without which it has no effect.
    beside: &'static str,
    effect: Effect,
}

#[derive(Clone, Copy, PartialEq)]
enum Effect {
    /// The answer is another one, and without `beside` the change is refused.
    Declared,
    /// The answer is another one. Without `beside` it may be, by the data: no condition could say when.
    ByData,
    /// The answer is the same one: the parameter is about how it is computed.
    Same,
    /// The answer is the same one, and a note says so.
    Noted,
    /// No value but the default is possible.
    Refused,
}

/// The parameter always acts.
const fn acts(change: &'static str) -> Row {
    Row { change, beside: "", effect: Effect::Declared }
}

/// The parameter acts with these values of others, and its condition says so.
const fn needs(change: &'static str, beside: &'static str) -> Row {
    Row { change, beside, effect: Effect::Declared }
}

/// The parameter acts in a situation that these values lead to. No condition could name it.
const fn by_data(change: &'static str, beside: &'static str) -> Row {
    Row { change, beside, effect: Effect::ByData }
}

/// The parameter is about how the answer is computed, and has no effect on it.
const fn same(change: &'static str, beside: &'static str) -> Row {
    Row { change, beside, effect: Effect::Same }
}

/// The scenario shares the parameter with others. It has no effect here, and a note says so.
const fn noted(change: &'static str, beside: &'static str) -> Row {
    Row { change, beside, effect: Effect::Noted }
}

/// The scenario shares the parameter with others, and refuses it.
const fn refused(change: &'static str, beside: &'static str) -> Row {
    Row { change, beside, effect: Effect::Refused }
}

/// The parameters of underlays. Chord adds `network=underlay` to all runs.
const UNDERLAY: &[Row] = &[
    acts("underlay=constant"),
    needs("latency=70ms", "underlay=constant"),
    acts("routing=hop-by-hop"),
    acts("transit_domains=3"),
    acts("transit_nodes=3"),
    acts("stub_domains=9"),
    acts("stub_nodes=7"),
    needs("graph=@other-graph", "underlay=graph graph=@graph"),
    needs("link_latency=40ms", "underlay=graph graph=@graph"),
    needs("matrix=@other-matrix", "underlay=matrix matrix=@matrix"),
    needs("missing=detour", "underlay=matrix matrix=@holes"),
    needs("coordinates=@other-coordinates", "underlay=coordinates coordinates=@coordinates"),
    needs("dimensions=1", "underlay=coordinates matrix=@matrix"),
    needs("unit=3ms", "underlay=matrix matrix=@matrix"),
    needs("round_trip=false", "underlay=matrix matrix=@matrix"),
    needs("cities=@other-cities", "underlay=cities cities=@cities"),
    needs("city_latency=least", "underlay=cities cities=@cities"),
    needs("latency_min=90ms", "underlay=matrix matrix=@matrix"),
    needs("latency_local=9ms", "underlay=matrix matrix=@matrix"),
    acts("access_latency=5ms"),
    acts("jitter=5ms"),
    needs("jitter_law=uniform", "jitter=5ms"),
    needs("jitter_shape=0.9", "jitter=5ms jitter_law=normal"),
    acts("loss=0.1"),
    needs("partition_at=3s", "partition_for=4s"),
    acts("partition_for=9s"),
    needs("partition_groups=3", "partition_for=9s"),
];

const CHURN: &[Row] = &[
    acts("session=5s"),
    needs("absence=2s", "session=5s"),
    needs("session_law=weibull", "session=5s"),
    needs("session_shape=0.9", "session=5s session_law=weibull"),
    needs("absence_law=weibull", "session=5s absence=2s"),
    needs("absence_shape=0.9", "session=5s absence=2s absence_law=weibull"),
    acts("churn_file=@sessions"),
    needs("crash=0.9", "session=5s absence=2s"),
    needs("keep_state=0.9", "session=5s absence=2s"),
    needs("churn_until=5s", "session=5s absence=2s"),
    acts("crowd=0.5"),
    needs("crowd_at=2s", "crowd=0.5"),
    needs("crowd_spread=1s", "crowd=0.5 crowd_at=2s"),
    needs("crowd_law=weibull", "crowd=0.5 crowd_at=2s crowd_spread=1s"),
    needs("crowd_shape=0.9", "crowd=0.5 crowd_at=2s crowd_spread=1s crowd_law=weibull"),
];

const SMALL: &[Small] = &[
    Small {
        scenario: "phold",
        until: "5s",
        set: "lps=8",
        rows: &[&[
            acts("lps=9"),
            acts("start_events=2"),
            acts("remote=0.9"),
            acts("lookahead=200ms"),
            acts("mean_delay=2s"),
            acts("delay=uniform"),
            acts("radius=3"),
            acts("payload=3"),
            same("work=1", ""),
            same("work_share=0.5", "work=1"),
            same("work_moves=500ms", "work=1 work_share=0.5"),
            same("restore=log", ""),
        ]],
    },
    Small {
        scenario: "multicast",
        until: "20ms",
        set: "trees=2 levels=3 start_events=1 data=4",
        rows: &[&[
            acts("trees=3"),
            acts("levels=4"),
            acts("start_events=2"),
            acts("data=5"),
            same("share=false", ""),
            acts("delay=2ms"),
            acts("jitter=2ms"),
        ]],
    },
    Small {
        scenario: "transfer",
        until: "5s",
        set: "pairs=2 segments=20 window=4",
        rows: &[&[
            acts("pairs=3"),
            acts("window=5"),
            acts("segments=21"),
            acts("segment=1400B"),
            acts("ack=400B"),
            acts("loss=0.1"),
            acts("delay=20ms"),
            acts("jitter=2ms"),
            acts("rate=10Mbps"),
            acts("pause=200ms"),
            by_data("min_timeout=300ms", "loss=0.2"),
            same("restore=copy", ""),
        ]],
    },
    Small {
        scenario: "mm1",
        until: "1000s",
        set: "customers=500",
        rows: &[&[acts("utilisation=0.5"), acts("service_rate=900"), acts("customers=400"), acts("transit=1ms")]],
    },
    Small {
        scenario: "jackson",
        until: "1000s",
        set: "customers=500",
        rows: &[&[
            acts("layout=ring"),
            needs("stations=5", "layout=ring stations=9"),
            acts("utilisation=0.5"),
            acts("service_rate=900"),
            needs("leave=0.2", "layout=ring stations=9"),
            acts("customers=400"),
            acts("transit=1ms"),
        ]],
    },
    Small {
        scenario: "faulty",
        until: "1s",
        set: "",
        rows: &[&[
            acts("lps=9"),
            acts("fault=fail"),
            acts("at_event=3"),
            needs("round_limit=100", "fault=zero-delay-loop"),
        ]],
    },
    Small {
        scenario: "flows",
        until: "10s",
        set: "hosts=4 flows=6",
        rows: &[&[
            acts("platform=@platform"),
            acts("pattern=@cluster-pattern"),
            acts("model=CM02"),
            needs("latency=9ms", "model=constant"),
            acts("hosts=5"),
            acts("flows=7"),
            acts("size=5MB"),
            acts("arrivals=10"),
            acts("network/TCP-gamma=1000"),
            acts("network/latency-factor=2"),
            acts("network/bandwidth-factor=0.5"),
            by_data("network/weight-S=9000", "platform=@platform pattern=@pattern"),
            by_data("network/crosstraffic=no", "arrivals=100000"),
            by_data("maxmin/precision=0.9", "platform=@platform pattern=@pattern"),
            by_data("unfinished=so-far", "size=10GB"),
        ]],
    },
    Small {
        scenario: "replay",
        until: "10s",
        set: "ranks=4 steps=2",
        rows: &[&[
            acts("platform=@platform"),
            acts("trace=@trace"),
            acts("model=CM02"),
            needs("alltoall=linear", "trace=@trace"),
            acts("ranks=5"),
            acts("steps=3"),
            acts("flops=2e9"),
            acts("border=200kB"),
        ]],
    },
    Small {
        scenario: "clusters",
        until: "10s",
        set: "clusters=2 programs=3 steps=2",
        rows: &[&[
            acts("clusters=3"),
            acts("programs=4"),
            acts("steps=3"),
            acts("flops=2e7"),
            acts("deviation=0.5"),
            acts("data=200kB"),
            acts("solver_each=false"),
        ]],
    },
    Small {
        scenario: "campus",
        until: "1500ms",
        set: "lan_clients=1 flow=3kB start_span=1s flow_rate=200kbps",
        rows: &[&[
            acts("networks=3"),
            acts("lan_clients=2"),
            acts("traffic=tcp"),
            needs("flows=@starts", "traffic=tcp"),
            needs("congestion=vegas", "traffic=tcp queue=1 access_rate=100kbps flow=60kB flow_rate=100Mbps"),
            acts("flow_rate=100kbps"),
            acts("packet=400B"),
            acts("flow=2kB"),
            acts("start_span=2s"),
            acts("headers=40B"),
            by_data("queue=0", "access_rate=10kbps"),
            acts("inner_rate=100Mbps"),
            acts("inner_delay=6ms"),
            acts("access_rate=10Mbps"),
            acts("access_delay=2ms"),
            acts("ring_rate=1Gbps"),
            acts("ring_delay=100ms"),
            acts("paths=single"),
            acts("sample=1s"),
        ]],
    },
    Small {
        scenario: "wan",
        until: "200ms",
        set: "flows=20 packets_per_s=2000",
        rows: &[&[
            acts("topology=@graph"),
            needs("default_rate=1Mbps", "topology=@graph"),
            needs("default_delay=9ms", "topology=@graph"),
            needs("least_delay=9ms", "topology=@places"),
            acts("flows=21"),
            by_data("load=0.0001", ""),
            acts("packets_per_s=1000"),
            acts("weights=equal"),
            acts("arrivals=constant"),
            needs("period=50ms", "arrivals=on-off"),
            acts("packet=100B"),
            acts("routing=hops"),
            by_data("paths=single", "routing=hops flows=200"),
            by_data("queue=1", "topology=@graph default_rate=100kbps load=5"),
            acts("headers=40B"),
            acts("sample=100ms"),
        ]],
    },
    Small {
        scenario: "averaging",
        until: "300s",
        set: "nodes=12",
        rows: &[
            &[
                acts("nodes=13"),
                acts("cycles=2"),
                acts("cycle=50s"),
                by_data("timeout=50s", "loss=0.3"),
                acts("values=peak"),
            ],
            UNDERLAY,
        ],
    },
    Small {
        scenario: "gossip",
        until: "10s",
        set: "nodes=12",
        rows: &[
            &[
                acts("nodes=13"),
                acts("protocol=pull"),
                acts("fanout=2"),
                acts("period=2s"),
                acts("calls=rounds"),
                acts("rumours=2"),
                needs("spacing=2s", "rumours=2"),
                acts("rumour_bytes=10"),
                acts("interest=1"),
            ],
            UNDERLAY,
        ],
    },
    Small {
        scenario: "gossipsub",
        until: "12s",
        set: "nodes=24 connections=8 messages=3 warm_up=3s spacing=1s",
        rows: &[
            &[
                acts("preset=interop"),
                acts("nodes=25"),
                acts("connections=5"),
                acts("topics=2"),
                needs("subscriptions=split", "topics=2"),
                acts("messages=4"),
                acts("message_bytes=100"),
                acts("warm_up=4s"),
                acts("spacing=2s"),
                acts("validation=20ms"),
                acts("silent=5"),
                acts("spammers=5"),
                acts("degree=5"),
                acts("degree_low=3"),
                by_data("degree_high=6", "degree=5"),
                by_data("degree_score=1", "degree_high=6"),
                by_data("degree_out=1", "degree_high=6"),
                by_data("degree_lazy=1", "gossip_factor=0"),
                by_data("gossip_factor=1", "degree_lazy=0"),
                acts("heartbeat=2s"),
                acts("flood_publish=false"),
                by_data("prune_backoff=2s", "degree_high=6"),
                by_data("prune_peers=0", "degree_high=6"),
                by_data("scores=false", "spammers=5"),
            ],
            UNDERLAY,
        ],
    },
    Small {
        scenario: "kademlia",
        until: "30s",
        set: "nodes=16 look_up=3s k=4 alpha=2",
        rows: &[
            &[
                acts("nodes=17"),
                same("form=program", ""),
                acts("k=5"),
                acts("alpha=3"),
                acts("resiliency=1"),
                by_data("timeout=1s", "loss=0.2"),
                by_data("questionable=1s", "k=1 alpha=1"),
                acts("refresh=10s"),
                acts("tables=ideal"),
                acts("spacing=500ms"),
                acts("look_up=4s"),
                acts("warm_up=5s"),
                acts("settle=5s"),
                by_data("unfinished=so-far", "look_up=300ms"),
                acts("values=9"),
                needs("value_size=2kB", "values=9"),
                needs("find_values=0.5", "values=9"),
                needs("republish=9s", "values=9"),
                needs("expire=9s", "values=9"),
                noted("crash=0.9", "session=5s absence=2s"),
            ],
            UNDERLAY,
            CHURN,
        ],
    },
    Small {
        scenario: "chord",
        until: "60s",
        set: "nodes=12 bits=8 network=underlay stabilise=3s look_up=3s fix_fingers=5s check_predecessor=5s settle=1s idle=0s",
        rows: &[
            &[
                same("preset=paper", "nodes=12 bits=8"),
                acts("nodes=13"),
                acts("bits=9"),
                same("form=machine", ""),
                acts("network=constant"),
                needs("platform=@platform", "network=precise"),
                needs("model=CM02", "network=precise"),
                acts("spacing=1s"),
                acts("stabilise=4s"),
                acts("fix_fingers=6s"),
                acts("check_predecessor=6s"),
                acts("look_up=4s"),
                acts("idle=1s"),
                by_data("timeout=2s", "loss=0.01"),
                acts("keys=uniform"),
                acts("fingers_at_once=true"),
                acts("settle=40s"),
                by_data("unfinished=so-far", "look_up=300ms"),
            ],
            &[refused("keep_state=0.9", "session=5s absence=2s")],
            UNDERLAY,
            CHURN,
        ],
    },
    Small {
        scenario: "bittorrent",
        until: "60s",
        set: "peers=8 pieces=20 piece_bits=4000 spacing=100ms",
        rows: &[
            &[
                acts("peers=9"),
                acts("swarms=2"),
                acts("seeds=2"),
                acts("free_riders=2"),
                acts("pieces=21"),
                acts("piece_bits=5000"),
                acts("block_bits=1000"),
                needs("crowd_seeds=true", "crowd=1 crowd_at=2s"),
                acts("torrent=@torrent"),
                acts("spacing=200ms"),
                by_data("outgoing=2", ""),
                by_data("connections=3", ""),
                by_data("unchokes=1", ""),
                acts("rechoke=5s"),
                by_data("fills_slots=false", "unchokes=1"),
                by_data("optimistic_turns=1", "unchokes=1"),
                by_data("snub=1s", "up=5kbps"),
                by_data("pipeline=2", ""),
                by_data("on_way=1", ""),
                acts("random_first=0"),
                by_data("answer=2", ""),
                acts("announce=20s"),
                acts("locality=0.9"),
                acts("seeding=1s"),
                acts("network=latency"),
                acts("up=20kbps"),
                acts("down=11kbps"),
                acts("link_classes=3x5kbps/9kbps"),
                acts("control_takes_bandwidth=true"),
            ],
            UNDERLAY,
            CHURN,
        ],
    },
];

/// The files that rows name by `@`. Each has content of which its parameter is the only reader.
fn file(name: &str) -> Vec<u8> {
    let city = |factor: u32| -> Vec<u8> {
        let entry = |to: u32| [1000, 2000 + to, 4000, 300].map(|number: u32| number * factor).map(u32::to_le_bytes);
        (0..9).flat_map(entry).flatten().collect()
    };
    let text = match name {
        "graph" => {
            "1 2\n2 3\n3 4\n4 5\n5 6\n6 7\n7 8\n8 9\n9 1\n1 10\n2 11\n3 12\n4 13\n5 14\n6 15\n7 16\n8 17\n9 18\n10 19\n11 20\n12 21\n13 22\n14 23\n15 24\n"
        }
        "other-graph" => {
            "1 2\n2 3\n3 4\n4 5\n5 6\n6 7\n7 8\n8 9\n9 10\n10 11\n11 12\n12 13\n13 14\n14 15\n15 16\n16 17\n17 18\n18 19\n19 20\n20 21\n21 22\n22 23\n23 24\n24 25\n"
        }
        "places" => {
            "graph [\n node [ id 0 Latitude 50.0 Longitude 8.0 ]\n node [ id 1 Latitude 50.1 Longitude 8.0 ]\n node [ id 2 Latitude 50.0 Longitude 8.1 ]\n edge [ source 0 target 1 ]\n edge [ source 1 target 2 ]\n]\n"
        }
        "trace" => {
            "0 compute 1e8\n0 send 1 0 1e6\n1 recv 0 0\n0 alltoall 1e6 1e6\n1 alltoall 1e6 1e6\n2 alltoall 1e6 1e6\n"
        }
        "matrix" => "0 20 30\n20 0 50\n30 50 0\n",
        "other-matrix" => "0 21 31\n21 0 51\n31 51 0\n",
        "holes" => "0 20 30\n20 0 50\n30 - 0\n",
        "coordinates" => "0 0 1\n10 0 1\n0 30 2\n",
        "other-coordinates" => "0 0 1\n11 0 1\n0 31 2\n",
        "sessions" => "2 1 5\n3 2 6\n2 9 20\n",
        "starts" => "0 3 2 0.1\n1 2 3 0.2\n",
        "cluster-pattern" => "0 host-0 host-1 100000 0\n1 host-2 host-1 200000 0\n",
        "pattern" => "0 a b 100000 0\n1 c b 200000 0\n2 a c 300000 0.01\n",
        "platform" => {
            "<platform version=\"4.1\"><zone id=\"w\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/>\
             <host id=\"c\" speed=\"1Gf\"/><link id=\"l\" bandwidth=\"1MBps\" latency=\"10ms\"/>\
             <link id=\"m\" bandwidth=\"1.4MBps\" latency=\"1ms\"/>\
             <route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route><route src=\"c\" dst=\"b\"><link_ctn id=\"l\"/><link_ctn id=\"m\"/></route>\
             <route src=\"a\" dst=\"c\"><link_ctn id=\"m\"/></route></zone></platform>"
        }
        "torrent" => {
            let mut torrent = b"d4:infod6:lengthi3000e4:name1:f12:piece lengthi1000e6:pieces60:".to_vec();
            torrent.extend([7; 60]);
            torrent.extend(b"ee");
            return torrent;
        }
        "cities" => return city(1),
        "other-cities" => return city(2),
        other => panic!("there is no file {other}"),
    };
    text.into()
}

/// Sets parameters, as `key=value` with blanks between them. Files are written where they are named.
fn set(values: &mut Values, assignments: &str) {
    for assignment in assignments.split_whitespace() {
        let assignment = match assignment.split_once('@') {
            Some((key, name)) => {
                let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("acts-{name}"));
                std::fs::write(&path, file(name)).unwrap();
                format!("{key}{}", path.display())
            }
            None => assignment.to_owned(),
        };
        values.set_argument("--set", &assignment).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Makes the model of values. Those that cannot act are noted.
fn simulation(small: &Small, values: &Values) -> Result<Simulation, ConfigError> {
    let scenario = Scenario::named(small.scenario).unwrap();
    let mut values = values.clone().allowing_idle();
    scenario.apply_presets(&mut values);
    Simulation::new(scenario, &values, 1)
}

/// The answer of a run.
#[derive(PartialEq)]
struct Answer {
    /// The digest and the number of events, or the error.
    events: String,
    metrics: String,
}

/// Returns the answer of a run of these values, or the reason why there is none.
fn answer(small: &Small, values: &Values) -> Result<Answer, String> {
    let simulation = simulation(small, values).map_err(|error| error.to_string())?;
    Ok(answer_of(&simulation, RunOptions::until(end_of(small, &simulation))))
}

fn end_of(small: &Small, simulation: &Simulation) -> Time {
    parse_time(small.until).unwrap().min(simulation.until)
}

fn answer_of(simulation: &Simulation, options: RunOptions<'_>) -> Answer {
    let wish = Wish { engine: "sequential", threads: None, processes: None, processes_here: None, tune: &[] };
    match simulation.run(&Choice::of(wish).unwrap(), options) {
        Ok(outcome) => Answer {
            events: format!("{:?} {}", outcome.digest, outcome.events),
            metrics: format!("{:?}", outcome.metrics),
        },
        Err(error) => Answer { events: error.to_string(), metrics: String::new() },
    }
}

/// A run to three times the end that ends at a cut at the end has the answer of the run to the end.
#[test]
fn nothing_before_the_end_depends_on_the_end() {
    let (mut faults, mut compared) = (Vec::new(), 0);
    for small in SMALL {
        let scenario = Scenario::named(small.scenario).unwrap();
        let rows = small.rows.iter().flat_map(|rows| rows.iter()).filter(|row| row.effect != Effect::Refused);
        let changes = std::iter::once(["", ""]).chain(rows.map(|row| [row.beside, row.change]));
        for [beside, change] in changes {
            let mut values = scenario.values();
            [small.set, beside, change].iter().for_each(|part| set(&mut values, part));
            let Ok(simulation) = simulation(small, &values) else { continue };
            let end = end_of(small, &simulation);
            let later = Time::from_ps(end.as_ps().saturating_mul(3));
            let cuts = Cuts { next: end, at_end: false, act: Box::new(|_: &mut AtRest<'_, '_>| Then::End) };
            let [short, long] = [RunOptions::until(end), RunOptions { cuts: Some(cuts), ..RunOptions::until(later) }]
                .map(|options| answer_of(&simulation, options));
            compared += 1;
            if short != long {
                faults.push(format!("{}: {beside} {change}", scenario.name));
            }
        }
    }
    assert!(compared > 200, "{compared}");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns what is wrong with the row of a parameter.
fn wrong(small: &Small, parameter: &Parameter, row: &Row) -> Option<String> {
    let scenario = Scenario::named(small.scenario).unwrap();
    let Row { change, beside, effect } = *row;
    let with = |parts: &[&str]| {
        let mut values = scenario.values();
        parts.iter().for_each(|part| set(&mut values, part));
        values
    };
    let key = parameter.key();
    let alone = with(&[change]);
    let is_idle = alone.idle().any(|idle| idle.key == key);
    if is_idle {
        let refusal = Simulation::new(scenario, &alone, 1).map(|_| ()).unwrap_err().to_string();
        if !refusal.contains(&format!("`{key}` acts only")) {
            return Some(format!("is refused by another sentence: {refusal}"));
        }
    } else if effect == Effect::Declared
        && !beside.is_empty()
        && !with(&[small.set, change]).idle().any(|idle| idle.key == key)
    {
        return Some("acts only with others, and does not say so (`needs`)".to_owned());
    }
    let [base, changed] = [with(&[small.set, beside]), with(&[small.set, beside, change])];
    if let Some(idle) = changed.idle().find(|idle| idle.key == key) {
        return Some(format!("{}, and the row does not say so", idle.term.note(key)));
    }
    if effect == Effect::Refused {
        return simulation(small, &changed).is_ok().then(|| "is not refused".to_owned());
    }
    let notes = simulation(small, &changed).map_or_else(|_| Vec::new(), |simulation| simulation.notes);
    let (base, changed) = (answer(small, &base), answer(small, &changed));
    let changed = match changed {
        Ok(changed) => changed,
        Err(error) => return Some(format!("has an impossible row: {error}")),
    };
    // The values beside it may be impossible without the change.
    let base = base.unwrap_or_else(|events| Answer { events, metrics: String::new() });
    match effect {
        Effect::Declared | Effect::ByData => (base == changed).then(|| "has no effect".to_owned()),
        // A process has metrics of its own.
        Effect::Same => (base.events != changed.events).then(|| "has an effect, and the row says none".to_owned()),
        Effect::Noted if base != changed => Some("has an effect, and the row says none".to_owned()),
        Effect::Noted => (!notes.iter().any(|note| note.contains(&format!("`{key}` has no effect"))))
            .then(|| "has no effect, and no note says so".to_owned()),
        Effect::Refused => None,
    }
}

#[test]
fn every_parameter_has_a_row_and_does_what_the_row_says() {
    let mut faults = Vec::new();
    for scenario in SCENARIOS {
        let Some(small) = SMALL.iter().find(|small| small.scenario == scenario.name) else {
            assert!(scenario.parameters.is_empty(), "{} has no rows", scenario.name);
            continue;
        };
        for parameter in scenario.parameters {
            let key = parameter.key();
            let mut rows = small.rows.iter().flat_map(|rows| rows.iter());
            let fault = match rows.find(|row| row.change.split('=').next() == Some(key)) {
                None => Some("has no row".to_owned()),
                Some(row) => wrong(small, parameter, row),
            };
            faults.extend(fault.map(|fault| format!("{}: `{key}` {fault}", scenario.name)));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
