//! The words of a line, with quotes.

use crate::platform::Platform;

/// The number of words of a flow.
const WORDS: usize = 5;

/// Splits a line into words, which are slices of the line. Quotes are left out.
///
/// If the line has more words than a flow, and no quotes, then names of hosts may contain white space. Their
/// words are joined if that is possible in exactly one way.
///
/// # Errors
///
/// The slice of the line that is wrong, and a sentence.
pub(super) fn split<'a>(line: &'a str, platform: &Platform) -> Result<Vec<&'a str>, (&'a str, String)> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    let mut has_quotes = false;
    while let Some(first) = rest.chars().next() {
        if first == '"' || first == '\'' {
            has_quotes = true;
            let Some(length) = rest[1..].find(first) else {
                return Err((rest, format!("the quote {first} is not closed")));
            };
            words.push(&rest[1..=length]);
            rest = &rest[length + 2..];
            if rest.starts_with(|c: char| !c.is_whitespace()) {
                return Err((rest, "a letter follows a closing quote".to_owned()));
            }
        } else {
            let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
            words.push(&rest[..length]);
            rest = &rest[length..];
        }
        rest = rest.trim_start();
    }
    if words.len() > WORDS && !has_quotes {
        return Ok(join_names(line, &words, platform).unwrap_or(words));
    }
    Ok(words)
}

/// Joins the words between the first and the last two into the names of two hosts. Returns `None` if that is
/// possible in no way, or in several.
fn join_names<'a>(line: &'a str, words: &[&'a str], platform: &Platform) -> Option<Vec<&'a str>> {
    let &[id, ref names @ .., bytes, start] = words else { return None };
    let offset = |part: &str| part.as_ptr() as usize - line.as_ptr() as usize;
    let whole = |part: &[&'a str]| {
        let (first, last) = (part.first()?, part.last()?);
        let name = &line[offset(first)..offset(last) + last.len()];
        platform.host(name).map(|_| name)
    };
    let mut ways = (1..names.len()).filter_map(|at| Some((whole(&names[..at])?, whole(&names[at..])?)));
    match (ways.next(), ways.next()) {
        (Some((source, destination)), None) => Some(vec![id, source, destination, bytes, start]),
        _ => None,
    }
}
