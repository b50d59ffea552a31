//! The results of TCP connections.

use super::exchanges::begin_row;
use super::ratio;
use crate::description::AppKind;
use crate::network::Layout;
use crate::protocols::Endpoint;
use crate::protocols::tcp::{Counts, ENDLESS, Heard, Progress};
use parades_core::metrics::{Cell, Metrics, Unit};
use parades_core::time::Time;
use parades_tcp::connection::Connection;

pub(super) const COLUMNS: [(&str, Unit); 23] = [
    ("flow", Unit::Count),
    ("app", Unit::Count),
    ("source", Unit::Count),
    ("destination", Unit::Count),
    ("bytes", Unit::Bytes),
    ("bytes_received", Unit::Bytes),
    ("first_byte", Unit::Picoseconds),
    ("completion", Unit::Picoseconds),
    ("goodput", Unit::BitsPerSecond),
    ("segments_sent", Unit::Count),
    ("segments_received", Unit::Count),
    ("retransmissions", Unit::Count),
    ("retransmissions_fast", Unit::Count),
    ("retransmissions_timeout", Unit::Count),
    ("retransmissions_probe", Unit::Count),
    ("retransmissions_answers", Unit::Count),
    ("retransmissions_spurious", Unit::Count),
    ("timeouts", Unit::Count),
    ("recoveries", Unit::Count),
    ("mark_reductions", Unit::Count),
    ("out_of_order", Unit::Count),
    ("rtt", Unit::Picoseconds),
    ("cwnd", Unit::Bytes),
];

// The places of a connection's words: those of the sender come first.
const SENDER: usize = 12;
const BYTES: usize = SENDER;
const FIRST: usize = BYTES + 1;
const LAST: usize = FIRST + 1;
const RECEIVED: usize = LAST + 1;
const OUT_OF_ORDER: usize = RECEIVED + 1;
const WORDS: usize = OUT_OF_ORDER + 1;

/// Adds the part of an end of a connection. A time that has not come is zero.
pub(super) fn finish_endpoint(net: &Layout, address: u32, endpoint: &Endpoint, metrics: &mut Metrics) {
    let Some(table) = net.ids.connections else { return };
    let (flow, _) = net.slots.role(address);
    let mut words = [0; WORDS];
    match endpoint {
        Endpoint::TcpSender(sender) => {
            words[..SENDER].copy_from_slice(&of_sender(&sender.connection, sender.counts, sender.heard));
        }
        Endpoint::TcpReceiver(receiver) => {
            let arrived = receiver.sink.arrivals.packets;
            words[BYTES..].copy_from_slice(&of_receiver(&receiver.connection, arrived, receiver.progress));
        }
        Endpoint::Stream(end) if end.begins => {
            words[..SENDER].copy_from_slice(&of_sender(&end.connection, end.counts, end.heard));
        }
        Endpoint::Stream(end) => {
            words[BYTES..].copy_from_slice(&of_receiver(&end.connection, end.counts.received, end.progress));
        }
        _ => return,
    }
    metrics.add_to_sums(table, u64::from(flow), &words);
}

/// Returns the words of the end that opens a connection.
fn of_sender(connection: &Connection, segments: Counts, heard: Heard) -> [u64; SENDER] {
    let counts = connection.counts();
    [
        segments.sent,
        counts.retransmissions() + heard.repeated,
        counts.fast_retransmissions,
        counts.timeout_retransmissions,
        counts.probe_retransmissions,
        heard.repeated,
        counts.spurious_retransmissions,
        counts.timeouts,
        counts.recoveries,
        counts.mark_reductions,
        connection.smoothed_rtt().as_ps(),
        u64::from(connection.cwnd()),
    ]
}

/// Returns the words of the other end. `arrived` is the number of segments that it got.
fn of_receiver(connection: &Connection, arrived: u64, progress: Progress) -> [u64; WORDS - BYTES] {
    let time = |time: Time| if time < Time::MAX { time.as_ps() } else { 0 };
    let Progress { bytes, first, last } = progress;
    [bytes, time(first), time(last), arrived, connection.counts().out_of_order]
}

/// Makes the rows.
pub(super) fn conclude(net: &Layout, metrics: &mut Metrics) {
    let Some(table) = net.ids.connections else { return };
    for (flow, words) in metrics.take_sums(table) {
        let (kind, mut row) = begin_row(net, flow);
        let bytes = match kind {
            AppKind::Tcp(tcp) if tcp.bytes < ENDLESS => tcp.bytes.into(),
            // The stream does not end, or only the application knows its size.
            AppKind::Tcp(_) | AppKind::Stream(_) => Cell::Empty,
            _ => continue,
        };
        let place = usize::try_from(flow).expect("flows are counted in 32 bits");
        let start = net.flows[place].start.as_ps();
        let since_start = |time: u64| if time > 0 { Cell::Integer(time - start) } else { Cell::Empty };
        let seconds = words[LAST].saturating_sub(start) as f64 / 1e12;
        let integer = |place: usize| Cell::Integer(words[place]);
        row.extend([bytes, integer(BYTES), since_start(words[FIRST]), since_start(words[LAST])]);
        row.extend([ratio(words[BYTES] as f64 * 8.0, seconds), integer(0), integer(RECEIVED)]);
        row.extend((1..=9).map(integer));
        row.extend([integer(OUT_OF_ORDER), integer(10), integer(11)]);
        metrics.row(table, row);
    }
}
