//! Two traces, line by line.

use super::{Recorded, TRACE, Unusable, cannot_be_read, check_is_file};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

/// The length in bytes up to which a line is compared as a whole. A longer line is compared piece by piece.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// The result of comparing two traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Traces {
    /// They are the same; the number of their events.
    Same(u64),
    /// They part: the number of events before, and the next line of each; `None` where a trace has no more
    /// lines.
    Part(u64, [Option<String>; 2]),
}

impl Recorded {
    /// Returns the events that the trace shows; null where there is no trace.
    fn traced(&self) -> &Value {
        &self.summary["trace"]
    }

    /// True if both runs have traces of the same choice of events.
    pub fn have_like_traces(&self, other: &Recorded) -> bool {
        self.traced().is_object() && self.traced() == other.traced()
    }

    /// Compares the traces. `progress` is called now and then with the share of the first trace that has been
    /// read.
    ///
    /// # Errors
    ///
    /// Where a trace cannot be read.
    pub fn compare_traces(&self, other: &Recorded, mut progress: impl FnMut(f64)) -> Result<Traces, Unusable> {
        let paths = [self, other].map(|run| run.folder.join(TRACE));
        let open = |path: &PathBuf| {
            check_is_file(path)?;
            File::open(path).map_err(|error| cannot_be_read(path, &error))
        };
        let files = [open(&paths[0])?, open(&paths[1])?];
        let size = files[0].metadata().map_or(0, |data| data.len()).max(1);
        let [mut a, mut b] = files.map(BufReader::new);
        let (mut events, mut lines, mut bytes) = (0_u64, 0_u64, 0_u64);
        let [mut line_a, mut line_b] = [Vec::new(), Vec::new()];
        let mut begins_line = true;
        loop {
            for (file, line, path) in [(&mut a, &mut line_a, &paths[0]), (&mut b, &mut line_b, &paths[1])] {
                line.clear();
                file.take(LINE_BYTES_MAX).read_until(b'\n', line).map_err(|error| cannot_be_read(path, &error))?;
            }
            if line_a != line_b {
                let text =
                    |line: &[u8]| (!line.is_empty()).then(|| String::from_utf8_lossy(line).trim_end().to_owned());
                return Ok(Traces::Part(events, [text(&line_a), text(&line_b)]));
            }
            if line_a.is_empty() {
                return Ok(Traces::Same(events));
            }
            // The lines that a handler wrote stand below its event, and are indented.
            events += u64::from(begins_line && !line_a.starts_with(b" "));
            begins_line = line_a.ends_with(b"\n");
            lines += 1;
            bytes += line_a.len() as u64;
            if lines.is_multiple_of(1 << 14) {
                progress(bytes as f64 / size as f64);
            }
        }
    }
}
