//! A run that is killed, or whose disk is full, at any moment: what was measured can be read, and no file of an earlier
//! run is taken for one of the last.
#![cfg(unix)]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use linerate_bench::store::{RUN, Store, StoredRun, TRIALS, earlier, read};
use linerate_results::record::Run;

/// The folder that the child writes to, and the start of its run.
const FOLDER: &str = "LINERATE_INTERRUPTED_FOLDER";
const STARTED: &str = "LINERATE_INTERRUPTED_STARTED";
/// Name of the test that is the child.
const CHILD: &str = "the_child_writes_a_run";
/// What the child prints after each step.
const STEP: &str = "step: ";

fn fixture(started: &str) -> Run {
    let mut run = Run::from_json(include_str!("../../results/tests/fixtures/run.json"))
        .expect("the fixture is valid");
    started.clone_into(&mut run.provenance.started);
    run
}

/// Does nothing, except as the child of another test.
#[test]
fn the_child_writes_a_run() {
    let (Ok(folder), Ok(started)) = (std::env::var(FOLDER), std::env::var(STARTED)) else {
        return;
    };
    let run = fixture(&started);
    let header = Run {
        results: Vec::new(),
        ..run.clone()
    };
    let store = Store::create(Path::new(&folder), &header).expect("created");
    println!("{STEP}created");
    for result in &run.results {
        store.append(result).expect("appended");
        println!("{STEP}appended");
    }
    store.finish(&run).expect("finished");
    println!("{STEP}finished");
}

/// Starts the child by a shell that first runs `prepare`.
fn child(folder: &Path, started: &str, prepare: &str) -> Child {
    let program = std::env::current_exe().expect("a path");
    Command::new("sh")
        .args([
            "-c",
            &format!("{prepare} exec \"$0\" --exact {CHILD} --nocapture"),
        ])
        .arg(program)
        .env(FOLDER, folder)
        .env(STARTED, started)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("started")
}

/// Counts the steps of the child, up to `most`.
fn count_steps(child: &mut Child, most: usize) -> usize {
    let output = child.stdout.take().expect("a pipe");
    BufReader::new(output)
        .lines()
        .map_while(Result::ok)
        .filter(|line| line.contains(STEP))
        .take(most)
        .count()
}

fn stored(path: &Path) -> Option<StoredRun> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(read(&text).expect("readable"))
}

/// Checks the folder after a child that printed `steps` steps.
fn check(folder: &Path, started: &str, steps: usize) {
    let all = fixture(started).results;
    let run = stored(&folder.join(RUN));
    let trials = stored(&folder.join(TRIALS));
    if let (Some(run), Some(trials)) = (&run, &trials) {
        assert_eq!(run.run.provenance.started, trials.run.provenance.started);
    }
    if let Some(run) = &run {
        assert!(run.run.results == all && run.lacks.is_empty());
        // Before the first step, it may be that of the run before.
        assert!(steps == 0 || run.run.provenance.started == started);
    }
    if steps > 0 {
        let trials = trials.expect("created");
        assert_eq!(trials.run.provenance.started, started);
        let appended = (steps - 1).min(all.len());
        assert!(trials.run.results.len() >= appended);
        assert!(all.starts_with(&trials.run.results));
        assert!(run.is_some() || !trials.lacks.is_empty() || trials.run.results.len() == all.len());
    }
    let page = std::fs::read_to_string(folder.join("report.html")).ok();
    let is_part = |page: String| !page.trim_end().ends_with("</html>");
    assert!(!page.clone().is_some_and(is_part), "part of a page");
    // While files are moved, pages of the run before stay longer than its run.json.
    assert!(
        steps == 0 || page.is_none() || run.is_some(),
        "a page of an earlier run"
    );
}

/// Results of all runs, wherever their trials are now.
fn all_results(folder: &Path) -> usize {
    let earlier = std::fs::read_dir(folder.join(earlier::EARLIER))
        .into_iter()
        .flatten();
    let earlier = earlier.map(|entry| entry.expect("readable").path());
    earlier
        .chain([folder.to_owned()])
        .filter_map(|folder| stored(&folder.join(TRIALS)))
        .map(|stored| stored.run.results.len())
        .sum()
}

#[test]
fn a_run_killed_at_any_moment_leaves_what_it_measured() {
    let dir = tempfile::tempdir().expect("a folder");
    let last = fixture("").results.len() + 2;
    let mut measured = 0;
    for round in 0..100 {
        let started = format!("2026-01-01T00:{:02}:{:02}Z", round / 60, round % 60);
        let most = round % (last + 1);
        let mut child = child(dir.path(), &started, "");
        let steps = if most > 0 {
            count_steps(&mut child, most)
        } else {
            0
        };
        child.kill().expect("running or ended");
        child.wait().expect("ended");
        check(dir.path(), &started, steps);
        measured += steps.saturating_sub(1).min(last - 2);
        let kept = all_results(dir.path());
        assert!(kept >= measured, "{kept} results of {measured} or more");
        measured = kept;
    }
}

#[test]
fn a_full_disk_leaves_what_was_measured() {
    let results = fixture("").results.len();
    let mut steps_seen = Vec::new();
    for blocks in (0..400).step_by(8) {
        let dir = tempfile::tempdir().expect("a folder");
        let started = "2026-01-01T00:00:00Z";
        // Larger files fail with EFBIG, as all do with ENOSPC on a full disk.
        let limit = format!("trap '' XFSZ; ulimit -f {blocks};");
        let mut child = child(dir.path(), started, &limit);
        let steps = count_steps(&mut child, usize::MAX);
        child.wait().expect("ended");
        check(dir.path(), started, steps);
        steps_seen.push(steps);
    }
    assert_eq!(steps_seen.first(), Some(&0), "nothing fits");
    assert_eq!(steps_seen.last(), Some(&(results + 2)), "everything fits");
    assert!(
        steps_seen
            .iter()
            .any(|steps| (1..results + 1).contains(steps))
    );
}
