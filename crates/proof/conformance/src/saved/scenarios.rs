//! Small runs of everything that can be saved: the models of the matrix with their variants, each kind of
//! queue, impairment, failure, protocol and carrier.

use super::{Folder, MEMORY_LIMIT};
use crate::random_network;
use parades_core::time::{Delay, Time};
use parades_session::Request;

/// A run of a scenario.
#[derive(Clone, Debug)]
pub struct Row {
    /// The name of the scenario, and its parameters as `key=value`. Of a network, the name of its file.
    pub words: String,
    /// The end.
    pub until: Time,
    /// Times at which something happens to all LPs: a sample, a failure, another global event.
    pub instants: Vec<Time>,
    /// The text of the network's file.
    file: Option<String>,
}

impl Row {
    /// Makes the row of a scenario, whose words are its name and its parameters.
    pub fn new(words: &str, until_ms: u64) -> Row {
        Row { words: words.into(), until: ms(until_ms), instants: Vec::new(), file: None }
    }

    /// Makes the row of a network, whose file is this text.
    pub fn of_network(name: &str, text: String, until_ms: u64) -> Row {
        Row { file: Some(text), ..Row::new(name, until_ms) }
    }

    fn at(self, instants_ms: &[u64]) -> Row {
        Row { instants: instants_ms.iter().copied().map(ms).collect(), ..self }
    }

    /// Returns the request for the run. A network's file is written into `folder`.
    ///
    /// # Panics
    ///
    /// If it cannot be written.
    pub fn request(&self, folder: &Folder, seed: u64) -> Request {
        let mut words = self.words.split(' ');
        let mut scenario = words.next().unwrap_or_default().to_owned();
        if let Some(text) = &self.file {
            let path = folder.path(&format!("{scenario}.toml"));
            std::fs::write(&path, text).expect("temporary files can be written");
            scenario = path.display().to_string();
        }
        Request {
            set: words.map(str::to_owned).collect(),
            seed: Some(seed),
            until: Some(self.until),
            allows_idle: true,
            memory_limit: Some(MEMORY_LIMIT),
            ..Request::of(scenario)
        }
    }
}

fn ms(time: u64) -> Time {
    Time::from_ps(Delay::from_ms(time).as_ps())
}

/// Returns the rows, with random networks of these seeds.
pub fn rows(networks: std::ops::Range<u64>) -> Vec<Row> {
    let mut rows = [kernels(), packets(), peers(), faults()].concat();
    rows.extend(networks.map(|seed| {
        // Each has samples at multiples of 10 ms at most, and ends after at most 3 s.
        Row::of_network(&format!("random-network-{seed}"), random_network::from_seed(seed), 300)
    }));
    rows
}

fn kernels() -> Vec<Row> {
    let phold = |more: &str| Row::new(&format!("phold lps=24 {more}"), 20_000);
    let transfer = "transfer pairs=6 segments=60 loss=0.05";
    let multicast = "multicast trees=1 levels=5 start_events=3 data=16";
    vec![
        phold("restore=copy"),
        phold("restore=reverse"),
        phold("restore=log"),
        Row::new("phold lps=1", 20_000),
        Row::new("phold lps=24 start_events=5 remote=1", 8_000),
        phold("lookahead=0s"),
        phold("delay=quantised"),
        phold("delay=constant"),
        phold("delay=uniform"),
        phold("radius=5"),
        phold("payload=100"),
        Row::new("mm1 customers=1500", 2_000),
        Row::new("jackson customers=500", 500),
        Row::new("jackson layout=ring stations=20 customers=300", 500),
        Row::new("jackson layout=random stations=20 customers=300", 500),
        Row::new(&format!("{transfer} restore=log"), 1_500),
        Row::new(&format!("{transfer} restore=copy"), 1_500),
        Row::new(&format!("{multicast} share=true"), 40),
        Row::new(&format!("{multicast} share=false"), 40),
        Row::new(&format!("{multicast} jitter=0s"), 40),
    ]
}

