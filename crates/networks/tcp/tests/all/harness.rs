//! A simulated dumbbell: senders, two routers with a bottleneck between them, and receivers.

use parades_core::restore::Undoable;
use parades_core::time::{Delay, Time};
use parades_tcp::environment::{Ecn, Environment, Notice, Timer};
use parades_tcp::header::Header;
use parades_tcp::seq::Seq;
use parades_tcp::settings::Settings;
use parades_tcp::{Connection, Ports};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A packet on its way.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) flow: usize,
    pub(crate) is_forward: bool,
    pub(crate) header: Header,
    pub(crate) bytes: u32,
    pub(crate) ecn: Ecn,
}

/// Headers below TCP: PPP and IPv4.
const LOWER_BYTES: u32 = 22;

impl Packet {
    fn on_wire(&self) -> u64 {
        u64::from(LOWER_BYTES + self.header.bytes() + self.bytes)
    }
}

/// The parameters of a dumbbell.
#[derive(Clone, Debug)]
pub(crate) struct Dumbbell {
    pub(crate) sizes: Vec<u64>,
    pub(crate) starts: Vec<Time>,
    pub(crate) rate: u64,
    pub(crate) delay: Delay,
    pub(crate) access: u64,
    pub(crate) access_delays: Vec<Delay>,
    pub(crate) queue: usize,
    /// Packets that find this many waiting get a congestion mark.
    pub(crate) mark_above: Option<usize>,
    /// The probability of a loss behind the bottleneck, in 2^-32.
    pub(crate) loss: u64,
    pub(crate) seed: u64,
    pub(crate) until: Time,
}

impl Dumbbell {
    /// Returns the usual dumbbell with one flow of `size` bytes: 100 Mbps and 1 ms at the edges, 10 Mbps and
    /// 20 ms between the routers, where 100 packets may wait.
    pub(crate) fn of(size: u64) -> Dumbbell {
        Dumbbell {
            sizes: vec![size],
            starts: vec![Time::from_secs(1)],
            rate: 10_000_000,
            delay: Delay::from_ms(20),
            access: 100_000_000,
            access_delays: vec![Delay::from_ms(1)],
            queue: 100,
            mark_above: None,
            loss: 0,
            seed: 1,
            until: Time::from_secs(1000),
        }
    }
}

/// The times of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flow {
    pub(crate) first_byte: Option<Delay>,
    pub(crate) completion: Option<Delay>,
    pub(crate) received: u64,
}

/// The result of a run: times of the flows, and counts on the bottleneck.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) flows: Vec<Flow>,
    pub(crate) sent: u64,
    pub(crate) drops: u64,
    pub(crate) marks: u64,
    pub(crate) mean_queue: f64,
    pub(crate) clients: Vec<Connection>,
}

#[derive(Clone, Debug)]
enum Event {
    Start(usize),
    Timer { end: usize, timer: Timer, generation: u64 },
    Transmitted(usize),
    Arrived { link: usize, packet: Packet },
    Sample,
}

struct Link {
    rate: u64,
    delay: Delay,
    limit: usize,
    waiting: VecDeque<Packet>,
    current: Option<Packet>,
}

/// The environment of one end during one call.
struct Ended<'a> {
    now: Time,
    out: Vec<(Header, u32, Ecn)>,
    timers: &'a mut [Option<(Time, u64)>; 4],
    generation: &'a mut u64,
    delivered: u64,
    notices: Vec<Notice>,
}

impl Environment for Ended<'_> {
    fn now(&self) -> Time {
        self.now
    }
    fn transmit(&mut self, header: &Header, _: u64, bytes: u32, ecn: Ecn) {
        self.out.push((*header, bytes, ecn));
    }
    fn set_timer(&mut self, timer: Timer, delay: Delay) {
        *self.generation += 1;
        self.timers[timer as usize] = Some((self.now.saturating_add(delay), *self.generation));
    }
    fn cancel_timer(&mut self, timer: Timer) {
        self.timers[timer as usize] = None;
    }
    fn deliver(&mut self, bytes: u32) -> u32 {
        self.delivered += u64::from(bytes);
        bytes
    }
    fn notify(&mut self, notice: Notice) {
        self.notices.push(notice);
    }
}

const TIMERS: [Timer; 4] = [Timer::Retransmit, Timer::DelayedAck, Timer::Pacing, Timer::Reordering];

/// A call of a connection.
enum Call<'a> {
    Open,
    Segment(&'a Packet),
    Timer(Timer),
}

