//! Packets that are multicast down binary trees: the benchmark of shared event data.
//!
//! There are `trees` separate complete binary trees of `levels` levels, and every node is an LP. A router
//! forwards each packet to its two children. The leaves are the subscribers. When the left-most subscriber of
//! a tree receives a packet, it notifies the root, which then sends the next packet.
//!
//! *Start.* Every LP begins with `start_events` events. So `start_events` packets are at each level from the
//! start, and their number stays about the same during the run. At any time about
//! `trees * (2^levels - 1) * start_events` events are pending, each with the data of a packet. If each event
//! has a copy, this is where the memory goes.
//!
//! *Data.* The root writes the data once, `data` integers of 32 bits. With shared data ([`Shared`]), all
//! copies of a packet refer to the same integers. Each tree then has the data of about
//! `levels * start_events` packets in memory. Without, a router copies the integers for each child
//! ([`Copied`]). In both cases the data are folded into the digest once, when they are written. So the digest
//! does not depend on sharing. Every LP reads one of the integers, a different one each time, and compares it
//! with the integer that the root wrote.
//!
//! *Delays.* The source does not give them. Here the delay of a hop is `delay`, the lookahead, plus a uniform
//! part of at most `jitter`. So packets overtake each other, and an LP that is executed ahead of its parent
//! is rolled back.
//!
//! *Exactly once.* The packets of a tree are numbered, beginning with those that are under way at the start.
//! A node forwards each packet once to each child. At the end, every event sent must have been executed or be
//! in flight.
//!
//! *Numbering.* LPs are numbered tree by tree, and within a tree level by level. The children of node `n` are
//! `2n + 1` and `2n + 2`.
//!
//! *Source*: G. Yaun, D. Bauer, C. Carothers, *Sharing event data in optimistically scheduled multicast
//! applications*, Rensselaer Polytechnic Institute.
//!
//! *Read next*: `packet`, with the shared and copied data.

mod packet;

pub use packet::{Copied, Message, Packet, PacketHandle};

use parades_core::any_model::SaveModel;
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;
use parades_core::wire::{self, Malformed, Wire};
use serde::{Deserialize, Serialize};

/// The parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, parades_config::Parameters)]
pub struct Parameters {
    /// The number of trees. There is no link between them.
    #[parameter(integer, default = 8, range = 1..=1_000_000_000, meaning = "binary trees, without links between them")]
    pub trees: u32,
    /// The number of levels of each tree, including the root and the leaves.
    #[parameter(integer, default = 10, range = 2..=31, meaning = "levels of each tree: 2^levels - 1 nodes")]
    pub levels: u32,
    /// The number of events that each LP begins with.
    #[parameter(integer, default = 8, range = 0..=1_000_000, meaning = "initial events of each LP")]
    pub start_events: u32,
    /// The number of 32-bit integers that a packet carries.
    #[parameter(
        integer, default = 256, range = 0..=16_777_216,
        meaning = "32-bit integers of data that a packet carries"
    )]
    pub data: u32,
    /// The least delay of a hop, which is the lookahead.
    #[parameter(duration, changeable, default = Delay::from_ms(1), positive, meaning = "least delay of a hop: the lookahead")]
    pub delay: Delay,
    /// The largest delay of a hop beyond `delay`. The actual one is uniform.
    #[parameter(
        duration, changeable, default = Delay::from_ms(1),
        meaning = "greatest additional delay of a hop; it is drawn uniformly"
    )]
    pub jitter: Delay,
}

/// The numbers of levels that a tree may have.
const LEVELS: std::ops::RangeInclusive<u32> = 2..=31;
/// The longest delay: a day.
const DELAY_MAX: Delay = Delay::from_secs(86_400);

