//! The job array of `linerate run --slurm` on a real Slurm: a controller and two nodes on this machine, one of which is
//! killed while it runs a cell.

mod cluster;

use crate::steps::Outcome;
use crate::{board, firmware, sh, tools};
use anyhow::{Context, Result, bail};
use cluster::Cluster;
use std::path::Path;
use std::time::Duration;

/// A matrix whose cells take seconds, so that one can be interrupted. Counts and sizes are those of the programs.
const MATRIX: &str = "schema = 1\nname = \"turnaround\"\nboard = \"esp32c6-bitbang\"\n\
    [[run]]\nvariant = \"windowed\"\nping = { count = 10 }\n\
    http_get = { bytes = [10_000, 100_000, 1_000_000, 3_000_000], requests = 5 }\n\
    [matrix]\nseeds = 2\n[[matrix.axis]]\nfield = \"peer.turnaround_us\"\nvalues = [80, 500]\n";
const CELLS: usize = 4;
/// Longest time until a cell of the node to be killed has begun, and until all jobs have ended.
const UNTIL_BEGUN: Duration = Duration::from_mins(2);
const UNTIL_ENDED: Duration = Duration::from_mins(15);

/// Submits the matrix, kills a node, joins the cells, and compares their table with that of a local run.
///
/// # Errors
/// The programs cannot be built, a job does not end in time, or the tables differ.
pub fn run(log: &Path) -> Result<Outcome> {
    let missing = cluster::PROGRAMS.iter().find(|it| !sh::has(it));
    if !cfg!(target_os = "linux") || missing.is_some() {
        return Ok(Outcome::Skipped(
            "the job array needs Slurm: cargo xtask setup --long (apt-get install slurmctld slurmd munge slurm-client)"
                .into(),
        ));
    }
    if !tools::is_root() {
        return Ok(Outcome::Skipped(
            "a Slurm of this check's own needs root: sudo -E cargo xtask test slurm".into(),
        ));
    }
    let board = board::read(board::DEFAULT)?;
    let programs = ["ping".to_owned(), "http_get".to_owned()];
    firmware::build(&board, &programs, &["windowed".to_owned()], Some(log))?;
    let mut build = sh::cargo();
    build.args(["build", "--locked", "--package", "linerate", "--quiet"]);
    sh::logged(&mut build, log)?;
    let folder = sh::out("slurm");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    let matrix = folder.join("turnaround.toml");
    std::fs::write(&matrix, MATRIX)?;
    let linerate = || {
        let mut command = sh::cmd(sh::out("debug/linerate"));
        command.current_dir(&folder);
        command
    };
    let cluster = Cluster::start(&folder)?;
    let mut submit = linerate();
    submit.arg("run").arg(&matrix).arg("--elf-dir");
    submit.arg(sh::out("firmware"));
    submit.args([
        "--out",
        "array",
        "--slurm",
        "--partition",
        cluster::PARTITION,
    ]);
    sh::logged(cluster.reached_by(&mut submit), log)?;
    let cells = folder.join("array/cells");
    // The cell is under way: its file has its first line, and no last one.
    let killed = cluster.wait(UNTIL_BEGUN, "no cell has begun", |cluster| {
        let Some(task) = cluster.task_of_second_node()? else {
            return Ok(None);
        };
        let has = |name: &str| cells.join(&task).join(name).exists();
        Ok((has("trials.ndjson") && !has("run.json")).then_some(task))
    })?;
    cluster.kill_second_node()?;
    let was_complete = cells.join(&killed).join("run.json").exists();
    cluster.wait(UNTIL_ENDED, "jobs have not ended", |cluster| {
        Ok(cluster.is_idle()?.then_some(()))
    })?;
    cluster.stop();
    if was_complete {
        bail!("cell {killed} had ended before its node was killed");
    }
    let attempts = std::fs::read_to_string(folder.join("slurmctld.log"))?;
    let requeued = attempts
        .lines()
        .any(|it| it.to_lowercase().contains("requeue"));
    if !requeued {
        bail!(
            "Slurm did not repeat cell {killed}; {}",
            folder.join("slurmctld.log").display()
        );
    }
    sh::logged(linerate().args(["merge", "array", "--out", "joined"]), log)?;
    let mut local = linerate();
    local.arg("run").arg(&matrix).arg("--elf-dir");
    local.arg(sh::out("firmware")).args(["--out", "local"]);
    sh::logged(&mut local, log)?;
    for name in ["results.csv", "results.parquet"] {
        let read = |run: &str| {
            let path = folder.join(run).join(name);
            std::fs::read(&path).with_context(|| path.display().to_string())
        };
        if read("joined")? != read("local")? {
            bail!(
                "{name} of the job array differs from that of a local run: {}",
                folder.display()
            );
        }
    }
    Ok(Outcome::Done(format!(
        "{CELLS} cells on two nodes; cell {killed} was repeated after its node was killed"
    )))
}