struct Run<'a> {
    dumbbell: &'a Dumbbell,
    settings: &'a Settings,
    now: Time,
    events: BinaryHeap<Reverse<(Time, u64, usize)>>,
    bodies: Vec<Option<Event>>,
    free: Vec<usize>,
    sequence: u64,
    ends: Vec<Connection>,
    timers: Vec<[Option<(Time, u64)>; 4]>,
    pending: Vec<[Option<(Time, u64)>; 4]>,
    generation: u64,
    unwritten: Vec<u64>,
    links: Vec<Link>,
    outcome: Outcome,
    random: u64,
    samples: (u64, u64),
    is_busy: bool,
}

/// Runs the dumbbell until all flows are complete.
pub(crate) fn run(dumbbell: &Dumbbell, settings: &Settings) -> Outcome {
    let flows = dumbbell.sizes.len();
    let link = |rate, delay, limit| Link { rate, delay, limit, waiting: VecDeque::new(), current: None };
    // For flow f: 4f sender to router, 4f+1 router to receiver, 4f+2 receiver to router, 4f+3 router to
    // sender.
    let mut links = Vec::new();
    for flow in 0..flows {
        let (rate, delay) = (dumbbell.access, dumbbell.access_delays[flow]);
        let far = *dumbbell.access_delays.iter().min().expect("a flow");
        links.push(link(rate, delay, usize::MAX));
        links.push(link(rate, far, usize::MAX));
        links.push(link(rate, far, usize::MAX));
        links.push(link(rate, delay, usize::MAX));
    }
    links.push(link(dumbbell.rate, dumbbell.delay, dumbbell.queue));
    links.push(link(dumbbell.rate, dumbbell.delay, usize::MAX));
    let ports = |flow: usize| u16::try_from(1000 + flow).expect("few flows");
    let mut ends = Vec::new();
    for flow in 0..flows {
        let initial = Seq(u32::MAX - 100_000 * u32::try_from(flow + 1).expect("few flows"));
        ends.push(Connection::connect(settings, Ports { local: ports(flow), remote: 80 }, initial));
        ends.push(Connection::listen(settings, Ports { local: 80, remote: 0 }, Seq(7)));
    }
    let mut run = Run {
        dumbbell,
        settings,
        now: Time::ZERO,
        events: BinaryHeap::new(),
        bodies: Vec::new(),
        free: Vec::new(),
        sequence: 0,
        timers: vec![[None; 4]; ends.len()],
        pending: vec![[None; 4]; ends.len()],
        ends,
        generation: 0,
        unwritten: dumbbell.sizes.clone(),
        links,
        outcome: Outcome { flows: vec![Flow::default(); flows], ..Outcome::default() },
        random: dumbbell.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        samples: (0, 0),
        is_busy: true,
    };
    for (flow, &start) in dumbbell.starts.iter().enumerate() {
        run.schedule(start, Event::Start(flow));
    }
    run.schedule(Time::from_secs(1), Event::Sample);
    run.execute();
    let (sum, count) = run.samples;
    run.outcome.mean_queue = sum as f64 / count.max(1) as f64;
    run.outcome.clients = run.ends.into_iter().step_by(2).collect();
    run.outcome
}

