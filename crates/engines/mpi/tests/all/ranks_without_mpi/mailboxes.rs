//! Ranks that are threads, in the place of MPI. A mailbox holds two messages, so senders must wait.

use parades_mpi::Messenger;
use std::collections::VecDeque;
use std::sync::{Arc, Barrier, Mutex, PoisonError};

/// Messages that a mailbox holds. A sender waits for the receiver, as MPI makes it wait with large messages.
const ROOM: usize = 2;

/// Messages with their senders.
type Mailbox = Mutex<VecDeque<(usize, Vec<u8>)>>;

struct Post {
    /// By receiver.
    mailboxes: Vec<Mailbox>,
    /// By rank: its part of the gathering.
    gathered: Mutex<Vec<Vec<u8>>>,
    barrier: Barrier,
    /// The status of the first abort.
    aborted: Mutex<Option<i32>>,
}

/// One rank's end.
#[derive(Clone)]
pub(crate) struct Mailboxes {
    rank: usize,
    post: Arc<Post>,
}

impl Mailboxes {
    pub(crate) fn connect(ranks: usize) -> Vec<Mailboxes> {
        let post = Arc::new(Post {
            mailboxes: (0..ranks).map(|_| Mutex::default()).collect(),
            gathered: Mutex::new(vec![Vec::new(); ranks]),
            barrier: Barrier::new(ranks),
            aborted: Mutex::default(),
        });
        (0..ranks).map(|rank| Mailboxes { rank, post: Arc::clone(&post) }).collect()
    }

    pub(crate) fn aborted(&self) -> Option<i32> {
        *self.post.aborted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Messenger for Mailboxes {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.post.mailboxes.len()
    }

    fn machine(&self) -> String {
        format!("machine of rank {}", self.rank)
    }

    fn send_all(&self, messages: &[(usize, &[u8])], wait: &mut dyn FnMut(&mut dyn FnMut() -> bool)) {
        for &(to, bytes) in messages {
            wait(&mut || self.post(to, bytes));
        }
    }

    fn receive(&self) -> Option<(usize, Vec<u8>)> {
        self.post.mailboxes[self.rank].lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    fn gather_all(&self, mine: &[u8]) -> Vec<Vec<u8>> {
        self.post.gathered.lock().unwrap_or_else(PoisonError::into_inner)[self.rank] = mine.to_vec();
        self.post.barrier.wait();
        let all = self.post.gathered.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.post.barrier.wait();
        all
    }

    fn abort(&self, status: i32) -> ! {
        self.post.aborted.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(status);
        panic!("MPI ends the process here")
    }
}

impl Mailboxes {
    /// Puts a message into a mailbox, if it has room.
    fn post(&self, to: usize, bytes: &[u8]) -> bool {
        let mut mailbox = self.post.mailboxes[to].lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = mailbox.len() < ROOM;
        if has_room {
            mailbox.push_back((self.rank, bytes.to_vec()));
        }
        has_room
    }
}
