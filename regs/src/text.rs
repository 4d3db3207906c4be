//! Splitting text into lines and words, in `const` functions.

/// The text before the first `at`, and the text after it.
const fn split_once(text: &str, at: u8) -> (&str, &str) {
    let bytes = text.as_bytes();
    // The compiler interprets this for `constants!`, and a call in each round of the loop would take most of its time.
    let (mut i, len) = (0, bytes.len());
    while i < len && bytes[i] != at {
        i += 1;
    }
    let (head, rest) = text.split_at(i);
    if rest.is_empty() {
        (head, rest)
    } else {
        (head, rest.split_at(1).1)
    }
}

/// The first line, and the lines after it.
pub const fn line(text: &str) -> (&str, &str) {
    split_once(text, b'\n')
}

/// The first word, and the text after the following space.
pub const fn word(text: &str) -> (&str, &str) {
    split_once(text, b' ')
}

pub const fn equal(a: &str, b: &str) -> bool {
    a.len() == b.len() && strip_prefix(a, b).is_some()
}

/// The text after `prefix`.
pub const fn strip_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (bytes, wanted) = (text.as_bytes(), prefix.as_bytes());
    if bytes.len() < wanted.len() {
        return None;
    }
    let (mut i, len) = (0, wanted.len());
    while i < len {
        if bytes[i] != wanted[i] {
            return None;
        }
        i += 1;
    }
    Some(text.split_at(i).1)
}

/// `text` up to the line that starts with `prefix`, and the rest.
pub const fn split_before<'a>(text: &'a str, prefix: &str) -> (&'a str, &'a str) {
    let mut rest = text;
    while !rest.is_empty() && strip_prefix(rest, prefix).is_none() {
        rest = line(rest).1;
    }
    text.split_at(text.len() - rest.len())
}

pub const fn hex(digits: &str) -> Option<u32> {
    match u32::from_str_radix(digits, 16) {
        Ok(number) => Some(number),
        Err(_) => None,
    }
}

/// A number of at most 32: a bit index, or a number of bits.
pub const fn decimal(digits: &str) -> Option<u8> {
    match u8::from_str_radix(digits, 10) {
        Ok(number) if number <= 32 => Some(number),
        _ => None,
    }
}
