//! Tables as Parquet files, which data frames can read: the runs of a sweep, and the tables of a run.
//!
//! A column is `INT64` if all its values are whole numbers, `DOUBLE` if all are numbers, and text otherwise.
//! A missing value is null. The columns of the runs are those of [`Results::write_runs`].

use crate::outcome::{Failed, Outcome};
use crate::results::{Results, cell};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::sync::Arc;

/// A column: its name, and a value for each row.
struct Column {
    name: String,
    physical: Physical,
    values: Vec<Value>,
}

impl Column {
    fn new(name: String, values: Vec<Value>) -> Column {
        let some = || values.iter().filter(|value| !value.is_null());
        let physical = match () {
            () if some().next().is_none() => Physical::BYTE_ARRAY,
            () if some().all(Value::is_i64) => Physical::INT64,
            // A seed may exceed `INT64`. As text, it keeps all its digits.
            () if some().all(Value::is_number) && !some().any(|x| x.is_u64() && !x.is_i64()) => Physical::DOUBLE,
            () => Physical::BYTE_ARRAY,
        };
        Column { name, physical, values }
    }

    fn field(&self) -> Result<Arc<Type>> {
        let text = (self.physical == Physical::BYTE_ARRAY).then_some(LogicalType::String);
        let field = Type::primitive_type_builder(&self.name, self.physical).with_repetition(Repetition::OPTIONAL);
        field.with_logical_type(text).build().map(Arc::new)
    }

    /// Writes the values that are not null, and for each row whether it has a value.
    fn write<T: DataType, W: Write + Send>(
        &self,
        rows: &mut SerializedRowGroupWriter<'_, W>,
        value: impl Fn(&Value) -> Option<T::T>,
    ) -> Result<()> {
        let some: Vec<T::T> = self.values.iter().filter(|value| !value.is_null()).filter_map(value).collect();
        let levels: Vec<i16> = self.values.iter().map(|value| i16::from(!value.is_null())).collect();
        if let Some(mut column) = rows.next_column()? {
            column.typed::<T>().write_batch(&some, Some(&levels), None)?;
            column.close()?;
        }
        Ok(())
    }
}

impl Results<'_> {
    fn columns(&self) -> Vec<Column> {
        let of_run = ["seed", "events", "global_events", "digest", "virtual_time_s"];
        let names = self.keys().iter().map(String::as_str).chain(of_run);
        let names = names.chain(self.metrics().iter().map(String::as_str)).chain(["error"]);
        let mut columns: Vec<(String, Vec<Value>)> = names.map(|name| (name.to_owned(), Vec::new())).collect();
        for (values, seed, outcome) in self.runs_in_numbers() {
            let own = match outcome {
                Outcome::Figures(figures) => {
                    let mut own = vec![
                        json!(figures.events),
                        json!(figures.global_events),
                        json!(figures.digest),
                        json!(figures.virtual_time_s),
                    ];
                    own.extend(
                        self.metrics().iter().map(|name| figures.metrics.get(name).cloned().unwrap_or_default()),
                    );
                    own.push(Value::Null);
                    own
                }
                Outcome::Failed(Failed { message, .. }) => {
                    let mut own = vec![Value::Null; of_run.len() - 1 + self.metrics().len()];
                    own.push(json!(message));
                    own
                }
            };
            let row = values.iter().cloned().chain([json!(seed)]).chain(own);
            columns.iter_mut().zip(row).for_each(|((_, column), value)| column.push(value));
        }
        columns.into_iter().map(|(name, values)| Column::new(name, values)).collect()
    }

    /// Writes the table of [`Results::write_runs`] as a Parquet file.
    ///
    /// # Errors
    ///
    /// If `to` cannot be written, or if a swept parameter has the name of another column.
    pub fn write_parquet(&self, to: impl Write + Send) -> io::Result<()> {
        write("runs", &self.columns(), to).map_err(io::Error::other)
    }
}

/// Writes a table as a Parquet file. `columns` has the name of each column and its value in each row, `Null`
/// for none.
///
/// # Errors
///
/// If `to` cannot be written, or if two columns have the same name.
pub fn write_table(columns: Vec<(String, Vec<Value>)>, to: impl Write + Send) -> io::Result<()> {
    let columns: Vec<Column> = columns.into_iter().map(|(name, values)| Column::new(name, values)).collect();
    write("table", &columns, to).map_err(io::Error::other)
}

fn write(name: &str, columns: &[Column], to: impl Write + Send) -> Result<()> {
    let fields = columns.iter().map(Column::field).collect::<Result<_>>()?;
    let schema = Type::group_type_builder(name).with_fields(fields).build()?;
    let mut file = SerializedFileWriter::new(to, Arc::new(schema), Arc::new(WriterProperties::builder().build()))?;
    let mut rows = file.next_row_group()?;
    for column in columns {
        match column.physical {
            Physical::INT64 => column.write::<Int64Type, _>(&mut rows, Value::as_i64)?,
            Physical::DOUBLE => column.write::<DoubleType, _>(&mut rows, Value::as_f64)?,
            _ => column.write::<ByteArrayType, _>(&mut rows, |value| Some(ByteArray::from(cell(value).as_str())))?,
        }
    }
    rows.close()?;
    file.close().map(|_| ())
}
