//! Every peer that stays gets all pieces, even if other peers leave, crash or never upload. All engines give
//! the same digest.

use parades_carriers::{Both, Capacity, Constant, Underlay, Which};
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;
use parades_engine::{null_message, rollback_check, rounds, sequential, time_warp, window};
use parades_p2p::bittorrent::{Block, Message, Parameters, Swarm};
use parades_p2p::churn::{Churn, Law, Schedule};
use parades_p2p::driver::{AsModel, AsProgram, Protocol};

fn small() -> Parameters {
    Parameters { peers: 25, pieces: 60, ..Parameters::default() }
}

fn model(parameters: Parameters, seed: u64) -> AsModel<Swarm, Constant> {
    let swarm = Swarm::new(parameters, seed).expect("the parameters are possible");
    AsModel::new(swarm, Constant::new(Delay::from_ms(50)))
}

fn options(seed: u64) -> RunOptions<'static> {
    RunOptions { seed, ..RunOptions::until(Time::from_secs(400)) }
}

fn run(parameters: Parameters, seed: u64) -> Outcome {
    sequential::run(&model(parameters, seed), options(seed)).expect("it runs")
}

fn counter(outcome: &Outcome, name: &str) -> u128 {
    outcome.metrics.get(name).and_then(MetricValue::counter).expect("it is declared")
}

fn rows(outcome: &Outcome, table: &str) -> Vec<Vec<Cell>> {
    outcome.metrics.get(table).and_then(MetricValue::table).expect("it is declared").rows()
}

#[test]
fn every_peer_gets_every_piece() {
    for seed in 1..=5 {
        let parameters = Parameters { keeps_sources: true, shorter: vec![(59, 7)], ..small() };
        let outcome = run(parameters, seed);
        assert_eq!(counter(&outcome, "completed"), 24);
        let duplicates = counter(&outcome, "duplicates");
        assert_eq!(counter(&outcome, "blocks_sent"), 24 * 60 + duplicates);
        assert_eq!(counter(&outcome, "bits_up"), counter(&outcome, "bits_down"));
        let sources = rows(&outcome, "pieces");
        assert_eq!(sources.len(), 24 * 60);
        let from_seed = sources.iter().filter(|row| row[2] == Cell::from(1_u64)).count();
        assert!((60..24 * 60 / 2).contains(&from_seed), "{from_seed} pieces came from the seed");
    }
}

#[test]
fn all_engines_and_both_forms_have_one_digest() {
    for (seed, parameters) in [
        (1, small()),
        (2, Parameters { seeding: Some(Delay::from_secs(3)), free_riders: 2, ..small() }),
        (3, Parameters { churn: Some(crashes()), unchokes: 1, ..small() }),
        (4, Parameters { churn: Some(crashes()), block_bits: 60, shorter: vec![(7, 130), (59, 7)], ..small() }),
    ] {
        let model = model(parameters.clone(), seed);
        let one = run(parameters.clone(), seed);
        let swarm = Swarm::new(parameters, seed).expect("possible");
        let program = AsProgram::model(swarm, Constant::new(Delay::from_ms(50)));
        let others = [
            ("program", sequential::run(&program, options(seed))),
            ("rounds", rounds::run(&model, options(seed), &rounds::Settings::of_threads(2))),
            ("window", window::run(&model, options(seed), &window::Settings::of_threads(2))),
            ("null-message", null_message::run(&model, options(seed), &null_message::Settings::of_threads(2))),
            ("time-warp", time_warp::run(&model, options(seed), &time_warp::Settings::of_threads(2))),
        ];
        for (name, other) in others {
            let other = other.expect("it runs");
            assert_eq!((other.digest, other.events), (one.digest, one.events), "{name}, seed {seed}");
            assert_eq!(rows(&other, "peers"), rows(&one, "peers"), "{name}, seed {seed}");
        }
    }
}

/// Returns the crashes of three peers in the middle of their downloads; the last one comes back.
fn crashes() -> Churn {
    let schedule = "3 0.01 1.5\n8 0.02 2\n11 0.03 1.2\n11 20 1000\n";
    let schedule = Schedule::parse("trace".as_ref(), schedule.to_owned()).expect("it is right");
    Churn::scheduled(schedule, Time::from_secs(1000)).with_crash(1.0)
}

