//! A token bucket: a shaper before the transmitter.

use super::QueueLimit;
use parades_core::restore::Undoable;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// The parameters of a token bucket.
///
/// Tokens for bytes come at a rate, and at most `burst_bytes` are kept. A packet starts when there are tokens
/// for all its bytes, and takes them. Other packets wait behind it. A packet that is larger than the burst
/// can never start, and is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenBucket {
    /// The rate of tokens, in bits per second.
    pub rate_bps: u64,
    /// The most tokens that are kept, in bytes.
    pub burst_bytes: u64,
    /// The limit of the queue.
    pub limit: QueueLimit,
}

impl TokenBucket {
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.rate_bps == 0 {
            return Err("has a token rate of zero; give it more".into());
        }
        if self.burst_bytes == 0 {
            return Err("has a burst of zero bytes; give it room for at least one packet".into());
        }
        Ok(())
    }
}

/// The state of a token bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub(crate) struct State {
    /// The time at which the bucket is full again, if no more packets come.
    full_at: Time,
}

impl State {
    /// Returns the earliest time, not before `free`, at which a packet may start. `None` if the packet is
    /// larger than the burst.
    pub(crate) fn start(&self, bucket: &TokenBucket, bytes: u32, free: Time) -> Option<Time> {
        // The bucket is full at `full_at`. It had `bytes` tokens as long before as the remainder takes.
        let spare = bucket.burst_bytes.checked_sub(u64::from(bytes))?;
        let wait = self.full_at.since(free).as_ps();
        let early = Delay::serialisation(spare, bucket.rate_bps).as_ps();
        free.checked_add(Delay::from_ps(wait.saturating_sub(early)))
    }

    /// Takes the tokens of a packet that starts at `start`.
    pub(crate) fn take(&mut self, bucket: &TokenBucket, bytes: u32, start: Time) {
        let refill = Delay::serialisation(u64::from(bytes), bucket.rate_bps);
        self.full_at = self.full_at.max(start).saturating_add(refill);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_goes_at_once_and_then_packets_go_at_the_rate_of_tokens() {
        // 8 Mbit/s: a byte each microsecond. The burst of 2500 bytes lets two packets of 1000 go at once. The
        // third needs 500 more tokens, and each further one 1000 more.
        let bucket = TokenBucket { rate_bps: 8_000_000, burst_bytes: 2500, limit: QueueLimit::Packets(9) };
        let at = |us| Time::ZERO.checked_add(Delay::from_us(us)).expect("soon");
        let mut state = State::default();
        let mut send = |free| {
            let start = state.start(&bucket, 1000, free).expect("it fits the burst");
            state.take(&bucket, 1000, start);
            start
        };
        let starts = [0; 5].map(|_| send(at(0)));
        assert_eq!(starts, [0, 0, 500, 1500, 2500].map(at));
        // Nothing is left at 2500 us. At 4000 us there are 1500 tokens; at 10,000 us the bucket is full.
        assert_eq!([4000, 4000].map(|us| send(at(us))), [4000, 4500].map(at));
        assert_eq!([10_000; 3].map(|us| send(at(us))), [10_000, 10_000, 10_500].map(at));
        assert_eq!(state.start(&bucket, 2501, at(20_000)), None);
    }

    #[test]
    fn the_rate_of_many_packets_is_that_of_tokens() {
        let bucket = TokenBucket { rate_bps: 7_000_000, burst_bytes: 4000, limit: QueueLimit::Packets(9) };
        let (mut state, mut free) = (State::default(), Time::ZERO);
        let bytes = [40, 1500, 576];
        let mut sent = 0;
        for _ in 0..10_000 {
            for bytes in bytes {
                free = state.start(&bucket, bytes, free).expect("it fits the burst");
                state.take(&bucket, bytes, free);
                sent += u64::from(bytes);
            }
        }
        // All but the burst needed new tokens.
        let expected = (sent - 4000) as f64 * 8.0 / 7e6;
        assert!((free.as_secs_f64() - expected).abs() < 576.0 * 8.0 / 7e6 + 1e-6, "{free} is not {expected} s");
    }
}
