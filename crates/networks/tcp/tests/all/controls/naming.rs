//! Controls are selected by name, and a crate can add its own.

use crate::controls::harness::{ack, window};
use crate::controls::path::{Path, Sender};
use parades_core::digest::Digest;
use parades_core::restore::{UndoLog, Undoable};
use parades_core::time::{Delay, Time};
use parades_tcp::control::{Ack, Algorithm, Congestion, CongestionControl, Control, OtherControl, Window};

/// A control that adds a fixed number of bytes for each acknowledgement.
#[derive(Clone, Debug, Default)]
struct Fixed {
    acks: u32,
}

impl CongestionControl for Fixed {
    fn on_ack(&mut self, _: &Ack, window: &mut Window) {
        self.acks += 1;
        window.cwnd += 7;
    }

    fn on_congestion(&mut self, _: Congestion, _: Time, _: u32, window: &mut Window) {
        window.ssthresh = 12_345;
    }

    fn copy(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }

    fn fold(&self, digest: &mut Digest) {
        digest.word(u64::from(self.acks));
    }
}

#[test]
fn a_control_of_another_crate_is_called_compared_copied_and_undone() {
    let algorithm = Algorithm::Other(OtherControl::new("fixed", Fixed::default()));
    assert_eq!((algorithm.name(), algorithm.as_in_ns3()), ("fixed", algorithm.clone()));
    assert_ne!(algorithm, Algorithm::Other(OtherControl::new("fixed", Fixed { acks: 1 })));
    let mut control = algorithm.start();
    let (fresh, mut log, mut window) = (control.clone(), UndoLog::default(), window(10_000, 5_000));
    log.recording(|recorder| control.view(recorder).into_mut().on_ack(&ack(1), &mut window));
    control.on_congestion(Congestion::Loss, Time::ZERO, 0, &mut window);
    assert_eq!((window.cwnd, window.ssthresh), (10_007, 12_345));
    assert_ne!(control, fresh);
    let digest = |control: &Control| {
        let mut digest = Digest::default();
        control.fold(&mut digest);
        digest
    };
    assert_ne!(digest(&control), digest(&fresh));
    control.undo_all(&mut log);
    assert_eq!(control, fresh);
}

#[test]
fn an_unknown_name_is_refused_with_the_known_ones() {
    let error = "newrenp".parse::<Algorithm>().unwrap_err().to_string();
    assert!(error.starts_with("there is no congestion control `newrenp`: the known ones are newreno"), "{error}");
}

const NAMES: [&str; 5] = ["newreno", "cubic", "dctcp", "vegas", "bbr"];

#[test]
fn each_algorithm_has_the_name_that_selects_it() {
    for name in NAMES {
        let algorithm: Algorithm = name.parse().expect("the name is known");
        let names = [algorithm.clone(), algorithm.as_in_linux(), algorithm.as_in_ns3()].map(|same| same.name());
        assert_eq!(names, [name; 3]);
        let same = NAMES.iter().filter(|other| other.parse::<Algorithm>() == Ok(algorithm.clone())).count();
        assert_eq!(same, 1);
    }
}

/// A rollback restores a copy, and then the same acknowledgements arrive again.
#[test]
fn a_copy_of_the_state_continues_as_the_original() {
    let rate_bps = Some(8_000_000);
    let path = Path { rtt: Delay::from_ms(40), rate_bps, queue_max: Some(30), mark_from: Some(20), lose_every: None };
    let digest = |sender: &Sender| {
        let mut digest = Digest::default();
        sender.control.fold(&mut digest);
        (digest, sender.window.cwnd)
    };
    for name in NAMES {
        let algorithm: Algorithm = name.parse().expect("the name is known");
        for algorithm in [algorithm.clone(), algorithm.as_in_linux(), algorithm.as_in_ns3()] {
            let mut sender = Sender::start(algorithm, path);
            sender.run(Time::from_secs(3), |_| {});
            let mut copy = sender.clone();
            copy.control = Control::Other(sender.control.copy());
            assert_eq!(digest(&sender), digest(&copy), "{name}");
            let before = digest(&sender);
            sender.run(Time::from_secs(6), |_| {});
            copy.run(Time::from_secs(6), |_| {});
            assert_eq!(digest(&sender), digest(&copy), "{name}");
            assert_ne!(digest(&sender), before, "{name}");
        }
    }
}

#[test]
fn the_state_of_a_control_takes_at_most_128_bytes_of_a_connection() {
    assert!(size_of::<Control>() <= 128, "{}", size_of::<Control>());
}
