//! Samples of a network while it runs: series over virtual time.
//!
//! A global event looks at all nodes with everything at rest, records a point of each series, and schedules the next one, a period later:
//!
//! - `goodput`: payload delivered in the period, in bits a second;
//! - `drop_rate`: packets dropped in the period, a second;
//! - `packets_waiting`: packets that wait in all queues at that moment; one in transmission does not wait;
//! - `queue_longest`: those in the longest of the queues.
//!
//! What happened in a period is the difference of two totals, and the event carries those of the sample before. So a visit changes nothing
//! at a node, and sampling changes nothing of a run but its series and the digest of its global events.

use crate::node::Node;
use crate::report::Series;
use parades_core::prelude::*;

/// The global event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Sample {
    period: Delay,
    /// At the sample before.
    before: Totals,
}

/// What has happened up to a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Totals {
    bytes_delivered: u64,
    packets_dropped: u64,
}

/// What some nodes have done, and what waits at them.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct Summary {
    totals: Totals,
    waiting: u64,
    longest: u64,
}

impl Sample {
    /// The first sample of a run, and when it is taken; none where the period is zero.
    pub(crate) fn first(period: Delay) -> Option<(Time, Sample)> {
        let time = Time::ZERO.checked_add(period).filter(|&time| time > Time::ZERO)?;
        Some((time, Sample { period, before: Totals::default() }))
    }
}

/// Of every model whose LPs are nodes.
impl<M: Model<State = Node, Global = Sample>> Global<M> for Sample {
    type Summary = Summary;

    fn visit(&self, _: &M, node: &mut Node, ctx: &mut Context<'_, M>) -> Summary {
        let waiting = || node.transmitters.iter().map(|transmitter| transmitter.waiting_at(ctx.now()) as u64);
        Summary {
            totals: Totals {
                bytes_delivered: node.sinks.iter().map(|sink| sink.bytes).sum(),
                packets_dropped: node.dropped.values().sum(),
            },
            waiting: waiting().sum(),
            longest: waiting().max().unwrap_or(0),
        }
    }

    fn fold(&self, left: Summary, right: Summary) -> Summary {
        Summary {
            totals: Totals {
                bytes_delivered: left.totals.bytes_delivered + right.totals.bytes_delivered,
                packets_dropped: left.totals.packets_dropped + right.totals.packets_dropped,
            },
            waiting: left.waiting + right.waiting,
            longest: left.longest.max(right.longest),
        }
    }

    fn act(&self, _: &M, Summary { totals, waiting, longest }: Summary, ctx: &mut GlobalContext<'_, M>) {
        let per_second = |of: u64| of as f64 / self.period.as_secs_f64();
        let bytes = totals.bytes_delivered - self.before.bytes_delivered;
        ctx.point(Series::GOODPUT, per_second(bytes * 8));
        ctx.point(Series::DROP_RATE, per_second(totals.packets_dropped - self.before.packets_dropped));
        ctx.point(Series::PACKETS_WAITING, waiting as f64);
        ctx.point(Series::QUEUE_LONGEST, longest as f64);
        // The last sample that there can be is the last one before the end of time.
        if ctx.now().checked_add(self.period).is_some() {
            ctx.schedule(self.period, Sample { period: self.period, before: totals });
        }
    }
}
