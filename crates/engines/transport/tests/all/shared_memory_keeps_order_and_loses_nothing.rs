//! Ranks over shared memory, as threads and as processes: order is kept for each pair and nothing is lost,
//! though lanes are full most of the time.

#![cfg(target_os = "linux")]

use parades_core::wire::{Room, Sink};
use parades_transport::{Fabric, LaneShape, Lost, SegmentFile, SharedMemory};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex};

/// Lanes of 8 cache lines.
const TINY: LaneShape = LaneShape { bytes: 512 };
const RANKS: usize = 3;

/// A count that the bell raises, as workers use it.
#[derive(Default)]
struct News(Mutex<u64>, Condvar);

impl News {
    fn of(fabric: &SharedMemory) -> Arc<News> {
        let news = Arc::<News>::default();
        let rung = Arc::clone(&news);
        fabric.set_bell(Arc::new(move || {
            *rung.0.lock().expect("nobody panics") += 1;
            rung.1.notify_all();
        }));
        news
    }

    fn count(&self) -> u64 {
        *self.0.lock().expect("it works")
    }

    fn wait(&self, seen: u64) {
        drop(self.1.wait_while(self.0.lock().expect("it works"), |count| *count == seen).expect("it works"));
    }
}

/// Returns message `number` of `from` to `to`. Its length varies, and is now and then far above a whole lane.
fn message(from: usize, to: usize, number: u64) -> Vec<u8> {
    let length = match number % 1000 {
        0 => 5000,
        other => other % 90,
    };
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.extend((0..length).map(|at| (at + number + 7 * from as u64 + 31 * to as u64).to_le_bytes()[0]));
    bytes
}

/// Receives until each rank has sent `messages` messages. Checks each of them.
fn receive_all(fabric: &SharedMemory, news: &News, messages: u64, on_request: bool) {
    let mut next = vec![0; fabric.ranks()];
    loop {
        let seen = news.count();
        if on_request {
            fabric.request_bell();
        }
        let mut found = false;
        fabric.receive(&mut |from, bytes| {
            assert_eq!(bytes, message(from, fabric.rank(), next[from]), "message {} from {from}", next[from]);
            next[from] += 1;
            found = true;
        });
        if next.iter().all(|&next| next == messages) {
            return;
        }
        if !found {
            news.wait(seen);
        }
    }
}

/// Sends `messages` messages to each rank, this rank included, and receives as many from each.
fn run_rank(fabric: &SharedMemory, messages: u64, on_request: bool) {
    let news = News::of(fabric);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..messages {
                for to in 0..fabric.ranks() {
                    fabric.send(to, &message(fabric.rank(), to, number));
                }
            }
        });
        receive_all(fabric, &news, messages, on_request);
    });
}

fn connect(shape: LaneShape) -> Vec<Arc<SharedMemory>> {
    let segments = SharedMemory::create(RANKS, shape).expect("it works");
    let join = |rank| {
        let same = segments.iter().map(|file| SegmentFile::of_process(std::process::id(), file.raw_fd()));
        SharedMemory::join(rank, same.collect::<Result<_, _>>().expect("it works")).expect("it works")
    };
    (0..RANKS).map(join).collect()
}

fn burst_between_threads(on_request: bool) {
    let ranks = connect(TINY);
    std::thread::scope(|scope| {
        ranks.iter().for_each(|rank| drop(scope.spawn(move || run_rank(rank, 12_000, on_request))));
    });
}

#[test]
fn a_burst_of_100_000_messages_between_threads_with_a_bell_that_always_rings() {
    burst_between_threads(false);
}

#[test]
fn a_burst_of_100_000_messages_between_threads_with_a_bell_that_rings_on_request() {
    burst_between_threads(true);
}

/// The variable that makes a process of this test a rank: its number, then the descriptors.
const RANK: &str = "PARADES_TEST_RANK";

