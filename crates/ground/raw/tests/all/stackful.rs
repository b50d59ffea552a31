//! Stackful coroutines: where they continue, how they end, and the message about a stack overflow.

#![cfg(target_os = "linux")]

use parades_raw::stackful::{Name, Refused, Stackful, Switch, wait};
use std::future::poll_fn;
use std::process::Command;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};

const SWITCHES: &[Switch] =
    if cfg!(target_env = "gnu") { &[Switch::Registers, Switch::Ucontext] } else { &[Switch::Registers] };
const NAME: Name = Name { process: "test", node: 7 };
const BYTES: usize = 64 << 10;

/// Returns a future that is ready when it is polled for the second time.
fn ready_at_second_poll() -> impl Future<Output = ()> {
    let mut polled = false;
    poll_fn(move |_| if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending })
}

fn resume<T: Send + 'static>(code: &mut Stackful<T>) -> Result<Poll<T>, Refused> {
    code.resume(&mut Context::from_waker(Waker::noop()))
}

/// A value that counts its drops.
struct Counts(Arc<AtomicU32>);

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn counter() -> (Arc<AtomicU32>, Counts) {
    let counter = Arc::new(AtomicU32::new(0));
    (Arc::clone(&counter), Counts(counter))
}

#[test]
fn code_continues_where_it_waited() {
    for &switch in SWITCHES {
        let mut code = Stackful::new(switch, BYTES, NAME, || {
            (0..1000).map(|number| (wait(ready_at_second_poll()).unwrap(), number).1).sum()
        });
        for _ in 0..1000 {
            assert_eq!(resume(&mut code), Ok(Poll::Pending));
        }
        assert_eq!(resume(&mut code), Ok(Poll::Ready(499_500)));
    }
}

#[test]
fn a_coroutine_dropped_before_its_end_is_unwound_from_within() {
    for &switch in SWITCHES {
        let (drops, counts) = counter();
        let mut code = Stackful::new(switch, BYTES, NAME, move || {
            let _inner = Counts(Arc::clone(&counts.0));
            loop {
                wait(ready_at_second_poll()).unwrap();
            }
        });
        assert!(matches!(resume(&mut code), Ok(Poll::Pending)));
        assert_eq!(drops.load(Ordering::Relaxed), 0);
        drop(code);
        assert_eq!(drops.load(Ordering::Relaxed), 2, "{switch:?}");
        let (drops, counts) = counter();
        drop(Stackful::new(switch, BYTES, NAME, move || drop(counts)));
        assert_eq!(drops.load(Ordering::Relaxed), 1, "it never began");
    }
}

