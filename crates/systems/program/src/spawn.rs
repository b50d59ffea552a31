//! Handles of processes: waiting for their end, and killing them.

use crate::call::ProcessId;
use crate::desk::{Worker, now_or_later, with_parts};
use crate::polling::over;
use crate::table::{Code, Killed, State, Table};
use crate::wait::{Place, Wait, Waiter};
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

pin_project_lite::pin_project! {
    /// A process that stores its result for its handle.
    struct WithResult<F> {
        #[pin]
        future: F,
    }
}

impl<F: Future<Output: Send + 'static>> Future for WithResult<F> {
    type Output = ();
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.project().future.poll(context).map(|result| {
            let result: Box<dyn Any + Send> = Box::new(result);
            // A result that nobody asks for is dropped outside the closure, where its destructor may use the
            // node.
            let _unwanted = with_parts(|worker, table| {
                let process = &mut table.processes[worker.current as usize];
                if process.held { process.outcome.replace(Ok(result)) } else { Some(Ok(result)) }
            });
        })
    }
}

/// Makes the code of a process.
pub(crate) fn code<F>(process: F) -> Code
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    Box::pin(WithResult { future: process })
}

/// The handle of a spawned process. Await it to wait for the end of the process and get its result. If the
/// handle is dropped the process goes on.
pub struct Handle<T> {
    place: Place,
    serial: u32,
    result: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("process", &self.place).finish_non_exhaustive()
    }
}

impl<T> Handle<T> {
    pub(crate) fn new(place: Place, serial: u32) -> Handle<T> {
        Handle { place, serial, result: PhantomData }
    }

    /// Notes that the process may wait forever.
    pub(crate) fn make_daemon(&self, table: &mut Table) {
        if let Some(process) = table.process(self.place, self.serial) {
            process.is_daemon = true;
        }
    }

    /// Returns the name of the process in the whole run.
    #[track_caller]
    pub fn process_id(&self) -> ProcessId {
        let (place, serial) = (self.place, self.serial);
        with_parts(|worker, _| ProcessId { node: worker.id, place, serial })
    }

    /// Returns whether the process has neither ended nor been killed.
    #[track_caller]
    pub fn is_alive(&self) -> bool {
        with_parts(|_, table| {
            table.process(self.place, self.serial).is_some_and(|process| process.state == State::Alive)
        })
    }

    /// Ends the process where it waits. Its local state is dropped, and a process that waits for its end gets
    /// [`Killed`]. Does nothing if the process is over. A process that kills itself ends when it next waits.
    #[track_caller]
    pub fn kill(&self) {
        // The code is dropped outside the closure, where its destructors may use the node.
        let _code = with_parts(|worker, table| {
            table.process(self.place, self.serial)?;
            kill(worker, table, self.place)
        });
    }
}

/// Ends the process at a place, if it is alive. Returns its code, which the caller drops.
pub(crate) fn kill(worker: &mut Worker, table: &mut Table, place: Place) -> Option<Code> {
    let process = table.processes.get_mut(place as usize).filter(|process| process.state == State::Alive)?;
    let code = process.code.take();
    match code {
        Some(_) => over(worker, table, place, Err(Killed)),
        None => process.state = State::Doomed,
    }
    code
}

/// Ends all processes of the node except one. Returns their code, which the caller drops.
pub(crate) fn kill_all(worker: &mut Worker, table: &mut Table, except: Option<Place>) -> Vec<Code> {
    let places = 0..u32::try_from(table.processes.len()).expect("places are u32");
    places.filter(|&place| Some(place) != except).filter_map(|place| kill(worker, table, place)).collect()
}

/// Ends all processes of the node except the one that is being polled.
#[track_caller]
pub(crate) fn kill_others() {
    let _code: Vec<Code> = with_parts(|worker, table| kill_all(worker, table, Some(worker.current)));
}

impl<T: 'static> Future for Handle<T> {
    type Output = Result<T, Killed>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T, Killed>> {
        let (place, serial) = (self.place, self.serial);
        let (waits, outcome) = with_parts(|worker, table| {
            let process = table.process(place, serial).expect("a handle holds its process");
            if process.state == State::Over {
                return (false, process.outcome.take());
            }
            worker.waits(table, Wait::End(place));
            if let Some(joiner) = table.joiner(place) {
                joiner.follow(context, worker);
            } else {
                let ticket = table.ticket();
                let waker = Waiter::waker(context, worker.own_waker);
                table.join(place, Waiter { place: worker.current, ticket, waker });
            }
            (true, None)
        });
        match outcome {
            None if waits => Poll::Pending,
            Some(Ok(result)) => Poll::Ready(Ok(*result.downcast().expect("the process's own result"))),
            Some(Err(Killed)) => Poll::Ready(Err(Killed)),
            None => panic!("a process's result was asked for twice: await its handle once"),
        }
    }
}

impl<T> Drop for Handle<T> {
    fn drop(&mut self) {
        let (place, serial) = (self.place, self.serial);
        // A result that nobody took is dropped outside the closure, where its destructor may use the node.
        now_or_later(move |_, table| {
            let process = table.process(place, serial)?;
            process.held = false;
            let (is_over, unwanted) = (process.state == State::Over, process.outcome.take());
            if is_over {
                table.free(place);
            }
            Some((unwanted, table.take_joiner(place)))
        });
    }
}
