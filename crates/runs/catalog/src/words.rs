//! Words as values of parameters. Each word stands for a value of a Rust type.
//!
//! A table has a row for each word. The declaration of the parameter and the conversion both use this table.

use parades_config::Values;

/// The words of a parameter, each with its value.
pub type Table<T, const N: usize> = [(&'static str, T); N];

/// Returns the words of a table, for the declaration of a parameter.
pub const fn words<T: Copy, const N: usize>(table: &Table<T, N>) -> [&'static str; N] {
    let mut words = [""; N];
    let mut index = 0;
    while index < N {
        words[index] = table[index].0;
        index += 1;
    }
    words
}

/// Returns the value that the parameter's word stands for.
pub fn value_of<T: Copy>(values: &Values, key: &str, table: &[(&str, T)]) -> T {
    let word = values.choice(key);
    let row = table.iter().find(|(other, _)| *other == word);
    row.expect("the parameter is declared with the words of this table").1
}
