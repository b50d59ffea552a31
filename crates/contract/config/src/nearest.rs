//! What a mistyped word was probably meant to be.

/// No name is longer, so a longer word is near none of them, and costs nothing to compare.
const WORD_CHARS_MAX: usize = 48;

/// The candidate that `word` is probably a misspelling of; `None` where none is near. Case does not count; a wrong, missing, extra or
/// swapped letter does, one for every four letters and one more; a word that begins a candidate, or that one begins, is near.
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
        // The first of equals stays, so that the answer follows the order of declaration.
        if (near || begins) && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The help for an unknown key: the nearest one, or where none is near, all of them.
pub(crate) fn suggestion<'a>(key: &str, keys: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match (nearest(key, keys.clone()), list(keys, "and")) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, keys) if keys.is_empty() => "it has none".to_owned(),
        (None, keys) => format!("its keys are {keys}"),
    }
}

/// `a, b and c`, for messages.
pub(crate) fn list<'a>(words: impl IntoIterator<Item = &'a str>, joint: &str) -> String {
    let words: Vec<&str> = words.into_iter().collect();
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, before)) => format!("{} {joint} {last}", before.join(", ")),
    }
}
