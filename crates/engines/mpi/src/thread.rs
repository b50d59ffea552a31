//! The communicating thread.

use crate::framing::Incoming;
use crate::idle::Idle;
use crate::messenger::Messenger;
use crate::queues::Queues;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::{Duration, Instant};

/// The time that a rank which failed waits for the others to end, before it aborts the job. In this time rank
/// 0 prints its message.
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
    /// After this time the thread aborts the job, with this exit status. Set once this rank has failed.
    deadline: Option<(Instant, i32)>,
    /// True once all ranks have ended.
    is_over: bool,
}

impl<'a> Thread<'a> {
    pub(crate) fn new(messenger: &'a dyn Messenger, queues: &'a Queues) -> Thread<'a> {
        let ranks = messenger.ranks();
        let incoming = (0..ranks).map(|_| Incoming::default()).collect();
        Thread { messenger, queues, incoming, outgoing: vec![Vec::new(); ranks], deadline: None, is_over: false }
    }

    /// Sends and receives until all ranks have ended. Aborts the job if this rank has failed and another rank
    /// does not end.
    pub(crate) fn run(mut self, requests: &Receiver<Request>) {
        let idle = Idle::new();
        while !self.is_over {
            idle.until(|| self.step(requests, &idle));
        }
    }

    /// Handles a request, and sends and receives once. Returns false if there was nothing to do.
    fn step(&mut self, requests: &Receiver<Request>, idle: &Idle) -> bool {
        match requests.try_recv() {
            // The caller is gone if nobody receives.
            Ok(Request::Gather(mine, reply)) => drop(reply.send(self.messenger.gather_all(&mine))),
            Ok(Request::End(status)) => {
                self.queues.close();
                self.deadline = (status != 0).then(|| (now() + PATIENCE, status));
            }
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => {}
        }
        // This is read before the queues are sent, as they may hold the end marks of this rank.
        self.is_over = self.queues.all_have_ended();
        let has_sent = self.send(idle);
        let has_received = receive(self.messenger, self.queues, &mut self.incoming);
        if self.is_over || has_sent || has_received || self.queues.take_wanted() {
            return true;
        }
        if let Some((deadline, status)) = self.deadline
            && now() > deadline
        {
            self.messenger.abort(status);
        }
        false
    }

    /// Sends all waiting bytes, as one message for each rank unless they are too many. Receives meanwhile.
    /// Returns true if bytes waited.
    fn send(&mut self, idle: &Idle) -> bool {
        let Thread { messenger, queues, incoming, outgoing, .. } = self;
        if !queues.take_outgoing(outgoing) {
            return false;
        }
        let messages: Vec<_> = outgoing
            .iter()
            .enumerate()
            .flat_map(|(to, stream)| stream.chunks(MESSAGE_MAX).map(move |message| (to, message)))
            .collect();
        messenger.send_all(&messages, &mut |are_sent| {
            // A message that arrives ends the wait, so that the next one begins with yields.
            let mut sent = are_sent();
            while !sent {
                idle.until(|| {
                    sent = are_sent();
                    sent || receive(*messenger, queues, incoming)
                });
            }
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
