//! Columns, as Arrow arrays: pandas, polars, DuckDB and pyarrow read them without copies, by the Arrow
//! PyCapsule interface.
//!
//! *Reference*: "The Arrow PyCapsule Interface", Apache Arrow format documentation, version 1.4.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, NullArray, RecordBatch, RecordBatchIterator, StringArray,
    UInt64Array,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, Field, Schema};
use parades_session::Failure;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// A table of columns.
#[pyclass(frozen, module = "parades._parades")]
pub(crate) struct Table {
    batch: RecordBatch,
}

impl Table {
    /// Makes a table. A column has whole numbers, numbers, truth values or texts, as its values are; one
    /// without values has Arrow's type `null`.
    pub(crate) fn of(headings: Vec<String>, rows: impl Iterator<Item = Vec<Value>>) -> Result<Table, Failure> {
        let mut columns: Vec<Vec<Value>> = headings.iter().map(|_| Vec::new()).collect();
        for row in rows {
            columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
        }
        let rows = columns.first().map_or(0, Vec::len);
        let arrays: Vec<ArrayRef> = columns.into_iter().map(array).collect();
        let fields: Vec<Field> = headings
            .iter()
            .zip(&arrays)
            .map(|(name, array)| Field::new(name, array.data_type().clone(), true))
            .collect();
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
            .map(|batch| Table { batch })
            .map_err(|error| of_arrow(&error))
    }

    /// Reads a file of samples. Its first and its last column have numbers, and the others texts.
    pub(crate) fn of_file(path: &Path) -> Result<Table, Failure> {
        let unread = |error: csv::Error| {
            let path = path.display();
            Failure::simulation(format!("{path} cannot be read: {error}; leave the files of a run where they are"))
        };
        let mut reader = csv::Reader::from_path(path).map_err(unread)?;
        let headings: Vec<String> = reader.headers().map_err(unread)?.iter().map(str::to_owned).collect();
        let last = headings.len().saturating_sub(1);
        let cell = |(column, text): (usize, &str)| match text {
            "" => Value::Null,
            text if column == 0 || column == last => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
            text => text.into(),
        };
        let rows = reader.records().map(|row| Ok(row?.iter().enumerate().map(cell).collect()));
        let rows: Vec<Vec<Value>> = rows.collect::<Result<_, csv::Error>>().map_err(unread)?;
        Table::of(headings, rows.into_iter())
    }

    fn stream(&self) -> FFI_ArrowArrayStream {
        let batches = [Ok::<_, ArrowError>(self.batch.clone())];
        FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new(batches, self.batch.schema())))
    }
}

fn of_arrow(error: &ArrowError) -> Failure {
    Failure::simulation(format!("the table cannot be made: {error}; please report it"))
}

/// Returns the array of a column.
fn array(values: Vec<Value>) -> ArrayRef {
    let all = |is: fn(&Value) -> bool| values.iter().all(|value| value.is_null() || is(value));
    if all(|_| false) {
        Arc::new(NullArray::new(values.len()))
    } else if all(Value::is_i64) {
        Arc::new(values.iter().map(Value::as_i64).collect::<Int64Array>())
    } else if all(Value::is_u64) {
        Arc::new(values.iter().map(Value::as_u64).collect::<UInt64Array>())
    } else if all(Value::is_number) {
        Arc::new(values.iter().map(Value::as_f64).collect::<Float64Array>())
    } else if all(Value::is_boolean) {
        Arc::new(values.iter().map(Value::as_bool).collect::<BooleanArray>())
    } else {
        let text = |value: &Value| match value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        Arc::new(values.iter().map(text).collect::<StringArray>())
    }
}

/// Returns the value of a column in a row, as Python has it.
fn cell(py: Python<'_>, column: &dyn Array, row: usize) -> PyResult<Py<PyAny>> {
    if column.is_null(row) {
        return Ok(py.None());
    }
    let any = column.as_any();
    if let Some(column) = any.downcast_ref::<Int64Array>() {
        column.value(row).into_py_any(py)
    } else if let Some(column) = any.downcast_ref::<UInt64Array>() {
        column.value(row).into_py_any(py)
    } else if let Some(column) = any.downcast_ref::<Float64Array>() {
        column.value(row).into_py_any(py)
    } else if let Some(column) = any.downcast_ref::<BooleanArray>() {
        column.value(row).into_py_any(py)
    } else if let Some(column) = any.downcast_ref::<StringArray>() {
        column.value(row).into_py_any(py)
    } else {
        // A column without values.
        Ok(py.None())
    }
}

#[pymethods]
impl Table {
    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// Returns the values of a column, by its number.
    fn column(&self, py: Python<'_>, number: usize) -> PyResult<Vec<Py<PyAny>>> {
        let no_column = || PyIndexError::new_err("there is no such column");
        let column = self.batch.columns().get(number).ok_or_else(no_column)?;
        (0..column.len()).map(|row| cell(py, column, row)).collect()
    }

    /// Returns the values of a row, by its number.
    fn row(&self, py: Python<'_>, number: usize) -> PyResult<Vec<Py<PyAny>>> {
        if number >= self.batch.num_rows() {
            return Err(PyIndexError::new_err("there is no such row"));
        }
        self.batch.columns().iter().map(|column| cell(py, column, number)).collect()
    }

    /// Returns the table as a stream of Arrow's C interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Another schema is a wish, which need not be fulfilled.
        drop(requested_schema);
        PyCapsule::new_with_value(py, self.stream(), c"arrow_array_stream")
    }

    /// Returns the schema of the table, by Arrow's C interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref());
        let schema = schema.map_err(|error| crate::errors::exception(py, &of_arrow(&error)))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}
