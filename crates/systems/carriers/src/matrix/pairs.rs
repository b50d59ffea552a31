//! Lists of pairs: a line for each pair of places, with their latency.
//!
//! - p2psim, and the King data set in its form: `node 1` for each place, then `1,2 20000` for each pair.
//! - Meridian's: `1 2 20000` for each pair.
//! - `WonderNetwork`'s pings: a line of names with `source`, `destination` and `avg` among them, and then a
//!   line for each measurement.
//!
//! A pair that stands several times has the mean. A pair that has a latency in one direction has it in both.
//!
//! Source: K. Gummadi, S. Saroiu, S. Gribble, "King: estimating latency between arbitrary Internet end
//! hosts", IMW 2002, whose latencies p2psim reads; B. Wong, A. Slivkins, E. Sirer, "Meridian", SIGCOMM 2005.

use super::Matrix;
use super::read::{GAP, Gap, fault, latency, lines, unquoted, words};
use parades_config::{ConfigError, Source, quoted};
use parades_core::time::Delay;
use std::collections::BTreeMap;
use std::ops::Range;

/// The most places of a list.
const PLACES_MAX: usize = 20_000;

/// The columns of a list: its two places, and the latency between them.
#[derive(Clone, Copy)]
struct Columns {
    from: usize,
    to: usize,
    latency: usize,
}

/// The form of a list.
#[derive(Clone, Copy)]
enum Form {
    P2psim,
    Triples,
    Pings(Columns),
}

/// Returns true if a text is a list of pairs.
pub(super) fn is_list(text: &str) -> bool {
    form(text).is_some()
}

fn form(text: &str) -> Option<Form> {
    let first = lines(text).next()?;
    let names: Vec<String> =
        words(text, first.clone()).map(|word| unquoted(&text[word]).to_ascii_lowercase()).collect();
    if matches!(names[0].as_str(), "topology" | "node") {
        return Some(Form::P2psim);
    }
    let place = |name: &str| names.iter().position(|other| other == name);
    if let (Some(from), Some(to), Some(latency)) = (place("source"), place("destination"), place("avg")) {
        return Some(Form::Pings(Columns { from, to, latency }));
    }
    // A table of three places has three lines of three numbers, too, and may lack a line.
    let is_triple = |line: Range<usize>| {
        let words: Vec<&str> = words(text, line).map(|word| &text[word]).collect();
        words.len() == 3 && words[..2].iter().all(|word| word.parse::<u64>().is_ok())
    };
    (lines(text).count() > 3 && lines(text).all(is_triple)).then_some(Form::Triples)
}

/// Reads a list of pairs.
pub(super) fn read(source: &Source, unit: Delay) -> Result<(Matrix, Vec<Gap>), ConfigError> {
    let text = &source.text;
    let form = form(text).expect("`is_list` has recognised it");
    let mut places = Places::default();
    // The number of places that p2psim's first line gives, and the place of that line.
    let mut promised: Option<(usize, Range<usize>)> = None;
    // By places: the sum of the measurements, and their number.
    let mut measured: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
    for (index, line) in lines(text).enumerate() {
        let words: Vec<Range<usize>> = words(text, line.clone()).collect();
        let word = |place: usize| &text[words[place].clone()];
        let columns = match form {
            Form::P2psim if words.len() == 2 && word(0) == "node" => {
                places.number(word(1));
                continue;
            }
            Form::P2psim if matches!(word(0), "topology" | "failure_model") => {
                let number = words.get(2).filter(|_| word(0) == "topology");
                let number = number.and_then(|word| text[word.clone()].parse().ok());
                promised = promised.or(number.map(|number| (number, line)));
                continue;
            }
            Form::P2psim | Form::Triples if words.len() == 3 => Columns { from: 0, to: 1, latency: 2 },
            Form::Pings(_) if index == 0 => continue,
            Form::Pings(columns) if words.len() > columns.from.max(columns.to).max(columns.latency) => columns,
            _ => {
                let message = format!("{} is no pair of places with a latency", quoted(&text[line.clone()]));
                return Err(fault(source, line, message, "write two places and a number, as in `1,2 20000`"));
            }
        };
        let Some(found) = latency(word(columns.latency), unit) else {
            let message = format!("a latency cannot be {}", quoted(word(columns.latency)));
            return Err(fault(source, words[columns.latency].clone(), message, "write a number of 0 or more"));
        };
        let [from, to] = [columns.from, columns.to].map(|column| places.number(unquoted(word(column))));
        if places.names.len() > PLACES_MAX {
            let message = format!("the list has more than {PLACES_MAX} places");
            return Err(fault(source, line, message, "leave some out"));
        }
        let (sum, count) = measured.entry((from, to)).or_default();
        (*sum, *count) = (*sum + found.as_secs_f64(), *count + 1.0);
    }
    if let Some((number, line)) = promised.filter(|(number, _)| *number != places.names.len()) {
        let message = format!("this line promises {number} places, and the list has {}", places.names.len());
        return Err(fault(source, line, message, "compare the file with its source; it may be cut off"));
    }
    let order = places.order();
    let count = order.len();
    let mut entries = vec![GAP; count * count];
    let mut measured_means = BTreeMap::new();
    for ((from, to), (sum, number)) in measured {
        let mean = Delay::try_from_secs_f64(sum / number).unwrap_or(GAP);
        measured_means.insert((order[from], order[to]), mean);
    }
    for (&(from, to), &mean) in &measured_means {
        entries[from * count + to] = mean;
        if !measured_means.contains_key(&(to, from)) {
            entries[to * count + from] = mean;
        }
    }
    let mut gaps = Vec::new();
    for row in 0..count {
        for column in 0..count {
            let entry = &mut entries[row * count + column];
            if *entry == GAP && row == column {
                *entry = Delay::ZERO;
            } else if *entry == GAP {
                gaps.push(Gap { row, column, word: 0..0 });
            }
        }
    }
    let places = u32::try_from(count).expect("places are bounded");
    Ok((Matrix::of(places, entries, false), gaps))
}

/// The places of a list, in the order in which it first names them.
#[derive(Default)]
struct Places {
    numbers: BTreeMap<String, usize>,
    names: Vec<String>,
}

impl Places {
    fn number(&mut self, name: &str) -> usize {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len();
        self.numbers.insert(name.to_owned(), number);
        self.names.push(name.to_owned());
        number
    }

    /// Returns the row of each place in the table: by the names, if all are numbers, else as they came.
    fn order(&self) -> Vec<usize> {
        let mut sorted: Vec<usize> = (0..self.names.len()).collect();
        let numbers: Option<Vec<u64>> = self.names.iter().map(|name| name.parse().ok()).collect();
        if let Some(numbers) = numbers {
            sorted.sort_by_key(|&place| numbers[place]);
        }
        let mut rows = vec![0; sorted.len()];
        sorted.iter().enumerate().for_each(|(row, &place)| rows[place] = row);
        rows
    }
}