#[test]
fn a_crash_stops_no_other_peer() {
    for seed in 1..=5 {
        let outcome = run(Parameters { churn: Some(crashes()), ..small() }, seed);
        let completed = |peer: usize| rows(&outcome, "peers")[peer - 1][2] != Cell::Empty;
        for peer in (2..=25).filter(|peer| ![3, 8].contains(peer)) {
            assert!(completed(peer), "peer {peer}, seed {seed}");
        }
    }
}

/// Peers that never upload get pieces from seeds and through optimistic slots alone. In 40 runs, with seeds 1
/// to 20, they took 1.12 times as long as the others in the mean, with a deviation of 0.037 from run to run.
/// So a single run only shows that they take longer, and the bound on the mean of 20 runs is three standard
/// errors below that: 1.12 - 3 * 0.037 / sqrt(20).
#[test]
fn free_riders_wait_longer() {
    const RIDERS: usize = 4;
    let mut ratios = Vec::new();
    for (seed, fills_slots) in (1..=10).flat_map(|seed| [(seed, false), (seed, true)]) {
        let parameters = Parameters {
            peers: 24,
            seeds: 2,
            free_riders: 4,
            pieces: 100,
            piece_bits: 16_000,
            unchokes: 2,
            fills_slots,
            ..Parameters::default()
        };
        let swarm = Swarm::new(parameters, seed).expect("possible");
        let bits: fn(&Message) -> f64 = |message| message.data_bits() as f64;
        let links = Capacity::new(Underlay::constant(Delay::from_ms(50)), vec![[10e3, 40e3]; 25], bits);
        let options = RunOptions { seed, ..RunOptions::until(Time::from_secs(1000)) };
        let outcome = sequential::run(&AsModel::new(swarm, links), options).expect("it runs");
        let time = |row: &Vec<Cell>| if let Cell::Integer(ps) = row[2] { ps as f64 } else { unreachable!("it ends") };
        let times: Vec<f64> = rows(&outcome, "peers")[2..].iter().map(time).collect();
        let (givers, riders) = times.split_at(times.len() - RIDERS);
        let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
        let ratio = mean(riders) / mean(givers);
        assert!(ratio > 1.0, "seed {seed}: {} s and {} s", mean(riders), mean(givers));
        ratios.push(ratio);
    }
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    assert!(mean > 1.095, "{mean}");
}

#[test]
fn the_endgame_asks_twice_and_cancels() {
    let outcome = run(Parameters { on_way: 1, ..small() }, 1);
    let (cancels, duplicates) = (counter(&outcome, "cancels"), counter(&outcome, "duplicates"));
    assert!(cancels > 0);
    assert!(duplicates <= cancels, "{duplicates} duplicates, {cancels} cancels");
}

#[test]
fn a_rollback_restores_a_peer() {
    for block_bits in [196, 60] {
        let parameters = Parameters { peers: 10, pieces: 30, block_bits, ..Parameters::default() };
        let outcome = run(parameters.clone(), 4);
        let checked = rollback_check::run(&model(parameters, 4), options(4)).expect("it runs");
        assert_eq!(checked.digest, outcome.digest);
    }
}

/// The length of a block of 16 KiB, in bits.
const BLOCK: u64 = 16 * 1024 * 8;

/// Returns the outcome of a swarm with uplinks of `up` bits a second and downlinks ten times as fast, all 10
/// ms apart, and the time in seconds at which the last download ended.
fn over_access_links(parameters: Parameters, up: f64, seed: u64) -> (Outcome, f64) {
    let nodes = parameters.peers as usize + 1;
    let swarm = Swarm::new(parameters, seed).expect("possible");
    let underlay = Underlay::constant(Delay::from_ms(10));
    let bits: fn(&Message) -> f64 = |message| message.data_bits() as f64;
    let capacity = Capacity::new(underlay.clone(), vec![[up, 10.0 * up]; nodes], bits);
    let which = |message: &Message| if message.data_bits() > 0 { Which::Second } else { Which::First };
    let model = AsModel::new(swarm, Both::new(underlay, capacity, which));
    let options = RunOptions { seed, ..RunOptions::until(Time::from_secs(100_000)) };
    let outcome = sequential::run(&model, options).expect("it runs");
    let ends = rows(&outcome, "peers").into_iter().filter_map(|row| match row[2] {
        Cell::Integer(ps) => Some(ps as f64 / 1e12),
        _ => None,
    });
    let last = ends.fold(0.0, f64::max);
    (outcome, last)
}

