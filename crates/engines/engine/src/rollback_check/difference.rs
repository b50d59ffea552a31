//! The first difference between two values, from their texts for debugging.

/// The length of two texts up to which both are shown whole, in characters.
const WHOLE_MAX: usize = 160;
/// The most characters that are shown of a part that differs.
const PART_MAX: usize = 60;

/// Returns `FOUND instead of EXPECTED`. If the texts are long, the first part that differs is shown, and its
/// path: the names of the fields that lead to it, and places in lists.
pub(super) fn difference(expected: &str, found: &str) -> String {
    if expected.chars().count().max(found.chars().count()) <= WHOLE_MAX {
        return format!("{found} instead of {expected}");
    }
    let same = expected.bytes().zip(found.bytes()).take_while(|(a, b)| a == b).count();
    let same = (0..=same).rev().find(|&at| expected.is_char_boundary(at)).unwrap_or(0);
    let (path, start) = path(&expected[..same]);
    let part = |text: &str| text[start..].chars().take(PART_MAX).collect::<String>();
    format!("`{path}` = {} … instead of {} …", part(found), part(expected))
}

/// Returns the path to the end of a text for debugging, and the place where the value begins that the text
/// ends in.
fn path(text: &str) -> (String, usize) {
    // For each bracket that is open: the name or the index of the part, and the place where it begins.
    let mut open: Vec<(String, usize, usize)> = vec![(String::new(), 0, 0)];
    let (mut word, mut is_quoted, mut before) = (String::new(), false, ' ');
    for (at, letter) in text.char_indices() {
        let depth = open.len();
        let (name, index, begin) = open.last_mut().expect("the outermost part stays open");
        match letter {
            '"' if before != '\\' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '{' | '[' | '(' => open.push((String::new(), 0, at + 1)),
            '}' | ']' | ')' if depth > 1 => drop(open.pop()),
            ',' => (*name, *index, *begin) = (String::new(), *index + 1, at + 1),
            ' ' if before == ':' => (*name, *begin) = (std::mem::take(&mut word), at + 1),
            _ => {}
        }
        match letter {
            ':' => {}
            letter if letter.is_alphanumeric() || letter == '_' => word.push(letter),
            _ => word.clear(),
        }
        before = letter;
    }
    let inner = &open[1..];
    let names = inner.iter().map(|(name, index, _)| if name.is_empty() { index.to_string() } else { name.clone() });
    (names.collect::<Vec<_>>().join("."), open.last().map_or(0, |(.., begin)| *begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug)]
    #[expect(dead_code, reason = "only its text is read")]
    struct Node {
        name: &'static str,
        ports: Vec<(u32, Port)>,
    }

    #[derive(Clone, Debug)]
    #[expect(dead_code, reason = "only its text is read")]
    struct Port {
        rate: u64,
        queue: Option<Vec<u64>>,
    }

    #[test]
    fn the_path_to_the_first_difference_is_shown() {
        let port = |rate, last| (7, Port { rate, queue: Some((0..20).chain([last]).collect()) });
        let node = |rate, last| Node { name: "a{, \"quoted\": [", ports: vec![port(1000, 0), port(rate, last)] };
        let text = |node: &Node| format!("{node:?}");
        let said = difference(&text(&node(1000, 1)), &text(&node(2048, 1)));
        assert!(said.starts_with("`ports.1.1.rate` = 2048, queue: Some([0, 1"), "{said}");
        assert!(said.contains("… instead of 1000, queue") && said.len() < 200, "{said}");
        let said = difference(&text(&node(1000, 5)), &text(&node(1000, 6)));
        assert_eq!(said, "`ports.1.1.queue.0.20` =  6]) })] } … instead of  5]) })] } …");
    }

    #[test]
    fn short_values_are_shown_whole() {
        assert_eq!(difference("Some(1)", "None"), "None instead of Some(1)");
    }
}
