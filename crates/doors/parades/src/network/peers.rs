//! Peers over an underlay, as a network that is stepped.

use super::{Completion, Outcome, TransferId, file, refused};
use parades_carriers::capacity::{Packet, Plan};
use parades_carriers::{Capacity, Underlay};
use parades_core::any_model::SaveModel;
use parades_core::error::Error;
use parades_core::prelude::*;
use parades_core::wire::{self, Malformed};
use parades_engine::any_engine::AnyEngine;
use parades_engine::stepped::{Run, Steppable};
use parades_program::{
    AtEnd, AtNode, Carrier, Departure, Kernel, Layout, Letter, Mailbox, Receipt, SaveCarrier, Undelivered, Wiring,
};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;
use std::io::{Read, Write};

/// A network of peers that is stepped: a transfer takes its share of the up link of its sender and of the
/// down link of its receiver, and the latency of an underlay ([`Capacity`]).
///
/// Transfers between two peers follow each other, as on one connection. The latency is lookahead, so several
/// threads may pay. An underlay has latencies and no links, so none can be changed. A transfer that has set
/// out cannot be cancelled, nor can an access link be changed: the solvers of a [`Capacity`] learn of a
/// transfer by messages of its peers, which promise its bytes when it sets out, and their capacities are
/// constants that the engines share. [`Network`](super::Network) can do both.
///
/// # Examples
///
/// Two peers send a megabyte each to a third, whose down link has 8 Mbit/s:
///
/// ```
/// use parades::AnyEngine;
/// use parades::carriers::Underlay;
/// use parades::network::PeerNetwork;
/// use parades::prelude::*;
///
/// let underlay = Underlay::constant(Delay::from_ms(50));
/// let mut network = PeerNetwork::new(underlay, vec![[80e6, 8e6]; 3], AnyEngine::Sequential)?;
/// let first = network.send(LpId(0), LpId(2), 1_000_000)?;
/// let second = network.send(LpId(1), LpId(2), 1_000_000)?;
/// network.advance_to(Time::from_secs(10))?;
/// let ends: Vec<_> = network.completions()?.iter().map(|end| (end.id, end.at)).collect();
/// assert_eq!(ends, [(first, Time::from_ms(2050)), (second, Time::from_ms(2050))]);
/// # Ok::<(), parades::core::error::Error>(())
/// ```
pub struct PeerNetwork {
    run: Run<Peers>,
    underlay: Underlay,
    peers: u32,
    /// The number of transfers sent.
    sent: u64,
    /// The completions before this time have been returned.
    returned: Time,
}

impl fmt::Debug for PeerNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerNetwork").field("now", &self.now()).field("sent", &self.sent).finish_non_exhaustive()
    }
}

impl PeerNetwork {
    /// Returns a network at time 0, without transfers. `capacities` are those of each peer's up link and down
    /// link, in bits per second.
    ///
    /// # Errors
    ///
    /// If there is no peer, a capacity is not above zero, or the engine rolls back.
    pub fn new(underlay: Underlay, capacities: Vec<[f64; 2]>, engine: AnyEngine) -> Result<PeerNetwork, Error> {
        let (model, peers) = model(&underlay, capacities)?;
        let run = Run::start(Steppable::from(model).saving(), engine, RunOptions::until(Time::MAX))?;
        Ok(PeerNetwork { run, underlay, peers, sent: 0, returned: Time::ZERO })
    }

    /// Returns the virtual time.
    pub fn now(&self) -> Time {
        self.run.now()
    }