impl Parameters {
    /// Checks that the parameters make sense.
    ///
    /// # Errors
    ///
    /// Returns the first wrong key, and a sentence about it.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let Parameters { trees, levels, delay, jitter, .. } = *self;
        if !LEVELS.contains(&levels) {
            let (least, most) = (LEVELS.start(), LEVELS.end());
            return Err(("levels", format!("a tree has {least} to {most} levels, not {levels}")));
        }
        if trees == 0 {
            return Err(("trees", "there must be a tree".into()));
        }
        let lps = u64::from(trees) * u64::from(self.nodes());
        if lps >= u64::from(u32::MAX) {
            let what =
                format!("{trees} trees of {levels} levels have {lps} nodes: a model has fewer than 2^32 - 1 LPs");
            return Err(("trees", what));
        }
        if delay == Delay::ZERO {
            return Err(("delay", "without delay packets would go round for ever at one time".into()));
        }
        for (key, span) in [("delay", delay), ("jitter", jitter)] {
            if span > DELAY_MAX {
                return Err((key, format!("`{key}` must be at most {DELAY_MAX}, not {span}")));
            }
        }
        Ok(())
    }

    /// Returns the number of nodes of a tree.
    fn nodes(&self) -> u32 {
        (1 << self.levels) - 1
    }

    /// Returns the memory that all packets take at the start, in bytes. `C` is the way in which an event
    /// carries its packet. The parameters have passed [`Parameters::check`].
    pub fn start_bytes<C: PacketHandle>(&self) -> u64 {
        let Parameters { trees, levels, start_events, data, .. } = *self;
        let (handle, data) = (size_of::<C>() as u64, 4 * u64::from(data));
        // Every level but the root's has its packets under way, and every node but the root has events.
        let of_levels = u64::from(levels - 1) * (handle + data);
        let of_nodes = u64::from(self.nodes() - 1) * if C::IS_SHARED { handle } else { handle + data };
        let of_start_event = of_levels.saturating_add(of_nodes);
        of_start_event.saturating_mul(u64::from(trees)).saturating_mul(u64::from(start_events))
    }

    /// Returns the number of the first packet that is at `level` at the start. Packets further down are
    /// older.
    fn oldest_packet(&self, level: u32) -> u64 {
        u64::from(self.levels - 1 - level) * u64::from(self.start_events)
    }
}

const SENT: MetricId = MetricId(0);
const DELIVERED: MetricId = MetricId(1);
const HOPS: MetricId = MetricId(2);
const NOTICES: MetricId = MetricId(3);
const IN_FLIGHT: MetricId = MetricId(4);
const TIMED: MetricId = MetricId(5);
const TOTAL_DELAY: MetricId = MetricId(6);
const MEAN_DELAY: MetricId = MetricId(7);
const LEAF_DELAY: MetricId = MetricId(8);

/// Returns the value of a counter.
fn count(metrics: &Metrics, metric: MetricId) -> u128 {
    metrics.by_id(metric).and_then(MetricValue::counter).unwrap_or_default()
}

/// The model. `C` is the way in which an event carries its packet: [`Shared<Packet>`](Shared) or [`Copied`].
///
/// # Examples
///
/// A tree of a root, two routers and four leaves. At the start there is one packet at each of the three
/// levels.
///
/// ```
/// use parades_core::prelude::*;
/// use parades_engine::sequential;
/// use parades_models::multicast::{Copied, Multicast, Packet, Parameters};
/// let (trees, levels, start_events, jitter) = (1, 3, 1, Delay::ZERO);
/// let small = Parameters { trees, levels, start_events, jitter, ..Parameters::default() };
/// let until = Time::ZERO.checked_add(Delay::from_ms(3)).unwrap();
/// let shared = sequential::run(&Multicast::<Shared<Packet>>::new(small)?, RunOptions::until(until)).unwrap();
/// let copied = sequential::run(&Multicast::<Copied>::new(small)?, RunOptions::until(until)).unwrap();
/// assert_eq!(shared.digest, copied.digest);
/// let count = |name| shared.metrics.get(name).and_then(|metric| metric.counter()).unwrap();
/// // In each of three steps of 1 ms, every packet moves one hop, and one notice goes back to the root.
/// assert_eq!((shared.events, count("packets_sent"), count("packets_delivered")), (3 * 7, 3, 3 * 4));
/// # Ok::<(), (&'static str, String)>(())
/// ```
#[derive(Clone, Debug)]
pub struct Multicast<C> {
    parameters: Parameters,
    /// The number of nodes of a tree.
    nodes: u32,
    /// The packets under way at the start: by tree, then by level from 1 on, then by start event.
    under_way: Vec<C>,
}

