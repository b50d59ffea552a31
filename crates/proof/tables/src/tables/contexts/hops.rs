//! A token that hops from node to node. Each node waits for the token, so each event ends one wait and begins
//! another.

use parades_carriers::Constant;
use parades_core::error::Error;
use parades_core::prelude::*;
use parades_program::{Node, Processes, Program, Stack, Start};
use std::sync::{Mutex, PoisonError};

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A logical process whose handler passes the token on: the bare event.
    Bare,
    /// An `async` process.
    Async,
    /// A process on a stack of its own.
    On(Stack),
}

/// The measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Found {
    /// The nanoseconds of a hop.
    pub(super) ns: f64,
    /// The bytes of a node, when all nodes wait.
    pub(super) bytes: f64,
}

/// The hops of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hops {
    pub(super) nodes: u32,
    /// The number of hops before the measurement. They wake this number of nodes once, so that the memory of
    /// these nodes exists.
    pub(super) first: u64,
    /// The number of measured hops.
    pub(super) measured: u64,
}

/// The virtual time of a hop.
const HOP: Delay = Delay::from_us(1);

impl Hops {
    /// Returns the next node. It is far away, and each node has its turn.
    fn next(self, node: LpId) -> LpId {
        // The step is about the golden section, and coprime to the powers of ten.
        let step = (u64::from(self.nodes) * 618 / 1000) | 1;
        let step = if step.is_multiple_of(5) { step + 2 } else { step };
        let next = (u64::from(node.0) + step) % u64::from(self.nodes);
        LpId(u32::try_from(next).expect("below the number of nodes"))
    }

    fn last(self) -> u64 {
        self.first + self.measured
    }
}

/// The readings of clock and memory.
struct Watch {
    hops: Hops,
    memory: fn() -> u64,
    clock: fn() -> f64,
    before: u64,
    at: Mutex<(f64, f64, u64)>,
}

impl Watch {
    fn new(hops: Hops, memory: fn() -> u64, clock: fn() -> f64) -> Watch {
        Watch { hops, memory, clock, before: memory(), at: Mutex::default() }
    }

    /// Notes that the token has made this number of hops. Returns true if it goes on.
    #[inline]
    fn hopped(&self, hops: u64) -> bool {
        if hops == self.hops.first || hops == self.hops.last() {
            self.look(hops == self.hops.first);
        }
        hops < self.hops.last()
    }

    #[cold]
    fn look(&self, begins: bool) {
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        if begins {
            at.2 = (self.memory)();
            at.0 = (self.clock)();
        } else {
            at.1 = (self.clock)();
        }
    }

    fn found(&self) -> Found {
        let (begin, end, memory) = *self.at.lock().unwrap_or_else(PoisonError::into_inner);
        Found {
            ns: (end - begin) * 1e9 / self.hops.measured as f64,
            bytes: memory.saturating_sub(self.before) as f64 / f64::from(self.hops.nodes),
        }
    }
}

/// Runs the token and returns the cost of a hop and of a node. `memory` returns the bytes that this process
/// holds, `clock` the seconds.
pub(super) fn run(kind: Kind, hops: Hops, memory: fn() -> u64, clock: fn() -> f64) -> Result<Found, Error> {
    let watch = Watch::new(hops, memory, clock);
    let until = Time::ZERO.checked_add(Delay::from_us(hops.last() + 10)).unwrap_or(Time::MAX);
    let options = RunOptions::until(until);
    if kind == Kind::Bare {
        let model = Bare { watch };
        parades_engine::sequential::run(&model, options)?;
        return Ok(model.watch.found());
    }
    let model = Processes::new(Waiting { watch, kind, carrier: Constant::new(HOP) });
    parades_engine::sequential::run(&model, options)?;
    Ok(model.program().watch.found())
}

struct Bare {
    watch: Watch,
}

impl Model for Bare {
    type State = u64;
    type Message = u64;
    type Global = NoGlobal;

    fn lps(&self) -> u32 {
        self.watch.hops.nodes
    }

    fn channels(&self) -> Channels {
        Channels::whole(HOP)
    }

    fn start(&self, ctx: &mut Context<'_, Bare>) -> u64 {
        if ctx.id() == LpId(0) {
            ctx.send_to(LpId(0), HOP, 0);
        }
        0
    }

    fn handle(&self, state: &mut u64, event: Body<&u64>, ctx: &mut Context<'_, Bare>) {
        if let Body::Message(&hops) = event {
            *state += 1;
            if self.watch.hopped(hops) {
                ctx.send_to(self.watch.hops.next(ctx.id()), HOP, hops + 1);
            }
        }
    }
}

struct Waiting {
    watch: Watch,
    kind: Kind,
    carrier: Constant,
}

/// Passes the token on.
#[inline]
fn pass(node: Node<Waiting>, hops: u64) {
    node.with(|here| {
        *here.state += 1;
        let watch = &here.program.watch;
        if watch.hopped(hops) {
            let next = watch.hops.next(here.id());
            here.send(next, hops + 1);
        }
    });
}

impl Program for Waiting {
    type Message = u64;
    type State = u64;
    type Carrier = Constant;

    fn nodes(&self) -> u32 {
        self.watch.hops.nodes
    }

    fn carrier(&self) -> &Constant {
        &self.carrier
    }

    fn start(&self, start: &mut Start<'_, Waiting>) -> u64 {
        let begins = start.id() == LpId(0);
        match self.kind {
            Kind::On(stack) => start.spawn_on(stack, "hop", move |node| {
                if begins {
                    pass(node, 0);
                }
                loop {
                    let hops = node.wait(node.receive()).message;
                    pass(node, hops);
                }
            }),
            _ => start.spawn("hop", move |node| async move {
                if begins {
                    pass(node, 0);
                }
                loop {
                    let hops = node.receive().await.message;
                    pass(node, hops);
                }
            }),
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_comes_to_every_node_before_it_comes_to_one_again() {
        for nodes in [1000, 10_000, 100_000, 1_000_000] {
            let hops = Hops { nodes, first: 0, measured: 1 };
            let (mut node, mut seen) = (LpId(0), vec![false; nodes as usize]);
            for _ in 0..nodes {
                assert!(!std::mem::replace(&mut seen[node.0 as usize], true), "{nodes} nodes: {node:?}");
                node = hops.next(node);
            }
        }
    }

    #[test]
    fn time_is_taken_from_the_first_measured_hop_to_the_last() {
        use std::cell::Cell;
        thread_local!(static NOW: Cell<f64> = const { Cell::new(0.0) });
        fn clock() -> f64 {
            NOW.replace(NOW.get() + 1.0)
        }
        for kind in [Kind::Bare, Kind::Async, Kind::On(Stack::SLAB)] {
            if cfg!(not(target_os = "linux")) && kind == Kind::On(Stack::SLAB) {
                continue;
            }
            let hops = Hops { nodes: 1000, first: 100, measured: 1000 };
            let found = run(kind, hops, || 0, clock).expect("it can run");
            assert!(
                (found.ns - 1e6).abs() < 1e-3,
                "{kind:?}: the clock was looked at twice, a second apart, for 1000 hops: {found:?}"
            );
        }
    }
}
