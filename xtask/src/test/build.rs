//! Format, clippy and rustdoc; builds for other targets and of the firmware of every board.

use crate::board::Board;
use crate::foreign::Foreign;
use crate::steps::Outcome;
use crate::{board, concurrent, firmware, foreign, sh, tools};
use anyhow::Result;
use std::path::Path;

pub(super) fn format(log: &Path) -> Result<Outcome> {
    sh::logged(sh::cargo().args(["fmt", "--all", "--check"]), log)?;
    let mut folders: Vec<_> = board::all()
        .into_iter()
        .map(|b| sh::root().join("boards").join(b))
        .collect();
    folders.push(sh::root().join("fuzz"));
    folders.push(sh::root().join("link/compare"));
    folders.push(sh::root().join("boards/rv32-soft-soc/firmware"));
    folders.push(sh::root().join("boards/esp32c6-w5500/firmware"));
    folders.push(sh::root().join("boards/esp32c6-link/firmware"));
    for folder in folders.iter().filter(|f| f.join("Cargo.toml").is_file()) {
        let mut fmt = sh::cargo();
        sh::logged(fmt.args(["fmt", "--check"]).current_dir(folder), log)?;
    }
    Ok(Outcome::done())
}

pub(super) fn clippy(log: &Path) -> Result<Outcome> {
    let args = [
        "clippy",
        "--locked",
        "--workspace",
        "--all-targets",
        "--all-features",
    ];
    sh::logged(sh::cargo().args(args).args(["--", "-D", "warnings"]), log)?;
    Ok(Outcome::done())
}

