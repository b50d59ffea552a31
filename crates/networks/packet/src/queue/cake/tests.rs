//! CAKE by itself, without a network.

use super::*;
use parades_core::random::Rng;
use parades_core::restore::UndoLog;

/// A queue that a test drives.
struct Driven {
    of: Cake,
    queues: Queues,
    rng: Rng,
    slots: u32,
}

/// A flow between hosts.
#[derive(Clone, Copy)]
struct Ends {
    flow: u32,
    source: u32,
    destination: u32,
}

impl Driven {
    fn new(of: Cake) -> Driven {
        of.check().expect("the parameters are right");
        Driven { of, queues: Queues::default(), rng: Rng::stream(1, 1), slots: 0 }
    }

    fn offer(&mut self, ends: Ends, bytes: u32, now: Time) -> Dropped {
        let Ends { flow, source, destination } = ends;
        let offered = Offered { bytes, flow: flow_hash(flow), source, destination, class: 0, is_capable: false };
        self.slots += 1;
        // The slot names the source, so that a test sees whose packet it is.
        let held = Held::new(source, bytes, now, false);
        let mut dropped = Dropped::new();
        self.queues.unrecorded().enqueue(held, &offered, &self.of, now, &mut dropped);
        dropped
    }

    fn take(&mut self, now: Time) -> (Option<(Held, bool)>, Dropped) {
        let mut dropped = Dropped::new();
        let port = port(now, &self.rng);
        let next = self.queues.unrecorded().dequeue(&self.of, &port, &mut dropped);
        (next, dropped)
    }

    /// Keeps each flow busy while 3000 packets of 1000 bytes leave. Returns the packets of each source.
    fn shares(mut self, flows: &[Ends]) -> BTreeMap<u32, u32> {
        let mut shares = BTreeMap::new();
        for ends in flows {
            (0..3000).for_each(|_| _ = self.offer(*ends, 1000, Time::ZERO));
        }
        for _ in 0..3000 {
            let (Some((packet, _)), dropped) = self.take(Time::ZERO) else { panic!("it is busy") };
            assert_eq!(dropped, []);
            *shares.entry(packet.slot()).or_default() += 1;
        }
        shares
    }
}

/// An idle port.
fn port(now: Time, rng: &Rng) -> PortView<'_> {
    PortView { now, rate_bps: 1, waiting: 0, waiting_bytes: 0, busy_until: now, must_wait: false, rng }
}

/// CAKE that accepts any wait.
fn patient(isolation: Isolation) -> Cake {
    Cake { isolation, rtt: Delay::from_secs(1000), limit: QueueLimit::UNBOUNDED, ..Cake::default() }
}

fn at(ms: u64) -> Time {
    Time::from_ms(ms)
}

/// Host 1 has one flow, and host 2 has five, to other hosts.
fn unequal() -> Vec<Ends> {
    (0..6).map(|flow| Ends { flow, source: if flow == 0 { 1 } else { 2 }, destination: 10 + flow }).collect()
}

#[test]
fn hosts_with_unequal_numbers_of_flows_get_equal_shares_if_they_are_isolated() {
    let of = |isolation| {
        let shares = Driven::new(patient(isolation)).shares(&unequal());
        shares[&1]
    };
    for (isolation, share) in [
        (Isolation::Flows, 1.0 / 6.0),
        (Isolation::Triple, 0.5),
        (Isolation::DualSource, 0.5),
        (Isolation::DualDestination, 1.0 / 6.0),
        (Isolation::SourceHosts, 0.5),
        (Isolation::DestinationHosts, 1.0 / 6.0),
        (Isolation::Hosts, 1.0 / 6.0),
    ] {
        // A quantum of 1514 bytes by 5 is rounded up.
        let found = f64::from(of(isolation)) / 3000.0;
        assert!((found - share).abs() < 0.01, "{isolation:?}: {found} instead of {share}");
    }
    // First in, first out: the packets of host 1 are the first ones.
    assert_eq!(of(Isolation::None), 3000);
}

#[test]
fn destinations_are_isolated_as_sources_are() {
    // One flow to host 8 and five to host 9, from hosts 0 to 5.
    let flows: Vec<Ends> =
        (0..6).map(|flow| Ends { flow, source: flow, destination: if flow == 0 { 8 } else { 9 } }).collect();
    for isolation in [Isolation::Triple, Isolation::DualDestination, Isolation::DestinationHosts] {
        let shares = Driven::new(patient(isolation)).shares(&flows);
        assert!((f64::from(shares[&0]) / 3000.0 - 0.5).abs() < 0.01, "{isolation:?}: {shares:?}");
    }
    let shares = Driven::new(patient(Isolation::DualSource)).shares(&flows);
    assert!((f64::from(shares[&0]) / 3000.0 - 1.0 / 6.0).abs() < 0.01, "{shares:?}");
}

