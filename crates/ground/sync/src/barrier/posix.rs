//! A barrier of a mutex and a condition variable.

use super::{Barrier, Broken};
use crate::shim::{Condvar, Mutex};

const UNPOISONED: &str = "nothing panics under this lock";

#[derive(Debug)]
pub(super) struct Posix {
    parties: usize,
    state: Mutex<State>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The number of parties that have arrived at the present crossing.
    arrived: usize,
    /// The number of completed crossings.
    crossings: u64,
    broken: bool,
}

impl Posix {
    pub(super) fn new(parties: usize) -> Posix {
        Posix { parties, state: Mutex::new(State::default()), released: Condvar::new() }
    }
}

impl Barrier for Posix {
    fn wait(&self, _party: usize) -> Result<(), Broken> {
        let mut state = self.state.lock().expect(UNPOISONED);
        if state.broken {
            return Err(Broken);
        }
        state.arrived += 1;
        if state.arrived == self.parties {
            state.arrived = 0;
            state.crossings += 1;
            drop(state);
            self.released.notify_all();
            return Ok(());
        }
        let before = state.crossings;
        while state.crossings == before {
            if state.broken {
                return Err(Broken);
            }
            state = self.released.wait(state).expect(UNPOISONED);
        }
        Ok(())
    }

    fn break_up(&self) {
        self.state.lock().expect(UNPOISONED).broken = true;
        self.released.notify_all();
    }
}