    /// Sends a transfer now. One without bytes takes the latency alone, as one of a peer to itself does.
    ///
    /// # Errors
    ///
    /// If there is no such peer. Nothing is sent then.
    pub fn send(&mut self, from: LpId, to: LpId, bytes: u64) -> Result<TransferId, Error> {
        if let Some(peer) = [from, to].into_iter().find(|peer| peer.0 >= self.peers) {
            return Err(refused(format!("there is no peer {}, since there are {}", peer.0, self.peers)));
        }
        if self.underlay.latency(from, to).is_none() {
            return Err(refused(format!("the underlay has no latency from peer {} to peer {}", from.0, to.0)));
        }
        let id = TransferId(self.sent);
        // A packet that comes from outside is one that sets out.
        let sets_out = Packet::Arrived { from, message: Transfer { id, to, bytes, returned: self.returned } };
        self.run.inject(from, self.now(), sets_out)?;
        self.sent += 1;
        Ok(id)
    }

    /// Advances the time to `until`. Everything before it has happened then, and nothing at it.
    ///
    /// # Errors
    ///
    /// If `until` has passed, and the error that has ended the run.
    pub fn advance_to(&mut self, until: Time) -> Result<(), Error> {
        super::advance(&mut self.run, until)
    }

    /// Returns the transfers that have ended since the last call of this function, in the order of their
    /// ends. A transfer that a partition of the underlay cuts has failed when it was sent. A peer forgets
    /// them with its next transfer.
    ///
    /// # Errors
    ///
    /// The error that has ended the run.
    pub fn completions(&mut self) -> Result<Vec<Completion>, Error> {
        let now = self.now();
        let from = std::mem::replace(&mut self.returned, now);
        let mut ended = self.run.fold(Vec::new(), move |mut ended: Vec<Completion>, _, state| {
            if let State::Peer { ended: here, .. } = state {
                ended.extend(here.known.iter().rev().take_while(|end| end.at >= from));
            }
            ended
        })?;
        ended.sort_unstable_by_key(|end| (end.at, end.id));
        Ok(ended)
    }

    /// Goes on under another engine, or with another number of workers.
    ///
    /// # Errors
    ///
    /// As [`Run::continue_under`].
    pub fn continue_under(&mut self, engine: AnyEngine) -> Result<(), Error> {
        self.run.continue_under(engine)
    }

    /// Returns the metrics so far: counters of transfers and bytes.
    ///
    /// # Errors
    ///
    /// The error that has ended the run.
    pub fn metrics(&mut self) -> Result<Metrics, Error> {
        self.run.metrics()
    }

    /// Returns the digest so far.
    ///
    /// # Errors
    ///
    /// The error that has ended the run.
    pub fn digest(&mut self) -> Result<u64, Error> {
        self.run.digest().map(|digest| digest.expect("digests are on"))
    }

    /// Returns a second network in the same state. From here on, neither sees what is done to the other.
    ///
    /// # Errors
    ///
    /// The error that has ended the run.
    pub fn branch(&mut self) -> Result<PeerNetwork, Error> {
        let (run, underlay) = (self.run.branch()?, self.underlay.clone());
        Ok(PeerNetwork { run, underlay, ..*self })
    }

    /// Writes the network as it is. [`PeerNetwork::load`] goes on from there, for the same version of
    /// parades.
    ///
    /// # Errors
    ///
    /// If it cannot be written, and the error that has ended the run.
    pub fn save(&mut self, to: impl Write) -> Result<(), Error> {
        file::save(&mut self.run, &(self.sent, self.returned), to)
    }

    /// Reads a network that [`PeerNetwork::save`] has written, and goes on with it. `underlay` and
    /// `capacities` are those that it was made with.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Malformed`](parades_core::error::ErrorKind::Malformed) if the bytes are not those of such
    /// a network; as [`PeerNetwork::new`] otherwise.
    pub fn load(
        underlay: Underlay,
        capacities: Vec<[f64; 2]>,
        engine: AnyEngine,
        from: impl Read,
    ) -> Result<PeerNetwork, Error> {
        let ((sent, returned), rest) = file::load(from)?;
        let (model, peers) = model(&underlay, capacities)?;
        let run = Run::load(Steppable::from(model).saving(), engine, &rest[..])?;
        Ok(PeerNetwork { run, underlay, peers, sent, returned })
    }
}

