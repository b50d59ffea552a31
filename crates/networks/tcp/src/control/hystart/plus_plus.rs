//! HyStart++ (RFC 9406, section 4).
//!
//! A rising round trip moves slow start to Conservative Slow Start (CSS), which grows at a quarter of the
//! speed. After five rounds of CSS, congestion avoidance begins. If the round trip falls again, slow start
//! resumes.

use crate::control::{Ack, Window};
use crate::save::is_count;
use parades_core::digest::Digest;
use parades_core::time::Delay;
use serde::{Deserialize, Serialize};

/// The lower bound of the rise that ends slow start: `MIN_RTT_THRESH`.
const RISE_MIN: Delay = Delay::from_ms(4);
/// The upper bound of this rise: `MAX_RTT_THRESH`.
const RISE_MAX: Delay = Delay::from_ms(16);
/// Between the two bounds, the rise is the round trip divided by this number: `MIN_RTT_DIVISOR`.
const RISE_DIVISOR: u64 = 8;
/// The number of round trips measured in a round before they are used: `N_RTT_SAMPLE`.
const SAMPLES_MIN: u32 = 8;
/// The number by which CSS divides the growth: `CSS_GROWTH_DIVISOR`.
const GROWTH_DIVISOR: u32 = 4;
/// The number of rounds of CSS, with the round in which CSS begins: `CSS_ROUNDS`.
const CSS_ROUNDS: u32 = 5;

/// The state of HyStart++.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::control) struct PlusPlus {
    /// The place of the stream whose acknowledgement ends the round.
    round_end: u64,
    /// The least round trip of the last round; `Delay::MAX` if none was measured.
    last_round_rtt: Delay,
    /// The least round trip of this round; `Delay::MAX` if none was measured.
    round_rtt: Delay,
    /// The number of round trips measured in this round.
    samples: u32,
    css: Option<Css>,
}

/// The state of Conservative Slow Start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Css {
    /// The round trip below which slow start resumes.
    baseline: Delay,
    /// The number of rounds left.
    rounds_left: u32,
}

impl PlusPlus {
    pub(super) const fn new() -> PlusPlus {
        PlusPlus { round_end: 0, last_round_rtt: Delay::MAX, round_rtt: Delay::MAX, samples: 0, css: None }
    }

    /// Returns true if this is a state of the algorithm. One that was read may be none.
    pub(super) fn is_possible(&self) -> bool {
        is_count(self.samples) && self.css.is_none_or(|css| css.rounds_left > 0)
    }

    /// Reads an acknowledgement of the first slow start.
    pub(super) fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        if window.ssthresh < u32::MAX {
            self.css = None;
            return;
        }
        if ack.unacked >= self.round_end {
            self.start_round(ack.next);
            self.count_round_of_css(window);
        }
        if let Some(rtt) = ack.rtt {
            self.round_rtt = self.round_rtt.min(rtt);
            self.samples += 1;
        }
        if self.samples >= SAMPLES_MIN {
            self.compare();
        }
    }

    fn start_round(&mut self, round_end: u64) {
        self.round_end = round_end;
        self.last_round_rtt = self.round_rtt;
        self.round_rtt = Delay::MAX;
        self.samples = 0;
    }

    /// Ends slow start after the last round of CSS.
    fn count_round_of_css(&mut self, window: &mut Window) {
        if let Some(css) = &mut self.css {
            css.rounds_left -= 1;
            if css.rounds_left == 0 {
                self.css = None;
                window.ssthresh = window.cwnd;
            }
        }
    }

    /// Compares the round trip with that of the round before, or with CSS's baseline.
    fn compare(&mut self) {
        match self.css {
            Some(css) if self.round_rtt < css.baseline => self.css = None,
            Some(_) => {}
            None if self.last_round_rtt == Delay::MAX => {}
            None => {
                let eighth = Delay::from_ps(self.last_round_rtt.as_ps() / RISE_DIVISOR);
                let rise = eighth.clamp(RISE_MIN, RISE_MAX);
                if self.round_rtt >= self.last_round_rtt.saturating_add(rise) {
                    self.css = Some(Css { baseline: self.round_rtt, rounds_left: CSS_ROUNDS });
                }
            }
        }
    }

    pub(super) fn growth_divisor(&self) -> u32 {
        if self.css.is_some() { GROWTH_DIVISOR } else { 1 }
    }

    pub(super) fn fold(&self, digest: &mut Digest) {
        digest.word(self.round_end);
        digest.word(self.last_round_rtt.as_ps());
        digest.word(self.round_rtt.as_ps());
        digest.word(u64::from(self.samples));
        if let Some(Css { baseline, rounds_left }) = self.css {
            digest.word(baseline.as_ps());
            digest.word(u64::from(rounds_left));
        }
    }
}
