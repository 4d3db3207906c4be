//! Programs in C for boards: cross compilers, and sources of other projects, which cargo fetches.

use crate::{concurrent, sh};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A compiler with its arguments.
pub struct Compiler<'a> {
    /// The program.
    pub program: &'a str,
    /// Flags for each file.
    pub flags: &'a [&'a str],
    /// Folders of headers.
    pub includes: &'a [PathBuf],
    /// Folders, and their names in debug data and messages: the objects are the same wherever the folders are.
    pub prefixes: &'a [(&'a Path, &'a str)],
}

impl Compiler<'_> {
    /// Compiles `files` to objects in `out`, on all cores.
    ///
    /// # Errors
    /// The compiler reports an error.
    pub fn compile(&self, files: &[PathBuf], out: &Path) -> Result<Vec<PathBuf>> {
        std::fs::create_dir_all(out)?;
        let objects: Vec<(&PathBuf, PathBuf)> = files
            .iter()
            .enumerate()
            .map(|(number, file)| {
                let stem = file.file_stem().unwrap_or_default().to_string_lossy();
                (file, out.join(format!("{number}-{stem}.o")))
            })
            .collect();
        let compiled = concurrent::map(&objects, concurrent::cores(), |(file, object)| {
            let mut command = sh::cmd(self.program);
            command.args(self.flags);
            for folder in self.includes {
                command.arg("-I").arg(folder);
            }
            for (folder, name) in self.prefixes {
                command.arg(format!("-ffile-prefix-map={}={name}", folder.display()));
            }
            sh::read(command.arg("-c").arg(file).arg("-o").arg(object))
        });
        for result in compiled {
            result?;
        }
        Ok(objects.into_iter().map(|(_, object)| object).collect())
    }
}

/// The C and assembly files in `folder`, sorted.
///
/// # Errors
/// The folder cannot be read.
pub fn sources_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|it| it == "c" || it == "S"))
        .collect();
    files.sort();
    Ok(files)
}

/// Folders of the crates that carry the sources, by name; cargo fetches them.
///
/// # Errors
/// They cannot be fetched.
pub fn fetch() -> Result<BTreeMap<String, PathBuf>> {
    let mut command = sh::cargo();
    command
        .args(["metadata", "--locked", "--format-version", "1"])
        .current_dir(sh::root().join("boards/rv32-soft-soc/stack/sources"));
    let json: serde_json::Value = serde_json::from_str(&sh::read(&mut command)?)?;
    let Some(packages) = json["packages"].as_array() else {
        bail!("cargo metadata lists no packages");
    };
    let folders = packages.iter().filter_map(|package| {
        let manifest = Path::new(package["manifest_path"].as_str()?);
        Some((
            package["name"].as_str()?.to_owned(),
            manifest.parent()?.to_path_buf(),
        ))
    });
    Ok(folders.collect())
}