/// Returns the model of peers with these access links, and their number.
fn model(underlay: &Underlay, capacities: Vec<[f64; 2]>) -> Result<(Peers, u32), Error> {
    if let Some(wrong) = capacities.iter().flatten().find(|capacity| !(**capacity > 0.0 && capacity.is_finite())) {
        return Err(refused(format!("a peer cannot have a link of {wrong} bits per second")));
    }
    let peers = u32::try_from(capacities.len()).ok().filter(|&peers| peers < u32::MAX - 1);
    let peers = peers.ok_or_else(|| refused("peers are counted in 32 bits".into()))?;
    let model = Peers::new(Capacity::new(underlay.clone(), capacities, |transfer| transfer.bytes as f64 * 8.0), peers);
    Ok((model, peers))
}

/// A transfer on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Transfer {
    id: TransferId,
    to: LpId,
    bytes: u64,
    /// The program has got the completions before this time.
    returned: Time,
}

/// The time `returned` changes nothing but memory, so it is left out.
impl Payload for Transfer {
    fn fold(&self, digest: &mut Digest) {
        digest.word(self.id.0);
        digest.word(u64::from(self.to.0));
        digest.word(self.bytes);
    }
}

/// The model.
struct Peers {
    capacity: Capacity<Transfer>,
    layout: Layout,
    metrics: Metrics,
    /// The ids of the carrier's metrics.
    carrier_ids: Vec<MetricId>,
}

/// The state of an LP.
enum State {
    Peer {
        /// The carrier's state.
        cut: u64,
        ended: Ends,
    },
    Solver(<Capacity<Transfer> as Carrier<Transfer>>::Lp),
}

/// The transfers that have ended at a peer.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Ends {
    /// Those that the program has not got, or has got since the last transfer, in the order of time.
    known: VecDeque<Completion>,
    /// The digest of all of them.
    digest: u64,
}

impl Ends {
    fn forget(&mut self, before: Time) {
        while self.known.pop_front_if(|end| end.at < before).is_some() {}
    }

    fn note(&mut self, end: Completion) {
        let mut digest = Digest::default();
        digest.word(self.digest);
        digest.word(end.id.0 << 1 | u64::from(end.outcome == Outcome::Done));
        self.digest = digest.value();
        self.known.push_back(end);
    }
}

const METRICS: Declared<3> = Declared::new([
    Declaration::counter("transfers_done", Unit::Count),
    Declaration::counter("transfers_failed", Unit::Count),
    Declaration::counter("delivered", Unit::Bytes),
]);
const DONE: CounterId = METRICS.counter("transfers_done");
const FAILED: CounterId = METRICS.counter("transfers_failed");
const DELIVERED: CounterId = METRICS.counter("delivered");

/// The transfers that have arrived in one event.
#[derive(Default)]
struct Arrived(Vec<Transfer>);

impl Mailbox<Transfer> for Arrived {
    fn deliver(&mut self, _: LpId, transfer: Transfer) {
        self.0.push(transfer);
    }

    fn report(&mut self, _: Receipt, _: Result<(), Undelivered>) {
        unreachable!("peers ask for no receipts");
    }

    fn report_host(&mut self, _: bool) {}
}

impl Peers {
    fn new(capacity: Capacity<Transfer>, peers: u32) -> Peers {
        let layout = Layout::new(peers, peers, capacity.lps(peers));
        let mut metrics = METRICS.metrics();
        let carrier_ids = capacity.metrics(&mut metrics);
        Peers { capacity, layout, metrics, carrier_ids }
    }

    /// Sends a transfer from the peer of `ctx`.
    fn send(&self, transfer: Transfer, cut: &mut u64, ended: &mut Ends, ctx: &mut Context<'_, Self>) {
        let (from, now) = (ctx.id(), ctx.now());
        let departure = Departure { from, to: transfer.to, message: &transfer, now };
        let plan = self.capacity.plan(departure, cut, ctx.rng());
        if let Plan::Cut(_) = plan {
            ctx.count(FAILED, 1);
            return ended.note(Completion { id: transfer.id, at: now, outcome: Outcome::Failed });
        }
        let letter = Letter { to: transfer.to, receipt: None, plan, message: transfer };
        self.capacity.post(letter, cut, &mut Kernel::node(ctx, self.layout));
    }
}

