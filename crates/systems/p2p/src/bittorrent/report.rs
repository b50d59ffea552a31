//! The metrics of a swarm.

use super::Swarm;
use super::peer::Peer;
use super::tracker::Tracker;
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;

/// The name of the metric that is a note for the user. It is no figure.
const NOTE: &str = "note";

/// Duplicates and losses are noted if they are more than one part in this many of the data received.
const DUPLICATES_NOTED: u128 = 10;

/// The shares of downloads, in percent, whose time of completion is a metric of this name.
const SHARES: [(&str, usize); 2] = [("half_complete", 50), ("complete_95_percent", 95)];

/// The ids of the metrics.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ids {
    completed: CounterId,
    unfinished: CounterId,
    /// The times at which the [`SHARES`] of the downloads were complete.
    complete_at: [ValueId; 2],
    pub(super) download_time: IntegerId,
    bits_up: CounterId,
    bits_down: CounterId,
    control_messages: CounterId,
    blocks_sent: CounterId,
    duplicates: CounterId,
    duplicate_bits: CounterId,
    lost_bits: CounterId,
    cancels: CounterId,
    unchokes: CounterId,
    announces: CounterId,
    neighbours: IntegerId,
    peers: TableId,
    note: ValueId,
    /// The source of every piece, where the parameters ask for it.
    sources: Option<TableId>,
}

impl Ids {
    pub(super) fn declare(metrics: &mut Metrics, keeps_sources: bool) -> Ids {
        let picoseconds = |name| Column::new(name, Unit::Picoseconds);
        let count = |name| Column::new(name, Unit::Count);
        let peers = vec![
            count("peer"),
            picoseconds("joined"),
            picoseconds("completed"),
            count("bits_up"),
            count("bits_down"),
            count("connections"),
            count("swarm"),
        ];
        Ids {
            completed: metrics.counter("completed", Unit::Count),
            unfinished: metrics.counter("unfinished", Unit::Count),
            download_time: metrics.histogram("download_time", Unit::Picoseconds),
            complete_at: SHARES.map(|(name, _)| metrics.value(name, Unit::Picoseconds)),
            bits_up: metrics.counter("bits_up", Unit::Count),
            bits_down: metrics.counter("bits_down", Unit::Count),
            control_messages: metrics.counter("control_messages", Unit::Count),
            blocks_sent: metrics.counter("blocks_sent", Unit::Count),
            duplicates: metrics.counter("duplicates", Unit::Count),
            duplicate_bits: metrics.counter("duplicate_bits", Unit::Count),
            lost_bits: metrics.counter("lost_bits", Unit::Count),
            cancels: metrics.counter("cancels", Unit::Count),
            unchokes: metrics.counter("unchokes", Unit::Count),
            announces: metrics.counter("announces", Unit::Count),
            neighbours: metrics.tally("connections", Unit::Count),
            peers: metrics.table("peers", peers),
            note: metrics.value(NOTE, Unit::Count),
            sources: keeps_sources.then(|| {
                let columns = vec![count("peer"), count("piece"), count("source"), picoseconds("time")];
                metrics.table("pieces", columns)
            }),
        }
    }

    pub(super) fn finish_tracker(&self, tracker: &Tracker, metrics: &mut Metrics) {
        metrics.count(self.announces, tracker.announces);
    }

