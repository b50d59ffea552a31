//! Multicast: datagrams to many receivers. The source sends each packet once, and the network makes the
//! copies.
//!
//! All copies of a packet share its record ([`crate::record`]), at every hop. A receiver compares the first
//! bytes of the payload with the packet's stamp.

use super::datagram::{self, Datagrams, Due, TOO_MANY};
use super::{Environment, Protocol, Segment, Setup};
use crate::record;
use crate::sink::Sink;
use parades_core::restore::{Recorder, Undoable};
use parades_core::time::{Delay, Time};

/// The state of a group's source.
#[derive(Clone, Debug, PartialEq, Eq, Undoable)]
pub struct Source {
    /// The state that a source of datagrams has too.
    pub datagrams: datagram::Source,
}

/// The state of one receiver of a group.
#[derive(Clone, Debug, PartialEq, Eq, Undoable)]
pub struct Receiver {
    /// Measurements of the packets that arrive.
    pub sink: Sink,
}

/// Returns a number that tells a packet of a group from all others.
fn stamp(group: u32, number: u32) -> u64 {
    u64::from(group) << 32 | u64::from(number)
}

impl Source {
    /// Returns a source, and sets its timer to the first packet.
    pub(crate) fn on_start(datagrams: &Datagrams, start: Time, setup: &mut impl Setup) -> Source {
        Source { datagrams: datagrams.on_start(start, setup) }
    }
}

impl Receiver {
    pub(crate) fn new(sink: Sink) -> Receiver {
        Receiver { sink }
    }
}

impl<R: Recorder<SourceUndo>> Protocol for SourceMut<'_, R> {
    type Parameters = Datagrams;

    #[inline]
    fn on_timer<E: Environment>(&mut self, datagrams: &Datagrams, _: u32, env: &mut E) {
        match datagrams.next(self.datagrams().into_mut(), env) {
            Some(Due { number, payload }) => {
                let record = record::write(env.now(), stamp(env.flow(), number), payload);
                env.send(number, payload, record);
            }
            None => env.fail(TOO_MANY),
        }
    }

    fn on_rest(&mut self, span: Delay) {
        self.datagrams().into_mut().rest(span);
    }
}

impl<R: Recorder<ReceiverUndo>> Protocol for ReceiverMut<'_, R> {
    type Parameters = ();

    #[inline]
    fn on_segment<E: Environment>(&mut self, (): &(), segment: &Segment<'_, E::Record>, env: &mut E) {
        let Segment { number, payload, record, .. } = *segment;
        if record.is_some_and(|record| !record::has_stamp(record, stamp(env.flow(), number), payload)) {
            return env.fail(&format!("delivered packet {number} with data that its source did not write"));
        }
        self.sink().on_segment(&(), segment, env);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::Limit;
    use crate::protocols::Duration;
    use crate::protocols::mock::{Did, Mock};
    use crate::traffic::{Pattern, Sizes};
    use parades_tcp::environment::Ecn;

    #[test]
    fn a_receiver_takes_the_data_of_its_packet_and_no_other() {
        let pattern = Pattern::Constant { rate_bps: 8000 };
        let datagrams = Datagrams { sizes: Sizes::Constant(100), pattern, limit: Limit::Never };
        let mut env = Mock::default();
        let mut source = Source::on_start(&datagrams, Time::ZERO, &mut env);
        source.unrecorded().on_timer(&datagrams, 0, &mut env);
        let record = env.record.take().expect("packets of groups have records");
        env.take();
        env.now = Time::from_ps(9);
        let mut receiver = Receiver::new(Sink::new(false));
        let segment = |number| Segment {
            number,
            payload: 100,
            sent: Time::from_ps(2),
            record: Some(&record),
            ecn: Ecn::NotCapable,
            is_copy: false,
        };
        receiver.unrecorded().on_segment(&(), &segment(0), &mut env);
        assert_eq!(env.take(), [Did::Observed(Duration::Delay, Delay::from_ps(7))]);
        receiver.unrecorded().on_segment(&(), &segment(1), &mut env);
        assert!(matches!(env.take()[..], [Did::Failed(_)]));
        assert_eq!(receiver.sink.arrivals.packets, 1);
    }
}
