//! `cargo xtask test`: the checks in two tiers; each step is named, timed and summarised.

use crate::board::Board;
use crate::foreign::Foreign;
use crate::fuzz::Extent;
use crate::steps::{Outcome, Steps, must_have_tools};
use crate::{
    board, captures, concurrent, dependencies, firmware, foreign, fuzz, imx6, lab, links,
    linux_board, procedures, repro, scenarios, sh, slurm, tap, tools,
};
use anyhow::{Result, bail};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Extent of fuzzing per target in the quick tier (half a minute of two cores for all targets) and with `--long`.
const FUZZ: [Extent; 2] = [Extent::Fixed { inputs: 5000 }, Extent::New { seconds: 600 }];

/// Runs the command.
pub fn run(long: bool, wanted: &[String]) -> Result<()> {
    // Before the first `cargo test` replaces this binary.
    firmware::wrapper::copy()?;
    let steps = Steps::new(wanted);
    steps.step("format", |_, log| format(log));
    steps.step("clippy", |_, log| clippy(log));
    // Other people's programs are downloaded only where every check is wanted.
    let with_foreign = long || must_have_tools() || sh::out("foreign").is_dir();
    let foreign = with_foreign.then_some(if long {
        Foreign::All
    } else {
        Foreign::Examples
    });
    steps.step("firmware and foreign", |_, log| {
        firmware(foreign, long, log)
    });
    if long {
        running(&steps, true);
        computing(&steps, true);
    } else {
        // What runs waits for the network and for clocks half of its time.
        steps.both(
            |steps| computing(steps, false),
            |steps| running(steps, false),
        );
    }
    steps.finish()
}

/// The steps that run programs, many of which wait for the network.
fn running(steps: &Steps, long: bool) {
    let is_named = steps.has_names();
    steps.step("tests", |steps, log| {
        // Tests with the simulated board are a separate step, because it must run in real time.
        let later = ["--skip", BEHIND_RELAY, "--skip", PUBLISHED];
        cargo_test(steps, &["--workspace"], &later, log)
    });
    // The quick tier downloads no captures.
    if long || is_named || sh::out("captures").is_dir() {
        steps.step("captures", |steps, log| {
            captures::fetch(Some(log))?;
            let tshark = ["--workspace", "--test", "tshark"];
            cargo_test(steps, &tshark, &[PUBLISHED], log)
        });
    }
    if long {
        steps.step("long runs", long_runs);
        steps.step("linux board", linux_on_a_board);
    }
    // More than 200 runs, and a relay that must run in real time.
    if long || is_named {
        steps.step("causes", |_, log| causes(log));
        steps.step("slurm", |_, log| slurm::run(log));
    }
    steps.step("tap", |_, log| tap::run(Some(log)));
    steps.step("emulated", |_, log| tap::emulated::run(log));
    steps.step("lwip", |_, log| tap::emulated::run_lwip(log));
    steps.step("tap and relay", |steps, log| {
        // With the whole workspace, the features are those of the step `tests`, so nothing is built again.
        let relay = ["--workspace", "--test", "relay"];
        cargo_test(steps, &relay, &["--test-threads", "1", BEHIND_RELAY], log)
    });
}

/// The steps that only compute, also those in simulated time; first those with a target folder of their own: cargo
/// locks it while it builds.
fn computing(steps: &Steps, long: bool) {
    steps.step("fuzz", |_, log| fuzz::run(FUZZ[usize::from(long)], log));
    steps.step("loom", loom);
    steps.step("no_std", |_, log| no_std(log));
    steps.step("scenarios", |_, log| scenarios::run(long, log));
    steps.step("procedures", |_, log| procedures::run(long, log));
    if long || steps.has_names() {
        steps.step("other systems", |_, log| other_systems(log));
    }
    steps.step("rustdoc", |_, log| rustdoc(log));
    if long {
        steps.step("published boards", |_, log| published_boards(log));
        steps.step("repro", |_, log| repro::run(Some(log)));
        steps.step("dependencies", |_, log| dependencies::run(log));
    }
}

