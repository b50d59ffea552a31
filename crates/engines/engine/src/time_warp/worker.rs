//! The loops of the workers from cut to cut. `time_warp/steps.rs` has the loops between two cuts.

use super::Crew;
use super::leader::Leader;
use super::optimism::Optimism;
use super::stalls::Stalls;
use super::steps::Steps;
use super::view::View;
use crate::peers::lost;
use crate::workers::{Alarm, lock, on_all_workers};

use parades_core::cut::Reached;
use parades_core::error::Error;
use parades_core::timesheet::Spent;
use parades_sync::barrier::Broken;
use parades_transport::Summary;

/// A worker.
struct Worker<'c, 'k> {
    crew: &'c Crew<'k>,
    /// Its number among the workers of this rank.
    number: usize,
    view: View,
    /// Its stalls, in a test.
    stalls: Option<Stalls>,
}

impl<'k> Crew<'k> {
    /// Runs all workers.
    pub(super) fn run(&self, mut leader: Leader<'k>) -> Result<Option<Reached<'k>>, Error> {
        let (workers, transport) = (self.ledgers.len(), &*self.seat.transport);
        let mut lead = || {
            let _alarm = Alarm(transport);
            Worker::start(self, 0).lead(&mut leader)
        };
        let follow = |number| {
            let _begun = self.timekeeper.begin(number);
            let _alarm = Alarm(transport);
            Worker::start(self, number).follow()
        };
        let end = on_all_workers(workers, self.settings.pinned, &|| transport.break_up(), &mut lead, &follow)?;
        end.map_err(|Broken| lost(transport))?;
        leader.conclude(self)
    }
}

impl<'c, 'k> Worker<'c, 'k> {
    /// Starts the LPs of a worker.
    fn start(crew: &'c Crew<'k>, number: usize) -> Self {
        crew.start(number);
        let view = View::new(Optimism::new(crew.sites.len(), crew.settings.ahead));
        let stalls = crew.settings.stalls.map(|seed| Stalls::new(seed, crew.first + number));
        Worker { crew, number, view, stalls }
    }

    /// Leads the other workers from cut to cut, until the run is over.
    fn lead(&mut self, leader: &mut Leader<'k>) -> Result<(), Broken> {
        loop {
            self.begin_cut()?;
            self.crew.timekeeper.spend(0, Spent::Cut, || leader.execute_cut(self.crew, &self.view))?;
            if self.end_cut()? {
                return Ok(());
            }
            if self.view.alone {
                self.take_steps(|steps| steps.go_on_alone(leader));
            } else {
                self.take_steps(|steps| steps.lead(leader))?;
            }
        }
    }

    /// Follows the leader from cut to cut, until the run is over.
    fn follow(&mut self) -> Result<(), Broken> {
        loop {
            self.begin_cut()?;
            if self.end_cut()? {
                return Ok(());
            }
            // While the leader goes on alone, the others wait at the next cut.
            if !self.view.alone {
                self.take_steps(|steps| steps.follow())?;
            }
        }
    }

    /// Deposits the worker's ledger, and waits for the other workers to do the same.
    fn begin_cut(&mut self) -> Result<(), Broken> {
        let mut site = lock(&self.crew.sites[self.crew.first + self.number]);
        assert!(site.uncommitted() == 0, "I5: at a cut everything is committed or rolled back");
        *lock(&self.crew.ledgers[self.number]) = Some(site.take_ledger());
        drop(site);
        self.crew.seat.transport.exchange(self.number, &Summary::NOTHING).map(drop)
    }

    /// Waits for the end of the leader's work, and reads the new orders. Returns true if the run is over.
    fn end_cut(&mut self) -> Result<bool, Broken> {
        self.crew.seat.transport.exchange(self.number, &Summary::NOTHING)?;
        let orders = *lock(&self.crew.orders);
        if !orders.over {
            self.view.begin_after_cut(orders, self.crew.sites.len(), &self.crew.settings);
        }
        Ok(orders.over)
    }

    /// Calls `act`, which takes the steps from here to the next cut. Meanwhile the worker holds its site.
    fn take_steps<T>(&mut self, act: impl FnOnce(Steps<'_, 'k>) -> T) -> T {
        let mut site = lock(&self.crew.sites[self.crew.first + self.number]);
        let world = self.crew.read_world();
        act(Steps {
            crew: self.crew,
            worker: self.number,
            site: &mut **site,
            world: &world,
            view: &mut self.view,
            stalls: self.stalls.as_mut(),
            batches: 0,
            idle: true,
        })
    }
}
