//! Files in the pcapng format (draft-ietf-opsawg-pcapng).
//!
//! A file has one section: a header, the interfaces, the names of addresses, and the packets. Stamps have a
//! resolution of a nanosecond. Numbers are little-endian on every machine, so a file has the same bytes
//! everywhere.

use parades_core::time::Time;
use std::io::{self, Write};
use std::net::IpAddr;

/// The types of blocks (section 4 of the draft).
mod block {
    pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
    pub(super) const INTERFACE_DESCRIPTION: u32 = 1;
    pub(super) const NAME_RESOLUTION: u32 = 4;
    pub(super) const ENHANCED_PACKET: u32 = 6;
}

/// The codes of options. The meaning of a code depends on the block.
mod option {
    pub(super) const END: u16 = 0;
    pub(super) const COMMENT: u16 = 1;
    pub(super) const INTERFACE_NAME: u16 = 2;
    pub(super) const PACKET_FLAGS: u16 = 2;
    pub(super) const SECTION_APPLICATION: u16 = 4;
    pub(super) const INTERFACE_RESOLUTION: u16 = 9;
}

/// The types of records in a block of names.
mod record {
    pub(super) const END: u16 = 0;
    pub(super) const V4: u16 = 1;
    pub(super) const V6: u16 = 2;
}

/// Stamps count in units of 10 to the power of minus this.
const RESOLUTION: u8 = 9;
const PS_PER_UNIT: u64 = 1000;

/// A place where packets are captured.
#[derive(Clone, Copy, Debug)]
pub struct Interface<'a> {
    /// Its name.
    pub name: &'a str,
    /// The number of its link layer: [`crate::frame::Framing::link_type`].
    pub link_type: u16,
    /// The largest number of bytes that the file has of a frame; 0 for all.
    pub snap_length: u32,
}

/// The direction of a frame, as the interface sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The frame arrives.
    Inbound = 1,
    /// The frame is sent.
    Outbound = 2,
}

/// A captured frame.
#[derive(Clone, Copy, Debug)]
pub struct Stamped<'a> {
    /// The number of the interface: [`Writer::add_interface`].
    pub interface: u32,
    /// The virtual time.
    pub time: Time,
    /// The direction.
    pub origin: Origin,
    /// All bytes of the frame.
    pub frame: &'a [u8],
    /// A comment that is shown with the frame.
    pub comment: Option<&'a str>,
}

/// A file that is being written.
#[derive(Debug)]
pub struct Writer<W> {
    to: W,
    snap_lengths: Vec<u32>,
    /// The block that is being made. Its memory is used again.
    block: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a file, with the name of the application that writes it.
    ///
    /// # Errors
    ///
    /// The errors of `to`. So for all methods.
    pub fn new(to: W, application: &str) -> io::Result<Writer<W>> {
        const BYTE_ORDER: u32 = 0x1a2b_3c4d;
        const VERSION: [u16; 2] = [1, 0];
        const UNKNOWN_LENGTH: u64 = u64::MAX;
        let mut writer = Writer { to, snap_lengths: Vec::new(), block: Vec::new() };
        writer.begin(block::SECTION_HEADER);
        writer.word(BYTE_ORDER);
        VERSION.iter().for_each(|&part| writer.half(part));
        writer.block.extend(UNKNOWN_LENGTH.to_le_bytes());
        writer.option(option::SECTION_APPLICATION, application.as_bytes());
        writer.half(option::END);
        writer.half(0);
        writer.end()?;
        Ok(writer)
    }

    /// Goes on with a file whose interfaces have these greatest lengths of frames, in order.
    pub fn going_on(to: W, snap_lengths: Vec<u32>) -> Writer<W> {
        Writer { to, snap_lengths, block: Vec::new() }
    }

    /// Returns the receiver of the bytes.
    pub fn receiver(&mut self) -> &mut W {
        &mut self.to
    }

    /// Adds an interface, and returns its number.
    pub fn add_interface(&mut self, interface: &Interface<'_>) -> io::Result<u32> {
        self.begin(block::INTERFACE_DESCRIPTION);
        self.half(interface.link_type);
        self.half(0);
        self.word(interface.snap_length);
        self.option(option::INTERFACE_NAME, interface.name.as_bytes());
        self.option(option::INTERFACE_RESOLUTION, &[RESOLUTION]);
        self.half(option::END);
        self.half(0);
        self.end()?;
        let number = u32::try_from(self.snap_lengths.len()).expect("interfaces are counted in 32 bits");
        self.snap_lengths.push(interface.snap_length);
        Ok(number)
    }

    /// Adds the names of addresses. A name that is too long for a file is left out.
    pub fn add_names<'n>(&mut self, names: impl IntoIterator<Item = (IpAddr, &'n str)>) -> io::Result<()> {
        self.begin(block::NAME_RESOLUTION);
        for (address, name) in names {
            let (kind, octets) = match address {
                IpAddr::V4(address) => (record::V4, address.octets().to_vec()),
                IpAddr::V6(address) => (record::V6, address.octets().to_vec()),
            };
            // A zero ends a name, so a name with a zero in it would become two.
            self.option(kind, &[&octets, name.replace('\0', " ").as_bytes(), &[0]].concat());
        }
        self.half(record::END);
        self.half(0);
        self.end()
    }

    /// Adds a frame.
    ///
    /// # Panics
    ///
    /// If the interface is unknown, or a frame has 2^32 bytes.
    pub fn add_packet(&mut self, packet: &Stamped<'_>) -> io::Result<()> {
        let Stamped { interface, time, origin, frame, comment } = *packet;
        let length = u32::try_from(frame.len()).expect("the length of a frame has 32 bits");
        let captured = match self.snap_lengths[interface as usize] {
            0 => length,
            snap_length => length.min(snap_length),
        };
        let stamp = time.as_ps() / PS_PER_UNIT;
        let high = u32::try_from(stamp >> 32).expect("the upper half");
        let low = u32::try_from(stamp & u64::from(u32::MAX)).expect("the lower half");
        self.begin(block::ENHANCED_PACKET);
        [interface, high, low, captured, length].iter().for_each(|&word| self.word(word));
        self.block.extend(&frame[..captured as usize]);
        self.pad();
        self.option(option::PACKET_FLAGS, &(origin as u32).to_le_bytes());
        comment.iter().for_each(|comment| self.option(option::COMMENT, comment.as_bytes()));
        self.half(option::END);
        self.half(0);
        self.end()
    }

    /// Writes all bytes, and returns their receiver.
    pub fn finish(mut self) -> io::Result<W> {
        self.to.flush()?;
        Ok(self.to)
    }

    /// Begins a block. Its length is known at its end.
    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.word(kind);
        self.word(0);
    }

    /// Writes the block, with its length before and after it.
    fn end(&mut self) -> io::Result<()> {
        let length = u32::try_from(self.block.len() + 4).map_err(io::Error::other)?;
        self.block[4..8].copy_from_slice(&length.to_le_bytes());
        self.word(length);
        self.to.write_all(&self.block)
    }

    /// Adds an option, or a record of names, which has the same form. A longer value than the form allows is
    /// left out.
    fn option(&mut self, code: u16, value: &[u8]) {
        if let Ok(length) = u16::try_from(value.len()) {
            self.half(code);
            self.half(length);
            self.block.extend(value);
            self.pad();
        }
    }

    fn word(&mut self, word: u32) {
        self.block.extend(word.to_le_bytes());
    }

    fn half(&mut self, half: u16) {
        self.block.extend(half.to_le_bytes());
    }

    /// Adds zeros up to a multiple of four bytes.
    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }
}
