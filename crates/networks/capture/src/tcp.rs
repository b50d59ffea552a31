//! The header of a TCP segment in bytes.

use etherparse::{TcpHeader, TcpOptionElement, TcpOptions};
use parades_tcp::header::{BASE_BYTES, Flags, Header, Timestamps};

/// Returns the header without its checksum.
pub(crate) fn header(fields: &Header) -> TcpHeader {
    let Header { source_port, destination_port, seq, ack, flags, window, .. } = *fields;
    TcpHeader {
        fin: flags.has(Flags::FIN),
        syn: flags.has(Flags::SYN),
        rst: flags.has(Flags::RST),
        psh: flags.has(Flags::PSH),
        ack: flags.has(Flags::ACK),
        urg: flags.has(Flags::URG),
        ece: flags.has(Flags::ECE),
        cwr: flags.has(Flags::CWR),
        acknowledgment_number: ack.0,
        options: options(fields),
        ..TcpHeader::new(source_port, destination_port, seq.0, window)
    }
}

/// Returns the options: MSS, SACK permitted, timestamps, SACK blocks, window scale.
///
/// The options fill the header to [`Header::bytes`]. The padding is NOPs before the last option, where Linux
/// has them in segments with one option, and in SYN segments with all.
///
/// # Panics
///
/// If the header is longer than TCP headers may be.
fn options(fields: &Header) -> TcpOptions {
    let mut elements = Vec::with_capacity(8);
    elements.extend(fields.syn.mss.map(TcpOptionElement::MaximumSegmentSize));
    elements.extend(fields.syn.has_sack.then_some(TcpOptionElement::SelectiveAcknowledgementPermitted));
    elements.extend(fields.timestamps.map(|Timestamps { value, echo }| TcpOptionElement::Timestamp(value, echo)));
    elements.extend(sack(fields));
    elements.extend(fields.syn.window_shift.map(TcpOptionElement::WindowScale));
    let room = (fields.bytes() - BASE_BYTES) as usize;
    let used: usize = elements.iter().map(length).sum();
    let before_last = elements.len().saturating_sub(1);
    for _ in used..room {
        elements.insert(before_last, TcpOptionElement::Noop);
    }
    TcpOptions::try_from_elements(&elements).expect("options fit a header")
}

fn sack(fields: &Header) -> Option<TcpOptionElement> {
    let mut blocks = fields.sack().iter().map(|range| (range.from.0, range.to.0));
    let first = blocks.next()?;
    Some(TcpOptionElement::SelectiveAcknowledgement(first, [blocks.next(), blocks.next(), blocks.next()]))
}

/// Returns the bytes of an option.
fn length(element: &TcpOptionElement) -> usize {
    use etherparse::tcp_option::{
        LEN_MAXIMUM_SEGMENT_SIZE, LEN_SELECTIVE_ACK_PERMITTED, LEN_TIMESTAMP, LEN_WINDOW_SCALE,
    };
    let bytes = match element {
        TcpOptionElement::Noop => 1,
        TcpOptionElement::MaximumSegmentSize(_) => LEN_MAXIMUM_SEGMENT_SIZE,
        TcpOptionElement::WindowScale(_) => LEN_WINDOW_SCALE,
        TcpOptionElement::SelectiveAcknowledgementPermitted => LEN_SELECTIVE_ACK_PERMITTED,
        TcpOptionElement::SelectiveAcknowledgement(_, rest) => return 10 + 8 * rest.iter().flatten().count(),
        TcpOptionElement::Timestamp(..) => LEN_TIMESTAMP,
    };
    usize::from(bytes)
}
