//! The rows of a table, as bytes.
//!
//! A table may have a row for each of millions of flows, and all rows exist together at the end of a run. A
//! [`Cell`] takes 24 bytes. Here most cells take one to six bytes.
//!
//! *Format.* A row is the number of its bytes, then its cells. A cell is a tag, then its content. Numbers
//! have seven bits a byte, the lowest first; all bytes of a number but the last have the highest bit. A
//! floating-point number has its eight bytes, the lowest first. Equal rows have equal bytes.

use super::Cell;
use serde::{Deserialize, Serialize};

const EMPTY: u8 = 0;
const TEXT: u8 = 1;
const INTEGER: u8 = 2;
const FLOAT: u8 = 3;

/// The reason why bytes can be read.
const WRITTEN_HERE: &str = "only `Rows::push` writes rows";

/// Rows in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Rows(Vec<u8>);

impl Rows {
    /// Adds a row.
    pub(super) fn push(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut row = Vec::new();
        cells.into_iter().for_each(|cell| write_cell(&cell, &mut row));
        write_number(row.len() as u64, &mut self.0);
        self.0.extend_from_slice(&row);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || (!rest.is_empty()).then(|| read_row(&mut rest).expect(WRITTEN_HERE)))
    }

    /// Returns true if the bytes are those of rows with this number of cells. Bytes that come from a file may be
    /// none.
    pub(super) fn are_rows_of(&self, cells: usize) -> bool {
        let mut rest = &self.0[..];
        while !rest.is_empty() {
            let Some(Row(mut row)) = read_row(&mut rest) else { return false };
            let is_right = (0..cells).all(|_| read_cell(&mut row).is_some()) && row.is_empty();
            if !is_right {
                return false;
            }
        }
        true
    }
}

/// The bytes of one row.
#[derive(Clone, Copy)]
pub(super) struct Row<'a>(&'a [u8]);

impl<'a> Row<'a> {
    /// Returns the first cell if it is an integer.
    pub(super) fn first_integer(self) -> Option<u64> {
        match self.cells().next() {
            Some(Cell::Integer(x)) => Some(x),
            _ => None,
        }
    }

    /// Returns the cells from left to right.
    pub(super) fn cells(self) -> impl Iterator<Item = Cell> + 'a {
        let mut rest = self.0;
        std::iter::from_fn(move || (!rest.is_empty()).then(|| read_cell(&mut rest).expect(WRITTEN_HERE)))
    }
}

fn write_cell(cell: &Cell, to: &mut Vec<u8>) {
    match cell {
        Cell::Empty => to.push(EMPTY),
        Cell::Text(text) => {
            to.push(TEXT);
            write_number(text.len() as u64, to);
            to.extend_from_slice(text.as_bytes());
        }
        Cell::Integer(x) => {
            to.push(INTEGER);
            write_number(*x, to);
        }
        Cell::Float(x) => {
            to.push(FLOAT);
            to.extend_from_slice(&x.to_le_bytes());
        }
    }
}

fn read_row<'a>(from: &mut &'a [u8]) -> Option<Row<'a>> {
    read_counted(from).map(Row)
}

fn read_cell(from: &mut &[u8]) -> Option<Cell> {
    Some(match read_byte(from)? {
        EMPTY => Cell::Empty,
        TEXT => Cell::Text(std::str::from_utf8(read_counted(from)?).ok()?.into()),
        INTEGER => Cell::Integer(read_number(from)?),
        FLOAT => Cell::Float(f64::from_le_bytes(from.split_off(..8)?.try_into().ok()?)),
        _ => return None,
    })
}

#[expect(clippy::cast_possible_truncation, reason = "only the low seven bits are kept")]
fn write_number(mut x: u64, to: &mut Vec<u8>) {
    while x >= 0x80 {
        to.push(x as u8 | 0x80);
        x >>= 7;
    }
    to.push(x as u8);
}

fn read_number(from: &mut &[u8]) -> Option<u64> {
    let (mut x, mut shift) = (0, 0);
    loop {
        let byte = read_byte(from)?;
        x |= u64::from(byte & 0x7f).checked_shl(shift)?;
        shift += 7;
        if byte < 0x80 {
            return Some(x);
        }
    }
}

fn read_byte(from: &mut &[u8]) -> Option<u8> {
    from.split_off_first().copied()
}

/// Reads a number, and as many bytes.
fn read_counted<'a>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let count = usize::try_from(read_number(from)?).ok()?;
    from.split_off(..count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_they_were_written() {
        let integers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX].map(Cell::Integer);
        let floats = [0.0, -1.5, 1e140, f64::MIN_POSITIVE].map(Cell::Float);
        let texts = ["", "a", "länger als siebzehn", &"x".repeat(1000)].map(Cell::from);
        let written = [integers.to_vec(), vec![], floats.to_vec(), texts.to_vec(), vec![Cell::Empty, Cell::Empty]];
        let mut rows = Rows::default();
        written.iter().for_each(|row| rows.push(row.clone()));
        let read: Vec<Vec<Cell>> = rows.iter().map(|row| row.cells().collect()).collect();
        assert_eq!(read, written);
    }

    #[test]
    fn a_row_of_a_flow_takes_a_fraction_of_its_cells() {
        let cells = [7, 512, 1000, 0, 0, 3_000_000, 12].map(Cell::Integer);
        let mut rows = Rows::default();
        rows.push(cells.clone());
        assert!(rows.0.len() * 4 < size_of_val(&cells), "{} bytes", rows.0.len());
    }
}
