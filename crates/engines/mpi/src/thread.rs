//! The communicating thread.

use crate::framing::Incoming;
use crate::idle::Idle;
use crate::messenger::Messenger;
use crate::queues::Queues;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::{Duration, Instant};

/// The time that a rank which failed waits for the others to end, before it aborts the job. In this time rank 0
/// prints its message.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// The most bytes of one message. MPI counts in 31 bits.
const MESSAGE_MAX: usize = 16 << 20;

/// A request to the thread.
pub(crate) enum Request {
    /// Gathers these bytes of all ranks.
    Gather(Vec<u8>, Sender<Vec<Vec<u8>>>),
    /// Ends with this exit status.
    End(i32),
}

/// The state of the thread.
pub(crate) struct Thread<'a> {
    messenger: &'a dyn Messenger,
    queues: &'a Queues,
    /// By sender.
    incoming: Vec<Incoming>,
    /// By receiver: the streams that are sent now, and empty buffers between.
    outgoing: Vec<Vec<u8>>,
}

impl<'a> Thread<'a> {
    pub(crate) fn new(messenger: &'a dyn Messenger, queues: &'a Queues) -> Thread<'a> {
        let ranks = messenger.ranks();
        let incoming = (0..ranks).map(|_| Incoming::default()).collect();
        Thread { messenger, queues, incoming, outgoing: vec![Vec::new(); ranks] }
    }

    /// Sends and receives until all ranks have ended. Aborts the job if this rank has failed and another rank
    /// does not end.
    pub(crate) fn run(mut self, requests: &Receiver<Request>) {
        let mut idle = Idle::new();
        let mut deadline = None;
        loop {
            match requests.try_recv() {
                // The caller is gone if nobody receives.
                Ok(Request::Gather(mine, reply)) => drop(reply.send(self.messenger.gather_all(&mine))),
                Ok(Request::End(status)) => {
                    self.queues.close();
                    deadline = (status != 0).then(|| (now() + PATIENCE, status));
                }
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => {}
            }
            // This is read before the queues are sent, as they may hold the end marks of this rank.
            let all_have_ended = self.queues.all_have_ended();
            let has_sent = self.send();
            let has_received = receive(self.messenger, self.queues, &mut self.incoming);
            if all_have_ended {
                return;
            }
            if has_sent || has_received || self.queues.take_wanted() {
                idle = Idle::new();
                continue;
            }
            if let Some((deadline, status)) = deadline
                && now() > deadline
            {
                self.messenger.abort(status);
            }
            idle.wait();
        }
    }

    /// Sends all waiting bytes, as one message for each rank unless they are too many. Receives meanwhile.
    /// Returns true if bytes waited.
    fn send(&mut self) -> bool {
        let Thread { messenger, queues, incoming, outgoing } = self;
        if !queues.take_outgoing(outgoing) {
            return false;
        }
        let messages: Vec<_> = outgoing
            .iter()
            .enumerate()
            .flat_map(|(to, stream)| stream.chunks(MESSAGE_MAX).map(move |message| (to, message)))
            .collect();
        let mut idle = Idle::new();
        messenger.send_all(&messages, &mut || {
            if receive(*messenger, queues, incoming) { idle = Idle::new() } else { idle.wait() }
        });
        outgoing.iter_mut().for_each(Vec::clear);
        true
    }
}

/// Receives the messages that have arrived. Returns true if there were any.
fn receive(messenger: &dyn Messenger, queues: &Queues, incoming: &mut [Incoming]) -> bool {
    let mut any = false;
    while let Some((from, message)) = messenger.receive() {
        any = true;
        let completed = incoming[from].accept(message);
        queues.add_arrived(from, completed.stream);
        if completed.ended {
            queues.add_end(from);
        }
    }
    if any {
        queues.ring();
    }
    any
}

#[expect(clippy::disallowed_methods, reason = "only the time until the job is aborted depends on it")]
fn now() -> Instant {
    Instant::now()
}
