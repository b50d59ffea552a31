//! What a node of Chord does from its beginning to its end.

use super::message::Message;
use super::node::{Peer, Phase, Way};
use super::{Chord, Churn, Keys, Parameters};
use parades_core::event::LpId;
use parades_core::time::{Delay, Time};
use parades_process::{Node, Received};
use std::pin::pin;

type Here = Node<Chord>;

/// A node that joins and stays.
pub(super) async fn settled(node: Here) {
    wait_for_turn(node).await;
    live(node, Time::MAX).await;
}

/// A node that comes and goes.
pub(super) async fn restless(node: Here) {
    wait_for_turn(node).await;
    let Some(Churn { session, absence, crash, until }) = node.with_program(|chord| chord.parameters.churn) else { return };
    loop {
        let drawn = node.random(|rng| (rng.exponential_delay(session), rng.chance(crash), rng.exponential_delay(absence)));
        let (stay, crashes, absence) = drawn;
        let end = node.now().checked_add(stay).filter(|&end| end < until).unwrap_or(Time::MAX);
        if crashes && end < Time::MAX {
            let mut life = pin!(live(node, Time::MAX));
            node.within(end.since(node.now()), life.as_mut()).await;
        } else {
            live(node, end).await;
        }
        // Nobody reaches it now, and it forgets the ring.
        node.disconnect();
        node.with_state(|peer| {
            peer.forget();
            peer.books.departures += 1;
        });
        let back = node.now().checked_add(absence).map_or(until, |back| back.min(until));
        node.sleep_until(back).await;
        node.connect();
    }
}

/// Waits until it is this node's turn to join.
async fn wait_for_turn(node: Here) {
    let spacing = node.with_program(|chord| chord.parameters.spacing);
    if spacing > Delay::ZERO {
        node.sleep(Delay::from_ps(spacing.as_ps() * u64::from(node.id().0))).await;
    }
}

/// Joins, does what is due, and leaves at `end`.
async fn live(node: Here, end: Time) {
    let periods = node.with_program(|chord| {
        let Parameters { stabilise, fix_fingers, check_predecessor, look_up, .. } = chord.parameters;
        [stabilise, fix_fingers, check_predecessor, look_up]
    });
    let mut due = periods.map(|period| after(node, period));
    join(node).await;
    while node.now() < end {
        if let Some(received) = node.try_receive() {
            serve(node, received);
            continue;
        }
        let now = node.now();
        let Some(task) = due.iter().position(|&due| due <= now) else {
            let idle = node.with_program(|chord| chord.parameters.idle);
            node.sleep(idle).await;
            continue;
        };
        match task {
            0 => stabilise(node).await,
            1 => fix_a_finger(node).await,
            2 => check_predecessor(node).await,
            _ => look_up(node).await,
        }
        due[task] = after(node, periods[task]);
    }
    leave(node);
}

fn after(node: Here, period: Delay) -> Time {
    node.now().checked_add(period).unwrap_or(Time::MAX)
}

/// Sends to the node of an identifier.
#[inline]
fn send(node: Here, to: u32, message: Message) {
    let to = node.with(|chord, peer| {
        peer.books.messages += 1;
        chord.ring.lp(to)
    });
    node.send(to, message);
}

/// Answers a message that was not waited for, or passes it on.
#[inline]
fn serve(node: Here, received: Received<Message>) {
    let send = node.with(|chord, peer| {
        let (to, message) = peer.serve(&chord.ring, received.message)?;
        peer.books.messages += 1;
        Some((chord.ring.lp(to), message))
    });
    if let Some((to, message)) = send {
        node.send(to, message);
    }
}

/// Asks, and serves whatever else comes until the answer does; `None` if it does not come in time.
async fn ask(node: Here, whom: u32, question: impl FnOnce(&Peer) -> Message) -> Option<Message> {
    let (to, ticket, message, timeout) = node.with(|chord, peer| {
        peer.books.messages += 1;
        peer.ticket = peer.ticket.wrapping_add(1);
        (chord.ring.lp(whom), peer.ticket, question(peer), chord.parameters.timeout)
    });
    node.send(to, message);
    let mut timer = node.timer(timeout);
    while let Some(received) = node.receive_before(&mut timer).await {
        if received.message.answers(ticket) {
            return Some(received.message);
        }
        serve(node, received);
    }
    // It may be whom it asked that is gone, or somebody on the way; who is forgotten in vain is learned of again.
    node.with(|chord, peer| {
        peer.books.timeouts += 1;
        peer.suspect(&chord.ring, whom);
    });
    None
}

/// Comes into the ring; node 0 makes it.
async fn join(node: Here) {
    let first = node.with(|chord, peer| {
        peer.session = peer.session.wrapping_add(1);
        // The first node makes the ring; when it comes back it joins like any other, as all do that come back.
        let first = peer.session == 1 && node.id().0 == 0;
        peer.phase = if first || chord.parameters.nodes == 1 { Phase::Member } else { Phase::Joining };
        peer.books.joins += u32::from(peer.phase == Phase::Member);
        peer.phase == Phase::Member
    });
    let began = node.now();
    while !first {
        if node.with_state(|peer| peer.session > 1) {
            let (nodes, own) = (u64::from(node.nodes()), node.id().0);
            #[expect(clippy::cast_possible_truncation, reason = "below the number of nodes")]
            let other = node.random(|rng| rng.below(nodes - 1)) as u32;
            node.with(|chord, peer| peer.known = chord.ring.id(LpId(if other < own { other } else { other + 1 })));
        }
        let (known, request, timeout) = node.with(|chord, peer| {
            let request = Message::Join { newcomer: peer.id, session: peer.session, hops: 1, in_ring: false };
            (peer.known, request, chord.parameters.timeout)
        });
        send(node, known, request);
        let mut timer = node.timer(timeout);
        while let Some(received) = node.receive_before(&mut timer).await {
            if joined(node, &received.message) {
                let took = node.now().since(began);
                let metric = node.with_program(|chord| chord.ids.join_time);
                node.observe(metric, took.as_ps());
                // What came with the answer is served before it first sleeps.
                node.sleep(Delay::ZERO).await;
                return;
            }
            serve(node, received);
        }
        node.with(|chord, peer| {
            peer.books.timeouts += 1;
            if peer.session == 1 {
                // It is still told apart from those who come back: whom it knew may never have been in the ring.
                let _ = chord;
            }
        });
    }
}

