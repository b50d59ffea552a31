//! The parameters of transfers.

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

/// The parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// The number of pairs of a sender and a receiver.
    pub pairs: u32,
    /// The number of segments that may be sent and not yet acknowledged.
    pub window: u32,
    /// The number of segments in a transfer.
    pub segments: u64,
    /// The size of a segment in bytes.
    pub segment_bytes: u32,
    /// The size of an acknowledgement in bytes.
    pub ack_bytes: u32,
    /// The probability that a segment or an acknowledgement is lost.
    pub loss: f64,
    /// The least delay of the channel in either direction, without the serialisation time.
    pub delay: Delay,
    /// The largest delay beyond `delay`. The actual one is uniform.
    pub jitter: Delay,
    /// The rate of the link in either direction, in bits per second.
    pub rate: u64,
    /// The mean of the exponential pauses before transfers.
    pub pause: Delay,
    /// The least retransmission timeout.
    pub min_timeout: Delay,
    /// The way in which state is restored.
    pub restore: Restore,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            pairs: 64,
            window: 256,
            segments: 1000,
            segment_bytes: 1500,
            ack_bytes: 40,
            loss: 0.01,
            delay: Delay::from_ms(10),
            jitter: Delay::from_us(200),
            rate: 100_000_000,
            pause: Delay::from_ms(100),
            min_timeout: Delay::from_ms(200),
            restore: Restore::Log,
        }
    }
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