pub(super) fn rustdoc(log: &Path) -> Result<Outcome> {
    let mut doc = sh::cargo();
    doc.args([
        "doc",
        "--locked",
        "--workspace",
        "--no-deps",
        "--all-features",
    ]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    sh::logged(&mut doc, log)?;
    Ok(Outcome::done())
}

/// Checks the device-side crates on two bare-metal targets, without features and with all.
pub(super) fn no_std(log: &Path) -> Result<Outcome> {
    for triple in [tools::RISCV, tools::THUMB] {
        let std = tools::ensure_target(triple)?;
        for features in [&["--no-default-features"][..], &["--all-features"]] {
            let mut check = sh::cargo();
            check.args(["check", "--locked", "--target", triple]);
            check.args(["--package", "linerate-ether", "--package", "linerate-nic"]);
            check.args(features);
            std.apply(&mut check);
            sh::logged(&mut check, log)?;
        }
        let mut check = sh::cargo();
        check.args(["check", "--locked", "--target", triple]);
        check.args(["--package", "linerate-regs"]);
        check.args(["--package", "linerate-agent-c"]);
        check.args(["--package", "linerate-agent-smoltcp"]);
        std.apply(&mut check);
        sh::logged(&mut check, log)?;
        // With all services; `cargo xtask bench --footprint` links them. On this machine clippy sees no code of theirs.
        let mut lint = sh::cargo();
        lint.args(["clippy", "--no-deps", "--locked", "--target", triple]);
        lint.args(["--all-features", "--package", "linerate-agent-size"]);
        lint.args(["--package", "linerate-link-size"]);
        std.apply(&mut lint);
        sh::logged(lint.args(["--", "-D", "warnings"]), log)?;
    }
    Ok(Outcome::done())
}

/// Checks the command line for Windows and macOS, without the parts for Linux only.
pub(super) fn other_systems(log: &Path) -> Result<Outcome> {
    let mut checked = Vec::new();
    for triple in tools::OTHER_SYSTEMS {
        if tools::ensure_target(triple).ok() != Some(tools::Std::Installed) {
            return Ok(Outcome::Skipped(format!(
                "the check for other systems needs a target: rustup target add {triple}"
            )));
        }
        let mut check = sh::cargo();
        check.args(["check", "--locked", "--target", triple]);
        check.args(["--package", "linerate"]);
        check.env("CARGO_TARGET_DIR", sh::out("other-systems"));
        check.env("RUSTFLAGS", "-D warnings");
        sh::logged(check.env_remove("CARGO_ENCODED_RUSTFLAGS"), log)?;
        checked.push(triple);
    }
    Ok(Outcome::Done(checked.join(", ")))
}

/// Builds the firmware of every board, and runs clippy on every program in every variant.
pub(super) fn firmware(foreign: Option<Foreign>, long: bool, log: &Path) -> Result<Outcome> {
    let mut boards = Vec::new();
    for name in board::all() {
        let board = board::read(&name)?;
        // Sequentially: concurrent calls of rustup fail.
        tools::ensure_target(&board.target)?;
        boards.push(board);
    }
    if foreign.is_some() {
        tools::ensure_target(tools::RISCV)?;
    }
    // Linking with LTO uses one core only. What takes longest begins first.
    let (first, others): (Vec<_>, Vec<_>) = boards
        .into_iter()
        .map(|board| Firmware::Board(Box::new(board)))
        .partition(|it| matches!(it, Firmware::Board(board) if board.name == board::DEFAULT));
    let foreign = foreign.map(Firmware::Foreign);
    let all: Vec<Firmware> = first.into_iter().chain(foreign).chain(others).collect();
    let built = concurrent::map(&all, concurrent::cores(), |it| it.build(long, log));
    let mut ours = 0;
    let mut foreign = 0;
    for (it, built) in all.iter().zip(built) {
        match it {
            Firmware::Board(_) => ours += built?,
            Firmware::Foreign(_) => foreign += built?,
        }
    }
    Ok(Outcome::Done(format!(
        "{ours} ELFs, {foreign} of other projects"
    )))
}

/// Firmware that is built at the same time as others.
enum Firmware {
    Board(Box<Board>),
    /// Firmware of other projects.
    Foreign(Foreign),
}

impl Firmware {
    /// Builds all programs and returns their number; the log of the step gets a file beside it for each.
    fn build(&self, long: bool, log: &Path) -> Result<usize> {
        let name = match self {
            Self::Board(board) => board.name.as_str(),
            Self::Foreign(_) => "foreign",
        };
        let log = log.with_extension(format!("{name}.log"));
        let _ = std::fs::remove_file(&log);
        match self {
            Self::Board(board) => firmware_of(board, long, &log),
            Self::Foreign(which) => Ok(foreign::build(*which, Some(&log))?.len()),
        }
    }
}

/// Programs of the default board that scenarios compare between all variants.
const COMPARED: [&str; 2] = ["http_get", "ping"];

/// Builds and checks a board's firmware; returns the number of ELFs. Only with `long` are the programs of the default
/// board that nothing compares linked in every variant: linking 71 ELFs takes minutes.
fn firmware_of(board: &Board, long: bool, log: &Path) -> Result<usize> {
    let mut built = 0;
    for variant in &board.variants {
        let is_linked = |program: &&String| {
            let is_compared = COMPARED.contains(&program.as_str());
            long || board.name != board::DEFAULT || is_compared || *variant == board.default_variant
        };
        let programs: Vec<String> = board.programs.iter().filter(is_linked).cloned().collect();
        let one = std::slice::from_ref(variant);
        built += firmware::build(board, &programs, one, Some(log))?.len();
        let further = board.features(variant).into_iter().map(Some);
        for further in std::iter::once(None).chain(further) {
            let features = firmware::features_of(variant, further);
            let mut clippy = firmware::cargo_for(board)?;
            clippy.args(["clippy", "--release", "--locked", "--no-default-features"]);
            clippy.args(["--features", &features, "--target", &board.target]);
            clippy.args(["--bins", "--", "-D", "warnings"]);
            sh::logged(&mut clippy, log)?;
        }
    }
    Ok(built)
}
