//! Samples of a network while it runs: series over virtual time.
//!
//! A global event looks at all nodes with everything at rest, records a point of each series, and schedules the next one, a period later:
//!
//! - `throughput`: payload received in the period, in bits a second; of a transfer, what came in order;
//! - `loss_rate`: packets lost in the period, a second;
//! - `packets_waiting`: packets that wait in all queues at that moment; `queue_longest`: those in the longest of them;
//! - `app_throughput_APP` of each app that is asked for;
//! - `link_utilisation_LINK` and `link_queue_LINK` of each link that is asked for: of its busier direction in the period, and what waits there both ways.
//!
//! A visit changes nothing at a node: what happened in a period is the difference of two totals, and the event carries those before.

use crate::description::{Description, Measure};
use crate::model::Internetwork;
use crate::model::node::{Node, Role};
use parades_core::event::LpId;
use parades_core::global::{Global, GlobalContext};
use parades_core::metrics::{MetricId, Metrics, Unit};
use parades_core::model::Context;
use parades_core::time::{Delay, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Samples of a series at most: each is kept until the end.
pub(crate) const SAMPLES_MAX: u64 = 1_000_000;

/// The global event.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Sample {
    period: Delay,
    /// At the sample before.
    before: Arc<Totals>,
}

/// What has happened up to a time.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Totals {
    bytes: u64,
    lost: u64,
    /// By place in the list of those asked for.
    of_apps: BTreeMap<u32, u64>,
    /// By twice the place in the list of those asked for, and direction: how long it was busy.
    busy: BTreeMap<u32, Delay>,
}

/// What some nodes have done, and what waits at them.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Summary {
    totals: Totals,
    waiting: u64,
    longest: u64,
    /// By place of the link.
    queues: BTreeMap<u32, u64>,
}

/// Which series there are.
#[derive(Debug)]
pub(crate) struct Series {
    first: u32,
    /// The place of each link and app among those asked for.
    link_places: BTreeMap<u32, u32>,
    app_places: BTreeMap<u32, u32>,
}

impl Series {
    /// The first of them has the number `first`.
    pub(crate) fn new(description: &Description, first: u32) -> Series {
        let Measure { links, apps, .. } = &description.measure;
        let places = |of: &[u32]| of.iter().copied().zip(0..).collect();
        Series { first, link_places: places(links), app_places: places(apps) }
    }

    pub(crate) fn declare(&self, description: &Description, metrics: &mut Metrics) {
        assert_eq!(metrics.series("throughput", Unit::BitsPerSecond), MetricId(self.first));
        metrics.series("loss_rate", Unit::PerSecond);
        metrics.series("packets_waiting", Unit::Count);
        metrics.series("queue_longest", Unit::Count);
        for &app in &description.measure.apps {
            let name = &description.apps[app as usize].name;
            metrics.series(&format!("app_throughput_{name}"), Unit::BitsPerSecond);
        }
        for &link in &description.measure.links {
            let name = &description.links[link as usize].name;
            metrics.series(&format!("link_utilisation_{name}"), Unit::Ratio);
            metrics.series(&format!("link_queue_{name}"), Unit::Count);
        }
    }

    fn id(&self, place: u32) -> MetricId {
        MetricId(self.first + place)
    }

    fn of_app(&self, place: u32) -> MetricId {
        self.id(4 + place)
    }

    fn of_link(&self, place: u32) -> MetricId {
        self.id(4 + u32::try_from(self.app_places.len()).unwrap_or(0) + 2 * place)
    }
}

impl Sample {
    /// The first sample of a run, and when it is taken; none where the period is zero.
    pub(crate) fn first(period: Delay) -> Option<(Time, Sample)> {
        let time = Time::ZERO.checked_add(period).filter(|&time| time > Time::ZERO)?;
        Some((time, Sample { period, before: Arc::default() }))
    }
}