impl Run<'_> {
    fn schedule(&mut self, time: Time, event: Event) {
        let index = self.free.pop().unwrap_or_else(|| {
            self.bodies.push(None);
            self.bodies.len() - 1
        });
        self.bodies[index] = Some(event);
        self.sequence += 1;
        self.events.push(Reverse((time, self.sequence, index)));
    }

    fn execute(&mut self) {
        while let Some(Reverse((time, _, index))) = self.events.pop() {
            let event = self.bodies[index].take().expect("an event");
            self.free.push(index);
            if time > self.dumbbell.until || !self.is_busy {
                return;
            }
            self.now = time;
            match event {
                Event::Start(flow) => self.call(2 * flow, &Call::Open),
                Event::Timer { end, timer, generation } => {
                    self.pending[end][timer as usize] = None;
                    match self.timers[end][timer as usize] {
                        Some((due, current)) if current == generation && due == time => {
                            self.timers[end][timer as usize] = None;
                            self.call(end, &Call::Timer(timer));
                        }
                        _ => self.place_timers(end),
                    }
                }
                Event::Transmitted(link) => self.on_transmitted(link),
                Event::Arrived { link, packet } => self.on_arrived(link, packet),
                Event::Sample => {
                    let bottleneck = &self.links[self.links.len() - 2];
                    self.samples.0 += bottleneck.waiting.len() as u64;
                    self.samples.1 += 1;
                    let next = self.now.saturating_add(Delay::from_ms(1));
                    self.schedule(next, Event::Sample);
                }
            }
        }
    }

    /// Makes sure that an event exists for each timer.
    fn place_timers(&mut self, end: usize) {
        for timer in TIMERS {
            let wanted = self.timers[end][timer as usize];
            let pending = self.pending[end][timer as usize];
            if let Some((due, generation)) = wanted
                && pending.is_none_or(|(at, old)| at > due || (at == due && old != generation))
            {
                self.pending[end][timer as usize] = Some((due, generation));
                self.schedule(due, Event::Timer { end, timer, generation });
            }
        }
    }

    fn call(&mut self, end: usize, call: &Call<'_>) {
        let mut env = Ended {
            now: self.now,
            out: Vec::new(),
            timers: &mut self.timers[end],
            generation: &mut self.generation,
            delivered: 0,
            notices: Vec::new(),
        };
        let mut view = self.ends[end].unrecorded();
        match call {
            Call::Open => view.open(self.settings, &mut env),
            Call::Segment(packet) => {
                view.on_segment(self.settings, &packet.header, packet.bytes, packet.ecn, &mut env);
            }
            Call::Timer(timer) => view.on_timer(self.settings, *timer, &mut env),
        }
        let flow = end / 2;
        let wants_write =
            env.notices.iter().any(|notice| matches!(notice, Notice::Connected | Notice::Acknowledged { .. }));
        if end.is_multiple_of(2) && wants_write && self.unwritten[flow] > 0 {
            self.unwritten[flow] -= view.write_last(self.settings, self.unwritten[flow], &mut env);
        }
        if !end.is_multiple_of(2) && env.notices.contains(&Notice::Finished) {
            view.close(self.settings, &mut env);
        }
        let (out, delivered) = (env.out, env.delivered);
        if delivered > 0 {
            self.on_delivered(flow, delivered);
        }
        self.place_timers(end);
        let is_forward = end.is_multiple_of(2);
        let link = 4 * flow + if is_forward { 0 } else { 2 };
        for (header, bytes, ecn) in out {
            self.enqueue(link, Packet { flow, is_forward, header, bytes, ecn });
        }
    }

    fn on_delivered(&mut self, flow: usize, bytes: u64) {
        let since = self.now.since(self.dumbbell.starts[flow]);
        let state = &mut self.outcome.flows[flow];
        state.first_byte.get_or_insert(since);
        state.received += bytes;
        if state.received >= self.dumbbell.sizes[flow] {
            state.completion = Some(since);
            self.is_busy = self.outcome.flows.iter().any(|flow| flow.completion.is_none());
        }
    }

    fn enqueue(&mut self, index: usize, mut packet: Packet) {
        let is_bottleneck = index == self.links.len() - 2;
        let mark_above = self.dumbbell.mark_above;
        let link = &mut self.links[index];
        if link.current.is_none() {
            self.transmit(index, packet);
            return;
        }
        if link.waiting.len() >= link.limit {
            self.outcome.drops += u64::from(is_bottleneck);
            return;
        }
        if is_bottleneck && mark_above.is_some_and(|limit| link.waiting.len() > limit) && packet.ecn != Ecn::NotCapable
        {
            packet.ecn = Ecn::Marked;
            self.outcome.marks += 1;
        }
        link.waiting.push_back(packet);
    }

    fn transmit(&mut self, index: usize, packet: Packet) {
        if index == self.links.len() - 2 {
            self.outcome.sent += 1;
        }
        let link = &mut self.links[index];
        let time = self.now.saturating_add(Delay::serialisation(packet.on_wire(), link.rate));
        link.current = Some(packet);
        self.schedule(time, Event::Transmitted(index));
    }

    fn on_transmitted(&mut self, index: usize) {
        let link = &mut self.links[index];
        let packet = link.current.take().expect("a packet in transmission");
        let arrival = self.now.saturating_add(link.delay);
        let next = link.waiting.pop_front();
        self.schedule(arrival, Event::Arrived { link: index, packet });
        if let Some(next) = next {
            self.transmit(index, next);
        }
    }

    fn on_arrived(&mut self, index: usize, packet: Packet) {
        let forward = self.links.len() - 2;
        let flow = packet.flow;
        if index >= forward {
            if packet.is_forward && self.dumbbell.loss > 0 && self.draw() < self.dumbbell.loss {
                return;
            }
            return self.enqueue(4 * flow + if packet.is_forward { 1 } else { 3 }, packet);
        }
        match index % 4 {
            0 => self.enqueue(forward, packet),
            2 => self.enqueue(forward + 1, packet),
            1 => self.call(2 * flow + 1, &Call::Segment(&packet)),
            _ => self.call(2 * flow, &Call::Segment(&packet)),
        }
    }

    /// Draws a number below 2^32 (xorshift64*).
    fn draw(&mut self) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32
    }
}