fn format(log: &Path) -> Result<Outcome> {
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

fn clippy(log: &Path) -> Result<Outcome> {
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

/// Tests of stock tools against the simulated board behind a relay.
const BEHIND_RELAY: &str = "simulated_board::";
/// The test on published captures.
const PUBLISHED: &str = "published_captures";

/// Runs `cargo test` on `what`, sums its result lines and lists the skipped checks.
fn cargo_test(steps: &Steps, what: &[&str], flags: &[&str], log: &Path) -> Result<Outcome> {
    let mut command = sh::cargo();
    command.args(["test", "--locked", "--all-features", "--no-fail-fast"]);
    command.args(what).args(["--", "--show-output"]).args(flags);
    // Some tests need these; without them they print `skipped: ` with the reason.
    for (name, path) in [
        (
            "LINERATE_FIRMWARE",
            sh::out("firmware").join(board::DEFAULT),
        ),
        ("LINERATE_FOREIGN_ELFS", sh::out("foreign")),
        ("LINERATE_CAPTURES", sh::out("captures")),
        ("LINERATE_ESPTOOL", tools::esptool()),
        ("LINERATE_PYARROW", tools::pyarrow()),
    ] {
        if path.exists() {
            command.env(name, path);
        }
    }
    let result = sh::logged(&mut command, log);
    // Also after a failure, so that the totals are complete.
    let output = std::fs::read_to_string(log)?;
    let [passed, failed, ignored] = steps.count_tests(&output);
    let skips = reasons(&output, "skipped: ");
    // Checks against stock programs in real time that this machine had no time for.
    let inconclusive = reasons(&output, "inconclusive: ");
    for skip in &skips {
        println!("    skipped: {skip}");
    }
    for check in &inconclusive {
        println!("    inconclusive: {check}");
    }
    if failed > 0 {
        bail!("{}\ncomplete log: {}", failures(&output), log.display());
    }
    result?;
    if passed == 0 {
        bail!("cargo test ran no test");
    }
    let skips = skips.len();
    if skips > 0 && must_have_tools() {
        bail!("LINERATE_REQUIRE_TOOLS is set and {skips} checks were skipped");
    }
    Ok(Outcome::Done(format!(
        "{passed} passed, {failed} failed, {ignored} ignored, {skips} skipped (missing tool), {} inconclusive (busy \
         machine)",
        inconclusive.len()
    )))
}

/// The texts behind `prefix` at the beginning of a line, each once.
fn reasons<'a>(output: &'a str, prefix: &str) -> Vec<&'a str> {
    let lines = output.lines();
    let mut reasons: Vec<&str> = lines
        .filter_map(|line| line.trim().strip_prefix(prefix))
        .collect();
    reasons.sort_unstable();
    reasons.dedup();
    reasons
}

/// Tests that run longer with `LINERATE_LONG`: packages and tests of each call of cargo.
const LONG: [(&[&str], &[&str]); 7] = [
    (
        &["--package", "linerate-link"],
        &[
            "--lib",
            "--test",
            "noise",
            "--test",
            "wire",
            "--test",
            "self_test",
        ],
    ),
    (
        &["--package", "linerate-nic", "--package", "linerate-sim"],
        &["--test", "long", "--test", "hart", "--test", "memsys"],
    ),
    (
        &["--package", "linerate-bench"],
        &["--lib", "every_driver_passes"],
    ),
    (&["--package", "linerate"], &["--test", "explain_noise"]),
    (&["--package", "linerate"], &["--test", "interrupted"]),
    // Ten minutes of attacks.
    (&["--package", "linerate"], &["--test", "attack"]),
    (
        &["--package", "linerate-explain"],
        &["--test", "consistency", "generated"],
    ),
];

/// Runs the tests that take a thousand times longer with `LINERATE_LONG`, in release builds.
fn long_runs(steps: &Steps, log: &Path) -> Result<Outcome> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let seed = now.as_secs().to_string();
    println!("    PROPTEST_RNG_SEED={seed}");
    let mut all = 0;
    for (packages, tests) in LONG {
        let mut command = sh::cargo();
        command
            .args(["test", "--locked", "--release", "--all-features"])
            .args(packages)
            .args(tests)
            .args(["--", "--show-output"])
            .env("LINERATE_LONG", "1")
            .env("PROPTEST_RNG_SEED", &seed)
            .env(
                "LINERATE_FIRMWARE",
                sh::out("firmware").join(board::DEFAULT),
            );
        let output = sh::logged(&mut command, log)?;
        let [passed, ..] = steps.count_tests(&output);
        if passed == 0 {
            bail!("no long test of {} ran", packages.join(" "));
        }
        all += passed;
    }
    Ok(Outcome::Done(format!("{all} passed")))
}

