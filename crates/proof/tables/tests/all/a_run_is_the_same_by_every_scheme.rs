//! The multicast campus with its data counted by each scheme.

use parades_core::prelude::*;
use parades_core::shared::Shared;
use parades_packet::campus::Parameters;
use parades_tables::refcount::{
    Aggregate, Atomic, BufferedAtBarrier, BufferedByThread, BufferedImmediate, BufferedLockFree, Compare, Counted,
    InObject, InPointer, Locked, Raw,
};

/// Returns the digest, and the number of objects that are left over.
fn run<D: Counted>() -> (Option<u64>, usize) {
    let parameters = Parameters { lan_clients: 2, start_span: Delay::ZERO, ..Parameters::default() };
    let model = parameters.multicast::<D>(1).expect("the parameters are possible");
    // After half a second, some packets are on their way.
    let options = RunOptions::until(Time::try_from_secs_f64(0.5).expect("a time"));
    let outcome = parades_engine::sequential::run(&model, options).expect("it runs");
    assert!(outcome.metrics.get("packets_in_flight").and_then(|metric| metric.counter()) > Some(0));
    D::settle();
    (outcome.digest, D::in_use())
}

#[test]
fn digests_are_those_of_an_arc_and_nothing_is_left() {
    let (expected, _) = run::<Shared<Box<[u8]>>>();
    assert!(expected.is_some());
    let of_each = [
        run::<Raw>(),
        run::<Locked>(),
        run::<Atomic>(),
        run::<Compare>(),
        run::<InObject>(),
        run::<InPointer>(),
        run::<BufferedImmediate>(),
        run::<BufferedByThread>(),
        run::<BufferedLockFree>(),
        run::<BufferedAtBarrier>(),
    ];
    assert_eq!(of_each, [(expected, 0); 10]);
    let (digest, left) = run::<Aggregate>();
    assert_eq!(digest, expected);
    assert!(left <= 8, "more than the group that is being handed out: {left}");
}
