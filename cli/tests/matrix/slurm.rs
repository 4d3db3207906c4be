//! `linerate run --slurm` with a stand-in for `sbatch` that runs each task of the array at once.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

/// A matrix with four cells; of an array of at most three tasks, it needs two.
const MATRIX: &str = "schema = 1\nname = \"turnaround\"\nboard = \"esp32c6-bitbang\"\n\
    [[run]]\nvariant = \"windowed\"\nping = { count = 10 }\n\
    [matrix]\nseeds = 2\n[[matrix.axis]]\nfield = \"peer.turnaround_us\"\nvalues = [40, 80]\n";

/// Runs the tasks of `--array=FIRST-LAST`, as Slurm does with free nodes, and prints the number of a job.
const SBATCH: &str = "#!/bin/sh\n\
    echo \"$@\" >> \"$(dirname \"$0\")/arguments\"\n\
    for word; do case $word in --array=*) array=${word#--array=};; esac; first=$script; script=$last; last=$word; done\n\
    for task in $(seq ${array%-*} ${array#*-}); do\n\
    SLURM_ARRAY_TASK_ID=$task /bin/sh \"$script\" \"$last\" >&2 || exit 1\ndone\necho 42\n";
const SCONTROL: &str = "#!/bin/sh\necho 'MaxArraySize            = 4'\n";

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).expect("written");
    let mut permissions = std::fs::metadata(path).expect("there").permissions();
    permissions.set_mode(0o755);
    std::fs::set_permissions(path, permissions).expect("set");
}

/// Runs `linerate` in `dir`, whose `bin` precedes the other programs.
fn linerate(dir: &Path, arguments: &[&str]) -> Output {
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", dir.join("bin").display());
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
    command.args(arguments).current_dir(dir).env("PATH", path);
    let output = command.output().expect("runs");
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

#[test]
fn the_table_of_a_job_array_is_that_of_a_local_run() {
    let Some(firmware) = std::env::var_os("LINERATE_FIRMWARE") else {
        println!("skipped: no firmware (cargo xtask firmware, LINERATE_FIRMWARE)");
        return;
    };
    let firmware = Path::new(&firmware).parent().expect("a folder");
    let firmware = firmware.to_str().expect("UTF-8");
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    std::fs::create_dir(dir.join("bin")).expect("made");
    write(&dir.join("bin/sbatch"), SBATCH);
    write(&dir.join("bin/scontrol"), SCONTROL);
    std::fs::write(dir.join("it's.toml"), MATRIX).expect("written");
    let run = ["run", "it's.toml", "--elf-dir", firmware];
    linerate(dir, &[&run[..], &["--out", "local"]].concat());
    let slurm = ["--out", "array", "--slurm", "--partition", "short"];
    let output = linerate(dir, &[&run[..], &slurm].concat());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "42\n42\n");
    let arguments = std::fs::read_to_string(dir.join("bin/arguments")).expect("called");
    let calls: Vec<&str> = arguments.lines().collect();
    assert!(calls[0].contains("--array=0-2 ") && calls[0].ends_with(" 0"));
    assert!(calls[1].contains("--array=0 ") && calls[1].ends_with(" 3"));
    assert!(calls.iter().all(|it| it.contains("--partition=short")));
    linerate(dir, &["merge", "array", "--out", "joined"]);
    for name in ["results.csv", "results.parquet"] {
        let read = |folder: &str| std::fs::read(dir.join(folder).join(name)).expect(name);
        assert_eq!(read("joined"), read("local"), "{name}");
    }
}