/// Takes the answer to the request to join, if it is that.
fn joined(node: Here, message: &Message) -> bool {
    let Message::Joined { session, predecessor, successor } = *message else { return false };
    node.with(|chord, peer| {
        if session != peer.session {
            return false;
        }
        peer.phase = Phase::Member;
        peer.books.joins += 1;
        peer.predecessor = Some(predecessor);
        let successor = if successor == peer.id { predecessor } else { successor };
        peer.set_successors(&chord.ring, successor, &[]);
        true
    })
}

/// Asks its successor who comes before that, and tells who does of itself.
async fn stabilise(node: Here) {
    let (own, successor, predecessor) = node.with_state(|peer| (peer.id, peer.successor(), peer.predecessor));
    let notified = if successor == own {
        // Alone, as far as it knows, unless somebody has found it.
        node.with(|chord, peer| {
            let found = predecessor.filter(|&id| id != own);
            found.inspect(|&id| peer.set_successors(&chord.ring, id, &[]))
        })
    } else {
        let answer = ask(node, successor, |peer| Message::GetPredecessor { asker: own, ticket: peer.ticket }).await;
        let Some(Message::Predecessor { predecessor, successors, .. }) = answer else { return };
        node.with(|chord, peer| {
            // It may have learned of a nearer one while it waited.
            let still = peer.successor() == successor;
            if still { peer.stabilise(&chord.ring, predecessor, &successors) } else { Some(peer.successor()) }
        })
    };
    if let Some(successor) = notified.filter(|&id| id != own) {
        send(node, successor, Message::Notify { id: own });
    }
}

/// Looks up where a finger points.
async fn fix_a_finger(node: Here) {
    let Some((k, key)) = node.with(|chord, peer| {
        let k = peer.finger_to_fix(&chord.ring)?;
        Some((k, chord.ring.after(peer.id, 1 << k)))
    }) else {
        return;
    };
    if let Some((found, _)) = find(node, key).await {
        node.with(|chord, peer| peer.set_finger(&chord.ring, k, found));
    }
}

/// Asks its predecessor whether it is there, and forgets it if not.
async fn check_predecessor(node: Here) {
    let (own, predecessor) = node.with_state(|peer| (peer.id, peer.predecessor));
    if let Some(predecessor) = predecessor.filter(|&id| id != own) {
        ask(node, predecessor, |peer| Message::Ping { asker: own, ticket: peer.ticket }).await;
    }
}

/// Looks an identifier up.
async fn look_up(node: Here) {
    let (keys, bits) = node.with_program(|chord| (chord.parameters.keys, chord.ring.bits()));
    let drawn = node.random(|rng| if keys == Keys::Uniform { rng.next_u64() } else { rng.below(u64::from(bits)) });
    #[expect(clippy::cast_possible_truncation, reason = "random bits, and below 32")]
    let key = node.with(|chord, peer| match keys {
        Keys::Uniform => chord.ring.after(drawn as u32, 0),
        Keys::OwnFingers => peer.fingers[drawn as usize],
    });
    let began = node.now();
    let found = find(node, key).await;
    let took = node.now().since(began);
    let metrics = node.with(|chord, peer| {
        let Some((found, _)) = found else {
            peer.books.failed += 1;
            return None;
        };
        peer.books.answered += 1;
        if chord.is_settled(began) {
            peer.books.wrong += u32::from(found != chord.owner(key));
            peer.books.last = Some((key, found));
        }
        Some((chord.ids.hops, chord.ids.look_up_time))
    });
    if let (Some((hops_metric, time_metric)), Some((_, hops))) = (metrics, found) {
        node.observe(hops_metric, u64::from(hops));
        node.observe(time_metric, took.as_ps());
    }
}

/// The successor of a key, and how many nodes the question reached.
async fn find(node: Here, key: u32) -> Option<(u32, u16)> {
    let whom = match node.with(|chord, peer| peer.way(&chord.ring, key)) {
        Way::Here(successor) => return Some((successor, 0)),
        Way::Ask(whom) => whom,
    };
    let question = |peer: &Peer| Message::Find { key, asker: peer.id, ticket: peer.ticket, hops: 1 };
    match ask(node, whom, question).await? {
        Message::Found { successor, hops, .. } => Some((successor, hops)),
        _ => None,
    }
}

/// Tells its successor, then its predecessor, that it leaves.
fn leave(node: Here) {
    let (own, successor, predecessor) = node.with_state(|peer| (peer.id, peer.successor(), peer.predecessor));
    if successor != own {
        send(node, successor, Message::PredecessorLeaves { leaver: own, predecessor });
    }
    if let Some(predecessor) = predecessor.filter(|&id| id != own) {
        send(node, predecessor, Message::SuccessorLeaves { leaver: own, successor });
    }
}
