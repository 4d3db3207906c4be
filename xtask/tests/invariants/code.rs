//! Rust code as words, without comments, literals and tests. Lines keep their numbers.

use std::fmt::Write as _;

/// `text` without comments, literals and test-only code.
pub fn shipped(text: &str) -> String {
    without_tests(&without_comments(text))
}

/// `text` without comments and literals.
pub fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_inside_word = code.ends_with(is_word);
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            comment_length(rest)
        } else if let Some(length) = string_length(rest, is_inside_word) {
            length
        } else {
            char_length(rest).unwrap_or_default()
        };
        if skipped > 0 {
            blank(&mut code, &rest[..skipped]);
            rest = &rest[skipped..];
        } else {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    code
}

/// Appends a space and the line ends of what is left out.
fn blank(code: &mut String, left_out: &str) {
    code.push(' ');
    code.extend(left_out.chars().filter(|c| *c == '\n'));
}

/// Length of a block comment, which may contain others.
fn comment_length(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let here = &text[at..];
        if here.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if here.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
        } else {
            at += here.chars().next().map_or(1, char::len_utf8);
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Length of a string literal of any kind that begins here: `""`, `b""`, `c""`, `r#""#`, `br""`, `cr""`.
fn string_length(text: &str, is_inside_word: bool) -> Option<usize> {
    if let Some(behind) = text.strip_prefix('"') {
        return Some(1 + quoted_length(behind));
    }
    if is_inside_word {
        return None;
    }
    let prefix = ["br", "cr", "r", "b", "c"]
        .into_iter()
        .find(|prefix| text.starts_with(prefix))?;
    let behind = &text[prefix.len()..];
    if !prefix.ends_with('r') {
        let quoted = behind.strip_prefix('"')?;
        return Some(prefix.len() + 1 + quoted_length(quoted));
    }
    let body = behind.trim_start_matches('#');
    let hashes = behind.len() - body.len();
    let end = format!("\"{}", "#".repeat(hashes));
    let length = body
        .strip_prefix('"')?
        .find(&end)
        .map_or(body.len(), |at| at + 1 + end.len());
    Some(prefix.len() + hashes + length)
}

/// Length up to and including the closing quote.
fn quoted_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Length of a character literal; `None` for a lifetime.
fn char_length(text: &str) -> Option<usize> {
    let behind = text.strip_prefix('\'')?;
    let mut chars = behind.char_indices();
    let (_, first) = chars.next()?;
    if first == '\\' {
        return behind[2..].find('\'').map(|at| at + 4);
    }
    let (at, quote) = chars.next()?;
    (quote == '\'').then_some(at + 2)
}

/// Removes each item, field, variant or argument after `#[cfg(test)]`, and nothing else.
fn without_tests(code: &str) -> String {
    const TEST: &str = "#[cfg(test)]";
    let mut kept = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find(TEST) {
        kept.push_str(&rest[..at]);
        let behind = &rest[at + TEST.len()..];
        let length = item_length(behind);
        blank(&mut kept, &behind[..length]);
        rest = &behind[length..];
    }
    kept.push_str(rest);
    kept
}

/// Length of the item that begins here: to its `;` or `,`, or the end of its block, or before the end of the
/// enclosing one.
fn item_length(code: &str) -> usize {
    let mut depth = 0;
    let mut is_use = false;
    for (at, c) in code.char_indices() {
        let begins_word = !code[..at].ends_with(is_word);
        is_use |= depth == 0 && begins_word && code[at..].starts_with("use ");
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return at,
            ')' | ']' => depth -= 1,
            '}' => {
                depth -= 1;
                // The braces of a `use` do not end it.
                if depth == 0 && !is_use {
                    return at + 1;
                }
            }
            ';' | ',' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

/// True if a word may contain it.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Splits code into words, `::` and single other characters.
pub fn tokens(code: &str) -> Vec<&str> {
    numbered_tokens(code)
        .into_iter()
        .map(|(_, token)| token)
        .collect()
}

/// The same, each with the number of its line.
pub fn numbered_tokens(code: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(code.lines()) {
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let length = if is_word(first) {
                rest.find(|c| !is_word(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            if !first.is_whitespace() {
                found.push((number, &rest[..length]));
            }
            rest = &rest[length..];
        }
    }
    found
}

/// Modules of `std` that code names, with their lines: `time` of `std::time::Instant` and of `use std::{fs, time}`.
/// `std` itself if it is renamed, because its modules are then unknown.
pub fn std_modules(code: &str) -> Vec<(usize, String)> {
    let tokens = numbered_tokens(code);
    let token = |at: usize| tokens.get(at).map_or("", |(_, token)| *token);
    let mut found = Vec::new();
    for (at, (line, _)) in tokens.iter().enumerate().filter(|(_, it)| it.1 == "std") {
        if token(at + 1) != "::" {
            if ["as", ";"].contains(&token(at + 1)) {
                found.push((*line, "std".to_owned()));
            }
            continue;
        }
        if token(at + 2) != "{" {
            found.push((*line, token(at + 2).to_owned()));
            continue;
        }
        let mut depth = 0;
        let mut begins = true;
        for (line, token) in &tokens[at + 2..] {
            match *token {
                "{" => depth += 1,
                "}" => depth -= 1,
                "," => begins |= depth == 1,
                name if begins => {
                    found.push((*line, name.to_owned()));
                    begins = false;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    found
}

/// One line per entry, for messages.
pub fn list<T: std::fmt::Display>(entries: impl IntoIterator<Item = T>) -> String {
    entries.into_iter().fold(String::new(), |mut text, entry| {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {entry}");
        text
    })
}

#[test]
fn comments_and_literals_are_left_out_and_lines_stay() {
    let text = "a // std::time\n/* b /* c */\nd */ e \"f \\\" // g\" 'h' '\\'' &'i j r#\"k\"\n\"# l b\"m\" br\"n\" o";
    let code = without_comments(text);
    let words: Vec<_> = numbered_tokens(&code)
        .into_iter()
        .filter(|(_, token)| token.starts_with(is_word))
        .collect();
    assert_eq!(
        words,
        [(1, "a"), (3, "e"), (3, "i"), (3, "j"), (4, "l"), (4, "o")]
    );
    // What follows an address of the web is code.
    let code = without_comments("let a = \"https://b\"; unsafe {}");
    assert_eq!(tokens(&code)[4..], ["unsafe", "{", "}"]);
}

#[test]
fn only_what_is_for_tests_is_left_out() {
    let left = |code: &str| tokens(&shipped(code)).join(" ");
    assert_eq!(left("a #[cfg(test)]\nmod tests { b { c } } d"), "a d");
    assert_eq!(
        left("#[cfg(test)] mod tests; use std::fs;"),
        "use std :: fs ;"
    );
    assert_eq!(left("#[cfg(test)] use std::{fs, net::{A, B}}; a"), "a");
    assert_eq!(left("#[cfg(test)] fn a() { use b; } c"), "c");
    assert_eq!(
        left("struct A { #[cfg(test)] a: u8, b: u8 }"),
        "struct A { b : u8 }"
    );
    assert_eq!(
        left("struct A { #[cfg(test)] a: u8 } fn b() {}"),
        "struct A { } fn b ( ) { }"
    );
    assert_eq!(
        left("#[cfg(test)] #[rustfmt::skip] const A: [u8; 2] = [1, 2]; b"),
        "b"
    );
    assert_eq!(
        left("#[cfg(any(test, feature = \"a\"))] fn b() {}"),
        "# [ cfg ( any ( test , feature = ) ) ] fn b ( ) { }"
    );
}

#[test]
fn modules_of_std_are_found_however_they_are_named() {
    let of = |code: &str| -> Vec<String> {
        std_modules(code)
            .into_iter()
            .map(|(_, name)| name)
            .collect()
    };
    assert_eq!(
        of("use std::time::Instant; ::std::fs::read(a)"),
        ["time", "fs"]
    );
    assert_eq!(
        of("use std::{collections::{A, B}, env,\n net as n};"),
        ["collections", "env", "net"]
    );
    assert_eq!(of("use std as s;"), ["std"]);
    assert_eq!(of("my_std::time(); no_std;"), [""; 0]);
}
