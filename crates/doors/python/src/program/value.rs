//! The values that nodes of a program in Python send each other, in their canonical form.
//!
//! Equal values have equal bytes in every process: each value is a tag and its contents, and a dictionary is
//! in the order of the bytes of its keys. Pickles of equal values differ, since they tell shared objects from
//! copies.

use parades_core::digest::{Digest, Payload};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// The greatest depth of lists in lists.
const DEPTH_MAX: usize = 100;
/// The bytes of a value that need no memory of their own.
const SHORT: usize = 22;

/// The types of values, for errors.
const TYPES: &str = "None, bool, int, float, str, bytes, tuple, list or dict";

/// A value in its canonical form.
#[derive(Clone)]
pub(crate) enum Canonical {
    Short(u8, [u8; SHORT]),
    Long(Arc<[u8]>),
}

impl Canonical {
    fn of_bytes(bytes: &[u8]) -> Canonical {
        if bytes.len() > SHORT {
            return Canonical::Long(bytes.into());
        }
        let mut short = [0; SHORT];
        short[..bytes.len()].copy_from_slice(bytes);
        #[expect(clippy::cast_possible_truncation, reason = "it is at most SHORT")]
        Canonical::Short(bytes.len() as u8, short)
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Canonical::Short(length, bytes) => &bytes[..usize::from(*length)],
            Canonical::Long(bytes) => bytes,
        }
    }

    /// Returns the canonical form of a value.
    ///
    /// # Errors
    ///
    /// A `TypeError` that names the type which has none.
    pub(super) fn of(value: &Bound<'_, PyAny>) -> PyResult<Canonical> {
        let mut to = Vec::with_capacity(SHORT);
        write(value, &mut to, 0)?;
        Ok(Canonical::of_bytes(&to))
    }

    /// Returns the value as an object of Python.
    pub(super) fn object<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        read(py, &mut self.bytes())
    }
}

impl Payload for Canonical {
    fn fold(&self, digest: &mut Digest) {
        digest.bytes(self.bytes());
    }
}

impl Serialize for Canonical {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.bytes())
    }
}

impl<'de> Deserialize<'de> for Canonical {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Canonical, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Canonical;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the bytes of a value")
            }
            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Canonical, E> {
                Ok(Canonical::of_bytes(bytes))
            }
        }
        deserializer.deserialize_bytes(Visitor)
    }
}

/// Shows the value as Python does, for traces.
impl fmt::Debug for Canonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = Python::attach(|py| self.object(py).and_then(|object| object.repr()).map(|text| text.to_string()));
        f.write_str(shown.as_deref().unwrap_or("?"))
    }
}

/// A message on its way: a value, and its size.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Mail {
    pub(super) value: Canonical,
    /// The size in bytes, which the times of packets and flows depend on.
    pub(super) bytes: u32,
}

impl Mail {
    /// Makes a message. Without a size, it has that of its canonical form.
    ///
    /// # Errors
    ///
    /// As for [`Canonical::of`].
    pub(super) fn of(value: &Bound<'_, PyAny>, bytes: Option<u32>) -> PyResult<Mail> {
        let value = Canonical::of(value)?;
        let own = || u32::try_from(value.bytes().len()).unwrap_or(u32::MAX);
        let bytes = bytes.unwrap_or_else(own);
        Ok(Mail { value, bytes })
    }
}

impl Payload for Mail {
    fn fold(&self, digest: &mut Digest) {
        self.value.fold(digest);
    }
}

/// Shows the value alone, for traces.
impl fmt::Debug for Mail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

