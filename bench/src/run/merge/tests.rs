use super::*;
use crate::progress::Silent;
use crate::run::tests::{Fixture, MATRIX, fixture, open, read_file};
use crate::run::{Options, run};
use crate::scenario::Scenario;
use crate::store::{PARQUET, RUN, TRIALS};

/// Runs cells of the matrix in a folder of their own.
fn run_cells(fixture: &Fixture, name: &str, cells: &[u64]) -> PathBuf {
    let mut scenario = Scenario::parse(MATRIX, "test.toml").expect("valid");
    assert!(scenario.retain_cells(cells).is_empty());
    let options = Options {
        out: fixture.dir().join(name),
        ..fixture.options.clone()
    };
    run(&scenario, &options, &open, &Silent).expect("measured");
    options.out
}

fn merged(fixture: &Fixture, dirs: &[PathBuf]) -> Result<Run, MergeError> {
    merge(dirs, &fixture.options.out, &mut |_| {})
}

/// What was not measured, one per line.
fn lacks(run: &Run) -> String {
    let lines = run.not_measured.iter();
    let lines = lines.map(|it| format!("{}: {}", it.what, it.why));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn parts_in_any_order_make_the_files_of_a_run_of_the_whole_matrix() {
    let fixture = fixture();
    let whole = run_cells(&fixture, "whole", &[0, 1, 2, 3]);
    let parts = [("c", &[3][..]), ("a", &[1]), ("b", &[0, 2])];
    let dirs = parts.map(|(name, cells)| run_cells(&fixture, name, cells));
    let run = merged(&fixture, &dirs).expect("joined");
    assert_eq!((run.results.len(), lacks(&run)), (8, String::new()));
    for name in ["results.csv", PARQUET] {
        let expected = std::fs::read(whole.join(name)).expect(name);
        assert_eq!(read_file(&fixture, name), expected, "{name}");
    }
    // A run with a folder per cell, as a job array leaves it.
    let array = fixture.dir().join("array");
    for cell in 0..4 {
        run_cells(&fixture, &format!("array/{CELLS}/{cell}"), &[cell]);
    }
    let run = merged(&fixture, &[array]).expect("joined");
    assert_eq!((run.results.len(), lacks(&run)), (8, String::new()));
    let expected = std::fs::read(whole.join(PARQUET)).expect("written");
    assert_eq!(read_file(&fixture, PARQUET), expected);
}

#[test]
fn a_cell_that_no_part_has_is_named() {
    let fixture = fixture();
    let dirs = [("a", 0), ("b", 3)].map(|(name, cell)| run_cells(&fixture, name, &[cell]));
    // A cell that never began left an empty folder.
    let empty = fixture.dir().join("empty");
    std::fs::create_dir(&empty).expect("made");
    let [a, b] = dirs;
    let run = merged(&fixture, &[a, empty, b]).expect("joined");
    assert_eq!(run.results.len(), 4);
    assert_eq!(
        lacks(&run),
        "cell 1: the folders have no result of it\ncell 2: the folders have no result of it"
    );
}

#[test]
fn a_damaged_part_is_named() {
    let fixture = fixture();
    let dirs = [("a", 0), ("b", 1)].map(|(name, cell)| run_cells(&fixture, name, &[cell]));
    let damaged = &dirs[1];
    let complete = std::fs::read(damaged.join(RUN)).expect("written");
    std::fs::write(damaged.join(RUN), &complete[..complete.len() / 2]).expect("written");
    let error = merged(&fixture, &dirs).expect_err("refused").to_string();
    let file = damaged.join(RUN).display().to_string();
    assert!(
        error.starts_with(&format!("{file} contains no linerate results")),
        "{error}"
    );
    // Killed in the middle of its second result.
    std::fs::remove_file(damaged.join(RUN)).expect("removed");
    let trials = std::fs::read_to_string(damaged.join(TRIALS)).expect("written");
    let mut lines: Vec<&str> = trials.lines().take(4).collect();
    lines[3] = &lines[3][..lines[3].len() / 2];
    std::fs::write(damaged.join(TRIALS), lines.join("\n")).expect("written");
    let run = merged(&fixture, &dirs).expect("joined");
    assert_eq!(run.results.len(), 3);
    let lacks = lacks(&run);
    let dir = damaged.display();
    assert!(
        lacks.contains(&format!("{dir}: line 4 of the file: it is no result"))
            && lacks.contains(&format!("{dir}: the other results: the run did not finish")),
        "{lacks}"
    );
}

#[test]
fn two_results_of_one_cell_are_refused_unless_they_are_equal() {
    let fixture = fixture();
    let dirs = ["a", "b"].map(|name| run_cells(&fixture, name, &[0, 1]));
    let run = merged(&fixture, &dirs).expect("equal");
    assert_eq!(run.results.len(), 4);
    let file = dirs[1].join(RUN);
    let text = std::fs::read_to_string(&file).expect("written");
    let changed = text.replacen("900000", "900001", 1);
    assert_ne!(changed, text);
    std::fs::write(&file, changed).expect("written");
    let error = merged(&fixture, &dirs).expect_err("refused").to_string();
    let [a, b] = dirs.each_ref().map(|dir| dir.display());
    assert_eq!(
        error,
        format!("{a} and {b} have different results of cell 0")
    );
}

#[test]
fn parts_of_different_runs_and_runs_without_matrix_are_refused() {
    let mut fixture = fixture();
    let a = run_cells(&fixture, "a", &[0]);
    fixture.options.scenario_sha256 = "def".to_owned();
    let b = run_cells(&fixture, "b", &[1]);
    let error = merged(&fixture, &[a, b]).expect_err("refused").to_string();
    assert!(
        error.ends_with("the second is of another scenario, or other options"),
        "{error}"
    );
    let scenario = fixture.scenario();
    run(scenario, &fixture.options, &open, &Silent).expect("measured");
    let out = fixture.options.out.clone();
    let error = merge(
        std::slice::from_ref(&out),
        &fixture.dir().join("x"),
        &mut |_| {},
    );
    let error = error.expect_err("refused").to_string();
    assert_eq!(error, format!("{} has no cells of a matrix", out.display()));
}
