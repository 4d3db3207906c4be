//! Answers of the simulated peer's HTTP server, from a file and from the command line.

use std::path::{Path, PathBuf};

use linerate_sim::peer::host::http_server::{Answer, Body};
use linerate_sim::time::Span;
use serde::Deserialize;

use crate::input::{self, MAX_CONTENT, MAX_TEXT};

/// Why answers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AnswersError {
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error.
        error: std::io::Error,
    },
    /// The script is no TOML, or has an unknown field.
    #[error("{}: {error}", path.display())]
    Syntax {
        /// The script.
        path: PathBuf,
        /// The error, with its line.
        error: toml::de::Error,
    },
    /// An answer of the script has no body, or several.
    #[error("{}: the answer to {request} has {bodies} of `bytes`, `text` and `file`; give at most one", path.display())]
    Bodies {
        /// The script.
        path: PathBuf,
        /// Path of the request.
        request: String,
        /// Number of bodies.
        bodies: usize,
    },
    /// The status is none.
    #[error("{}: the answer to {request} has the status {status}; a status is 200 to 599", path.display())]
    Status {
        /// The script.
        path: PathBuf,
        /// Path of the request.
        request: String,
        /// The status.
        status: u16,
    },
    /// An argument has no path or no file.
    #[error("`{0}` is not /PATH=FILE, such as /index.html=target/index.html")]
    File(String),
}

/// A script: its answers in their order. Of several for one path each request gets the next; the last one repeats.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    #[serde(rename = "answer")]
    answers: Vec<ScriptAnswer>,
}

/// An answer of a script.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptAnswer {
    path: String,
    #[serde(default = "ok")]
    status: u16,
    #[serde(default)]
    delay_ms: u64,
    #[serde(default = "octet_stream")]
    content_type: String,
    bytes: Option<u64>,
    text: Option<String>,
    file: Option<PathBuf>,
}

fn ok() -> u16 {
    200
}

fn octet_stream() -> String {
    "application/octet-stream".to_owned()
}

/// Reads a script: a TOML file with a table `[[answer]]` for each answer. Its fields: `path`; `status` (200);
/// `delay_ms` (0); `content_type`; and the body as `bytes` (that many of the reproducible payload), `text` or `file`
/// (relative to the script).
///
/// # Errors
/// [`AnswersError`] names the file and what is wrong in it.
pub fn read(script: &Path) -> Result<Vec<Answer>, AnswersError> {
    let text = read_file(script, MAX_TEXT)?;
    let parsed: Result<Script, _> = toml::from_str(&String::from_utf8_lossy(&text));
    let parsed = parsed.map_err(|error| AnswersError::Syntax {
        path: script.to_owned(),
        error,
    })?;
    let answers = parsed.answers.into_iter();
    answers.map(|answer| answer.resolve(script)).collect()
}

impl ScriptAnswer {
    fn resolve(self, script: &Path) -> Result<Answer, AnswersError> {
        let file = self.file.map(|file| script.with_file_name("").join(file));
        let bodies = [self.bytes.is_some(), self.text.is_some(), file.is_some()];
        let bodies = bodies.into_iter().filter(|given| *given).count();
        if bodies > 1 {
            return Err(AnswersError::Bodies {
                path: script.to_owned(),
                request: self.path,
                bodies,
            });
        }
        if !(200..600).contains(&self.status) {
            return Err(AnswersError::Status {
                path: script.to_owned(),
                request: self.path,
                status: self.status,
            });
        }
        let body = match (self.bytes, self.text, file) {
            (Some(bytes), ..) => Body::Pattern(bytes),
            (_, Some(text), _) => Body::Octets(text.into_bytes().into()),
            (.., Some(file)) => Body::Octets(read_file(&file, MAX_CONTENT)?.into()),
            _ => Body::Pattern(0),
        };
        Ok(Answer {
            path: self.path,
            status: self.status,
            body,
            content_type: self.content_type,
            delay: Span::from_ms(self.delay_ms),
        })
    }
}

/// The answer that `/PATH=FILE` describes: the file's octets.
///
/// # Errors
/// [`AnswersError`] if it has another form or the file cannot be read.
pub fn of_file(argument: &str) -> Result<Answer, AnswersError> {
    let (path, file) = argument
        .split_once('=')
        .filter(|(path, file)| path.starts_with('/') && !file.is_empty())
        .ok_or_else(|| AnswersError::File(argument.to_owned()))?;
    Ok(Answer {
        path: path.to_owned(),
        status: 200,
        body: Body::Octets(read_file(Path::new(file), MAX_CONTENT)?.into()),
        content_type: octet_stream(),
        delay: Span::ZERO,
    })
}

fn read_file(path: &Path, max_octets: u64) -> Result<Vec<u8>, AnswersError> {
    input::read(path, max_octets).map_err(|error| AnswersError::Read {
        path: path.to_owned(),
        error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn script(text: &str) -> Result<Vec<Answer>, String> {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("page.html"), "<p>").expect("written");
        let path = folder.path().join("answers.toml");
        fs::write(&path, text).expect("written");
        let name = path.display().to_string();
        read(&path).map_err(|error| error.to_string().replace(&name, "answers.toml"))
    }

    #[test]
    fn a_script_has_bodies_of_three_kinds() {
        let read = script(
            "[[answer]]\npath = \"/a\"\nbytes = 10_000\ndelay_ms = 5\n\
             [[answer]]\npath = \"/b\"\ntext = \"no\"\nstatus = 404\n\
             [[answer]]\npath = \"/c\"\nfile = \"page.html\"\n[[answer]]\npath = \"/d\"\n",
        )
        .expect("valid");
        let of = |at: usize| (read[at].path.as_str(), read[at].status, read[at].body.len());
        assert_eq!([of(0), of(1)], [("/a", 200, 10_000), ("/b", 404, 2)]);
        assert_eq!([of(2), of(3)], [("/c", 200, 3), ("/d", 200, 0)]);
        assert_eq!(read[0].delay, Span::from_ms(5));
    }

    #[test]
    fn mistakes_are_named() {
        let two = script("[[answer]]\npath = \"/a\"\nbytes = 1\ntext = \"b\"\n");
        let two = two.expect_err("two bodies");
        assert!(
            two.starts_with("answers.toml: the answer to /a has 2 of"),
            "{two}"
        );
        let status = script("[[answer]]\npath = \"/a\"\nstatus = 7\n").expect_err("no status");
        assert!(status.contains("has the status 7"), "{status}");
        let field = script("[[answer]]\npath = \"/a\"\nbody = 7\n").expect_err("unknown");
        assert!(field.contains("unknown field `body`"), "{field}");
        let file = script("[[answer]]\npath = \"/a\"\nfile = \"none\"\n").expect_err("no file");
        assert!(file.starts_with("cannot read "), "{file}");
        for argument in ["index.html", "/a=", "a=b"] {
            assert!(matches!(of_file(argument), Err(AnswersError::File(_))));
        }
    }
}
