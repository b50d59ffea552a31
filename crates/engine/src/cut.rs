//! A run at a cut: all that another engine needs to go on with it.

use crate::course::Course;
use parades_core::lp::Lp;
use parades_core::metrics::Metrics;
use parades_core::model::Model;
use parades_core::pending::Leftover;
use parades_core::run::Outcome;
use parades_core::world::World;

/// Everything before the bound of the course has been executed, global events at that very time included, and nothing else.
pub(crate) struct Cut<'a, M: Model> {
    pub(crate) course: Course<'a, M>,
    pub(crate) world: World,
    /// In the order of ids.
    pub(crate) lps: Vec<Lp<M::State>>,
    pub(crate) pending: Leftover<M::Message>,
    /// What the LPs have recorded.
    pub(crate) metrics: Metrics,
    /// What the engine that has left it tells of itself.
    pub(crate) engine_stats: Vec<(&'static str, f64)>,
}

/// How an engine comes to the end of its part.
pub(crate) enum Ending<'a, M: Model> {
    /// The run is over.
    Over(Box<Outcome>),
    /// Another is to go on.
    Left(Box<Cut<'a, M>>),
}
