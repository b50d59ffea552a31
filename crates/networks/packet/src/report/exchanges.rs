//! The results of transfers and of requests.

use super::{REQUESTS, TRANSFERS};
use crate::description::AppKind;
use crate::network::Layout;
use crate::protocols::Endpoint;
use parades_core::metrics::{Cell, Metrics, Unit};
use parades_core::run::End;
use parades_core::time::Time;

pub(super) const TRANSFER_COLUMNS: [(&str, Unit); 12] = [
    ("flow", Unit::Count),
    ("app", Unit::Count),
    ("source", Unit::Count),
    ("destination", Unit::Count),
    ("bytes", Unit::Bytes),
    ("bytes_acknowledged", Unit::Bytes),
    ("segments_sent", Unit::Count),
    ("segments_sent_again", Unit::Count),
    ("timeouts", Unit::Count),
    ("completion", Unit::Picoseconds),
    ("segments_sent_again_fast", Unit::Count),
    ("segments_sent_again_timeout", Unit::Count),
];

pub(super) const REQUEST_COLUMNS: [(&str, Unit); 10] = [
    ("flow", Unit::Count),
    ("app", Unit::Count),
    ("client", Unit::Count),
    ("server", Unit::Count),
    ("responses", Unit::Count),
    ("timeouts", Unit::Count),
    ("response_mean", Unit::Picoseconds),
    ("response_min", Unit::Picoseconds),
    ("response_max", Unit::Picoseconds),
    ("unfinished_for", Unit::Picoseconds),
];

/// Adds the part of an endpoint that begins a transfer or asks for responses.
pub(super) fn finish_endpoint(net: &Layout, address: u32, endpoint: &Endpoint, end: &End, metrics: &mut Metrics) {
    let (flow, _) = net.slots.role(address);
    match (endpoint, net.kind_of(flow)) {
        (Endpoint::TransferSender(sender), AppKind::Transfer(transfer)) => {
            let took = sender.finished.since(net.flows[flow as usize].start).as_ps();
            let words = [
                transfer.bytes_below(sender.acknowledged()),
                sender.sent,
                sender.retransmitted,
                sender.timeouts,
                if sender.finished < Time::MAX { took } else { u64::MAX },
                sender.retransmitted_fast,
                sender.retransmitted - sender.retransmitted_fast,
            ];
            metrics.add_to_sums(TRANSFERS, u64::from(flow), &words);
        }
        (Endpoint::RequestClient(client), _) => {
            let mean = client.sum_ps.checked_div(client.responses).unwrap_or(0);
            let unfinished = client.waits_since().map_or(0, |since| end.time.since(since).as_ps());
            let words = [client.responses, client.timeouts, mean, client.min.as_ps(), client.max.as_ps(), unfinished];
            metrics.add_to_sums(REQUESTS, u64::from(flow), &words);
        }
        _ => {}
    }
}

/// Makes the rows.
pub(super) fn conclude(net: &Layout, metrics: &mut Metrics) {
    for (flow, words) in metrics.take_sums(TRANSFERS) {
        let (kind, mut row) = begin_row(net, flow);
        let AppKind::Transfer(transfer) = kind else { continue };
        row.push(transfer.bytes.into());
        row.extend(words[..4].iter().map(|&word| Cell::Integer(word)));
        row.push(if words[4] == u64::MAX { Cell::Empty } else { words[4].into() });
        row.extend(words[5..7].iter().map(|&word| Cell::Integer(word)));
        metrics.row(TRANSFERS, row);
    }
    for (flow, words) in metrics.take_sums(REQUESTS) {
        let (_, mut row) = begin_row(net, flow);
        row.extend(words[..2].iter().map(|&word| Cell::Integer(word)));
        let is_answered = words[0] > 0;
        row.extend(words[2..5].iter().map(|&word| if is_answered { Cell::Integer(word) } else { Cell::Empty }));
        row.push(if words[5] > 0 { Cell::Integer(words[5]) } else { Cell::Empty });
        metrics.row(REQUESTS, row);
    }
}

/// Returns the protocol of a flow, and the first cells of its row: number, app, source, destination.
pub(super) fn begin_row(net: &Layout, flow: u64) -> (&AppKind, Vec<Cell>) {
    let place = usize::try_from(flow).expect("flows are counted in 32 bits");
    let app = &net.apps[net.app_of_flow[place] as usize];
    let ends = &net.flows[place];
    let [source, destination] = [ends.source, ends.destination].map(|node| net.topology.name(node));
    (&app.kind, vec![flow.into(), (&*app.name).into(), source.into(), destination.into()])
}
