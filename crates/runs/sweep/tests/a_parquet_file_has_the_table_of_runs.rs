//! A Parquet file that is written and read again has the table of runs.

#[path = "all/common.rs"]
#[allow(dead_code, reason = "this program uses a part of it")]
mod common;

use common::{Folder, figures};
use parades_sweep::{Outcome, Results, Run, Schedule};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::File;

#[test]
fn a_column_has_the_type_of_its_values_and_null_where_there_is_none() {
    let mut recorded = BTreeMap::new();
    for (point, x) in [json!(0.1), json!(2), json!(null)].into_iter().enumerate() {
        let mut figures = figures(7 + point as u64);
        figures.metrics = [("x".to_owned(), x), ("word".into(), json!("yes"))].into_iter().collect();
        recorded.insert(Run { point, replication: 0 }, Outcome::Figures(Box::new(figures)));
    }
    recorded.insert(Run { point: 3, replication: 0 }, Outcome::failed("it broke", false));
    let schedule = Schedule::new(4, vec![5], None, recorded);
    let values = ["a", "b", "c", "d"].map(|value| vec![json!(value)]).to_vec();
    let results = Results::new(&schedule, vec!["k".into()], values);
    let folder = Folder::new("parquet");
    let path = folder.0.join("runs.parquet");
    results.write_parquet(File::create(&path).unwrap()).unwrap();
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    let field = |row: usize, name: &str| {
        let (_, field) =
            rows[row].get_column_iter().find(|(column, _)| *column == name).expect("there is such a column");
        field.clone()
    };
    assert_eq!(rows.len(), 4);
    assert_eq!(
        (field(0, "k"), field(0, "seed"), field(2, "events")),
        (Field::Str("a".into()), Field::Long(5), Field::Long(9))
    );
    assert_eq!((field(0, "x"), field(1, "x"), field(2, "x")), (Field::Double(0.1), Field::Double(2.0), Field::Null));
    assert_eq!(
        (field(3, "error"), field(3, "x"), field(0, "error")),
        (Field::Str("it broke".into()), Field::Null, Field::Null)
    );
    assert_eq!((field(1, "word"), field(3, "word")), (Field::Str("yes".into()), Field::Null));
}