#[test]
fn a_burst_of_100_000_messages_between_processes() {
    if let Ok(role) = std::env::var(RANK) {
        let numbers: Vec<i32> = role.split(' ').map(|number| number.parse().unwrap()).collect();
        let (rank, parent, fds) = (numbers[0] as usize, numbers[1] as u32, &numbers[2..]);
        let segments = fds.iter().map(|&fd| SegmentFile::of_process(parent, fd));
        let fabric = SharedMemory::join(rank, segments.collect::<Result<_, _>>().unwrap()).unwrap();
        return run_rank(&fabric, 12_000, true);
    }
    let segments = SharedMemory::create(RANKS, TINY).unwrap();
    let fds: Vec<_> = segments.iter().map(|file| file.raw_fd().to_string()).collect();
    let start = |rank: usize| {
        let name = "shared_memory_keeps_order_and_loses_nothing::a_burst_of_100_000_messages_between_processes";
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(RANK, format!("{rank} {} {}", std::process::id(), fds.join(" ")))
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (1..RANKS).map(start).collect();
    run_rank(&SharedMemory::join(0, segments).unwrap(), 12_000, true);
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn several_workers_of_a_rank_may_send_to_the_same_rank() {
    let ranks = connect(TINY);
    let (first, second) = (&ranks[0], &ranks[1]);
    std::thread::scope(|scope| {
        for worker in 0..3_u8 {
            scope.spawn(move || {
                (0..2000_u32).for_each(|number| first.send(1, &[&[worker; 100], &number.to_le_bytes()[..]].concat()))
            });
        }
        let mut next = [0; 3];
        while next != [2000; 3] {
            second.receive(&mut |_, bytes| {
                let worker = bytes[0];
                assert_eq!(bytes[..100], [worker; 100]);
                let next = &mut next[usize::from(worker)];
                assert_eq!(bytes[100..], u32::to_le_bytes(*next));
                *next += 1;
            });
        }
    });
}

#[test]
fn bytes_written_in_a_lane_arrive_in_order_with_those_that_are_sent() {
    let ranks = connect(TINY);
    let (first, second) = (&ranks[0], &ranks[1]);
    let expected = |number: u64| message(0, 1, number);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..5000 {
                let mut calls = 0;
                // Now and then the message is far larger than the memory that is lent, and than the lane.
                let mut write = |room: &mut Room<'_>| {
                    calls += 1;
                    expected(number).chunks(7).for_each(|bytes| room.put_all(bytes));
                };
                if number % 3 == 0 {
                    first.send(1, &expected(number));
                    calls += 1;
                } else {
                    while !first.try_write(1, 40, &mut write) {
                        std::thread::yield_now();
                    }
                }
                assert_eq!(calls, 1, "message {number}");
            }
        });
        let mut next = 0;
        while next < 5000 {
            second.receive(&mut |from, bytes| {
                assert_eq!((from, bytes), (0, &expected(next)[..]), "message {next}");
                next += 1;
            });
        }
    });
}

#[test]
fn a_full_lane_refuses_bytes_until_they_are_received_or_the_rank_has_ended() {
    let mut ranks = connect(TINY);
    let write = |ranks: &[Arc<SharedMemory>]| ranks[0].try_write(1, 100, &mut |room| room.put_all(&[7; 100]));
    let written = (0..100).take_while(|_| write(&ranks)).count();
    assert!((1..100).contains(&written), "{written}");
    let mut received = 0;
    ranks[1].receive(&mut |_, bytes| received += usize::from(bytes == [7; 100]));
    assert_eq!(received, written);
    let again = (0..100).take_while(|_| write(&ranks)).count();
    assert!((1..100).contains(&again), "{again}");
    drop(ranks.remove(1));
    // A caller that writes a list in parts would never come to its end if its bytes were not written.
    let mut calls = 0;
    assert!(ranks[0].try_write(1, 100, &mut |_| calls += 1), "the bytes are dropped");
    assert_eq!(calls, 1);
}

#[test]
fn a_rank_that_has_ended_is_lost_once_its_last_message_is_received() {
    let mut ranks = connect(TINY);
    ranks[1].send(0, b"last");
    drop(ranks.remove(1));
    assert_eq!(ranks[0].lost(1), None);
    let mut received = Vec::new();
    ranks[0].receive(&mut |from, bytes| received.push((from, bytes.to_vec())));
    assert_eq!(received, [(1, b"last".to_vec())]);
    let lost = ranks[0].lost(1).expect("it has ended");
    assert_eq!((lost.rank, lost.why), (1, None));
    assert_eq!(ranks[0].lost(2), None);
}

#[test]
fn a_rank_declared_lost_wakes_a_sender_that_waits_for_room_and_rings_the_bell() {
    let ranks = connect(TINY);
    let first = &ranks[0];
    let news = News::of(first);
    let seen = news.count();
    let (begun, begins) = mpsc::channel();
    std::thread::scope(|scope| {
        let sending = scope.spawn(move || {
            begun.send(()).unwrap();
            // Nobody receives.
            first.send(1, &[7; 10_000]);
        });
        begins.recv().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(!sending.is_finished());
        first.declare_lost(Lost {
            rank: 1,
            why: Some("worker 1 (process 4711) was killed by SIGKILL".into()),
            has_crashed: true,
        });
        sending.join().unwrap();
    });
    news.wait(seen);
    let lost = first.lost(1).expect("it was declared");
    assert_eq!(lost.to_string(), "rank 1 ended before the run did: worker 1 (process 4711) was killed by SIGKILL");
    first.send(1, b"dropped");
}

#[test]
fn segments_that_do_not_fit_are_refused() {
    let mut segments = SharedMemory::create(2, TINY).unwrap();
    segments.pop();
    assert!(SharedMemory::join(0, segments).is_err(), "a segment of two ranks in a run of one");
    assert!(SegmentFile::inherited(9999).is_err());
    let segments = SharedMemory::create(1, TINY).unwrap();
    let again = vec![SegmentFile::inherited(segments[0].raw_fd()).unwrap()];
    let _joined = SharedMemory::join(0, segments).unwrap();
    assert!(SharedMemory::join(0, again).is_err(), "rank 0 was joined before");
    assert!(SharedMemory::create(2, LaneShape { bytes: u32::MAX }).is_err());
}