/// A seed sends a file of 26 MB once over its uplink in 210 s. However long the pieces are, each peer gets
/// each byte about once, and all are done soon after that. Longer pieces take longer: they are passed on when
/// they are complete.
#[test]
fn peers_ask_for_blocks_however_long_the_pieces_are() {
    const BITS: u64 = 1600 * BLOCK;
    for (seed, blocks_in_piece, most_s) in [(1, 1, 270.0), (2, 8, 290.0), (3, 32, 380.0)] {
        let piece_bits = blocks_in_piece * BLOCK;
        let pieces = u32::try_from(BITS / piece_bits).expect("few");
        let (outcome, last) = over_access_links(Parameters { peers: 21, pieces, piece_bits, ..small() }, 1e6, seed);
        assert_eq!(counter(&outcome, "completed"), 20);
        let needed = u128::from(20 * BITS);
        let (bits_down, duplicates) = (counter(&outcome, "bits_down"), counter(&outcome, "duplicate_bits"));
        assert_eq!(bits_down, needed + duplicates);
        assert!(bits_down * 100 <= needed * 105, "{blocks_in_piece} blocks in a piece: {bits_down} of {needed}");
        assert!((209.0..most_s).contains(&last), "{blocks_in_piece} blocks in a piece: {last} s");
    }
}

/// A block of 16 KiB takes 33 s where an uplink of 20 kbit/s is shared by five, and 131 s at 5 kbit/s, more
/// than the minute after which a neighbour snubs. Most blocks come once all the same, and the uplink of the
/// seed is busy: a file of 3.3 MB takes at least 1,311 s and 5,243 s.
#[test]
fn blocks_over_slow_links_come_once() {
    const BITS: u64 = 200 * BLOCK;
    for (seed, up) in [(1, 20e3), (2, 20e3), (3, 5e3)] {
        let parameters = Parameters { peers: 21, pieces: 25, piece_bits: 8 * BLOCK, ..small() };
        let (outcome, last) = over_access_links(parameters, up, seed);
        assert_eq!(counter(&outcome, "completed"), 20);
        let (bits_down, needed) = (counter(&outcome, "bits_down"), u128::from(20 * BITS));
        assert!(bits_down * 100 <= needed * 110, "{up} bit/s, seed {seed}: {bits_down} of {needed}");
        let least = BITS as f64 / up;
        assert!((least..3.0 * least).contains(&last), "{up} bit/s, seed {seed}: {last} s, at least {least} s");
    }
}

/// A file of 160 blocks has room for one and a half pipelines of 100: the endgame begins at once.
#[test]
fn the_endgame_of_a_short_file_repeats_few_blocks() {
    for (seed, pipeline) in [(1, 100), (2, 100), (1, 1), (2, 10)] {
        let parameters = Parameters { peers: 21, pieces: 20, piece_bits: 8 * BLOCK, pipeline, ..small() };
        let (outcome, _) = over_access_links(parameters, 1e6, seed);
        assert_eq!(counter(&outcome, "completed"), 20);
        let (bits_down, needed) = (counter(&outcome, "bits_down"), u128::from(20 * 160 * BLOCK));
        assert!(bits_down * 100 <= needed * 110, "{pipeline} requests, seed {seed}: {bits_down} of {needed}");
        assert!(counter(&outcome, "cancels") > 0);
    }
}

/// Returns the note of a run.
fn note(outcome: &Outcome) -> Option<&str> {
    match outcome.metrics.get("note").and_then(MetricValue::value) {
        Some(Cell::Text(note)) => Some(note),
        _ => None,
    }
}