#[test]
fn a_sparse_flow_goes_before_busy_ones_until_its_quantum_is_used() {
    let mut cake = Driven::new(patient(Isolation::Triple));
    let [busy, sparse] = [1, 2].map(|host| Ends { flow: host, source: host, destination: 9 });
    (0..100).for_each(|_| _ = cake.offer(busy, 1000, at(0)));
    // Nine packets leave 84 bytes of its sixth quantum, enough for one more.
    (0..9).for_each(|_| _ = cake.take(at(0)));
    // Packets of 300 bytes: 1514 bytes are used up after six of them.
    (0..12).for_each(|_| _ = cake.offer(sparse, 300, at(1)));
    let order: Vec<u32> = (0..9).map(|_| cake.take(at(1)).0.expect("a packet").0.slot()).collect();
    assert_eq!(order, [2, 2, 2, 2, 2, 2, 1, 2, 2]);
    // One that sends a packet now and then is sparse each time.
    let mut cake = Driven::new(patient(Isolation::Triple));
    (0..1000).for_each(|_| _ = cake.offer(busy, 1000, at(0)));
    (0..10).for_each(|_| _ = cake.take(at(0)));
    for ms in 1..200 {
        if ms % 4 == 0 {
            _ = cake.offer(sparse, 100, at(ms));
            assert_eq!(cake.take(at(ms)).0.expect("a packet").0.slot(), 2, "{ms}");
        } else {
            assert_eq!(cake.take(at(ms)).0.expect("a packet").0.slot(), 1, "{ms}");
        }
    }
}

#[test]
fn eight_flows_of_a_set_have_queues_of_their_own_and_a_ninth_shares_one() {
    let mut cake = Driven::new(Cake { queues: 8, ..patient(Isolation::Flows) });
    let ends = |flow| Ends { flow, source: flow, destination: 99 };
    (0..8).for_each(|flow| _ = cake.offer(ends(flow), 100, at(0)));
    assert!(cake.queues.flows.values().all(|flow| flow.packets.len() == 1));
    assert_eq!(cake.queues.flows.len(), 8);
    _ = cake.offer(ends(8), 100, at(0));
    assert_eq!(cake.queues.flows.len(), 8);
    let shared = cake.queues.flows.values().find(|flow| flow.packets.len() == 2).expect("one is shared");
    assert_eq!((shared.account.tag, shared.account.source), (flow_hash(8), 8), "it has the tag of the last packet");
    // All queues are free again once they are empty and at rest.
    while cake.take(at(1)).0.is_some() {}
    _ = cake.offer(ends(0), 100, at(3_000_000));
    assert!(cake.take(at(3_000_000)).0.is_some());
    assert!(cake.queues.flows.len() < 9 && cake.queues.sums.packets == 0);
}

#[test]
fn the_longest_queue_loses_its_first_packets_when_there_is_no_room() {
    let of = Cake { memory: Some(10_000), ..patient(Isolation::Flows) };
    let mut cake = Driven::new(of);
    let [long, short] = [1, 2].map(|flow| Ends { flow, source: flow, destination: 9 });
    (0..9).for_each(|_| assert_eq!(cake.offer(long, 1000, at(0)), []));
    assert_eq!(cake.offer(short, 1000, at(1)), []);
    let dropped = cake.offer(short, 1500, at(2));
    assert_eq!(
        dropped.iter().map(|(packet, loss)| (packet.slot(), packet.since, *loss)).collect::<Vec<_>>(),
        [(1, at(0), Loss::Queue), (1, at(0), Loss::Queue)]
    );
    assert_eq!(cake.queues.sums.bytes, 9_500);
}

#[test]
fn the_defaults_follow_the_rate() {
    let of = |rate_mbps: u64| Cake { rate_bps: Some(rate_mbps * 1_000_000), ..Cake::default() };
    // 1514 bytes take 12.112 ms at 1 Mbit/s: the target is 1.5 of that, and the interval longer by as much.
    let rules = of(1).rules();
    assert_eq!(rules.target, Delay::from_us(18_168));
    assert_eq!(rules.interval, Delay::from_us(100_000 + 18_168 - 5_000));
    assert_eq!(of(100).rules().target, Delay::from_ms(5));
    assert_eq!([1, 16, 100].map(|mbps| of(mbps).quantum()), [300, 488, 1514]);
    // Four times 1 Gbit/s by 100 ms is 50 MB.
    assert_eq!([1, 1000].map(|mbps| of(mbps).memory()), [4 << 20, 50_000_000]);
    assert_eq!(Cake::default().memory(), u64::MAX);
}