impl Internetwork {
    /// Payload that an end of a flow has received.
    fn received(&self, flow: u32, role: &Role) -> u64 {
        match (role, self.kind_of(flow)) {
            (Role::Sink(sink), _) => sink.bytes,
            (Role::Receiver(receiver), crate::description::AppKind::Transfer(transfer)) => {
                transfer.bytes_below(receiver.next)
            }
            (Role::Client(client), _) => client.bytes,
            _ => 0,
        }
    }
}

impl Global<Internetwork> for Sample {
    type Summary = Summary;

    fn visit(&self, net: &Internetwork, node: &mut Node, ctx: &mut Context<'_, Internetwork>) -> Summary {
        let (id, now) = (ctx.id(), ctx.now());
        let mut summary = Summary::default();
        let Some(series) = net.ids.series() else { return summary };
        summary.totals.lost = node.lost.values().flatten().sum();
        for (end, &way) in node.ends.iter().zip(net.ends_of(id)) {
            let bytes = net.received(way / 2, &end.role);
            summary.totals.bytes += bytes;
            if let Some(&place) = series.app_places.get(&net.flows[(way / 2) as usize].app) {
                *summary.totals.of_apps.entry(place).or_default() += bytes;
            }
        }
        for (port, arc) in node.ports.iter().zip(net.arcs.of(id.0)) {
            let waiting = port.waiting_at(now);
            summary.waiting += waiting;
            summary.longest = summary.longest.max(waiting);
            if let Some(&place) = series.link_places.get(&arc.link) {
                let from = net.description.links[arc.link as usize].from;
                summary.totals.busy.insert(2 * place + u32::from(LpId(from) != id), port.busy_at(now));
                *summary.queues.entry(place).or_default() += waiting;
            }
        }
        summary
    }

    fn fold(&self, mut left: Summary, right: Summary) -> Summary {
        left.totals.bytes += right.totals.bytes;
        left.totals.lost += right.totals.lost;
        left.waiting += right.waiting;
        left.longest = left.longest.max(right.longest);
        left.totals.busy.extend(right.totals.busy);
        for (to, from) in [(&mut left.totals.of_apps, right.totals.of_apps), (&mut left.queues, right.queues)] {
            from.into_iter().for_each(|(place, amount)| *to.entry(place).or_default() += amount);
        }
        left
    }

    fn act(&self, net: &Internetwork, summary: Summary, ctx: &mut GlobalContext<'_, Internetwork>) {
        let Some(series) = net.ids.series() else { return };
        // How long the network is run, its file cannot know, nor a description.
        if ctx.now().as_ps() / self.period.as_ps().max(1) > SAMPLES_MAX {
            let (period, end) = (self.period, ctx.now());
            return ctx.fail(format!(
                "a sample every {period} has made more than {SAMPLES_MAX} of them; measure less often, or end the run before {end}"
            ));
        }
        let (before, now) = (&self.before, &summary.totals);
        let per_second = |of: u64| of as f64 / self.period.as_secs_f64();
        ctx.point(series.id(0), per_second((now.bytes - before.bytes) * 8));
        ctx.point(series.id(1), per_second(now.lost - before.lost));
        ctx.point(series.id(2), summary.waiting as f64);
        ctx.point(series.id(3), summary.longest as f64);
        for &place in series.app_places.values() {
            let of = |totals: &Totals| totals.of_apps.get(&place).copied().unwrap_or(0);
            ctx.point(series.of_app(place), per_second((of(now) - of(before)) * 8));
        }
        for &place in series.link_places.values() {
            let busy = |totals: &Totals, way: u32| totals.busy.get(&(2 * place + way)).map_or(0, |busy| busy.as_ps());
            let busier = (0..2).map(|way| busy(now, way) - busy(before, way)).max().unwrap_or(0);
            ctx.point(series.of_link(place), busier as f64 / self.period.as_ps() as f64);
            let MetricId(id) = series.of_link(place);
            ctx.point(MetricId(id + 1), summary.queues.get(&place).copied().unwrap_or(0) as f64);
        }
        // The last sample that there can be is the last one before the end of time.
        if ctx.now().checked_add(self.period).is_some() {
            ctx.schedule(self.period, Sample { period: self.period, before: Arc::new(summary.totals) });
        }
    }
}
