//! Suggestions for mistyped words.

/// Longest word that is compared, in characters. No name is longer, so a longer word is near none.
const WORD_CHARS_MAX: usize = 48;

/// Returns the candidate of which `word` is probably a misspelling, or `None` if none is near.
///
/// Case does not count. A word is near a candidate if it differs by at most one letter, and one more for
/// every four letters of the word. A letter differs if it is wrong, missing, extra or swapped with its
/// neighbour. A word is also near if it begins a candidate, or a candidate begins it.
///
/// ```
/// # use parades_config::nearest;
/// assert_eq!(nearest("lokahead", ["lps", "remote", "lookahead"]), Some("lookahead"));
/// assert_eq!(nearest("look", ["lps", "remote", "lookahead"]), Some("lookahead"));
/// assert_eq!(nearest("speed", ["lps", "remote", "lookahead"]), None);
/// ```
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().take(WORD_CHARS_MAX + 1).count();
    if length == 0 || length > WORD_CHARS_MAX {
        return None;
    }
    let word = word.to_lowercase();
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let lower = candidate.to_lowercase();
        let distance = strsim::osa_distance(&word, &lower);
        let near = distance <= 1 + length / 4 && distance < length.max(candidate.len());
        let begins = word.starts_with(&lower) || lower.starts_with(&word);
        // Of equally near candidates the first wins, so that the answer follows the order of declaration.
        if (near || begins) && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Returns the help for an unknown key: the nearest key, or all keys if none is near.
pub(crate) fn suggestion<'a>(key: &str, keys: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match (nearest(key, keys.clone()), list(keys, "and")) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, keys) if keys.is_empty() => "it has none".to_owned(),
        (None, keys) => format!("its keys are {keys}"),
    }
}

/// Joins words for messages: `a, b and c`, with `joint` before the last.
pub fn list<'a>(words: impl IntoIterator<Item = &'a str>, joint: &str) -> String {
    let words: Vec<&str> = words.into_iter().collect();
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, before)) => format!("{} {joint} {last}", before.join(", ")),
    }
}