/// The times at which half and 95 % of the downloads are complete are those of the table of peers: the 12th
/// and the 23rd of 24, counted from the start of the run. A share that is not reached has no time.
#[test]
fn the_times_at_which_shares_of_the_downloads_are_complete_are_measured() {
    let value = |outcome: &Outcome, name: &str| match outcome.metrics.get(name) {
        Some(MetricValue::Value(value)) => value.cell().clone(),
        other => panic!("{name}: {other:?}"),
    };
    let outcome = run(small(), 1);
    let mut ends: Vec<u64> = Vec::new();
    // Peer 1 is the seed.
    for row in &rows(&outcome, "peers")[1..] {
        let Cell::Integer(end) = row[2] else { panic!("every peer ends: {row:?}") };
        ends.push(end);
    }
    ends.sort_unstable();
    assert_eq!((ends.len(), ends[11] < ends[22]), (24, true));
    assert_eq!(value(&outcome, "half_complete"), Cell::Integer(ends[11]));
    assert_eq!(value(&outcome, "complete_95_percent"), Cell::Integer(ends[22]));
    // A run that ends between the two times has the first alone.
    let between = RunOptions { seed: 1, ..RunOptions::until(Time::from_ps(ends[11] + 1)) };
    let outcome = sequential::run(&model(small(), 1), between).expect("it runs");
    assert_eq!(value(&outcome, "half_complete"), Cell::Integer(ends[11]));
    assert_eq!(value(&outcome, "complete_95_percent"), Cell::Empty);
}

#[test]
fn unfinished_downloads_are_counted_and_noted() {
    let options = RunOptions { seed: 1, ..RunOptions::until(Time::from_secs(2)) };
    let outcome = sequential::run(&model(Parameters { pieces: 2000, ..small() }, 1), options).expect("it runs");
    let (completed, unfinished) = (counter(&outcome, "completed"), counter(&outcome, "unfinished"));
    assert!(unfinished > 0);
    assert_eq!(completed + unfinished, 24);
    let expected = format!("{unfinished} of 24 downloads are unfinished, and `download_time` has no times of those");
    assert_eq!(note(&outcome), Some(&*expected));
    assert_eq!(counter(&run(small(), 1), "unfinished"), 0);
    assert!(note(&run(small(), 1)).is_none_or(|note| !note.contains("unfinished")));
}

/// All data that came is held at the end, was a duplicate, or was lost at a departure.
#[test]
fn data_lost_at_departures_is_counted_and_noted() {
    let lost = |churn: Option<Churn>| {
        let outcome = run(Parameters { churn, ..small() }, 3);
        let [down, duplicate, lost] = ["bits_down", "duplicate_bits", "lost_bits"].map(|name| counter(&outcome, name));
        (down - duplicate, lost, note(&outcome).is_some_and(|note| note.contains("lost when their peers left")))
    };
    let (new, none, noted) = lost(None);
    assert!(none == 0 && !noted && new > 0);
    let churn = |keep| Some(crashes().with_keep(keep));
    let ((_, without_state, noted), (_, with_state, _)) = (lost(churn(0.0)), lost(churn(1.0)));
    assert!(without_state > 0 && noted, "{without_state}");
    // Parts of pieces are lost in any case.
    assert!(with_state < without_state, "{with_state} {without_state}");
}

/// There are only twelve blocks, and they are short: many of them come from two neighbours.
#[test]
fn many_duplicates_are_noted() {
    let outcome = run(Parameters { pieces: 12, seeds: 12, ..small() }, 1);
    let share = counter(&outcome, "duplicate_bits") as f64 / counter(&outcome, "bits_down") as f64;
    assert!(share > 0.1, "{share}");
    let expected = format!("{:.0} % of the data received are duplicates", share * 100.0);
    assert!(note(&outcome).is_some_and(|note| note.starts_with(&expected)), "{:?}", note(&outcome));
}

#[test]
fn seeds_come_with_the_flash_crowd_if_asked() {
    let law = || Law::exponential(Delay::from_secs(1)).expect("a mean above zero");
    let churn = Churn::staying(Time::MAX).with_crowd(1.0, Time::from_secs(100), law(), 1).with_stable(1);
    for crowd_seeds in [false, true] {
        let parameters = Parameters { seeds: 3, churn: Some(churn.clone()), crowd_seeds, ..small() };
        let outcome = run(parameters, 1);
        assert_eq!(counter(&outcome, "completed"), 22);
        let joined = rows(&outcome, "peers").into_iter().map(|row| match row[1] {
            Cell::Integer(ps) => ps,
            _ => unreachable!("all peers come"),
        });
        let early: Vec<usize> =
            (1..).zip(joined).filter(|&(_, ps)| ps < 100_000_000_000_000).map(|(peer, _)| peer).collect();
        assert_eq!(early, if crowd_seeds { vec![] } else { vec![1, 2, 3] });
    }
}

