//! The solution of many components by several threads, each of which has a share of them.

use super::fill::{Problem, Workspace};
use super::select::Selection;
use super::{Constraint, Status, System, Variable};
use parades_sync::help::{self, Tasks};
use std::mem::take;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of variables of all components from which help is asked for. It takes about as long to solve as
/// to wake a worker some times.
const HELPED_MIN: usize = 1_000;

/// The working memory of each thread that solves components.
#[derive(Clone, Debug, Default)]
pub(super) struct Workspaces(Vec<Workspace>);

impl Workspaces {
    /// Returns the working memory of one thread.
    pub(super) fn first(&mut self) -> &mut Workspace {
        if self.0.is_empty() {
            self.0.push(Workspace::default());
        }
        &mut self.0[0]
    }

    /// Takes the rates that were found, in the order of the components.
    pub(super) fn take_rates(&mut self) -> impl Iterator<Item = (u32, f64)> {
        self.0.iter_mut().flat_map(|workspace| workspace.rates.drain(..))
    }
}

/// A system while several threads solve its components.
struct Shared {
    constraints: Vec<Constraint>,
    statuses: Vec<Status>,
    variables: Vec<Variable>,
    selection: Selection,
    precision: f64,
    /// The components of each share, and the working memory for it.
    shares: Vec<(Range<usize>, Mutex<Workspace>)>,
}

impl Tasks for Shared {
    fn execute(&self, task: u32) {
        let Shared { constraints, statuses, variables, selection, precision, shares } = self;
        let (components, workspace) = &shares[task as usize];
        let problem = Problem { constraints, statuses, variables, precision: *precision };
        let mut workspace = workspace.lock().unwrap_or_else(PoisonError::into_inner);
        selection.fill(components.clone(), problem, &mut workspace);
    }
}

impl System {
    /// Solves the selected components with the help of other threads, if that pays. Returns false, and does
    /// nothing, otherwise.
    pub(super) fn fill_with_help(&mut self) -> bool {
        if self.selection.components.len() < 2 || self.selection.variables.len() < HELPED_MIN {
            return false;
        }
        let threads = help::threads();
        if threads < 2 {
            return false;
        }
        let components = self.selection.shares(threads);
        let mut workspaces = take(&mut self.workspaces.0);
        workspaces.resize_with(components.len(), Workspace::default);
        let count = u32::try_from(components.len()).expect("no more than threads");
        let shared = Arc::new(Shared {
            constraints: take(&mut self.constraints),
            statuses: take(&mut self.statuses),
            variables: take(&mut self.variables),
            selection: take(&mut self.selection),
            precision: self.precision.0,
            shares: components.into_iter().zip(workspaces.into_iter().map(Mutex::new)).collect(),
        });
        help::execute(count, &shared);
        let shared = Arc::into_inner(shared).expect("all tasks are done");
        (self.constraints, self.statuses, self.variables) = (shared.constraints, shared.statuses, shared.variables);
        self.selection = shared.selection;
        let open =
            |(_, workspace): (_, Mutex<Workspace>)| workspace.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.workspaces.0 = shared.shares.into_iter().map(open).collect();
        true
    }
}

impl Selection {
    /// Deals the components out, in their order, in at most `count` shares of about as many variables.
    fn shares(&self, count: usize) -> Vec<Range<usize>> {
        let (all, mut shares, mut from) = (self.variables.len(), Vec::new(), 0);
        for (number, component) in self.components.iter().enumerate() {
            let is_last = number + 1 == self.components.len();
            if is_last || component.variables.end * count >= all * (shares.len() + 1) {
                shares.push(from..number + 1);
                from = number + 1;
            }
        }
        shares
    }
}
