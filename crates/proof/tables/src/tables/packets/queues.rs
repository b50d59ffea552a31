//! The queues of cases.

use super::cases::Case;
use parades_packet::queue::{Codel, Discipline, FairCodel, QueueLimit, Red, Threshold};

/// The bytes that headers and options add to a segment's payload: PPP 2, IPv4 20, TCP 20, timestamps 12.
/// ns-3's RED counts with two bytes less, as it does not see the frame.
const HEADERS: u32 = 52;

/// Returns the discipline of the bottleneck, and the number of packets that wait in the device below it. The
/// error is the end of a sentence that begins with the case.
///
/// By default, RED and CoDel of ns-3 mark nothing, and FQ-CoDel marks.
pub(super) fn discipline(case: &Case) -> Result<(Discipline, u32), String> {
    let (kind, limit) = (&*case.queue.0, case.queue.1);
    let packets = QueueLimit::Packets(limit);
    let codel = Codel { limit: packets, has_exact_roots: false, ..Codel::default() };
    Ok(match kind {
        "droptail" => (Discipline::DropTail(packets), 0),
        "red" => (Discipline::Red(Red { mean_packet: case.mss + HEADERS, marks: false, ..Red::with_limit(limit) }), 1),
        "codel" => (Discipline::Codel(Codel { marks: false, ..codel }), 1),
        "fqcodel" => (Discipline::FairCodel(FairCodel { codel, ..FairCodel::default() }), 1),
        "dctcp" => (Discipline::Threshold(Threshold { mark_at: case.threshold, limit: packets }), 1),
        other => return Err(format!("there is no queue `{other}`")),
    })
}