/// Returns a swarm whose pieces share access links.
fn limited(seed: u64, bits: fn(&Message) -> f64) -> AsModel<Swarm, Capacity<Message>> {
    let parameters = Parameters { peers: 12, pieces: 40, ..Parameters::default() };
    let swarm = Swarm::new(parameters, seed).expect("possible");
    AsModel::new(swarm, Capacity::new(Underlay::constant(Delay::from_ms(50)), vec![[10e3, 20e3]; 13], bits))
}

#[test]
fn a_rollback_restores_the_access_links() {
    for seed in 1..=3 {
        // Control messages share the links too, so that queues form.
        let model = limited(seed, |message| message.data_bits() as f64 + 10.0);
        let expected = sequential::run(&model, options(seed)).expect("it runs");
        let checked = rollback_check::run(&model, options(seed)).expect("it runs");
        assert_eq!(checked.digest, expected.digest, "seed {seed}");
        for threads in [2, 3] {
            let settings = time_warp::Settings::of_threads(threads);
            let outcome = time_warp::run(&model, options(seed), &settings).expect("it runs");
            assert_eq!(outcome.digest, expected.digest, "seed {seed}, {threads} threads");
        }
    }
}

/// The solver panics at an impossible length. That execution is undone like any other.
#[test]
fn a_panic_of_the_solver_is_one_error_on_every_engine() {
    let bits: fn(&Message) -> f64 = |message| match message {
        Message::Piece { block: Block { piece: 17, .. }, .. } => f64::INFINITY,
        _ => message.data_bits() as f64,
    };
    let model = limited(1, bits);
    let expected = sequential::run(&model, options(1)).expect_err("it fails").to_string();
    assert!(expected.contains("a transfer of inf bits"), "{expected}");
    assert_eq!(rollback_check::run(&model, options(1)).expect_err("it fails").to_string(), expected);
    let settings = time_warp::Settings::of_threads(2);
    assert_eq!(time_warp::run(&model, options(1), &settings).expect_err("it fails").to_string(), expected);
}

/// Returns three swarms of 7 or 8 peers whose pieces share access links, with a solver for each swarm or one
/// for all.
fn three_swarms(seed: u64, solvers: u32) -> AsModel<Swarm, Both<Underlay, Capacity<Message>, Message>> {
    let parameters = Parameters { peers: 23, swarms: 3, pieces: 40, keeps_sources: true, ..Parameters::default() };
    let swarm = Swarm::new(parameters, seed).expect("possible");
    let groups: Vec<u32> = (0..swarm.nodes()).map(|node| swarm.swarm_of(node).unwrap_or(0) % solvers).collect();
    let underlay = Underlay::constant(Delay::from_ms(50));
    // The links of different peers differ, so that a peer with the links of another is seen.
    let links = (0..24).map(|node| [10e3 + f64::from(node), 20e3]).collect();
    let bits: fn(&Message) -> f64 = |message| message.data_bits() as f64;
    let capacity = Capacity::new(underlay.clone(), links, bits).with_groups(&groups);
    let which = |message: &Message| if message.data_bits() > 0 { Which::Second } else { Which::First };
    AsModel::new(swarm, Both::new(underlay, capacity, which))
}

