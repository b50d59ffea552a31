//! Files with a line for each link: two names, and perhaps rate, delay and loss. `#` begins a comment. A
//! topology of HPCC's simulator, whose first line has counts, is read as a file of another tool.

use crate::draft::Quality;
use crate::parts::{Part, path};
use parades_config::units::{parse_duration, parse_rate};
use parades_config::{ConfigError, Place, Source, inputs, quoted};
use std::collections::BTreeMap;

/// The greatest size of a file.
const FILE_BYTES_MAX: u64 = 64 << 20;

impl Part<'_, '_> {
    /// Returns notes.
    pub(super) fn edges(&mut self) -> Result<Vec<String>, ConfigError> {
        let path = path(self.fields)?;
        let of_file =
            |message: String, help: &str| ConfigError::new(message).with_help(help).at(Place::File(path.clone()));
        let bytes = inputs::read(&path, FILE_BYTES_MAX).map_err(|error| {
            let text = error.to_string();
            let reason = text.split(" (os error").next().unwrap_or(&text);
            of_file(format!("cannot be read: {reason}"), "check the name and the permissions")
        })?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(of_file("is larger than 64 MiB".into(), "check that it is the file you meant"));
        }
        let text = String::from_utf8(bytes).map_err(|_| of_file("is not UTF-8 text".into(), "save it as UTF-8"))?;
        // Some editors put a byte order mark at the start. It is no part of a name.
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        if parades_topology::import::is_switch_topology(&text) {
            return self.graph();
        }
        let source = Source::new(&path, text.clone());
        let mut nodes = BTreeMap::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let words = line.split('#').next().unwrap_or_default();
            self.edge(&source, words, start, &mut nodes)?;
            start += line.len();
        }
        if nodes.is_empty() {
            return Err(of_file("has no links".into(), "write a line for each, with two names"));
        }
        Ok(Vec::new())
    }

    /// Adds the link of a line, which begins at the byte `start`.
    fn edge(
        &mut self,
        source: &Source,
        line: &str,
        start: usize,
        nodes: &mut BTreeMap<String, u32>,
    ) -> Result<(), ConfigError> {
        let words: Vec<(usize, &str)> =
            line.split_whitespace().map(|word| (start + (word.as_ptr().addr() - line.as_ptr().addr()), word)).collect();
        let wrong = |place: usize, message: String, help: &str| {
            let (at, word) = words[place];
            ConfigError::new(message).with_help(help).at(Place::Spot(source.spot(at..at + word.len())))
        };
        const FORM: &str = "write two names, and perhaps rate, delay and loss, as in `a b 10Mbps 5ms 0.01`";
        let [(_, from), (_, to), rest @ ..] = &words[..] else {
            return if words.is_empty() { Ok(()) } else { Err(wrong(0, "a link has two ends".into(), FORM)) };
        };
        if rest.len() > 3 {
            return Err(wrong(5, format!("{} is one word too many", quoted(words[5].1)), FORM));
        }
        if from == to {
            return Err(wrong(1, format!("a link joins {} to itself", quoted(from)), FORM));
        }
        let mut own = Quality::default();
        if let Some((_, word)) = rest.first() {
            let rate =
                parse_rate(word).map_err(|error| wrong(2, error.message().into(), error.help().unwrap_or(FORM)))?;
            if rate == 0 {
                return Err(wrong(2, "a rate must be above 0".into(), FORM));
            }
            own.rate_bps = Some(rate);
        }
        if let Some((_, word)) = rest.get(1) {
            let delay =
                parse_duration(word).map_err(|error| wrong(3, error.message().into(), error.help().unwrap_or(FORM)))?;
            own.delay = Some(delay);
        }
        if let Some((_, word)) = rest.get(2) {
            let loss = word.parse::<f64>().ok().filter(|loss| (0.0..=1.0).contains(loss));
            own.loss =
                Some(loss.ok_or_else(|| wrong(4, format!("{} is no number between 0 and 1", quoted(word)), FORM))?);
        }
        let mut ends = [0; 2];
        for (end, name) in ends.iter_mut().zip([*from, *to]) {
            *end = match nodes.get(name) {
                Some(&known) => known,
                None => {
                    let number = self.node(name)?;
                    nodes.insert(name.to_owned(), number);
                    number
                }
            };
        }
        self.join(ends[0], ends[1], own.or(&self.quality))
    }
}