fn packets() -> Vec<Row> {
    let campus = "campus lan_clients=1 start_span=200ms";
    let tcp = "campus lan_clients=1 start_span=100ms traffic=tcp access_rate=10Mbps ring_rate=100Mbps \
               ring_delay=20ms queue=6 flow_rate=50Mbps flow=100kB";
    let wan = "wan flows=100 load=1.5 queue=2 packet=40kB";
    let flows = "flows hosts=8 flows=60 size=200kB arrivals=100";
    let example = |more: &str| {
        let text = parades_netfile::EXAMPLE.replace("at = \"8s\"", "at = \"1500ms\"");
        Row::of_network(&format!("two-sites {more}"), text.replace("for = \"2s\"", "for = \"300ms\""), 2_500)
            .at(&[500, 1000, 1500, 1800, 1850, 2000])
    };
    let mut rows = vec![
        Row::new(campus, 500),
        Row::new(&format!("{campus} sample=50ms"), 500).at(&[50, 200, 450]),
        Row::new(&format!("{campus} traffic=multicast flow_rate=20Mbps"), 250),
        Row::new(wan, 300),
        Row::new(&format!("{wan} sample=3ms"), 300).at(&[3, 30, 150]),
        Row::new(&format!("{wan} arrivals=on-off"), 300),
        Row::new(flows, 2_000),
        Row::new(&format!("{flows} model=CM02"), 2_000),
        Row::new(&format!("{flows} model=constant"), 2_000),
        example("rate=10Mbps"),
        example("rate=3Mbps"),
    ];
    let congestions = ["newreno", "cubic", "dctcp", "bbr", "vegas"];
    rows.extend(congestions.map(|congestion| Row::new(&format!("{tcp} congestion={congestion}"), 500)));
    rows
}

fn peers() -> Vec<Row> {
    let small = "transit_domains=2 transit_nodes=3 stub_domains=6 stub_nodes=8";
    let chord = "chord nodes=16 session=10s absence=2s";
    let kademlia = "kademlia nodes=24 k=4 look_up=5s values=6 find_values=0.3 session=20s absence=5s";
    let gossip = "gossip nodes=40 rumours=3 loss=0.05";
    let gossipsub = "gossipsub nodes=20 connections=5 messages=10 warm_up=3s spacing=500ms";
    let averaging = "averaging nodes=40 cycles=10 cycle=1s timeout=10s";
    let bittorrent = "bittorrent peers=10 pieces=30 block_bits=60 session=20s absence=2s";
    let mut rows = vec![
        Row::new(&format!("{chord} form=machine"), 30_000),
        Row::new(&format!("{chord} form=machine network=underlay jitter=20ms loss=0.02 {small}"), 30_000),
        Row::new(&format!("{chord} form=machine network=underlay routing=hop-by-hop {small}"), 30_000),
        Row::new(&format!("{chord} form=machine crowd=0.5 crowd_at=5s"), 30_000).at(&[5_000]),
        Row::new(&format!("{chord} form=program"), 20_000),
        Row::new(&format!("{kademlia} {small}"), 30_000),
        Row::new(&format!("{kademlia} routing=hop-by-hop keep_state=0.5 {small}"), 30_000),
        Row::new("kademlia nodes=20 tables=ideal underlay=constant", 30_000),
        Row::new("kademlia nodes=16 form=program underlay=constant", 15_000),
        Row::new(&format!("{gossipsub} {small} jitter=30ms jitter_law=uniform"), 9_000),
        Row::new(&format!("{gossipsub} {small} topics=3 validation=5ms silent=2 spammers=2"), 9_000),
        Row::new(&format!("{averaging} underlay=constant"), 12_000),
        Row::new(&format!("{averaging} {small} partition_at=3s partition_for=3s"), 12_000).at(&[3_000, 6_000]),
    ];
    let protocols = ["push", "pull", "push-pull"];
    rows.extend(protocols.map(|protocol| Row::new(&format!("{gossip} protocol={protocol} {small}"), 12_000)));
    let networks = ["latency", "capacity", "both"];
    rows.extend(networks.map(|network| Row::new(&format!("{bittorrent} network={network} {small}"), 20_000)));
    rows.push(Row::new(&format!("{bittorrent} control_takes_bandwidth=true seeding=5s {small}"), 20_000));
    rows
}

fn faults() -> Vec<Row> {
    let faults = ["none", "lookahead", "zero-delay-loop", "panic", "fail", "no-channel", "tie-order"];
    faults.iter().map(|fault| Row::new(&format!("faulty fault={fault} at_event=20"), 2_000)).collect()
}
