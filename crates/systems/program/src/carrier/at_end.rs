//! The end of a run, as a carrier sees it.

use super::Layout;
use parades_core::event::LpId;
use parades_core::metrics::{MetricId, Metrics};
use parades_core::run::End;

/// The messages that a carrier holds at an LP at the end of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Messages that would have arrived if the run had gone on.
    pub on_their_way: u64,
    /// Messages that would never have arrived.
    pub stuck: u64,
    /// Messages that have not been taken out of the carrier's mailboxes.
    pub unread: u64,
    /// Messages that were not delivered.
    pub failed: u64,
    /// True if a timer of the LP is still set, so that something may still happen at the nodes.
    pub is_active: bool,
}

/// An LP at the end of the run: the place to which a carrier adds the LP's part of its metrics.
#[derive(Debug)]
pub struct AtEnd<'a> {
    /// The LP.
    pub lp: LpId,
    /// The ids of nodes and of the carrier's own LPs.
    pub layout: Layout,
    /// The end of the run.
    pub end: &'a End,
    /// The ids of the carrier's metrics, as [`super::Carrier::metrics`] has returned them.
    pub ids: &'a [MetricId],
    /// The metrics.
    pub metrics: &'a mut Metrics,
}