    /// Adds one peer.
    pub(super) fn finish(&self, node: LpId, peer: &Peer, swarm: &Swarm, metrics: &mut Metrics) {
        let books = &peer.books;
        let held_bits = if swarm.is_seed(node.0) { 0 } else { peer.held_bits(swarm) };
        for (id, amount) in [
            (self.bits_up, books.bits_up),
            (self.bits_down, books.bits_down),
            (self.control_messages, books.control),
            (self.blocks_sent, books.data),
            (self.duplicates, books.duplicates),
            (self.duplicate_bits, books.duplicate_bits),
            (self.lost_bits, (books.bits_down - books.duplicate_bits).saturating_sub(held_bits)),
            (self.cancels, books.cancels),
            (self.unchokes, books.unchokes),
        ] {
            metrics.count(id, amount);
        }
        metrics.observe(self.neighbours, books.connections);
        match (books.joined, books.completed) {
            _ if swarm.is_seed(node.0) => {}
            (Some(_), Some(_)) => metrics.count(self.completed, 1),
            _ => metrics.count(self.unfinished, 1),
        }
        let time = |time: Option<Time>| time.map_or(Cell::Empty, |time| time.as_ps().into());
        let cells = [
            u64::from(node.0).into(),
            time(books.joined),
            time(books.completed),
            books.bits_up.into(),
            books.bits_down.into(),
            books.connections.into(),
            swarm.swarm_of(node.0).map_or(Cell::Empty, |swarm| u64::from(swarm).into()),
        ];
        metrics.row(self.peers, cells);
        if let Some(table) = self.sources {
            for &(piece, source, at) in &books.sources {
                let numbers = [node.0, piece, source].map(|number| Cell::from(u64::from(number)));
                metrics.row(table, numbers.into_iter().chain([at.as_ps().into()]));
            }
        }
    }

    /// Sets the times, from the start of the run, at which shares of the downloads were complete. A time has
    /// no value if fewer are.
    fn set_shares(&self, swarm: &Swarm, metrics: &mut Metrics) {
        let Some(table) = metrics.by_id(self.peers).and_then(MetricValue::table) else { return };
        let is_seed = |peer: u64| u32::try_from(peer).is_ok_and(|peer| swarm.is_seed(peer));
        let downloads = table.iter_rows().filter(|row| !matches!(row[0], Cell::Integer(peer) if is_seed(peer)));
        let ends: Vec<Option<u64>> =
            downloads.map(|row| if let Cell::Integer(time) = row[2] { Some(time) } else { None }).collect();
        let all = ends.len();
        let mut ends: Vec<u64> = ends.into_iter().flatten().collect();
        ends.sort_unstable();
        for (id, (_, percent)) in self.complete_at.into_iter().zip(SHARES) {
            let count = (all * percent).div_ceil(100);
            if let Some(&time) = count.checked_sub(1).and_then(|last| ends.get(last)) {
                metrics.set(id, Cell::Integer(time));
            }
        }
    }

    /// Notes what the figures do not show by themselves: downloads without a time, and data that came in
    /// vain.
    pub(super) fn conclude(&self, swarm: &Swarm, metrics: &mut Metrics) {
        self.set_shares(swarm, metrics);
        let counters = [self.completed, self.unfinished, self.bits_down, self.duplicate_bits, self.lost_bits];
        let count = |id| metrics.by_id(id).and_then(MetricValue::counter).unwrap_or_default();
        let [completed, unfinished, bits_down, duplicate_bits, lost_bits] = counters.map(count);
        let mut sentences = Vec::new();
        if unfinished > 0 {
            sentences.push(format!(
                "{unfinished} of {} downloads are unfinished, and `download_time` has no times of those",
                completed + unfinished
            ));
        }
        if duplicate_bits * DUPLICATES_NOTED > bits_down {
            let share = duplicate_bits as f64 / bits_down as f64 * 100.0;
            sentences.push(format!(
                "{share:.0} % of the data received are duplicates: peers had asked several neighbours for the same blocks"
            ));
        }
        if lost_bits * DUPLICATES_NOTED > bits_down {
            let share = lost_bits as f64 / bits_down as f64 * 100.0;
            sentences.push(format!("{share:.0} % of the data received were lost when their peers left"));
        }
        if !sentences.is_empty() {
            metrics.set(self.note, Cell::Text(sentences.join("; ").into()));
        }
    }
}

impl Peer {
    pub(super) fn fold(&self, digest: &mut Digest) {
        let books = &self.books;
        self.pieces.words().iter().for_each(|&word| digest.word(word));
        for time in [books.joined, books.completed] {
            digest.word(time.map_or(u64::MAX, Time::as_ps));
        }
        let counts = [books.bits_up, books.bits_down, books.control, books.data, books.duplicates, books.unchokes];
        counts.into_iter().for_each(|count| digest.word(count));
        for neighbour in &self.neighbours {
            digest.word(u64::from(neighbour.id) << 32 | u64::from(neighbour.count));
        }
    }
}
