//! Results of an earlier run in the same folder: moved aside, so that no file of it is taken for one of this run.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{DERIVED, RUN, TRIALS};

/// Folder that earlier results are moved to, each run in a folder named by its start.
pub const EARLIER: &str = "earlier";

/// Moves the results of an earlier run in `dir`, if any, to a folder in [`EARLIER`]; returns that folder.
///
/// `run.json` is moved first and `trials.ndjson` last: whenever it is interrupted, no file in `dir` claims to be a
/// complete run, and the next call moves the rest.
///
/// # Errors
/// A file cannot be moved.
pub fn move_aside(dir: &Path) -> io::Result<Option<PathBuf>> {
    let text = [RUN, TRIALS]
        .map(|name| std::fs::read_to_string(dir.join(name)).unwrap_or_default())
        .concat();
    let names: Vec<String> = [RUN]
        .into_iter()
        .chain(DERIVED)
        .map(str::to_owned)
        .chain(artifacts(&text))
        .chain([TRIALS.to_owned()])
        .filter(|name| dir.join(name).is_file())
        .collect();
    if names.is_empty() {
        return Ok(None);
    }
    let aside = new_folder(&dir.join(EARLIER), &started(&text))?;
    for name in names {
        std::fs::rename(dir.join(&name), aside.join(&name))?;
    }
    Ok(Some(aside))
}

/// Creates a folder with this name, or with a number behind it if there is one.
fn new_folder(parent: &Path, name: &str) -> io::Result<PathBuf> {
    std::fs::create_dir_all(parent)?;
    let mut number = 1;
    loop {
        let suffix = if number == 1 {
            String::new()
        } else {
            format!("-{number}")
        };
        let folder = parent.join(format!("{name}{suffix}"));
        match std::fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            done => return done.map(|()| folder),
        }
    }
}

/// Start of the run, as a file name on any system.
fn started(text: &str) -> String {
    values(text)
        .find_map(|value| {
            let started = value.get("provenance")?.get("started")?.as_str()?;
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-:".contains(c);
            let is_name = !started.is_empty() && started.chars().all(is_plain);
            is_name.then(|| started.replace(':', ""))
        })
        .unwrap_or_else(|| "unknown".to_owned())
}

/// Names of captures, pictures and recordings that the results mention.
fn artifacts(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for value in values(text) {
        collect(&value, &mut names);
    }
    names.sort_unstable();
    names.dedup();
    names
}

fn collect(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), value) {
                    ("file" | "picture", Value::String(_)) => names.extend(in_folder(value)),
                    ("artifacts", Value::Array(files)) => {
                        names.extend(files.iter().filter_map(in_folder));
                    }
                    _ => collect(value, names),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, names)),
        _ => {}
    }
}

/// The name of a file of the folder itself; what else a damaged file may contain is no such name.
fn in_folder(value: &Value) -> Option<String> {
    let name = value.as_str()?;
    (Path::new(name).file_name() == Some(name.as_ref())).then(|| name.to_owned())
}

/// The values of a file: one, or one a line.
fn values(text: &str) -> impl Iterator<Item = Value> {
    serde_json::Deserializer::from_str(text)
        .into_iter()
        .map_while(Result::ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_of_an_earlier_run_stays_and_none_of_the_user_goes() {
        let dir = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            std::fs::write(dir.path().join(name), text).expect("written");
        };
        let run = r#"{"provenance": {"started": "2026-01-02T03:04:05Z", "artifacts": ["a.vcd", "../b"]},
            "results": [{"capture": {"file": "test.pcapng", "picture": "test.html"}}]}"#;
        let files = [
            RUN,
            TRIALS,
            "report.html",
            "a.vcd",
            "test.pcapng",
            "test.html",
        ];
        for round in ["2026-01-02T030405Z", "2026-01-02T030405Z-2"] {
            for name in files {
                write(name, run);
            }
            write("notes.txt", "mine");
            let aside = move_aside(dir.path())
                .expect("moved")
                .expect("there was one");
            assert_eq!(aside, dir.path().join(EARLIER).join(round));
            for name in files {
                assert!(aside.join(name).is_file() && !dir.path().join(name).exists());
            }
            assert!(dir.path().join("notes.txt").is_file());
        }
        assert_eq!(move_aside(dir.path()).expect("readable"), None);
    }
}