fn write_length(length: u64, to: &mut Vec<u8>) {
    let mut rest = length;
    while rest >= 0x80 {
        to.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    to.push((rest & 0x7f) as u8);
}

fn write(value: &Bound<'_, PyAny>, to: &mut Vec<u8>, depth: usize) -> PyResult<()> {
    if depth > DEPTH_MAX {
        let message = format!("a value with more than {DEPTH_MAX} lists in lists cannot be sent: send a flatter one");
        return Err(PyValueError::new_err(message));
    }
    if value.is_none() {
        to.push(b'N');
    } else if let Ok(truth) = value.cast_exact::<PyBool>() {
        to.push(if truth.is_true() { b'T' } else { b'F' });
    } else if let Ok(number) = value.cast_exact::<PyInt>() {
        write_integer(number, to)?;
    } else if let Ok(number) = value.cast_exact::<PyFloat>() {
        let number = number.value();
        to.push(b'f');
        // All NaN are one.
        to.extend(if number.is_nan() { f64::NAN } else { number }.to_bits().to_le_bytes());
    } else if let Ok(text) = value.cast_exact::<PyString>() {
        write_text(b's', text.to_cow()?.as_bytes(), to);
    } else if let Ok(bytes) = value.cast_exact::<PyBytes>() {
        write_text(b'b', bytes.as_bytes(), to);
    } else if let Ok(items) = value.cast_exact::<PyTuple>() {
        to.push(b't');
        write_length(items.len() as u64, to);
        items.iter().try_for_each(|item| write(&item, to, depth + 1))?;
    } else if let Ok(items) = value.cast_exact::<PyList>() {
        to.push(b'l');
        write_length(items.len() as u64, to);
        items.iter().try_for_each(|item| write(&item, to, depth + 1))?;
    } else if let Ok(items) = value.cast_exact::<PyDict>() {
        write_dict(items, to, depth)?;
    } else {
        let name = value.get_type().fully_qualified_name()?;
        return Err(PyTypeError::new_err(format!("a value of the type `{name}` has no canonical form: use {TYPES}")));
    }
    Ok(())
}

fn write_text(tag: u8, bytes: &[u8], to: &mut Vec<u8>) {
    to.push(tag);
    write_length(bytes.len() as u64, to);
    to.extend(bytes);
}

fn write_integer(number: &Bound<'_, PyInt>, to: &mut Vec<u8>) -> PyResult<()> {
    if let Ok(short) = number.extract::<i64>() {
        to.push(b'i');
        write_length(((short << 1) ^ (short >> 63)) as u64, to);
        return Ok(());
    }
    let bits: usize = number.call_method0("bit_length")?.extract()?;
    let signed = PyDict::new(number.py());
    signed.set_item("signed", true)?;
    let bytes = number.call_method("to_bytes", (bits / 8 + 1, "little"), Some(&signed))?;
    write_text(b'I', bytes.cast::<PyBytes>()?.as_bytes(), to);
    Ok(())
}

fn write_dict(items: &Bound<'_, PyDict>, to: &mut Vec<u8>, depth: usize) -> PyResult<()> {
    let mut entries = Vec::with_capacity(items.len());
    for (key, value) in items.iter() {
        let mut bytes = Vec::new();
        write(&key, &mut bytes, depth + 1)?;
        entries.push((bytes, value));
    }
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    to.push(b'd');
    write_length(entries.len() as u64, to);
    for (key, value) in entries {
        to.extend(key);
        write(&value, to, depth + 1)?;
    }
    Ok(())
}

fn malformed() -> PyErr {
    PyValueError::new_err(
        "the bytes of a message are those of no value: run the same version of parades on every process",
    )
}

fn take<'a>(from: &mut &'a [u8], length: usize) -> PyResult<&'a [u8]> {
    let (taken, rest) = from.split_at_checked(length).ok_or_else(malformed)?;
    *from = rest;
    Ok(taken)
}

fn read_length(from: &mut &[u8]) -> PyResult<u64> {
    let (mut value, mut shift) = (0_u64, 0);
    loop {
        let byte = take(from, 1)?[0];
        value |= u64::from(byte & 0x7f).checked_shl(shift).ok_or_else(malformed)?;
        if byte < 0x80 {
            return Ok(value);
        }
        shift += 7;
    }
}

fn read_text<'a>(from: &mut &'a [u8]) -> PyResult<&'a [u8]> {
    let length = usize::try_from(read_length(from)?).map_err(|_| malformed())?;
    take(from, length)
}

fn read<'py>(py: Python<'py>, from: &mut &[u8]) -> PyResult<Bound<'py, PyAny>> {
    Ok(match take(from, 1)?[0] {
        b'N' => py.None().into_bound(py),
        b'T' => PyBool::new(py, true).to_owned().into_any(),
        b'F' => PyBool::new(py, false).to_owned().into_any(),
        b'i' => {
            let coded = read_length(from)?;
            ((coded >> 1) as i64 ^ -((coded & 1) as i64)).into_pyobject(py)?.into_any()
        }
        b'I' => {
            let signed = PyDict::new(py);
            signed.set_item("signed", true)?;
            let bytes = PyBytes::new(py, read_text(from)?);
            py.get_type::<PyInt>().call_method("from_bytes", (bytes, "little"), Some(&signed))?
        }
        b'f' => {
            let bits = take(from, 8)?.try_into().map_err(|_| malformed())?;
            PyFloat::new(py, f64::from_bits(u64::from_le_bytes(bits))).into_any()
        }
        b's' => PyString::new(py, std::str::from_utf8(read_text(from)?).map_err(|_| malformed())?).into_any(),
        b'b' => PyBytes::new(py, read_text(from)?).into_any(),
        b't' => PyTuple::new(py, read_items(py, from)?)?.into_any(),
        b'l' => PyList::new(py, read_items(py, from)?)?.into_any(),
        b'd' => {
            let items = PyDict::new(py);
            for _ in 0..read_length(from)? {
                let key = read(py, from)?;
                items.set_item(key, read(py, from)?)?;
            }
            items.into_any()
        }
        _ => return Err(malformed()),
    })
}

fn read_items<'py>(py: Python<'py>, from: &mut &[u8]) -> PyResult<Vec<Bound<'py, PyAny>>> {
    (0..read_length(from)?).map(|_| read(py, from)).collect()
}

/// Returns what a receiver gets of a value: an equal value in its canonical form.
#[pyfunction]
pub(crate) fn canonical<'py>(py: Python<'py>, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    Canonical::of(value)?.object(py)
}
