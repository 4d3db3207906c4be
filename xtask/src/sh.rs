//! Running other programs, and paths of the checkout.

use anyhow::{Context, Result, bail};
use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// Path of the checkout.
///
/// The run-time variable has priority, so that a binary in a target folder shared by two
/// checkouts works on the one in which it was started.
pub fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    manifest
        .parent()
        .map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Output folder of this tool, below `target/` of the checkout even if cargo's target folder is another.
pub fn out(name: &str) -> PathBuf {
    root().join("target").join(name)
}

/// Path of the capture of the article's NIC, if the folder in `LINERATE_DATA` has it.
pub fn niccle() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("LINERATE_DATA")?);
    let file = folder.join("niccle/smoltcp_http_get_before_optimizations.pcap.gz");
    file.canonicalize().ok()
}

thread_local! {
    static IS_LOW_PRIORITY: Cell<bool> = const { Cell::new(false) };
}

/// Commands run beside those of a thread of low priority.
static HAS_FOREGROUND: AtomicBool = AtomicBool::new(false);

/// True if commands of this thread run at the lowest priority while there is a foreground.
pub fn is_low_priority() -> bool {
    IS_LOW_PRIORITY.get()
}

/// Sets the priority of this thread's commands: the lowest while there is a foreground, where the system has `nice`, or
/// the usual one.
pub fn set_low_priority(low: bool) {
    IS_LOW_PRIORITY.set(low && has("nice"));
}

/// Sets whether anything runs beside threads of low priority. When it has ended, the commands that they start then run
/// at the usual priority: on a machine with other load the lowest one gets next to no time.
pub fn set_foreground(is_running: bool) {
    HAS_FOREGROUND.store(is_running, Ordering::Relaxed);
}

/// Command that runs in the checkout, without the variables that cargo sets for `xtask` itself.
pub fn cmd(program: impl AsRef<OsStr>) -> Command {
    let mut command = if is_low_priority() && HAS_FOREGROUND.load(Ordering::Relaxed) {
        let mut nice = Command::new("nice");
        nice.args(["-n", "19"]).arg(program);
        nice
    } else {
        Command::new(program)
    };
    command.current_dir(root());
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST") {
            command.env_remove(name);
        }
    }
    command
}

/// Command of the cargo that started this tool.
pub fn cargo() -> Command {
    cmd(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Cargo of the nightly toolchain.
pub fn nightly_cargo() -> Command {
    let mut command = cmd("rustup");
    command
        .args(["run", "nightly", "cargo"])
        .env_remove("CARGO")
        .env_remove("RUSTC")
        .env_remove("RUSTUP_TOOLCHAIN");
    command
}

/// The command as typed in a shell.
pub fn show(command: &Command) -> String {
    let short = |s: &OsStr| {
        let text = s.to_string_lossy().into_owned();
        let text = text.replace(&format!("{}/", root().display()), "");
        if text.contains(' ') {
            format!("'{text}'")
        } else {
            text
        }
    };
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(program.as_os_str());
    std::iter::once(short(program))
        .chain(command.get_args().map(short))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Runs the command with its output on this terminal; an error names the command.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start `{}`", show(command)))?;
    if !status.success() {
        bail!("`{}` failed ({status})", show(command));
    }
    Ok(())
}

/// Runs the command silently and returns its standard output.
pub fn read(command: &mut Command) -> Result<String> {
    let done = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start `{}`", show(command)))?;
    if !done.status.success() {
        let errors = String::from_utf8_lossy(&done.stderr);
        bail!("`{}` failed:\n{}", show(command), errors.trim_end());
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Runs the command with all output appended to `log`; returns this output. An error contains its last lines.
pub fn logged(command: &mut Command, log: &Path) -> Result<String> {
    let mut file = File::options()
        .create(true)
        .append(true)
        .open(log)
        .with_context(|| format!("cannot write {}", log.display()))?;
    writeln!(file, "$ {}", show(command))?;
    let start = file.metadata()?.len();
    let status = command
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .status()
        .with_context(|| format!("cannot start `{}`", show(command)))?;
    let all = fs::read(log)?;
    let text = String::from_utf8_lossy(&all[start as usize..]).into_owned();
    if !status.success() {
        let lines: Vec<&str> = text.lines().collect();
        let tail = lines[lines.len().saturating_sub(60)..].join("\n");
        bail!(
            "{tail}\n`{}` failed ({status}); complete log: {}",
            show(command),
            log.display()
        );
    }
    Ok(text)
}

/// Runs the command with its output on this terminal, or in `log` if given.
pub fn run_or_log(command: &mut Command, log: Option<&Path>) -> Result<()> {
    match log {
        Some(log) => logged(command, log).map(drop),
        None => run(command),
    }
}

/// True if `PATH` has the program.
pub fn has(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path)
            .any(|dir| dir.join(program).is_file() || dir.join(format!("{program}.exe")).is_file())
    })
}

/// SHA-256 of a file, in hex.
pub fn sha256(file: &Path) -> Result<String> {
    use sha2::Digest as _;
    use std::fmt::Write as _;
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut hex = String::new();
    for byte in sha2::Sha256::digest(bytes) {
        write!(hex, "{byte:02x}")?;
    }
    Ok(hex)
}

#[cfg(test)]
mod tests {
    use super::{cmd, set_foreground, set_low_priority};

    #[test]
    fn only_what_runs_beside_a_foreground_has_a_low_priority() {
        set_low_priority(true);
        for (is_running, program) in [(true, "nice"), (false, "cargo")] {
            set_foreground(is_running);
            assert_eq!(cmd("cargo").get_program(), program);
        }
    }
}
