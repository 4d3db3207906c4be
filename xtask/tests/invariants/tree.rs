//! The files of the checkout, its packages and their root files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::imports::modules::Tree;

/// The checkout.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is in the checkout")
        .to_path_buf()
}

/// All files of the checkout with their path from the root, without build output.
pub fn files() -> Vec<(String, PathBuf)> {
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        // Cargo's output is beside a manifest; a folder of that name elsewhere has code.
        let is_package = folder.join("Cargo.toml").is_file();
        for entry in fs::read_dir(&folder).expect("readable").flatten() {
            let path = entry.path();
            // In a linked worktree `.git` is a file.
            if path.ends_with(".git") || (is_package && path.ends_with("target")) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            found.push((short(&path), path));
        }
    }
    found.sort();
    found
}

/// The path from the root of the checkout.
pub fn short(path: &Path) -> String {
    let path = path.strip_prefix(root()).unwrap_or(path);
    path.to_string_lossy().replace('\\', "/")
}

/// True if it has this extension.
pub fn is(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|e| e == extension)
}

/// True if `name` is `folder` or in it.
pub fn is_in(name: &str, folder: &str) -> bool {
    name.strip_prefix(folder.trim_end_matches('/'))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The Rust files in `folder`, with their text; all if it is empty.
pub fn rust_files(folder: &str) -> Vec<(String, String)> {
    let found: Vec<_> = files()
        .into_iter()
        .filter(|(name, path)| (folder.is_empty() || is_in(name, folder)) && is(path, "rs"))
        .map(|(name, path)| (name, fs::read_to_string(path).expect("UTF-8")))
        .collect();
    assert!(!found.is_empty(), "no Rust file in {folder}");
    found
}

/// The text files of the checkout.
pub fn texts() -> impl Iterator<Item = (String, String)> {
    files()
        .into_iter()
        .filter(|(_, path)| !is(path, "lock"))
        .filter_map(|(name, path)| Some((name, fs::read_to_string(path).ok()?)))
}

/// A package of the checkout, in the workspace or not.
pub struct Package {
    /// Its folder.
    pub folder: PathBuf,
    /// Its manifest.
    pub manifest: toml::Table,
}

/// Every package.
pub fn packages() -> Vec<Package> {
    let manifests = files()
        .into_iter()
        .filter(|(_, path)| path.ends_with("Cargo.toml"));
    let packages = manifests.filter_map(|(name, path)| {
        let text = fs::read_to_string(&path).expect("UTF-8");
        let manifest: toml::Table = text.parse().unwrap_or_else(|it| panic!("{name}: {it}"));
        let folder = path.parent()?.to_path_buf();
        manifest
            .contains_key("package")
            .then_some(Package { folder, manifest })
    });
    packages.collect()
}

impl Package {
    /// The root files of its crates: the library, programs, tests, examples, benchmarks and the build script, named in
    /// the manifest or found where cargo finds them.
    pub fn crates(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = ["src/lib.rs", "src/main.rs", "build.rs"]
            .map(|name| self.folder.join(name))
            .into();
        for folder in ["src/bin", "tests", "examples", "benches"] {
            let entries = fs::read_dir(self.folder.join(folder)).into_iter().flatten();
            for path in entries.flatten().map(|entry| entry.path()) {
                if path.is_dir() {
                    found.push(path.join("main.rs"));
                } else if is(&path, "rs") {
                    found.push(path);
                }
            }
        }
        let lib = self.manifest.get("lib").into_iter();
        let kinds = ["bin", "test", "example", "bench"].into_iter();
        let lists = kinds.filter_map(|kind| self.manifest.get(kind)?.as_array());
        let named = lib.chain(lists.flatten());
        let paths = named.filter_map(|target| target.get("path")?.as_str());
        found.extend(paths.map(|path| self.folder.join(path)));
        found.retain(|path| path.is_file());
        found.sort();
        found.dedup();
        found
    }
}

/// The root files of all crates of the checkout.
pub fn crates() -> Vec<PathBuf> {
    let found: Vec<PathBuf> = packages().iter().flat_map(Package::crates).collect();
    assert!(found.len() > 50, "crates were not found: {found:?}");
    found
}

/// The shipped code of all libraries and programs.
pub fn shipped_crates() -> &'static [Tree] {
    static CRATES: LazyLock<Vec<Tree>> = LazyLock::new(|| {
        let is_shipped = |root: &PathBuf| {
            let folder = root.parent().and_then(Path::file_name);
            folder.is_some_and(|it| it == "src" || it == "bin" || it == "targets")
        };
        let roots = crates().into_iter().filter(is_shipped);
        roots.map(|root| Tree::read(&root)).collect()
    });
    &CRATES
}

/// The packages of the workspace, as cargo describes them.
pub fn metadata() -> Vec<serde_json::Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version=1", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    json["packages"].as_array().expect("packages").clone()
}
