//! An error in a scenario, with its position.

use std::ops::Range;

use linerate_host::nearest;

/// An invalid scenario: file, line, column and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct ScenarioError {
    /// The file as named by the caller.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The error.
    pub message: String,
}

impl ScenarioError {
    pub(super) fn at(file: &str, text: &str, span: Option<Range<usize>>, message: String) -> Self {
        let before = text
            .get(..span.map_or(0, |span| span.start))
            .unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message,
        }
    }

    /// An error of the TOML parser, in one line and with the nearest valid name.
    pub(super) fn syntax(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let message = error.message().trim().replace('\n', "; ");
        Self::at(file, text, error.span(), with_nearest(&message))
    }
}

/// Adds the nearest of the names that serde lists after "unknown field" and "unknown variant".
fn with_nearest(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let near = match message.split_once(", expected ") {
        Some((before, _)) if before.starts_with("unknown ") => {
            quoted.next().and_then(|written| nearest(written, quoted))
        }
        _ => None,
    };
    match near {
        Some(name) => format!("{message} (did you mean `{name}`?)"),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_name_is_suggested_for_unknown_ones_only() {
        assert_eq!(
            with_nearest("unknown field `duplx`, expected one of `seed`, `duplex`"),
            "unknown field `duplx`, expected one of `seed`, `duplex` (did you mean `duplex`?)"
        );
        let untouched = "unknown field `zzzzzz`, expected `seed` or `duplex`";
        assert_eq!(with_nearest(untouched), untouched);
        let untouched = "invalid type: string \"a `seed` b\", expected u64";
        assert_eq!(with_nearest(untouched), untouched);
    }

    #[test]
    fn position_counts_characters() {
        let text = "a = 1\nü = 2\n";
        let error = ScenarioError::at("f", text, Some(9..10), "m".into());
        assert_eq!((error.line, error.column), (2, 3));
        let error = ScenarioError::at("f", text, None, "m".into());
        assert_eq!((error.line, error.column), (1, 1));
    }
}