/// The state of an LP. More than 2^32 - 1 executions are an error, and so are delays with a sum of more than
/// 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The number of packets received, or for a root, sent.
    executed: u32,
    /// The number of packets from the root that a leaf received. Its other packets were under way at the
    /// start.
    timed: u32,
    /// The sum of the delays of the packets counted by `timed`, in picoseconds.
    delay_ps: u64,
}

/// The port of a router to its left child.
const LEFT: Port = Port(0);
/// The port of a router to its right child.
const RIGHT: Port = Port(1);
/// The only port of a left-most leaf, to its root.
const ROOT: Port = Port(0);

impl<C: PacketHandle> Multicast<C> {
    /// Creates the model of these parameters.
    ///
    /// # Errors
    ///
    /// Fails if [`Parameters::check`] does.
    pub fn new(parameters: Parameters) -> Result<Multicast<C>, (&'static str, String)> {
        parameters.check()?;
        let Parameters { trees, levels, start_events, data, .. } = parameters;
        let packets = |tree: u32| {
            let of_level =
                move |level| (0..u64::from(start_events)).map(move |event| parameters.oldest_packet(level) + event);
            (1..levels)
                .flat_map(of_level)
                .map(move |number| C::from_packet(Packet::write(tree, number, Time::ZERO, data)))
        };
        let under_way = (0..trees).flat_map(packets).collect();
        Ok(Multicast { parameters, nodes: parameters.nodes(), under_way })
    }

    /// Returns the tree of an LP, and its node in that tree.
    #[inline]
    fn place(&self, id: LpId) -> (u32, u32) {
        (id.0 / self.nodes, id.0 % self.nodes)
    }

    /// Returns the left-most leaf of a tree.
    #[inline]
    fn first_leaf(&self) -> u32 {
        self.nodes / 2
    }

    /// Draws the delay of a hop.
    #[inline]
    fn draw_delay(&self, rng: &Rng) -> Delay {
        let Parameters { delay, jitter, .. } = self.parameters;
        rng.uniform_delay(delay, delay.saturating_add(jitter))
    }

    /// Sends a packet to both children.
    #[inline]
    fn forward(&self, packet: &C, ctx: &mut Context<'_, Self>) {
        for port in [LEFT, RIGHT] {
            let delay = self.draw_delay(ctx.rng());
            ctx.send(port, delay, Message::Packet(packet.clone()));
        }
    }

    /// Handles a packet that has arrived at a router or a leaf.
    #[inline]
    fn receive(&self, state: &mut State, packet: &C, ctx: &mut Context<'_, Self>) {
        let (tree, node) = self.place(ctx.id());
        if node == 0 {
            return ctx.fail("it received a packet, and is the root");
        }
        if !packet.is_whole(tree, ctx.id()) {
            return ctx.fail(format!("the data of the packet {} are not what the root wrote", packet.number()));
        }
        if node < self.first_leaf() {
            return self.forward(packet, ctx);
        }
        if packet.number() >= self.parameters.oldest_packet(0) {
            let Some(delay_ps) = state.delay_ps.checked_add(ctx.now().since(packet.sent()).as_ps()) else {
                return ctx.fail("the delays of its packets add up to more than 213 days, which their sum cannot hold");
            };
            state.timed += 1;
            state.delay_ps = delay_ps;
        }
        if node == self.first_leaf() {
            let delay = self.draw_delay(ctx.rng());
            ctx.send(ROOT, delay, Message::Next);
        }
    }

