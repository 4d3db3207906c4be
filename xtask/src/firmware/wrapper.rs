//! This binary as cargo's `RUSTC_WRAPPER`: identical ELF files from any folder.
//!
//! Folder names can enter an ELF in two ways. Paths in debug information and panic messages:
//! each crate gets `--remap-path-prefix`. And cargo's crate hash in mangled symbols: for a path
//! dependency outside the board's workspace it depends on the absolute path, so the crates of
//! this checkout get a hash of their identity instead. `RUSTFLAGS` cannot do this: it would
//! replace the board's flags and change the hashes.

use crate::sh;
use anyhow::Result;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::OnceLock;

/// Environment variable for cargo's children: the checkout's folder.
pub const CHECKOUT: &str = "LINERATE_WRAPPER_CHECKOUT";
/// Environment variable for cargo's children: `<folder of the library's sources>=<its replacement>`.
pub const LIBRARY: &str = "LINERATE_WRAPPER_LIBRARY";

/// Copies this binary, because cargo may replace it during the run (`cargo test` does); returns the copy's path.
pub fn copy() -> Result<PathBuf> {
    static COPY: OnceLock<PathBuf> = OnceLock::new();
    if let Some(copy) = COPY.get() {
        return Ok(copy.clone());
    }
    let folder = sh::out("xtask");
    std::fs::create_dir_all(&folder)?;
    let copy = folder.join("rustc-wrapper");
    // Replaced by a rename, because another run may be executing the existing one.
    let new = folder.join(format!("rustc-wrapper-{}", std::process::id()));
    std::fs::copy(std::env::current_exe()?, &new)?;
    std::fs::rename(&new, &copy)?;
    Ok(COPY.get_or_init(|| copy).clone())
}

/// Runs as the wrapper if cargo started this binary as one; otherwise returns `None`.
pub fn run_as_wrapper() -> Option<ExitCode> {
    let checkout = PathBuf::from(std::env::var_os(CHECKOUT)?);
    let mut args = std::env::args().skip(1);
    let rustc = args.next()?;
    let args: Vec<String> = args.collect();
    let dir = |name| std::env::var_os(name).map(PathBuf::from);
    let args = rewrite(
        args,
        &checkout,
        dir("CARGO_MANIFEST_DIR").as_deref(),
        dir("OUT_DIR").as_deref(),
        std::env::var(LIBRARY).ok().as_deref(),
    );
    let status = Command::new(&rustc).args(args).status();
    Some(match status.map(|s| s.code()) {
        Ok(Some(0)) => ExitCode::SUCCESS,
        Ok(code) => ExitCode::from(code.unwrap_or(101) as u8),
        Err(error) => {
            eprintln!("error: cannot start {rustc}: {error}");
            ExitCode::FAILURE
        }
    })
}

/// Rewrites the arguments for rustc so that no folder of this machine enters the output.
fn rewrite(
    mut args: Vec<String>,
    checkout: &Path,
    package: Option<&Path>,
    out_dir: Option<&Path>,
    library: Option<&str>,
) -> Vec<String> {
    let Some(package) = package else {
        return args; // a probe such as `rustc -vV`
    };
    let ours = package.starts_with(checkout);
    if ours {
        let hash = identity(&args);
        for arg in &mut args {
            if arg.starts_with("metadata=") {
                *arg = format!("metadata={hash}");
            }
        }
    }
    let mut remap = |from: &Path, to: &str| {
        args.push(format!("--remap-path-prefix={}={to}", from.display()));
    };
    // Of two prefixes that match, rustc takes the one given last.
    remap(checkout, "/linerate");
    if !ours && let (Some(parent), Some(name)) = (package.parent(), package.file_name()) {
        remap(parent, "/crates");
        let name = name.to_string_lossy();
        if let Some(out) = out_dir {
            remap(out, &format!("/out/{name}"));
        }
    } else if let Some(out) = out_dir {
        remap(out, "/out/linerate");
    }
    if let Some(library) = library {
        args.push(format!("--remap-path-prefix={library}"));
    }
    args
}

/// Hash of a crate's identity, independent of its folder: name, type, features, target, profile.
fn identity(args: &[String]) -> String {
    use std::fmt::Write as _;
    let mut hash = Sha256::new();
    let mut pairs = args.iter().zip(args.iter().skip(1));
    let identifying = ["--crate-name", "--crate-type", "--cfg", "--target"];
    for (key, value) in pairs.by_ref() {
        let profile = key == "-C" && !value.contains('/') && !hashed(value);
        if identifying.contains(&key.as_str()) || profile {
            hash.update(format!("{key} {value}\n"));
        }
    }
    let mut text = String::new();
    for byte in &hash.finalize()[..8] {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// True for options of cargo that depend on the folder.
fn hashed(option: &str) -> bool {
    ["metadata=", "extra-filename=", "incremental="]
        .iter()
        .any(|p| option.starts_with(p))
}

#[cfg(test)]
mod tests {
    use super::rewrite;
    use std::path::Path;

    fn args(folder: &str, hash: &str, feature: &str) -> Vec<String> {
        let cfg = format!("feature=\"{feature}\"");
        let metadata = format!("metadata={hash}");
        let out = format!("{folder}/target/deps");
        let words = [
            "--crate-name",
            "http_get",
            "--cfg",
            &cfg,
            "-C",
            &metadata,
            "-C",
            "opt-level=s",
            "--out-dir",
            &out,
        ];
        words.map(str::to_owned).to_vec()
    }

    fn metadata_of(folder: &str, hash: &str, feature: &str) -> String {
        let package = format!("{folder}/boards/x");
        rewrite(
            args(folder, hash, feature),
            Path::new(folder),
            Some(Path::new(&package)),
            None,
            None,
        )
        .into_iter()
        .find(|a| a.starts_with("metadata="))
        .expect("kept")
    }

    #[test]
    fn our_crates_have_equal_hashes_in_two_folders_and_different_ones_by_feature() {
        let here = metadata_of("/a", "1111", "windowed");
        assert_eq!(here, metadata_of("/b/c", "2222", "windowed"));
        assert_ne!(here, metadata_of("/a", "1111", "isr-all"));
    }

    #[test]
    fn a_dependency_keeps_its_hash_and_its_folder_is_remapped() {
        let new = rewrite(
            args("/a", "1111", "windowed"),
            Path::new("/a"),
            Some(Path::new("/home/registry/src/index-123/smoltcp-0.14.0")),
            Some(Path::new("/a/target/build/smoltcp-77/out")),
            Some("/sysroot/src=/rustc/1"),
        );
        assert!(new.contains(&"metadata=1111".to_owned()));
        for prefix in [
            "/home/registry/src/index-123=/crates",
            "/a=/linerate",
            "/a/target/build/smoltcp-77/out=/out/smoltcp-0.14.0",
            "/sysroot/src=/rustc/1",
        ] {
            assert!(
                new.contains(&format!("--remap-path-prefix={prefix}")),
                "{prefix}"
            );
        }
    }

    #[test]
    fn a_probe_passes_unchanged() {
        let probe = vec!["-vV".to_owned()];
        assert_eq!(
            rewrite(probe.clone(), Path::new("/a"), None, None, None),
            probe
        );
    }
}
