//! The receive window, and reading (RFC 9293, section 3.8.6).

use crate::connection::ConnectionUndo;
use crate::endpoint::Endpoint;
use crate::environment::Environment;
use crate::sender::bytes;
use parades_core::restore::Recorder;

/// Returns the shift of windows for a buffer (RFC 7323, section 2.3).
pub(crate) fn shift_for(buffer: u32) -> u8 {
    let mut shift = 0;
    while buffer >> shift > u32::from(u16::MAX) && shift < 14 {
        shift += 1;
    }
    shift
}

impl<R: Recorder<ConnectionUndo>, E: Environment> Endpoint<'_, R, E> {
    /// Returns the smallest step by which the announced window grows, against silly windows (RFC 9293,
    /// section 3.8.6.2.2).
    fn smallest_step(&self) -> u64 {
        if !self.settings.avoids_silly_windows {
            return 1;
        }
        u64::from(self.settings.receive_buffer / 2).min(u64::from(self.settings.mss)).max(1)
    }

    /// Returns the place that the window could reach.
    fn possible_end(&self) -> u64 {
        self.receive.read + u64::from(self.settings.receive_buffer)
    }

    /// Returns the window for a header, and notes the place that it reaches. The window never shrinks by more
    /// than its rounding.
    pub(crate) fn announce(&mut self) -> u16 {
        let possible = self.possible_end();
        if possible >= self.receive.window_end + self.smallest_step() {
            self.receive.window_end = possible;
        }
        let (next, shift) = (self.receive.next, self.receive.shift);
        let window = self.receive.window_end.saturating_sub(next);
        let units = if self.settings.rounds_window_up { window.div_ceil(1 << shift) } else { window >> shift };
        let on_wire = u16::try_from(units).unwrap_or(u16::MAX);
        self.receive.window_end = self.receive.window_end.max(next + (u64::from(on_wire) << shift));
        on_wire
    }

    /// Notes that the application has read bytes. Announces the larger window if the sender may wait for it.
    pub(crate) fn read(&mut self, count: u64) {
        let limit = self.receive.fin.map_or(self.receive.next, |fin| fin.min(self.receive.next));
        self.receive.read = (self.receive.read + count).min(limit);
        if !self.state.can_receive() {
            return;
        }
        let growth = self.possible_end().saturating_sub(self.receive.window_end);
        let left = self.receive.window_end.saturating_sub(self.receive.next);
        let is_large = bytes(growth) >= self.settings.receive_buffer / 2;
        let is_needed = left < 2 * u64::from(self.settings.mss) && growth >= self.smallest_step();
        if growth > 0 && (is_large || is_needed) {
            self.send_ack();
        }
    }
}
