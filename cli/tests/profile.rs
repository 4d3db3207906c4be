//! Results of `linerate profile`. Runs the built binary on a simulated board; `cargo xtask firmware` builds its firmware,
//! `LINERATE_FIRMWARE` names the folder of the ELFs.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

use linerate_results::record::{Layer, Run};

const BOARD: &str = "rv32-dwmac";

/// The folder with the firmware of all boards, if it was built.
fn firmware() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("LINERATE_FIRMWARE") else {
        println!("skipped: `cargo xtask test` builds the firmware and names its folder");
        return None;
    };
    Some(Path::new(&folder).parent()?.to_owned())
}

/// The output on stdout of a command that succeeds.
fn linerate<S: AsRef<std::ffi::OsStr>>(args: &[S]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
    let output = command.args(args).output().expect("the binary runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn a_profile_is_recorded_as_every_measurement() {
    let Some(firmware) = firmware() else {
        return;
    };
    let dir = tempfile::tempdir().expect("a folder");
    let (json, out) = (dir.path().join("profile.json"), dir.path().join("out"));
    let target = format!("sim://{BOARD}");
    let texts = [("--json", &json), ("--out", &out)].map(|(option, place)| {
        let mut command = ["profile", &target, "-n", "60k", "--elf-dir"]
            .map(PathBuf::from)
            .to_vec();
        command.extend([firmware.clone(), option.into(), place.clone()]);
        linerate(&command)
    });
    assert!(texts[0].contains("; a frame takes "), "{}", texts[0]);
    assert_eq!(texts[0], texts[1], "virtual time: two runs are the same");

    let run = std::fs::read_to_string(&json).expect("written");
    let run = Run::from_json(&run).expect("results");
    let provenance = &run.provenance;
    assert_eq!((&*provenance.target, &*provenance.board), (&*target, BOARD));
    assert_eq!(provenance.elf_sha256.len(), 1);
    let profile = run.instruction_profiles().next().expect("a profile");
    assert!(profile.metrics.layer_per_frame(Layer::Driver) > 0.0);
    let first = &profile.metrics.functions[0];
    assert!(texts[0].contains(&first.name), "the table lists {first:?}");

    let compared = linerate(&[Path::new("compare"), &json, &out]);
    assert!(compared.contains(" figures are unchanged."), "{compared}");
    let page = std::fs::read_to_string(out.join("report.html")).expect("a report");
    assert!(page.contains("; most expensive functions: "), "{page}");
    let exported = std::fs::read_to_string(out.join("results.csv")).expect("an export");
    assert!(exported.contains(",layers.driver.own,"), "{exported}");
}