/// The experiments that compare simulated boards with published figures; their tests run in the quick tier.
fn published_boards(log: &Path) -> Result<Outcome> {
    // Also fails if an anomaly has none of the mechanisms that are said to cause it.
    lab::logged("an440", &["--ablation"], log)?;
    lab::logged("udp-path", &[], log)?;
    imx6::run(&[])?;
    links::run(false)?;
    Ok(Outcome::Done("an440, udp-path, imx6, links".to_owned()))
}

/// Makes the Linux system of an emulated board, and measures it.
fn linux_on_a_board(steps: &Steps, log: &Path) -> Result<Outcome> {
    linux_board::run()?;
    let mut command = sh::cargo();
    command
        .args(["test", "--locked", "--package", "linerate-bench", "--lib"])
        .args(["stock_iperf_on_linux", "--", "--show-output"])
        .env("LINERATE_LINUX", sh::out("firmware"));
    let output = sh::logged(&mut command, log)?;
    let [passed, ..] = steps.count_tests(&output);
    if passed != 1 {
        bail!("the test of Linux on a board did not run");
    }
    Ok(Outcome::done())
}

/// Output of the failed tests only.
fn failures(output: &str) -> String {
    let mut kept = Vec::new();
    let mut inside = false;
    for line in output.lines() {
        inside = (inside || line == "failures:") && !line.starts_with("test result:");
        if inside && !line.is_empty() {
            kept.push(line);
        }
    }
    kept.truncate(200);
    kept.join("\n")
}

/// Tests the receive queue under every interleaving that loom finds.
fn loom(steps: &Steps, log: &Path) -> Result<Outcome> {
    let mut command = sh::cargo();
    command
        .args(["test", "--locked", "--profile", "loom"])
        .args(["--package", "linerate-nic", "--test", "*loom*"])
        .env("CARGO_TARGET_DIR", sh::out("loom"))
        .env("RUSTFLAGS", "--cfg loom")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    let output = sh::logged(&mut command, log)?;
    let [passed, ..] = steps.count_tests(&output);
    if passed == 0 {
        bail!("loom ran no test");
    }
    Ok(Outcome::Done(format!("{passed} models")))
}

/// Checks the device-side crates on two bare-metal targets, without features and with all.
fn no_std(log: &Path) -> Result<Outcome> {
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
fn other_systems(log: &Path) -> Result<Outcome> {
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
fn firmware(foreign: Option<Foreign>, long: bool, log: &Path) -> Result<Outcome> {
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

/// Provokes every cause, then compares the flags of each packet of the captures with tshark's.
fn causes(log: &Path) -> Result<Outcome> {
    if !cfg!(target_os = "linux") || !tools::is_root() {
        let why = "provoking causes needs root for network namespaces: sudo -E cargo xtask causes";
        return Ok(Outcome::Skipped(why.into()));
    }
    if !(sh::has("dumpcap") && sh::has("tshark")) {
        let why = "provoking causes needs dumpcap and tshark: apt-get install tshark";
        return Ok(Outcome::Skipped(why.into()));
    }
    let folder = sh::out("causes");
    lab::logged("causes", &[], log)?;
    sh::logged(&mut captures::against_tshark(&folder)?, log)?;
    let matrix = std::fs::read_to_string(folder.join("matrix.txt"))?;
    let sums = matrix.lines().filter(|line| line.contains(" causes ("));
    Ok(Outcome::Done(sums.collect::<Vec<_>>().join("; held out ")))
}

fn rustdoc(log: &Path) -> Result<Outcome> {
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

#[cfg(test)]
mod tests {
    use super::failures;

    #[test]
    fn failing_tests_are_shown_without_the_others() {
        let output = "\
running 2 tests
test a ... ok
test b ... FAILED

successes:

---- a stdout ----
noise

failures:

---- b stdout ----
left: 1

failures:
    b

test result: FAILED. 1 passed; 1 failed
running 1 test
test c ... ok
";
        let shown = failures(output);
        assert!(
            shown.contains("left: 1") && shown.contains("    b"),
            "{shown}"
        );
        assert!(
            !shown.contains("noise") && !shown.contains("running"),
            "{shown}"
        );
    }
}