#[test]
fn swarms_keep_to_themselves() {
    let outcome = sequential::run(&three_swarms(1, 3), options(1)).expect("it runs");
    assert_eq!(counter(&outcome, "completed"), 20);
    let swarm = Swarm::new(Parameters { peers: 23, swarms: 3, ..small() }, 1).expect("possible");
    let members = [0, 1, 2].map(|number| swarm.members(number));
    assert_eq!(members, [1..9, 9..17, 17..24]);
    let node = |cell: &Cell| match cell {
        Cell::Integer(node) => u32::try_from(*node).expect("a node"),
        _ => unreachable!("a number"),
    };
    for row in rows(&outcome, "peers") {
        assert_eq!(Some(node(&row[6])), swarm.swarm_of(node(&row[0])));
    }
    let sources = rows(&outcome, "pieces");
    assert_eq!(sources.len(), 20 * 40);
    for row in sources {
        assert_eq!(swarm.swarm_of(node(&row[0])), swarm.swarm_of(node(&row[2])), "{row:?}");
    }
}

#[test]
fn a_solver_for_each_swarm_changes_no_time() {
    for seed in 1..=5 {
        let [one, several] =
            [1, 3].map(|solvers| sequential::run(&three_swarms(seed, solvers), options(seed)).expect("it runs"));
        for table in ["peers", "pieces"] {
            assert_eq!(rows(&one, table), rows(&several, table), "{table}, seed {seed}");
        }
        assert_eq!(counter(&one, "transfers"), counter(&several, "transfers"), "seed {seed}");
    }
}

#[test]
fn several_solvers_give_one_digest_on_every_engine() {
    let (seed, model) = (3, three_swarms(3, 3));
    let one = sequential::run(&model, options(seed)).expect("it runs");
    for threads in [2, 3, 8] {
        let others = [
            ("rounds", rounds::run(&model, options(seed), &rounds::Settings::of_threads(threads))),
            ("window", window::run(&model, options(seed), &window::Settings::of_threads(threads))),
            ("null-message", null_message::run(&model, options(seed), &null_message::Settings::of_threads(threads))),
            ("time-warp", time_warp::run(&model, options(seed), &time_warp::Settings::of_threads(threads))),
            ("rollback_check", rollback_check::run(&model, options(seed))),
        ];
        for (name, other) in others {
            let other = other.expect("it runs");
            assert_eq!((other.digest, other.events), (one.digest, one.events), "{name}, {threads} threads");
        }
    }
}

#[test]
fn locality_prefers_near_peers() {
    let near = |locality: f64| {
        let parameters = Parameters { peers: 60, keeps_sources: true, locality, outgoing: 4, ..small() };
        let swarm = Swarm::new(parameters, 1).expect("possible");
        let swarm = swarm.with_distance(Box::new(|one, other| u64::from(one.0 % 4 != other.0 % 4)));
        let model = AsModel::new(swarm, Constant::new(Delay::from_ms(50)));
        let outcome = sequential::run(&model, options(1)).expect("it runs");
        let place = |cell: &Cell| if let Cell::Integer(node) = cell { node % 4 } else { unreachable!("a number") };
        rows(&outcome, "pieces").iter().filter(|row| place(&row[0]) == place(&row[2])).count()
    };
    let (random, local) = (near(0.0), near(1.0));
    assert!(local > random * 3 / 2, "{local} pieces from near peers, {random} without locality");
}

#[test]
fn impossible_parameters_are_refused() {
    for (name, parameters) in [
        ("pieces", Parameters { pieces: 0, ..small() }),
        ("piece_bits", Parameters { piece_bits: 0, ..small() }),
        ("block_bits", Parameters { block_bits: 0, ..small() }),
        ("block_bits", Parameters { piece_bits: 1 << 40, block_bits: 1, ..small() }),
        ("shorter", Parameters { shorter: vec![(3, 197)], ..small() }),
        ("shorter", Parameters { shorter: vec![(60, 7)], ..small() }),
        ("shorter", Parameters { shorter: vec![(3, 7), (3, 7)], ..small() }),
        ("seeds", Parameters { seeds: 26, ..small() }),
        ("free_riders", Parameters { free_riders: 25, ..small() }),
        ("peers", Parameters { peers: 0, seeds: 0, ..small() }),
        ("swarms", Parameters { swarms: 0, ..small() }),
        ("swarms", Parameters { swarms: 26, ..small() }),
        ("seeds", Parameters { swarms: 3, seeds: 9, ..small() }),
        ("free_riders", Parameters { swarms: 3, free_riders: 8, ..small() }),
    ] {
        assert_eq!(Swarm::new(parameters, 1).expect_err("refused").0, name);
    }
}