#[test]
fn the_shaper_spaces_packets_by_their_bytes_on_the_link_below() {
    // 40 bytes and 10 of overhead are two cells, which take 848 us at 1 Mbit/s.
    let of = Cake { rate_bps: Some(1_000_000), overhead: 10, cells: Cells::Atm, ..patient(Isolation::Flows) };
    let mut cake = Driven::new(of);
    let ends = Ends { flow: 1, source: 1, destination: 2 };
    (0..5).for_each(|_| _ = cake.offer(ends, 40, at(100)));
    let mut now = at(100);
    for number in 0..5 {
        assert!(cake.take(now).0.is_some(), "{number}");
        assert_eq!(cake.take(now).0, None, "{number}");
        now = now.saturating_add(Delay::from_us(848));
        assert_eq!(cake.queues.ready_at(&of), now);
    }
    // A pause gives no credit.
    _ = cake.offer(ends, 40, at(500));
    _ = cake.offer(ends, 40, at(500));
    assert!(cake.take(at(500)).0.is_some() && cake.take(at(500)).0.is_none());
}

#[test]
fn undoing_restores_every_part() {
    let of = Cake {
        memory: Some(4_000),
        rate_bps: Some(8_000_000),
        rtt: Delay::from_ms(1),
        queues: 8,
        is_ingress: true,
        ..Cake::default()
    };
    let mut cake = Driven::new(of);
    let draw = Rng::stream(7, 7);
    let (mut lost, mut sent) = (0, 0);
    for step in 0..4000_u64 {
        let now = Time::ZERO.saturating_add(Delay::from_us(step * 150));
        let flow = draw.below(12);
        let flow = u32::try_from(flow).expect("it is below 12");
        let offered = Offered {
            bytes: 500,
            flow: flow_hash(flow),
            source: flow / 4,
            destination: flow % 3,
            class: 0,
            is_capable: flow % 2 == 0,
        };
        let held = Held::new(flow, 500, now, offered.is_capable);
        let port = port(now, &cake.rng);
        let is_arrival = draw.below(3) > 0 && step % 1000 < 700;
        let before = cake.queues.clone();
        let mut log = UndoLog::default();
        let mut dropped = Dropped::new();
        let mut next = None;
        log.recording(|recorder| match is_arrival {
            true => cake.queues.view(recorder).enqueue(held, &offered, &of, now, &mut dropped),
            false => next = cake.queues.view(recorder).dequeue(&of, &port, &mut dropped),
        });
        let after = cake.queues.clone();
        cake.queues.undo_all(&mut log);
        assert_eq!(cake.queues, before, "step {step}");
        cake.queues = after;
        lost += dropped.len();
        sent += usize::from(next.is_some());
        assert_eq!(cake.queues.packets().count(), cake.queues.sums.packets as usize);
        let bulk = cake.queues.flows.values().filter(|flow| flow.account.turn == Turn::Bulk).count();
        assert_eq!(cake.queues.sums.bulk as usize, bulk);
        assert_eq!(cake.queues.sources.values().sum::<u32>() as usize, bulk);
        assert_eq!(cake.queues.destinations.values().sum::<u32>() as usize, bulk);
        let listed = cake.queues.new.len() + cake.queues.old.len() + cake.queues.decaying.len();
        assert_eq!(listed, cake.queues.flows.len(), "each queue is in one rotation");
    }
    assert!(lost > 100 && sent > 500, "{lost} {sent}");
    let mut lose = 0;
    let waiting = cake.queues.sums.packets;
    cake.queues.unrecorded().clear(&mut |_| lose += 1);
    assert_eq!(lose, waiting);
    assert_eq!(cake.queues.packets().count(), 0);
}

#[test]
fn packets_without_bytes_are_limited_in_number_too() {
    let mut driven = Driven::new(Cake { limit: QueueLimit::Packets(4), ..patient(Isolation::Flows) });
    let offer = |driven: &mut Driven, flow| driven.offer(Ends { flow, source: flow, destination: 0 }, 0, Time::ZERO);
    // A queue that has run empty has as many bytes as the others.
    assert_eq!(offer(&mut driven, 0).len(), 0);
    assert!(driven.take(Time::ZERO).0.is_some());
    let dropped: usize = (1..10).map(|flow| offer(&mut driven, flow).len()).sum();
    assert_eq!(dropped, 5);
}
