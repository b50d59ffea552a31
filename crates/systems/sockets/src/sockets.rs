//! The sockets of a node, and the process that moves their packets.

use crate::packet::Packet;
use crate::table::{Counts, SocketTable};
use parades_core::event::LpId;
use parades_core::time::Time;
use parades_program::{Node, Program, Receive, Sleep, Start};
use parades_tcp::settings::Settings;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// The sockets of a node. Clone this handle for each process that opens sockets.
///
/// A process named `sockets`, which begins with them, sends and receives the packets of the node. It is the
/// only one that may receive messages at the node. All sockets act in virtual time: a write that reaches the
/// network does so at the very instant of the call.
///
/// `Settings` are those of TCP connections that are given no others: [`Settings::linux`], [`Settings::ns3`],
/// or any choice of fields.
#[derive(Clone)]
pub struct Sockets(Arc<Mutex<SocketTable>>);

impl fmt::Debug for Sockets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sockets").finish_non_exhaustive()
    }
}

impl Sockets {
    /// Gives sockets to a node that starts up. Processes that are begun after this call can use them at once.
    pub fn start<P: Program<Message = Packet>>(start: &mut Start<'_, P>, settings: Settings) -> Sockets {
        let sockets = Sockets::new(start.id(), start.nodes(), settings, start.rng().next_u64());
        let table = sockets.clone();
        start.spawn_daemon("sockets", |node| Daemon::new(node, table));
        sockets
    }

    /// Gives sockets to a node that is running, for example after a crash ([`Node::kill_others`]). Segments
    /// of connections from before the crash are answered with resets.
    pub fn restart<P: Program<Message = Packet>>(node: Node<P>, settings: Settings) -> Sockets {
        let sockets = Sockets::new(node.id(), node.nodes(), settings, node.random(|rng| rng.next_u64()));
        let table = sockets.clone();
        node.spawn_daemon("sockets", |node| Daemon::new(node, table));
        sockets
    }

    fn new(node: LpId, nodes: u32, settings: Settings, seed: u64) -> Sockets {
        Sockets(Arc::new(Mutex::new(SocketTable::new(node, nodes, settings, seed))))
    }

    /// Returns the counts of packets.
    pub fn counts(&self) -> Counts {
        self.lock().counts
    }

    /// Returns the settings of connections that are given no others.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.lock().settings)
    }

    /// Acts on the table, and then wakes the processes that can go on.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut SocketTable) -> T) -> T {
        let mut table = self.lock();
        let result = act(&mut table);
        let woken = table.take_woken();
        drop(table);
        woken.into_iter().for_each(Waker::wake);
        result
    }

    /// The table is only used by the processes of one node, which run one at a time. So nobody ever waits.
    fn lock(&self) -> MutexGuard<'_, SocketTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The process that sends and receives packets, and waits for timers. It never ends.
struct Daemon<P: Program> {
    node: Node<P>,
    sockets: Sockets,
    receive: Receive<P>,
    timer: Option<Sleep>,
}

impl<P: Program<Message = Packet>> Daemon<P> {
    fn new(node: Node<P>, sockets: Sockets) -> Daemon<P> {
        Daemon { node, sockets, receive: node.receive(), timer: None }
    }

    /// Lets the sockets act on everything that has happened by now. Returns the time of the next timer.
    fn act(&mut self, now: Time, context: &mut Context<'_>) -> Time {
        let Daemon { node, sockets, receive, .. } = self;
        let mut received = Vec::new();
        while let Poll::Ready(message) = Pin::new(&mut *receive).poll(context) {
            received.push(message);
            *receive = node.receive();
        }
        let (mut out, due) = sockets.with(|table| {
            table.close_dropped(now);
            for message in received {
                table.on_packet(now, message.from, &message.message);
            }
            table.on_time(now);
            let (out, due) = (table.take_out(), table.due());
            table.set_daemon(context.waker(), due);
            (out, due)
        });
        if !out.is_empty() {
            node.with(|here| out.drain(..).for_each(|(to, packet)| _ = here.send(to, packet)));
        }
        sockets.with(|table| table.give_back(out));
        due
    }
}

impl<P: Program<Message = Packet>> Future for Daemon<P> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let now = parades_program::now();
        let due = self.act(now, context);
        if self.timer.as_ref().map_or(Time::MAX, Sleep::due) != due {
            self.timer = (due < Time::MAX).then(|| self.node.timer(due.since(now)));
        }
        if let Some(timer) = &mut self.timer
            && Pin::new(timer).poll(context).is_ready()
        {
            // It was due before, and everything that was due has been done.
            self.timer = None;
            context.waker().wake_by_ref();
        }
        parades_program::waits_for("packets");
        Poll::Pending
    }
}
