//! Runs of cells of a matrix, made from the results of the fixture.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use linerate_results::record::{AxisValue, Matrix, MatrixAxis, MatrixCell, Run};

/// Cells of the matrix.
pub const CELLS: u64 = 4;

/// Runs the command line.
pub fn linerate(arguments: &[&Path]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
    command.args(arguments).output().expect("runs")
}

/// The printed text on stderr.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A run of `cells`: a ping and a download in each, with axes of every type.
pub fn run(cells: &[u64]) -> Run {
    let text = include_str!("../../../results/tests/fixtures/run.json");
    let fixture = Run::from_json(text).expect("the fixture is valid");
    let mut run = Run::new("turnaround", String::new(), fixture.provenance.clone());
    run.provenance.artifacts.clear();
    run.matrix = Some(Matrix {
        axes: vec![MatrixAxis {
            name: "turnaround_us".to_owned(),
            field: "peer.turnaround_us".to_owned(),
            is_factor: false,
            default: AxisValue::Integer(0),
        }],
        cells: CELLS,
        objective: None,
    });
    for &number in cells {
        for mut result in fixture.results[..2].iter().cloned() {
            let values = [
                ("turnaround_us", AxisValue::Integer(40 * number as i64)),
                ("share", AxisValue::Number(number as f64 / 4.0)),
                ("hub", AxisValue::Bool(number % 2 == 1)),
                ("line", AxisValue::Text("a, \"b\" ü".to_owned())),
            ];
            result.setting_mut().cell = Some(MatrixCell {
                number,
                seed: 7,
                values: values.map(|(name, it)| (name.to_owned(), it)).into(),
            });
            run.results.push(result);
        }
    }
    run
}

/// Writes `run` to the folder `name`.
pub fn write(dir: &Path, name: &str, run: &Run) -> PathBuf {
    let part = dir.join(name);
    std::fs::create_dir_all(&part).expect("made");
    std::fs::write(part.join("run.json"), run.to_json()).expect("written");
    part
}

/// Joins `dirs` into the folder `joined`; its exit code and what it printed on stderr.
pub fn merge(dir: &Path, dirs: &[&Path]) -> (Option<i32>, String) {
    let out = dir.join("joined");
    let mut arguments = vec![Path::new("merge")];
    arguments.extend(dirs);
    arguments.extend([Path::new("--out"), &out]);
    let output = linerate(&arguments);
    (output.status.code(), stderr(&output))
}
