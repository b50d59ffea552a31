//! Each model restores its state in each of the ways that it offers. The answer is the same in all of them.

use parades_core::digest::Payload;
use parades_core::prelude::*;
use parades_engine::{rollback_check, sequential};
use parades_models::multicast::{self, Multicast};
use parades_models::phold::{self, Contents, DelayKind, Phold};
use parades_models::queueing::{Generated, Layout, Network, Queueing};
use parades_models::transfer::{self, Transfer};
use std::fmt::Debug;

fn options(milliseconds: u64, tie_seed: Option<u64>) -> RunOptions<'static> {
    let until = Time::ZERO.checked_add(Delay::from_ms(milliseconds)).unwrap();
    RunOptions { tie_seed, ..RunOptions::until(until) }
}

/// Returns the digest of a run. Checks that `rollback_check` gives the same.
fn checked<M: Restorable<State: Clone + PartialEq + Debug>>(model: &M, milliseconds: u64) -> u64 {
    let plain = sequential::run(model, options(milliseconds, None)).unwrap();
    assert!(plain.events > 1_000, "a run of {} events checks little", plain.events);
    let twice = rollback_check::run(model, options(milliseconds, None)).unwrap();
    assert_eq!((plain.events, plain.lp_digests), (twice.events, twice.lp_digests));
    assert_eq!(plain.metrics, twice.metrics);
    plain.digest.unwrap()
}

fn phold_digests<C: Contents>(parameters: &phold::Parameters) -> [u64; 3] {
    [phold::Restore::Copy, phold::Restore::Reverse, phold::Restore::Log].map(|restore| {
        let model = Phold::<C>::new(phold::Parameters { restore, ..parameters.clone() });
        checked(&model, 20_000)
    })
}

#[test]
fn phold_by_copy_by_reverse_handler_and_by_undo_log() {
    for delay in [DelayKind::Exponential, DelayKind::Uniform, DelayKind::Constant, DelayKind::Quantised] {
        for radius in [0, 3] {
            let parameters =
                phold::Parameters { lps: 64, start_events: 2, delay, radius, ..phold::Parameters::default() };
            let digests = phold_digests::<()>(&parameters);
            assert!(digests.iter().all(|&digest| digest == digests[0]), "{delay:?} {radius}: {digests:x?}");
        }
    }
}

#[test]
fn phold_with_a_payload() {
    let parameters = phold::Parameters { lps: 64, payload: 100, ..phold::Parameters::default() };
    let digests = phold_digests::<Bytes>(&parameters);
    assert!(digests.iter().all(|&digest| digest == digests[0]), "{digests:x?}");
    assert_ne!(digests[0], phold_digests::<()>(&parameters)[0]);
}

#[test]
fn transfers_by_copy_and_by_undo_log() {
    for (loss, window) in [(0.0, 300), (0.05, 300), (0.3, 16)] {
        let digests = [transfer::Restore::Copy, transfer::Restore::Log].map(|restore| {
            let parameters = transfer::Parameters {
                pairs: 3,
                window,
                segments: 1_000,
                loss,
                restore,
                jitter: Delay::from_ms(1),
                ..transfer::Parameters::default()
            };
            checked(&Transfer::new(parameters).unwrap(), if window < 300 { 100_000 } else { 2_000 })
        });
        assert_eq!(digests[0], digests[1], "loss {loss}");
    }
}

#[test]
fn queues_by_record() {
    for (layout, transit) in [(Layout::Ring, Delay::from_us(500)), (Layout::Random, Delay::ZERO)] {
        let generated = Generated { stations: 30, layout, ..Generated::default() };
        let model = Queueing::new(Network::generated(&generated).unwrap(), transit, None).unwrap();
        checked(&model, 500);
    }
    // A station that feeds itself.
    let network = Network::jackson(&[300.0], &[1000.0], &[vec![0.5]]).unwrap();
    checked(&Queueing::new(network, Delay::from_ms(1), None).unwrap(), 2_000);
}

#[test]
fn multicast_by_copy() {
    let parameters = multicast::Parameters { trees: 2, levels: 6, start_events: 3, ..multicast::Parameters::default() };
    let shared = checked(&Multicast::<Shared<multicast::Packet>>::new(parameters).unwrap(), 30);
    assert_eq!(checked(&Multicast::<multicast::Copied>::new(parameters).unwrap(), 30), shared);
}

#[test]
fn no_metric_depends_on_the_order_of_simultaneous_events() {
    let transfer = Transfer::new(transfer::Parameters { pairs: 8, ..transfer::Parameters::default() }).unwrap();
    let plain = sequential::run(&transfer, options(2_000, None)).unwrap();
    let shuffled = sequential::run(&transfer, options(2_000, Some(9))).unwrap();
    assert_eq!(plain.metrics, shuffled.metrics);
    let network = Network::generated(&Generated { stations: 50, ..Generated::default() }).unwrap();
    let queueing = Queueing::new(network, Delay::ZERO, Some(10_000)).unwrap();
    let run = |tie_seed| {
        sequential::run(&queueing, RunOptions { tie_seed, ..RunOptions::until(queueing.duration()) }).unwrap()
    };
    assert_eq!(run(None).metrics, run(Some(9)).metrics);
}

/// Checks that a message comes back from serde unchanged.
fn crosses<P: Payload + PartialEq + serde::Serialize + for<'a> serde::Deserialize<'a>>(message: P) {
    let bytes = postcard::to_allocvec(&message).unwrap();
    assert_eq!(postcard::from_bytes::<P>(&bytes).unwrap(), message);
}

#[test]
fn messages_cross_process_boundaries() {
    use parades_models::queueing::Message as Customer;
    for message in [
        Customer::Arrival,
        Customer::Completion,
        Customer::Customer { entered_ps: 7 },
        Customer::Left { sojourn_ps: u64::MAX },
    ] {
        crosses(message);
    }
    crosses(transfer::Message::Segment { number: 1 << 40, content: 3 });
    crosses(transfer::Message::Ack { next: 9, echo: 8 });
}

#[test]
fn delays_that_add_up_to_more_than_their_sum_holds_are_an_error_of_phold() {
    for restore in [phold::Restore::Copy, phold::Restore::Reverse, phold::Restore::Log] {
        // Three events at 100 days, each of which sends an event with a delay of 100 days.
        let mean_delay = Delay::from_secs(100 * 86_400);
        let (delay, lookahead) = (DelayKind::Constant, Delay::ZERO);
        let parameters = phold::Parameters {
            lps: 1,
            start_events: 3,
            delay,
            mean_delay,
            lookahead,
            restore,
            ..phold::Parameters::default()
        };
        let error = rollback_check::run(&Phold::<()>::new(parameters), RunOptions::until(Time::MAX)).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("LP 0 at 8640000s, executing the event from LP 0 #2: the delays that it has drawn"),
            "{error}"
        );
    }
}