impl Model for Peers {
    type State = State;
    type Message = Packet<Transfer>;
    type Global = NoGlobal;

    fn lps(&self) -> u32 {
        self.layout.nodes().saturating_add(self.layout.lps())
    }

    fn lp_name(&self, lp: LpId) -> Option<String> {
        self.capacity.lp_name(lp, self.layout)
    }

    fn lp_kind(&self, lp: LpId) -> String {
        self.capacity.lp_kind(lp, self.layout).unwrap_or("peer").to_owned()
    }

    fn channels(&self) -> Channels {
        let mut wiring = Wiring::new(self.layout.nodes(), self.lps());
        self.capacity.wire(self.layout, &mut wiring);
        wiring.into_channels()
    }

    fn metrics(&self) -> Metrics {
        self.metrics.clone()
    }

    fn start(&self, ctx: &mut Context<'_, Self>) -> State {
        match ctx.id().0 < self.layout.nodes() {
            true => State::Peer { cut: self.capacity.access(ctx.id(), self.layout), ended: Ends::default() },
            false => State::Solver(self.capacity.start(&mut Kernel::own(ctx, self.layout))),
        }
    }

    fn handle(&self, state: &mut State, event: Body<&Packet<Transfer>>, ctx: &mut Context<'_, Self>) {
        let (cut, ended) = match state {
            State::Solver(solver) => return self.capacity.execute(solver, event, &mut Kernel::own(ctx, self.layout)),
            State::Peer { cut, ended } => (cut, ended),
        };
        let Body::Message(packet) = event else { unreachable!("peers have no timers") };
        if let (Some(Sender::OUTSIDE), Packet::Arrived { message, .. }) = (ctx.sender(), packet) {
            ended.forget(message.returned);
            return self.send(*message, cut, ended, ctx);
        }
        let at = ctx.now();
        let mut node = AtNode { kernel: Kernel::node(ctx, self.layout), mailbox: Arrived::default() };
        self.capacity.receive(packet, cut, &mut node);
        for transfer in node.mailbox.0 {
            ctx.count(DONE, 1);
            ctx.count(DELIVERED, transfer.bytes);
            ended.forget(transfer.returned);
            ended.note(Completion { id: transfer.id, at, outcome: Outcome::Done });
        }
    }

    fn fold(&self, state: &State, digest: &mut Digest) {
        match state {
            State::Solver(solver) => self.capacity.fold(solver, digest),
            State::Peer { cut, ended } => {
                self.capacity.fold_access(cut, digest);
                digest.word(ended.digest);
            }
        }
    }

    fn finish(&self, lp: LpId, state: &State, end: &End, metrics: &mut Metrics) {
        let at_end = AtEnd { lp, layout: self.layout, end, ids: &self.carrier_ids, metrics };
        match state {
            State::Solver(solver) => self.capacity.finish(solver, at_end),
            State::Peer { cut, .. } => self.capacity.finish_access(cut, at_end),
        }
    }
}

impl SaveModel for Peers {
    fn write_state(&self, _: LpId, state: &State, to: &mut Vec<u8>) {
        match state {
            State::Solver(solver) => self.capacity.write_lp(solver, to),
            State::Peer { cut, ended } => {
                self.capacity.write_access(cut, to);
                wire::write(ended, to);
            }
        }
    }

    fn read_state(&self, lp: LpId, from: &mut &[u8]) -> Result<State, Malformed> {
        if lp.0 >= self.layout.nodes() {
            return self.capacity.read_lp(lp, self.layout, from).map(State::Solver);
        }
        let cut = self.capacity.read_access(lp, self.layout, from)?;
        Ok(State::Peer { cut, ended: wire::read(from)? })
    }
}
