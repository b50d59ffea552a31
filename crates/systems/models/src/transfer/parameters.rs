//! The parameters of transfers.

use parades_config::Words;
use parades_config::units::MBPS;
use parades_core::time::Delay;

/// The reason why a model is impossible: the key of the wrong parameter, and a sentence.
pub type Invalid = (&'static str, String);

/// The way in which an LP's state is restored when an execution is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restore {
    /// A copy of the state before each event, including window and buffer.
    Copy,
    /// The old values of the fields that changed.
    Log,
}

impl Words for Restore {
    const WORDS: &'static [(&'static str, Restore)] = &[("copy", Restore::Copy), ("log", Restore::Log)];
}

/// The parameters.
#[derive(Clone, Debug, PartialEq, parades_config::Parameters)]
pub struct Parameters {
    /// The number of pairs of a sender and a receiver.
    #[parameter(integer, default = 64, range = 1..=1_000_000_000, meaning = "pairs of a sender and a receiver")]
    pub pairs: u32,
    /// The number of segments that may be sent and not yet acknowledged.
    #[parameter(
        integer, default = 256, range = 1..=1_048_576,
        meaning = "greatest number of segments without an acknowledgement"
    )]
    pub window: u32,
    /// The number of segments in a transfer.
    #[parameter(integer, changeable, default = 1000, range = 1..=1_000_000_000, meaning = "segments of a transfer")]
    pub segments: u64,
    /// The size of a segment in bytes.
    #[parameter(size, key = "segment", default = 1500, positive, meaning = "size of a segment")]
    pub segment_bytes: u32,
    /// The size of an acknowledgement in bytes.
    #[parameter(size, key = "ack", default = 40, positive, meaning = "size of an acknowledgement")]
    pub ack_bytes: u32,
    /// The probability that a segment or an acknowledgement is lost.
    #[parameter(
        fraction,
        changeable,
        default = 0.01,
        meaning = "probability that a segment or an acknowledgement is lost; below 1"
    )]
    pub loss: f64,
    /// The least delay of the channel in either direction, without the serialisation time.
    #[parameter(duration, changeable, default = Delay::from_ms(10), meaning = "least delay of the channel in either direction")]
    pub delay: Delay,
    /// The largest delay beyond `delay`. The actual one is uniform.
    #[parameter(duration, changeable, default = Delay::from_us(200), meaning = "greatest additional delay; it is drawn uniformly")]
    pub jitter: Delay,
    /// The rate of the link in either direction, in bits per second.
    #[parameter(rate, changeable, default = 100 * MBPS, positive, meaning = "rate of the channel in either direction")]
    pub rate: u64,
    /// The mean of the exponential pauses before transfers.
    #[parameter(duration, changeable, default = Delay::from_ms(100), meaning = "mean pause between transfers")]
    pub pause: Delay,
    /// The least retransmission timeout.
    #[parameter(duration, changeable, default = Delay::from_ms(200), positive, meaning = "least retransmission timeout")]
    pub min_timeout: Delay,
    /// The way in which state is restored.
    #[parameter(choice, default = "log", meaning = "how state is restored after a rollback: by copy, by undo log")]
    pub restore: Restore,
}

/// Largest number of pairs, for fewer than 2^32 - 1 LPs.
const PAIRS_MAX: u32 = (1 << 31) - 1;
/// Longest window: a million segments, which take 16 MB in each LP.
const WINDOW_MAX: u32 = 1 << 20;
/// Largest number of segments in a transfer. With it, no count of segments can overflow.
const SEGMENTS_MAX: u64 = 1 << 48;
/// Longest time that a parameter may have: a day.
const SPAN_MAX: Delay = Delay::from_secs(86_400);

impl Parameters {
    /// Checks that the parameters make sense.
    ///
    /// # Errors
    ///
    /// Returns the first wrong key, and a sentence about it.
    pub fn check(&self) -> Result<(), Invalid> {
        let counts = [
            ("pairs", u64::from(self.pairs), u64::from(PAIRS_MAX)),
            ("window", u64::from(self.window), u64::from(WINDOW_MAX)),
            ("segments", self.segments, SEGMENTS_MAX),
            ("segment_bytes", u64::from(self.segment_bytes), u64::from(u32::MAX)),
            ("ack_bytes", u64::from(self.ack_bytes), u64::from(u32::MAX)),
            ("rate", self.rate, u64::MAX),
        ];
        for (key, value, most) in counts {
            if value < 1 || value > most {
                return Err((key, format!("`{key}` must be at least 1 and at most {most}, not {value}")));
            }
        }
        let loss = self.loss;
        if !(0.0..1.0).contains(&loss) {
            return Err(("loss", format!("the probability of loss must be at least 0 and below 1, not {loss}")));
        }
        let spans = [
            ("delay", self.delay, Delay::ZERO),
            ("jitter", self.jitter, Delay::ZERO),
            ("pause", self.pause, Delay::ZERO),
            ("min_timeout", self.min_timeout, Delay::from_us(1)),
        ];
        for (key, span, least) in spans {
            if span < least || span > SPAN_MAX {
                return Err((key, format!("`{key}` must be between {least} and {SPAN_MAX}, not {span}")));
            }
        }
        let segment_time = Delay::serialisation(u64::from(self.segment_bytes.max(self.ack_bytes)), self.rate);
        if segment_time > SPAN_MAX {
            let sentence =
                format!("at {} bit/s a message takes {segment_time} to leave: at most {SPAN_MAX}", self.rate);
            return Err(("rate", sentence));
        }
        Ok(())
    }
}