    /// Sends the next packet from the root.
    #[inline]
    fn send_next(&self, sent: u32, ctx: &mut Context<'_, Self>) {
        let (tree, node) = self.place(ctx.id());
        if node != 0 {
            return ctx.fail("it was asked for the next packet, and is not the root");
        }
        let number = self.parameters.oldest_packet(0) + u64::from(sent);
        let packet = C::from_packet(Packet::write(tree, number, ctx.now(), self.parameters.data));
        self.forward(&packet, ctx);
    }
}

impl<C: PacketHandle> Model for Multicast<C> {
    type State = State;
    type Message = Message<C>;
    type Global = NoGlobal;

    fn lps(&self) -> u32 {
        self.parameters.trees * self.nodes
    }

    fn channels(&self) -> Channels {
        let (mut channels, lookahead) = (Channels::none(), self.parameters.delay);
        for root in (0..self.parameters.trees).map(|tree| tree * self.nodes) {
            for node in 0..self.first_leaf() {
                channels.connect(LpId(root + node), LpId(root + 2 * node + 1), lookahead);
                channels.connect(LpId(root + node), LpId(root + 2 * node + 2), lookahead);
            }
            channels.connect(LpId(root + self.first_leaf()), LpId(root), lookahead);
        }
        channels
    }

    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        assert_eq!(metrics.counter("packets_sent", Unit::Count), SENT);
        assert_eq!(metrics.counter("packets_delivered", Unit::Count), DELIVERED);
        assert_eq!(metrics.counter("hops", Unit::Count), HOPS);
        assert_eq!(metrics.counter("notices", Unit::Count), NOTICES);
        assert_eq!(metrics.counter("in_flight", Unit::Count), IN_FLIGHT);
        assert_eq!(metrics.counter("packets_timed", Unit::Count), TIMED);
        assert_eq!(metrics.counter("total_delay", Unit::Picoseconds), TOTAL_DELAY);
        assert_eq!(metrics.value("mean_delay", Unit::Seconds), MEAN_DELAY);
        assert_eq!(metrics.histogram("leaf_delay", Unit::Picoseconds), LEAF_DELAY);
        metrics
    }

    /// Spreads the start events over the least delay.
    fn start(&self, ctx: &mut Context<'_, Self>) -> State {
        let Parameters { levels, start_events, delay, .. } = self.parameters;
        let (tree, node) = self.place(ctx.id());
        let level = (node + 1).ilog2();
        let step = delay.as_ps() / u64::from(start_events.max(1));
        let phase = ctx.rng().below(step.max(1));
        for event in 0..start_events {
            let message = match level.checked_sub(1) {
                None => Message::Next,
                Some(row) => {
                    let place = (tree as usize * (levels as usize - 1) + row as usize) * start_events as usize;
                    Message::Packet(self.under_way[place + event as usize].clone())
                }
            };
            ctx.send_self(Delay::from_ps(u64::from(event) * step + phase), message);
        }
        State::default()
    }

    #[inline]
    fn handle(&self, state: &mut State, event: Body<&Message<C>>, ctx: &mut Context<'_, Self>) {
        let Some(executed) = state.executed.checked_add(1) else {
            return ctx.fail("it cannot count more than 2^32 - 1 events");
        };
        match event {
            Body::Message(Message::Packet(packet)) => self.receive(state, packet, ctx),
            Body::Message(Message::Next) => self.send_next(state.executed, ctx),
            Body::Timer(_) => ctx.fail("it sets no timers"),
        }
        state.executed = executed;
    }

    fn fold(&self, state: &State, digest: &mut Digest) {
        digest.word(u64::from(state.executed));
        digest.word(state.delay_ps);
    }

    fn finish(&self, id: LpId, state: &State, _: &End, metrics: &mut Metrics) {
        let (_, node) = self.place(id);
        let State { timed, delay_ps, .. } = *state;
        let (executed, timed) = (u64::from(state.executed), u64::from(timed));
        if node < self.first_leaf() {
            metrics.count(HOPS, 2 * executed);
        } else {
            metrics.count(DELIVERED, executed);
            metrics.count(TIMED, timed);
            metrics.count(TOTAL_DELAY, delay_ps);
        }
        if let Some(mean_ps) = delay_ps.checked_div(timed) {
            metrics.observe(LEAF_DELAY, mean_ps);
        }
        if node == 0 {
            metrics.count(SENT, executed);
        } else if node == self.first_leaf() {
            metrics.count(NOTICES, executed);
        }
    }

    fn splits_unfinished(&self) -> bool {
        true
    }

    fn unfinished(&self, messages: Unfinished<Message<C>>, metrics: &mut Metrics) {
        metrics.count(IN_FLIGHT, messages.count());
    }

    /// Computes the mean delay. Checks that every event has been executed or is in flight.
    fn conclude(&self, end: &End, metrics: &mut Metrics) -> Result<(), String> {
        if count(metrics, TIMED) > 0 {
            metrics.set(MEAN_DELAY, count(metrics, TOTAL_DELAY) as f64 / count(metrics, TIMED) as f64 / 1e12);
        }
        let sent = count(metrics, HOPS) + count(metrics, NOTICES);
        let started = u128::from(self.lps()) * u128::from(self.parameters.start_events);
        let (executed, in_flight) = (u128::from(end.events), count(metrics, IN_FLIGHT));
        if started + sent == executed + in_flight {
            return Ok(());
        }
        Err(format!(
            "{started} events at the start and {sent} sent are not {executed} executed and {in_flight} in flight"
        ))
    }
}

