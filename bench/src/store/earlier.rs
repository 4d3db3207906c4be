//! Results of an earlier run in the same folder: moved aside, so that no file of it is taken for one of this run.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{DERIVED, RUN, TRIALS};

/// Folder that earlier results are moved to, each run in a folder named by its start.
pub const EARLIER: &str = "earlier";

/// Moves the results of an earlier run in `dir`, if any, to a folder in [`EARLIER`]; returns that folder.
///
/// `run.json`, which names all others, is moved last: whenever this is interrupted, `dir` still has the whole record of
/// that run, and the next call moves the rest to the same folder.
///
/// # Errors
/// A file cannot be moved.
pub fn move_aside(dir: &Path) -> io::Result<Option<PathBuf>> {
    let text = [RUN, TRIALS]
        .map(|name| std::fs::read_to_string(dir.join(name)).unwrap_or_default())
        .concat();
    let names: Vec<String> = DERIVED
        .into_iter()
        .map(str::to_owned)
        .chain(artifacts(&text))
        .chain([TRIALS.to_owned(), RUN.to_owned()])
        .filter(|name| dir.join(name).is_file())
        .collect();
    if names.is_empty() {
        return Ok(None);
    }
    let aside = folder_for(&names, &dir.join(EARLIER), &started(&text))?;
    for name in names {
        std::fs::rename(dir.join(&name), aside.join(&name))?;
    }
    Ok(Some(aside))
}

/// The folder with this name, or with a number behind it, that has none of these files: a new one, or the one of a
/// move that was interrupted.
fn folder_for(files: &[String], parent: &Path, name: &str) -> io::Result<PathBuf> {
    let is_free = |folder: &PathBuf| !files.iter().any(|file| folder.join(file).exists());
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let folders = std::iter::once(name.to_owned()).chain(numbered);
    let folder = folders.map(|name| parent.join(name)).find(is_free);
    let folder = folder.unwrap_or_else(|| parent.join(name));
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
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

    #[test]
    fn an_interrupted_move_is_completed() {
        let dir = tempfile::tempdir().expect("a folder");
        let run = r#"{"provenance": {"started": "2026-01-02T03:04:05Z"}}"#;
        let aside = dir.path().join(EARLIER).join("2026-01-02T030405Z");
        std::fs::create_dir_all(&aside).expect("made");
        std::fs::write(aside.join("report.html"), run).expect("written");
        for name in ["results.csv", TRIALS, RUN] {
            std::fs::write(dir.path().join(name), run).expect("written");
        }
        assert_eq!(move_aside(dir.path()).expect("moved"), Some(aside.clone()));
        for name in ["report.html", "results.csv", TRIALS, RUN] {
            assert!(aside.join(name).is_file(), "{name}");
        }
    }
}
