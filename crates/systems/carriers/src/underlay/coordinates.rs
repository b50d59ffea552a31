//! Network coordinates: latencies as distances between points.

mod fit;

use parades_config::{ConfigError, Place, Source, inputs, quoted, read_text};
use parades_core::time::Delay;
use std::path::Path;

/// The longest file in bytes.
const FILE_BYTES_MAX: u64 = 1 << 30;
/// The greatest number of dimensions.
const DIMENSIONS_MAX: usize = 16;

/// A point for each place, and the height of the place above it.
///
/// The latency between two places is the distance of their points, and both heights. The points stand for the
/// core of the Internet, the heights for the access links. Source: F. Dabek, R. Cox, F. Kaashoek, R. Morris,
/// *Vivaldi: a decentralized network coordinate system*, SIGCOMM 2004, section 5.4.
///
/// Coordinates need memory linear in places, where a table of latencies needs its square.
///
/// # Examples
///
/// ```
/// use parades_carriers::underlay::Coordinates;
/// use parades_core::time::Delay;
///
/// let text = "# x y height, in ms\n0 0 1\n30 40 2.5\n";
/// let coordinates = Coordinates::parse("c.txt".as_ref(), text.to_owned(), Delay::from_ms(1))?;
/// assert_eq!(coordinates.latency(0, 1), Delay::from_us(53_500));
///
/// let error = Coordinates::parse("c.txt".as_ref(), "0 0 -1".to_owned(), Delay::from_ms(1)).unwrap_err();
/// assert_eq!(error.to_string(), "c.txt:1:1: a height cannot be -1; write a number of 0 or more at the end of the line");
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Coordinates {
    dimensions: usize,
    /// For each place its coordinates and its height, in seconds.
    values: Box<[f64]>,
}

impl Coordinates {
    /// Reads a file of numbers, in multiples of `unit`: a line for each place, with its coordinates and at
    /// the end its height. Numbers are separated by blanks or commas. Empty lines and lines that begin with
    /// `#` are skipped.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or a line is not of this form.
    pub fn read(path: &Path, unit: Delay) -> Result<Coordinates, ConfigError> {
        match read_text(path, FILE_BYTES_MAX) {
            Ok(text) => Coordinates::parse(path, text, unit),
            Err(error) => Err(inputs::unreadable(path, &error)),
        }
    }

    /// Reads the text of a file, as [`Coordinates::read`]; `file` is the name that errors give it.
    ///
    /// # Errors
    ///
    /// As [`Coordinates::read`].
    pub fn parse(file: &Path, text: String, unit: Delay) -> Result<Coordinates, ConfigError> {
        let source = Source::new(file, text);
        let refuse = |offset: usize, message: String, help: &str| {
            Err(ConfigError::new(message).with_help(help).at(Place::Spot(source.spot(offset..offset))))
        };
        let (mut values, mut columns, mut begin) = (Vec::new(), None, 0);
        for line in source.text.split_inclusive('\n') {
            let offset = begin + (line.len() - line.trim_start().len());
            begin += line.len();
            if line.trim().is_empty() || line.trim_start().starts_with('#') {
                continue;
            }
            let before = values.len();
            for word in line.split([' ', '\t', ',', '\r', '\n']).filter(|word| !word.is_empty()) {
                match word.parse::<f64>().ok().filter(|number| number.is_finite()) {
                    Some(number) => values.push(number * unit.as_secs_f64()),
                    None => return refuse(offset, format!("{} is no coordinate", quoted(word)), "write a number"),
                }
            }
            let found = values.len() - before;
            let wanted = *columns.get_or_insert(found);
            if found != wanted || !(2..=DIMENSIONS_MAX + 1).contains(&found) {
                let message = format!("this line has {found} numbers");
                let help = "write 1 to 16 coordinates and a height, as many numbers in each line";
                return refuse(offset, message, help);
            }
            let height = values[values.len() - 1];
            if height < 0.0 {
                let message = format!("a height cannot be {}", height / unit.as_secs_f64());
                return refuse(offset, message, "write a number of 0 or more at the end of the line");
            }
        }
        match columns {
            Some(columns) => Ok(Coordinates { dimensions: columns - 1, values: values.into() }),
            None => refuse(0, "there are no coordinates".to_owned(), "write a line of numbers for each place"),
        }
    }

    /// Returns the number of places.
    pub fn places(&self) -> u32 {
        u32::try_from(self.values.len() / (self.dimensions + 1)).expect("a file has fewer places")
    }

    /// Returns the latency between two different places.
    #[inline]
    pub fn latency(&self, from: u32, to: u32) -> Delay {
        Delay::try_from_secs_f64(distance(self.place(from), self.place(to))).unwrap_or(Delay::MAX)
    }

    /// Returns the coordinates and the height of a place, in seconds.
    fn place(&self, place: u32) -> &[f64] {
        let columns = self.dimensions + 1;
        &self.values[place as usize * columns..][..columns]
    }

    /// Returns a bound on the latency from a place to any other: its height and the least height.
    pub(super) fn least_from(&self, place: u32, least_height: f64) -> Delay {
        let height = self.place(place)[self.dimensions];
        Delay::try_from_secs_f64(height + least_height).unwrap_or(Delay::MAX)
    }

    /// Returns the least height of all places, in seconds.
    pub(super) fn least_height(&self) -> f64 {
        let heights = self.values.chunks_exact(self.dimensions + 1).map(|place| place[self.dimensions]);
        heights.fold(f64::INFINITY, f64::min)
    }
}

/// Returns the distance of two places, heights included.
#[inline]
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let height = a.len() - 1;
    let squares = a[..height].iter().zip(&b[..height]).map(|(a, b)| (a - b) * (a - b));
    squares.sum::<f64>().sqrt() + a[height] + b[height]
}