impl<C: PacketHandle + Wire> SaveModel for Multicast<C> {
    fn write_state(&self, _: LpId, state: &Self::State, to: &mut Vec<u8>) {
        wire::write(state, to);
    }

    fn read_state(&self, _: LpId, from: &mut &[u8]) -> Result<Self::State, Malformed> {
        wire::read(from)
    }
}

impl<C: PacketHandle> ByCopy for Multicast<C> {}

#[cfg(test)]
mod tests {
    use super::*;
    use parades_core::any_model::execute_alone;
    use parades_core::effects::OtherEffects;
    use parades_core::event::EventKey;

    /// Returns the failure of an LP, in trees of three levels, when it receives `message`.
    fn failure(id: u32, message: Message<Copied>) -> Option<String> {
        let parameters = Parameters { trees: 2, levels: 3, start_events: 2, data: 4, ..Parameters::default() };
        let model = Multicast::<Copied>::new(parameters).expect("the parameters are possible");
        let instant = Instant::at(Time::ZERO);
        let key = EventKey { instant, tie: 0, sender: Sender::lp(LpId(0)), sequence: 9 };
        let event = Event::new(key, LpId(id), Body::Message(message));
        let effects = execute_alone(&model, LpId(id), vec![event], OtherEffects::default);
        effects.into_iter().find_map(|effects| effects.failure).map(|kind| format!("{kind:?}"))
    }

    fn packet(tree: u32, number: u64) -> Message<Copied> {
        Message::Packet(Copied::from_packet(Packet::write(tree, number, Time::ZERO, 4)))
    }

    #[test]
    fn unexpected_messages_fail_the_run() {
        assert_eq!(failure(3, packet(0, 0)), None);
        assert_eq!(failure(7 + 1, packet(1, 2)), None);
        assert_eq!(failure(7, Message::Next), None);
        for (id, message, what) in [
            (0, packet(0, 4), "it received a packet, and is the root"),
            (1, packet(1, 2), "the data of the packet 2 are not what the root wrote"),
            (1, Message::Next, "it was asked for the next packet, and is not the root"),
        ] {
            let said = failure(id, message).expect("that is a failure");
            assert!(said.contains(what), "{said}");
        }
    }
}
