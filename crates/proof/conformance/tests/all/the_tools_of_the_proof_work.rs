//! The matrix reports what it did not test, a comparison finds the first difference, and bytes keep events.

use parades_conformance::compare::first_divergence;
use parades_conformance::matrix::{Case, Selection, check_models, models};
use parades_conformance::report::{Feature, Occurrences, Report};
use parades_conformance::transport::{Carrier, Parcel};
use parades_core::any_model::{AnyModel, AnyWire, Packed, Typed, any_event, body_ref, in_form, with_model};
use parades_core::bytes::Bytes;
use parades_core::event::{Body, Event, EventKey, LpId, Sender, TimerId};
use parades_core::run::RunOptions;
use parades_core::time::{Instant, Time};
use parades_models::phold::{Parameters, Phold};

#[test]
fn a_matrix_in_which_engines_had_nothing_special_to_do_shows_less_than_it_should() {
    let one_lp: Vec<Case> = models().into_iter().filter(|case| case.name == "phold-one-lp").collect();
    let selection = Selection { engine: Some("time-warp".into()), ..Selection::default() };
    let report = check_models(&one_lp, &selection);
    // Three seeds, on 2, 3 and 8 workers.
    let nothing = Occurrences { runs: 9, ..Occurrences::default() };
    let of = |(feature, transport)| ((feature, "time-warp", transport), nothing);
    assert_eq!(
        report.occurrences.iter().map(|(of, what)| (*of, *what)).collect::<Vec<_>>(),
        [
            (Feature::Rollback, "bytes"),
            (Feature::Rollback, "direct"),
            (Feature::ModeSwitch, "bytes"),
            (Feature::ModeSwitch, "direct")
        ]
        .map(of)
    );
    assert!(report.differences.is_empty() && !report.is_good());
    assert_eq!(report.gaps.len(), 4);
    let text = report.to_string();
    assert!(text.contains("GAP time-warp over bytes had no rollbacks in 9 runs on several workers"), "{text}");
    assert!(text.contains("time-warp over direct: 0 rollbacks, in 0 of 9 runs"), "{text}");
    // These selections require nothing: one names the model, one has a single worker, which never rolls
    // back, and `rounds` never rolls back at all.
    for selection in [
        Selection { model: Some("phold-one-lp".into()), ..selection.clone() },
        Selection { workers: Some(1), ..selection },
        Selection { engine: Some("rounds".into()), ..Selection::default() },
    ] {
        assert!(check_models(&one_lp, &selection).is_good());
    }
}

#[test]
fn what_was_not_put_to_the_test_is_a_failure() {
    let report = |runs, gaps| Report { runs, gaps, ..Report::default() };
    assert_eq!(report(1, Vec::new()).verdict(), Ok(true));
    assert_eq!(report(1, vec!["an engine never rolled back".into()]).verdict(), Ok(false));
    assert_eq!(report(0, Vec::new()).verdict(), Err("nothing was run".to_owned()));
}

#[test]
fn the_parting_is_the_first_event_of_the_first_lp() {
    let lines = |text: &str| text.lines().map(String::from).collect::<Vec<_>>();
    let expected = lines("1s LP 3 <- LP 1 #0\n2s LP 4 <- LP 1 #1\n3s LP 3 <- LP 1 #2");
    let found = lines("1s LP 3 <- LP 1 #0\n2s LP 4 <- LP 1 #1\n3s LP 3 <- LP 2 #2");
    let text = first_divergence(&expected, &found).expect("they part");
    assert!(text.starts_with("LP 3 parts at its event 1:\n    3s LP 3 <- LP 1 #2"), "{text}");
    assert_eq!(first_divergence(&expected, &expected), None);
    let text = first_divergence(&expected[..2], &expected).expect("one has more");
    assert!(text.starts_with("LP 3 parts at its event 1, which it should not have"), "{text}");
}

/// Returns the key of an event.
fn key(sequence: u64) -> EventKey {
    let instant = Instant { time: Time::from_ps(10 + sequence % 3), round: 7 };
    EventKey { instant, tie: 3, sender: Sender::lp(LpId(5)), sequence }
}

#[test]
fn bytes_keep_every_field_and_the_order_of_each_pair() {
    let model = Phold::<Bytes>::new(Parameters::default());
    with_model(&model, RunOptions::until(Time::MAX), |model, _| in_form!(model.form(), send_and_receive(model)));
}

fn send_and_receive<'k, P: Packed<'k>>(model: &'k Typed<'k, '_, Phold<Bytes>>) {
    let message = |sequence: u64| Bytes::write(20, |to| to.fill(sequence.to_le_bytes()[0]));
    let event = |sequence| {
        let packed: P = model.kind().pack(message(sequence));
        any_event(Event::new(key(sequence), LpId(9), Body::Message(packed)))
    };
    let codec = Some(model as &dyn AnyWire<'_>);
    let mut transport = Carrier::Bytes.open(codec, 2, 1);
    for sequence in 0..100 {
        transport.send(1, 0, Parcel::Event(event(sequence), 1000 + sequence));
        transport.send(1, 0, Parcel::Anti(LpId(9), key(sequence), 1000 + sequence));
    }
    transport.send(1, 0, Parcel::Event(Event::new(key(0), LpId(9), Body::Timer(TimerId(44))), 0));
    let (mut parcels, mut steps) = (Vec::new(), 0);
    while transport.least_in_flight().is_some() {
        parcels.extend(transport.receive(0));
        steps += 1;
    }
    assert!(steps > 1, "something was held back");
    assert!(matches!(&parcels[200], Parcel::Event(event, 0) if matches!(event.body, Body::Timer(TimerId(44)))));
    for (i, pair) in (0..).zip(parcels[..200].chunks(2)) {
        let Parcel::Event(found, incarnation) = &pair[0] else { panic!("an event comes first") };
        let Body::Message(found_message) = body_ref(found) else { panic!("it was a message") };
        assert_eq!(model.kind().open(found_message), &message(i));
        assert_eq!((found.key(), found.receiver(), *incarnation), (key(i), LpId(9), 1000 + i));
        assert!(matches!(pair[1], Parcel::Anti(LpId(9), of, n) if of == key(i) && n == 1000 + i));
    }
}
