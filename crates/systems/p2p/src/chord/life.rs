//! What a node of Chord does from its beginning to its end.

use super::message::Message;
use super::node::{Peer, Phase, Way};
use super::{Chord, Churn, Keys, Parameters};
use parades_core::event::LpId;
use parades_core::time::{Delay, Time};
use parades_program::{Carrier, Node, Received};
use std::ops::ControlFlow;
use std::pin::pin;

/// How often a node asks in vain to join before it makes a ring of its own, where nodes come and go.
const TRIES: u32 = 3;

type Here<'a, N> = parades_program::Here<'a, Chord<N>>;

/// A node that comes and goes.
pub(super) async fn restless<N: Carrier<Message>>(node: Node<Chord<N>>) {
    wait_for_turn(node).await;
    let Some(Churn { session, absence, crash, until }) = node.with_program(|chord| chord.parameters.churn) else {
        return;
    };
    loop {
        let drawn =
            node.random(|rng| (rng.exponential_delay(session), rng.chance(crash), rng.exponential_delay(absence)));
        let (stay, crashes, absence) = drawn;
        let end = node.now().checked_add(stay).filter(|&end| end < until).unwrap_or(Time::MAX);
        if crashes && end < Time::MAX {
            let mut life = pin!(live(node, Time::MAX, false));
            node.within(end.since(node.now()), life.as_mut()).await;
        } else {
            live(node, end, false).await;
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
async fn wait_for_turn<N: Carrier<Message>>(node: Node<Chord<N>>) {
    let spacing = node.with_program(|chord| chord.parameters.spacing);
    if spacing > Delay::ZERO {
        node.sleep(Delay::from_ps(spacing.as_ps() * u64::from(node.id().0))).await;
    }
}

/// What a node does next.
enum Next {
    Task(usize),
    Sleep(Delay),
    Leave,
}

/// Joins, when it is this node's turn if it has to wait for that, does what is due, and leaves at `end`, or as soon after it as it can; it stays if that is
/// not before nodes cease to go.
pub(super) async fn live<N: Carrier<Message>>(node: Node<Chord<N>>, end: Time, in_turn: bool) {
    if in_turn {
        wait_for_turn(node).await;
    }
    let mut due = node.with(|here| {
        let now = here.now();
        periods(here.program.parameters()).map(|period| after(now, period))
    });
    join(node).await;
    if node.with_program(|chord| chord.parameters.fingers_at_once) {
        fix_all_fingers(node).await;
    }
    loop {
        let next = node.with(|here| {
            while let Some(received) = here.try_receive() {
                serve(here, received);
            }
            let now = here.now();
            match due.iter().position(|&due| due <= now) {
                // It may be late by then, and who is there at last stays.
                _ if now >= end && here.program.parameters.churn.is_some_and(|churn| now < churn.until) => Next::Leave,
                Some(task) => Next::Task(task),
                None => Next::Sleep(here.program.parameters.idle),
            }
        });
        let task = match next {
            Next::Leave => return leave(node),
            Next::Sleep(idle) => {
                node.sleep(idle).await;
                continue;
            }
            Next::Task(task) => task,
        };
        match task {
            0 => stabilise(node).await,
            1 => fix_a_finger(node).await,
            2 => check_predecessor(node).await,
            _ => look_up(node).await,
        }
        due[task] = node.with(|here| after(here.now(), periods(here.program.parameters())[task]));
    }
}

/// The periods of what a node does, in the order in which it is done if several are due.
fn periods(parameters: &Parameters) -> [Delay; 4] {
    let Parameters { stabilise, fix_fingers, check_predecessor, look_up, .. } = *parameters;
    [stabilise, fix_fingers, check_predecessor, look_up]
}

fn after(now: Time, period: Delay) -> Time {
    now.checked_add(period).unwrap_or(Time::MAX)
}

/// Sends to the node of an identifier.
#[inline]
fn send<N: Carrier<Message>>(here: &mut Here<'_, N>, to: u32, message: Message) {
    here.state.books.messages += 1;
    here.send(here.program.ring.lp(to), message);
}

/// Answers a message that was not waited for, or passes it on.
#[inline]
fn serve<N: Carrier<Message>>(here: &mut Here<'_, N>, received: Received<Message>) {
    if let Some((to, message)) = here.state.serve(&here.program.ring, received.message) {
        send(here, to, message);
    }
}

/// Asks, and serves whatever else comes until the answer does; `None` if it does not come in time.
async fn ask<N: Carrier<Message>>(
    node: Node<Chord<N>>,
    whom: u32,
    question: impl FnOnce(&Peer) -> Message,
) -> Option<Message> {
    let (ticket, timeout, restarts) = node.with(|here| {
        here.state.ticket = here.state.ticket.wrapping_add(1);
        let question = question(here.state);
        send(here, whom, question);
        // Where nodes fail, one that is often asked itself would never stop waiting for one that is gone.
        let Parameters { timeout, churn, .. } = here.program.parameters;
        (here.state.ticket, timeout, churn.is_none())
    });
    let answer = node.serve(move |here, received| {
        if received.message.answers(ticket) {
            return ControlFlow::Break(received.message);
        }
        serve(here, received);
        ControlFlow::Continue(())
    });
    let answer = if restarts { answer.within_each(timeout) } else { answer.within(timeout) }.await;
    if answer.is_none() {
        node.with_state(|peer| peer.books.timeouts += 1);
    }
    answer
}

/// Comes into the ring; node 0 makes it.
async fn join<N: Carrier<Message>>(node: Node<Chord<N>>) {
    let began = node.now();
    let (first, timeout) = node.with(|here| {
        let nodes = here.nodes();
        let peer = &mut *here.state;
        peer.session = peer.session.wrapping_add(1);
        // The first node makes the ring; when it comes back it joins like any other.
        let first = nodes == 1 || (peer.session == 1 && here.program.ring.lp(peer.id).0 == 0);
        peer.phase = if first { Phase::Member } else { Phase::Joining };
        peer.books.joins += u32::from(first);
        (first, here.program.parameters.timeout)
    });
    if first {
        return;
    }
    let mut tries = 0;
    loop {
        node.with(|here| {
            if here.state.session > 1 || tries > 0 && here.program.parameters.churn.is_some() {
                here.state.known = any_other(here);
            }
            let Peer { id: newcomer, session, known, .. } = *here.state;
            send(here, known, Message::Join { newcomer, session, hops: 1, in_ring: false });
        });
        let joined = node.serve(move |here, received| {
            if joined(here, &received.message) {
                return ControlFlow::Break(());
            }
            serve(here, received);
            ControlFlow::Continue(())
        });
        if joined.within(timeout).await.is_some() {
            node.with(|here| here.observe(here.program.ids.join_time, here.now().since(began).as_ps()));
            // What came with the answer is served before it first sleeps.
            return node.sleep(Delay::ZERO).await;
        }
        tries += 1;
        let alone = node.with(|here| {
            let peer = &mut *here.state;
            peer.books.timeouts += 1;
            // Perhaps the ring is gone, and all wait to join. It makes one of its own, which grows together with others, if there are any.
            let alone = tries == TRIES && here.program.parameters.churn.is_some();
            if alone {
                peer.phase = Phase::Member;
                peer.books.joins += 1;
            }
            alone
        });
        if alone {
            return;
        }
    }
}

/// Any node but this one.
fn any_other<N: Carrier<Message>>(here: &mut Here<'_, N>) -> u32 {
    let (others, own) = (u64::from(here.nodes()) - 1, here.id().0);
    #[expect(clippy::cast_possible_truncation, reason = "below the number of nodes")]
    let other = here.rng().below(others) as u32;
    here.program.ring.id(LpId(if other < own { other } else { other + 1 }))
}

/// Takes the answer to the request to join, if it is that.
fn joined<N: Carrier<Message>>(here: &mut Here<'_, N>, message: &Message) -> bool {
    let Message::Joined { session, predecessor, successors } = *message else { return false };
    let peer = &mut *here.state;
    if session != peer.session {
        return false;
    }
    peer.phase = Phase::Member;
    peer.books.joins += 1;
    peer.predecessor = Some(predecessor);
    let successor = if successors[0] == peer.id { predecessor } else { successors[0] };
    peer.set_successors(&here.program.ring, successor, &successors[1..]);
    true
}

/// Asks its successor who comes before that, and tells who does of itself. A nearer successor is asked at once, until there is none.
async fn stabilise<N: Carrier<Message>>(node: Node<Chord<N>>) {
    loop {
        let (own, successor) = node.with_state(|peer| (peer.id, peer.successor()));
        if successor == own {
            // Alone, as far as it knows, unless somebody has found it.
            return node.with(|here| {
                if let Some(found) = here.state.predecessor.filter(|&id| id != own) {
                    here.state.set_successors(&here.program.ring, found, &[]);
                    send(here, found, Message::Notify { id: own });
                }
            });
        }
        let question = |peer: &Peer| Message::GetPredecessor { asker: own, ticket: peer.ticket };
        let Some(Message::Predecessor { predecessor, successors, .. }) = ask(node, successor, question).await else {
            return node.with(|here| here.state.forget_neighbour(&here.program.ring, successor));
        };
        let again = node.with(|here| {
            let (peer, ring) = (&mut *here.state, &here.program.ring);
            // It may have learned of a nearer one while it waited.
            let again = peer.successor() != successor || peer.stabilise(ring, predecessor, &successors);
            if !again {
                send(here, successor, Message::Notify { id: own });
            }
            again
        });
        if !again {
            return;
        }
    }
}

/// Looks up where the next finger points.
async fn fix_a_finger<N: Carrier<Message>>(node: Node<Chord<N>>) {
    let finger = node.with(|here| {
        let k = here.state.finger_to_fix(&here.program.ring)?;
        Some((k, here.program.ring.after(here.state.id, 1 << k)))
    });
    let Some((k, key)) = finger else { return };
    if let Some((found, _)) = find(node, key).await {
        node.with(|here| here.state.set_finger(&here.program.ring, k, found));
    }
}

/// Looks up where all fingers point, from the furthest down to the nearest that is not the successor.
async fn fix_all_fingers<N: Carrier<Message>>(node: Node<Chord<N>>) {
    loop {
        fix_a_finger(node).await;
        if !node.with(|here| here.state.has_more_to_fix(&here.program.ring)) {
            return;
        }
    }
}

/// Asks its predecessor whether it is there, and forgets it if not.
async fn check_predecessor<N: Carrier<Message>>(node: Node<Chord<N>>) {
    let (own, predecessor) = node.with_state(|peer| (peer.id, peer.predecessor));
    if let Some(predecessor) = predecessor.filter(|&id| id != own) {
        let answer = ask(node, predecessor, |peer| Message::Ping { asker: own, ticket: peer.ticket }).await;
        if answer.is_none() {
            node.with(|here| here.state.forget_neighbour(&here.program.ring, predecessor));
        }
    }
    if node.with_program(|chord| chord.parameters.churn.is_some()) && node.nodes() > 1 {
        look_around(node).await;
    }
}

/// Asks any other node for the successor of its own identifier. That is itself, unless the ring has come apart and the other is in another part: then it may
/// have found a nearer successor, and stabilising makes one ring of the two.
async fn look_around<N: Carrier<Message>>(node: Node<Chord<N>>) {
    let (own, other) = node.with(|here| (here.state.id, any_other(here)));
    let question = |peer: &Peer| Message::Find { key: own, asker: own, ticket: peer.ticket, hops: 1 };
    if let Some(Message::Found { successor, .. }) = ask(node, other, question).await {
        node.with(|here| here.state.stabilise(&here.program.ring, Some(successor), &[]));
    }
}

/// Looks an identifier up.
async fn look_up<N: Carrier<Message>>(node: Node<Chord<N>>) {
    let (key, began) = node.with(|here| {
        let Chord { parameters, ring, .. } = here.program;
        #[expect(clippy::cast_possible_truncation, reason = "random bits")]
        let key = match parameters.keys {
            Keys::Uniform => ring.after(here.rng().next_u64() as u32, 0),
            Keys::OwnFingers => {
                let k = here.rng().below(u64::from(ring.bits()));
                here.state.fingers[k as usize]
            }
        };
        (key, here.now())
    });
    let found = find(node, key).await;
    node.with(|here| {
        let books = &mut here.state.books;
        let Some((found, hops)) = found else {
            books.failed += 1;
            return;
        };
        books.answered += 1;
        if here.program.is_settled(began) {
            books.wrong += u32::from(!here.program.is_owner(found, key));
        }
        here.observe(here.program.ids.hops, u64::from(hops));
        here.observe(here.program.ids.look_up_time, here.now().since(began).as_ps());
    });
}

/// The successor of a key, and how many nodes the question reached.
async fn find<N: Carrier<Message>>(node: Node<Chord<N>>, key: u32) -> Option<(u32, u16)> {
    let whom = match node.with(|here| here.state.way(&here.program.ring, key)) {
        Way::Here(successor) => return Some((successor, 0)),
        Way::Ask(whom) => whom,
    };
    let question = |peer: &Peer| Message::Find { key, asker: peer.id, ticket: peer.ticket, hops: 1 };
    let Some(Message::Found { successor, hops, .. }) = ask(node, whom, question).await else {
        // It may be whom it asked that is gone, or somebody on the way; who is forgotten in vain is learned of again.
        node.with_state(|peer| peer.forget_finger(whom));
        return None;
    };
    Some((successor, hops))
}

/// Tells its successor, then its predecessor, that it leaves.
fn leave<N: Carrier<Message>>(node: Node<Chord<N>>) {
    node.with(|here| {
        let Peer { id: leaver, predecessor, .. } = *here.state;
        let successor = here.state.successor();
        if successor != leaver {
            send(here, successor, Message::PredecessorLeaves { leaver, predecessor });
        }
        if let Some(to) = predecessor.filter(|&id| id != leaver) {
            send(here, to, Message::SuccessorLeaves { leaver, successor });
        }
    });
}
