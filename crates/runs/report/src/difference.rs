//! Where two runs part, in sentences.

use parades_config::shortened_to;
use parades_session::diff::{FolderDifference, Part, Verdict};
use parades_session::recorded::Difference;

/// The greatest number of characters shown of a line or a value. Lines of traces are shorter.
const CHARS_SHOWN: usize = 500;

/// Returns the result of a comparison of two runs, which are called `names`, as lines of text.
pub fn difference_for_people(names: [&str; 2], verdict: &Verdict) -> String {
    match verdict {
        Verdict::Same(events) => format!("the runs are the same: {events} events\n"),
        Verdict::SameTraces(events, None) => format!("the runs are the same: {events} events in their traces\n"),
        Verdict::SameTraces(events, found) => {
            format!("the traces are the same: {events} events\n{}", difference(names, found.as_ref()))
        }
        Verdict::OtherStates(events, found) => format!(
            "the runs execute the same {events} events, but end in different states\n{}",
            folder_difference(names, found)
        ),
        Verdict::Part(Part { events, lines, difference: found }) => {
            let [a, b] = lines.each_ref().map(|line| line.as_deref().map_or("(no more events)".into(), brief));
            format!(
                "the runs are the same for {events} events, then diverge:\n  {}: {a}\n  {}: {b}\n{}",
                names[0],
                names[1],
                folder_difference(names, found)
            )
        }
        Verdict::Files(found) => difference(names, Some(found)),
    }
}

/// Returns a text from a folder, which anybody may have written, on one line of bounded length.
fn brief(text: &str) -> String {
    shortened_to(CHARS_SHOWN, text)
}

fn folder_difference(names: [&str; 2], found: &FolderDifference) -> String {
    match found {
        Ok(found) => difference(names, found.as_ref()),
        Err(unusable) => format!("the results in the folders cannot be compared: {unusable}\n"),
    }
}

fn difference(names: [&str; 2], found: Option<&Difference>) -> String {
    let Some(Difference { what, values: [a, b] }) = found else { return String::new() };
    let [what, a, b] = [what, a, b].map(|text| brief(text));
    if what.starts_with("the file ") {
        return format!("{what} differs:\n  {}: {a}\n  {}: {b}\n", names[0], names[1]);
    }
    format!("the first difference in their results is `{what}`:\n  {}: {a}\n  {}: {b}\n", names[0], names[1])
}
