//! The modules of a crate with their files and definitions.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::paths;
use crate::code;

/// Path of a module from the crate's root, without `crate`.
pub type ModulePath = Vec<String>;

/// A module with its own file.
#[derive(Debug)]
pub struct Module {
    /// Its file.
    pub file: PathBuf,
    /// Its code, without comments, literals and, unless asked for, tests.
    pub code: String,
    /// Names of the items that it defines.
    pub defines: Vec<String>,
}

/// Modules of a crate.
#[derive(Debug, Default)]
pub struct Tree {
    /// Modules by path.
    pub modules: BTreeMap<ModulePath, Module>,
}

impl Tree {
    /// Reads the shipped code of the crate whose root is `root`.
    pub fn read(root: &Path) -> Self {
        Self::with(root, &|file| fs::read_to_string(file).ok(), code::shipped)
    }

    /// The same with its tests.
    pub fn read_with_tests(root: &Path) -> Self {
        Self::with(
            root,
            &|file| fs::read_to_string(file).ok(),
            code::without_comments,
        )
    }

    /// Builds a crate of these files; the first is the root.
    pub fn from_files(files: &[(&str, &str)]) -> Self {
        let text = |file: &Path| {
            let found = files.iter().find(|(name, _)| Path::new(name) == file);
            found.map(|(_, text)| (*text).to_owned())
        };
        Self::with(Path::new(files[0].0), &text, code::shipped)
    }

    fn with(
        root: &Path,
        text: &dyn Fn(&Path) -> Option<String>,
        reduce: fn(&str) -> String,
    ) -> Self {
        let mut tree = Self::default();
        let folder = root.parent().unwrap_or(root).to_path_buf();
        let code = |file: &Path| text(file).map(|text| reduce(&text));
        tree.add(Vec::new(), root.to_path_buf(), &folder, &code);
        tree
    }

    /// Adds the module in `file`, whose children are in `folder`.
    fn add(
        &mut self,
        path: ModulePath,
        file: PathBuf,
        folder: &Path,
        read: &dyn Fn(&Path) -> Option<String>,
    ) {
        let Some(code) = read(&file) else {
            return;
        };
        for name in paths::child_modules(&code) {
            let mut child = path.clone();
            child.push(name.clone());
            let inner = folder.join(&name);
            let beside = folder.join(format!("{name}.rs"));
            let inside = inner.join("mod.rs");
            let file = if read(&beside).is_some() {
                beside
            } else {
                inside
            };
            self.add(child, file, &inner, read);
        }
        let defines = paths::definitions(&code);
        self.modules.insert(
            path,
            Module {
                file,
                code,
                defines,
            },
        );
    }
}
