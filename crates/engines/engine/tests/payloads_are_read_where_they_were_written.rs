//! Ranks that share memory: a handler reads a payload where the sender in another rank wrote it.
//!
//! The ranks are threads of this process, over a fabric that says that they share memory.

use parades_core::arena::{self, Anonymous, Arena};
use parades_core::bytes::copied;
use parades_core::prelude::*;
use parades_engine::{OfRank, null_message, time_warp, window};
use parades_transport::{Bell, Fabric, Loopback, Lost};
use serde::{Deserialize, Serialize};

const RANKS: usize = 2;
const BYTES: usize = 4096;
const HOP: Delay = Delay::from_ms(10);
const MOVED: MetricId = MetricId(0);

/// LPs in a ring, each of which sends a new parcel for each one that it gets.
#[derive(Clone)]
struct Ring;

/// Bytes, and the position where their sender wrote them.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Parcel {
    written_at: Option<u64>,
    bytes: Bytes,
}

/// The position depends on the engine, so it is no part of the digest.
impl Payload for Parcel {
    fn fold(&self, digest: &mut Digest) {
        self.bytes.fold(digest);
    }
}

fn position(bytes: &Bytes) -> Option<u64> {
    bytes.place().map(|place| place.offset as u64)
}

fn parcel(rng: &Rng) -> Parcel {
    let byte = rng.next_u64().to_le_bytes()[0];
    let bytes = Bytes::write(BYTES, |to| to.fill(byte));
    Parcel { written_at: position(&bytes), bytes }
}

impl Model for Ring {
    type State = u64;
    type Message = Parcel;
    type Global = NoGlobal;

    fn lps(&self) -> u32 {
        8
    }

    fn channels(&self) -> Channels {
        let mut channels = Channels::none();
        (0..self.lps()).for_each(|id| channels.connect(LpId(id), LpId((id + 1) % self.lps()), HOP));
        channels
    }

    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        metrics.counter("moved", Unit::Count);
        metrics
    }

    fn start(&self, ctx: &mut Context<'_, Self>) -> u64 {
        let first = parcel(ctx.rng());
        ctx.send_self(HOP, first);
        0
    }

    fn handle(&self, state: &mut u64, event: Body<&Parcel>, ctx: &mut Context<'_, Self>) {
        let Body::Message(Parcel { written_at, bytes }) = event else { return };
        *state = state.wrapping_add(bytes.iter().copied().map(u64::from).sum());
        ctx.count(MOVED, u64::from(position(bytes) != *written_at));
        let next = parcel(ctx.rng());
        ctx.send(Port(0), HOP.saturating_add(ctx.rng().exponential_delay(HOP)), next);
    }

    fn fold(&self, state: &u64, digest: &mut Digest) {
        digest.word(*state);
    }
}
impl ByCopy for Ring {}

/// Ranks of one process, of which each maps all memory of the others if `shares` is set.
struct SameProcess {
    fabric: Loopback,
    shares: bool,
}

impl Fabric for SameProcess {
    fn rank(&self) -> usize {
        self.fabric.rank()
    }
    fn ranks(&self) -> usize {
        self.fabric.ranks()
    }
    fn send(&self, to: usize, bytes: &[u8]) {
        self.fabric.send(to, bytes);
    }
    fn receive(&self, accept: &mut dyn FnMut(usize, &[u8])) {
        self.fabric.receive(accept);
    }
    fn set_bell(&self, bell: Bell) {
        self.fabric.set_bell(bell);
    }
    fn lost(&self, rank: usize) -> Option<Lost> {
        self.fabric.lost(rank)
    }
    fn shares_memory_with(&self, _: usize) -> bool {
        self.shares
    }
}

/// Runs the ring on ranks. Returns the outcome, and the number of events that crossed ranks.
fn on_ranks(shares: bool, run: impl Fn(RunOptions<'_>, Box<dyn Fabric>) -> OfRank + Sync) -> (Outcome, u64) {
    let of_rank = |fabric| run(RunOptions::until(Time::from_secs(2)), Box::new(SameProcess { fabric, shares }));
    std::thread::scope(|scope| {
        let ends = Loopback::connect(RANKS);
        let ranks: Vec<_> = ends.into_iter().map(|end| scope.spawn(|| of_rank(end))).collect();
        let results: Vec<_> = ranks.into_iter().map(|rank| rank.join().expect("no panic")).collect();
        let crossed = results.iter().map(|of_rank| of_rank.crossed).sum();
        let outcome = results.into_iter().find_map(|of_rank| of_rank.result.expect("it runs"));
        (outcome.expect("rank 0 has the outcome"), crossed)
    })
}

fn on_all_engines(shares: bool) -> [(Outcome, u64); 3] {
    let windows = window::Settings::of_threads(1);
    let nulls = null_message::Settings::of_threads(1);
    let optimistic = time_warp::Settings::of_threads(1);
    [
        on_ranks(shares, |options, fabric| window::run_rank(&Ring, options, &windows, fabric)),
        on_ranks(shares, |options, fabric| null_message::run_rank(&Ring, options, &nulls, fabric)),
        on_ranks(shares, |options, fabric| time_warp::run_rank(&Ring, options, &optimistic, fabric)),
    ]
}

fn moved(outcome: &Outcome) -> u128 {
    outcome.metrics.get("moved").and_then(|metric| metric.counter()).expect("it was declared")
}

#[test]
fn a_handler_reads_a_payload_where_the_sender_in_another_rank_wrote_it() {
    let memory = Anonymous::new(64 << 20).expect("there is memory");
    let arena = Arena::create(Box::new(memory)).expect("the memory is large enough");
    let installed = arena::install(0, vec![Some(arena)]);
    let before = copied();
    let shared = on_all_engines(true);
    assert_eq!(copied(), before, "payloads were copied between ranks that share memory");
    for (outcome, crossed) in &shared {
        assert_eq!(moved(outcome), 0);
        assert!(outcome.engine_stats.contains(&("payload_bytes_copied", 0.0)));
        assert!(*crossed > 100, "{crossed} events crossed");
    }
    // Ranks that share no memory copy each payload that crosses, and give the same answer.
    for ((outcome, crossed), (same, _)) in on_all_engines(false).iter().zip(&shared) {
        assert_eq!(outcome.digest, same.digest);
        assert!(moved(outcome) > 100 && moved(outcome) <= u128::from(*crossed));
    }
    assert!(copied() > before);
    drop(installed);
}