#[test]
fn a_panic_reaches_the_code_that_resumes() {
    for &switch in SWITCHES {
        let (drops, counts) = counter();
        let mut code = Stackful::new(switch, BYTES, NAME, move || -> u32 {
            let _counts = counts;
            wait(ready_at_second_poll()).unwrap();
            std::panic::resume_unwind(Box::new("on purpose"))
        });
        assert_eq!(resume(&mut code), Ok(Poll::Pending));
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| resume(&mut code))).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"on purpose"));
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn another_thread_neither_resumes_a_coroutine_nor_drops_its_values() {
    for &switch in SWITCHES {
        let (drops, counts) = counter();
        let mut code = Stackful::new(switch, BYTES, NAME, move || {
            let bound = Rc::new(counts);
            wait(ready_at_second_poll()).unwrap();
            drop(bound);
        });
        assert_eq!(resume(&mut code), Ok(Poll::Pending));
        let code = std::thread::spawn(move || {
            assert_eq!(resume(&mut code), Err(Refused::OtherThread));
            code
        });
        let mut code = code.join().expect("it only tries");
        assert_eq!(resume(&mut code), Ok(Poll::Ready(())), "its own thread may go on");
        assert_eq!(drops.load(Ordering::Relaxed), 1);

        let (drops, counts) = counter();
        let mut code = Stackful::new(switch, BYTES, NAME, move || {
            let _bound = Rc::new(counts);
            wait(ready_at_second_poll()).unwrap();
        });
        assert_eq!(resume(&mut code), Ok(Poll::Pending));
        std::thread::spawn(move || drop(code)).join().expect("it is only forgotten");
        assert_eq!(drops.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn a_wait_inside_of_a_poll_has_the_latest_waker() {
    struct Counting(AtomicU32);
    impl Wake for Counting {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    for &switch in SWITCHES {
        let mut code = Stackful::new(switch, BYTES, NAME, || {
            let wakes = poll_fn(|context| {
                wait(ready_at_second_poll()).unwrap();
                context.waker().wake_by_ref(); // The first poll's waker, which is gone by now.
                wait(poll_fn(|context| {
                    context.waker().wake_by_ref();
                    Poll::Ready(())
                }))
                .unwrap();
                Poll::Ready(3)
            });
            wait(wakes).unwrap()
        });
        let wakers = [0; 2].map(|count| Arc::new(Counting(AtomicU32::new(count))));
        for (counting, wanted) in wakers.iter().zip([Poll::Pending, Poll::Ready(3)]) {
            let waker = Waker::from(Arc::clone(counting));
            assert_eq!(code.resume(&mut Context::from_waker(&waker)), Ok(wanted));
        }
        assert_eq!(wakers.map(|waker| waker.0.load(Ordering::Relaxed)), [1, 1]);
    }
}

#[test]
fn nested_coroutines_wait_independently() {
    for &switch in SWITCHES {
        let mut code = Stackful::new(switch, BYTES, NAME, move || {
            let mut inner = Stackful::new(switch, BYTES, NAME, || {
                wait(ready_at_second_poll()).unwrap();
                5
            });
            assert_eq!(resume(&mut inner), Ok(Poll::Pending));
            wait(ready_at_second_poll()).unwrap();
            wait(poll_fn(move |context| inner.resume(context).expect("it is on its thread"))).unwrap()
        });
        assert_eq!(resume(&mut code), Ok(Poll::Pending));
        assert_eq!(resume(&mut code), Ok(Poll::Ready(5)));
    }
    assert!(wait(ready_at_second_poll()).is_err(), "here is no stack of its own");
}

#[test]
fn code_that_catches_its_unwinding_is_unwound_again() {
    for &switch in SWITCHES {
        let (drops, counts) = counter();
        let mut code = Stackful::new(switch, BYTES, NAME, move || {
            let _counts = counts;
            for _ in 0..3 {
                let _ = std::panic::catch_unwind(|| wait(ready_at_second_poll()));
            }
            wait(ready_at_second_poll()).unwrap();
        });
        assert_eq!(resume(&mut code), Ok(Poll::Pending));
        drop(code);
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn a_hundred_thousand_coroutines_wait_at_once() {
    let mut codes: Vec<_> = (0..100_000_u32)
        .map(|number| {
            Stackful::new(Switch::Registers, 16 << 10, NAME, move || {
                wait(ready_at_second_poll()).unwrap();
                number
            })
        })
        .collect();
    for code in &mut codes {
        match resume(code) {
            Ok(polled) => assert_eq!(polled, Poll::Pending),
            // An older system has maps for about 32,000 stacks.
            Err(why) => {
                assert!(why.to_string().contains("vm.max_map_count"), "{why}");
                return;
            }
        }
    }
    for (number, code) in (0..).zip(&mut codes) {
        assert_eq!(resume(code), Ok(Poll::Ready(number)));
    }
}

#[test]
fn a_stack_too_large_for_the_system_is_refused() {
    let mut code = Stackful::new(Switch::Registers, 1 << 60, NAME, || ());
    let why = resume(&mut code).unwrap_err();
    assert!(why.to_string().contains("make stacks smaller"), "{why}");
}

/// The environment variable that names the overflow to cause, for a test in a process of its own.
const OVERFLOWS: &str = "PARADES_TEST_OVERFLOWS";

fn recur(depth: usize) -> usize {
    let room = std::hint::black_box([depth; 64]);
    if depth == usize::MAX { 0 } else { recur(depth + 1) + room[depth % 64] }
}

/// Runs the test `test` of this file in a process of its own, with `which` in the variable [`OVERFLOWS`].
fn run_alone(test: &str, which: &str) -> std::process::Output {
    let program = std::env::current_exe().expect("tests are programs");
    let words = ["--exact", &format!("stackful::{test}"), "--nocapture", "--test-threads=1"];
    Command::new(program).args(words).env(OVERFLOWS, which).output().expect("it starts")
}

#[test]
fn a_stack_overflow_is_reported() {
    match std::env::var(OVERFLOWS).as_deref() {
        Ok("a fault elsewhere") => {
            let _ = resume(&mut Stackful::new(Switch::Registers, BYTES, NAME, || ())).expect("there is a stack");
            // The signal of a wild access, sent by another process. It is sent twice, because Rust's own
            // handler only restores the default at the first signal, so that a repeated access faults again.
            for _ in 0..2 {
                Command::new("kill")
                    .args(["-SEGV", &std::process::id().to_string()])
                    .status()
                    .expect("there is `kill`");
            }
            std::thread::sleep(std::time::Duration::from_secs(10));
        }
        Ok(which) => {
            let switch = SWITCHES[usize::from(which == "1")];
            // Other coroutines wait on the neighbouring stacks.
            let mut others: Vec<_> =
                (0..3).map(|_| Stackful::new(switch, BYTES, NAME, || wait(ready_at_second_poll()).unwrap())).collect();
            others.iter_mut().for_each(|other| assert_eq!(resume(other), Ok(Poll::Pending)));
            let name = Name { process: "deep", node: 41 };
            let _never = resume(&mut Stackful::new(switch, BYTES, name, || recur(0)));
        }
        Err(_) => {
            for which in 0..SWITCHES.len() {
                let output = run_alone("a_stack_overflow_is_reported", &which.to_string());
                let said = String::from_utf8_lossy(&output.stderr);
                let wanted = "error: the process `deep` of node 41 needs more than its stack of 65536 bytes";
                assert!(said.contains(wanted), "{said}");
                assert_eq!(output.status.code(), Some(1), "{said}");
            }
            let output = run_alone("a_stack_overflow_is_reported", "a fault elsewhere");
            assert_eq!(output.status.code(), None, "any other fault is a signal as before");
            assert!(!String::from_utf8_lossy(&output.stderr).contains("needs more"));
        }
    }
}
