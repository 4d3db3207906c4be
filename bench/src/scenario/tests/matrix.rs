use linerate_results::record::AxisValue;

use crate::scenario::{Record, Scenario};

const BASE: &str = r#"schema = 1
name = "matrix"
board = "esp32c6-bitbang"
seed = 5

[[run]]
variant = "windowed"
peer = { turnaround_jitter_us = 8 }
ping = { count = 1 }

"#;

fn parse(matrix: &str) -> Result<Scenario, String> {
    let text = format!("{BASE}{matrix}");
    Scenario::parse(&text, "x.toml").map_err(|error| error.to_string())
}

fn cells(matrix: &str) -> Vec<String> {
    let scenario = parse(matrix).expect("valid");
    let parts = scenario.parts().into_iter();
    parts
        .map(|(cell, _)| cell.expect("a cell").to_string())
        .collect()
}

fn error(matrix: &str) -> String {
    parse(matrix).expect_err("must be refused")
}

const TWO: &str = r#"[matrix]
seeds = [5, 6]
[[matrix.axis]]
field = "peer.turnaround_us"
values = [0, 80]
[[matrix.axis]]
field = "run.variant"
values = ["windowed", "isr-all"]
"#;

#[test]
fn cells_are_all_combinations_with_the_seeds_the_fastest() {
    let scenario = parse(TWO).expect("valid");
    let parts = scenario.parts();
    assert_eq!(parts.len(), 8);
    let (cell, last) = &parts[7];
    let cell = cell.expect("a cell");
    assert_eq!((cell.number, cell.seed, last.seed), (7, 6, 6));
    assert_eq!(cell.values["turnaround_us"], AxisValue::Integer(80));
    assert_eq!(last.runs[0].variant, "isr-all");
    assert_eq!(last.runs[0].environment.peer.turnaround_us, 80);
    // The fields of the run stay.
    assert_eq!(last.runs[0].environment.peer.turnaround_jitter_us, 8);
    assert_eq!(last.record, Record::NONE);
    assert!(last.matrix.is_none());
    assert_eq!(
        parts[1].0.expect("a cell").to_string(),
        "turnaround_us = 0, variant = windowed, seed 6"
    );
}

#[test]
fn filters_select_cells() {
    let excluded = format!("{TWO}[[matrix.exclude]]\nturnaround_us = 0\nvariant = \"isr-all\"\n");
    assert_eq!(cells(&excluded).len(), 6);
    let only = format!("{excluded}[[matrix.only]]\nvariant = [\"isr-all\"]\n");
    assert_eq!(
        cells(&only),
        [
            "turnaround_us = 80, variant = isr-all, seed 5",
            "turnaround_us = 80, variant = isr-all, seed 6"
        ]
    );
    let none = format!("{only}[[matrix.exclude]]\nturnaround_us = 80\n");
    assert_eq!(error(&none), "x.toml:11:1: the filters leave no cell");
}

#[test]
fn factors_multiply_figures_of_files_and_settings_set_several() {
    let scenario = parse(
        r#"[[matrix.axis]]
field = "run.peer.turnaround_jitter_us"
factors = [1, 0.5]
[[matrix.axis]]
name = "load"
field = "timing.cpu.load_use"
factors = [1, 3]
[[matrix.axis]]
name = "setting"
settings = [
  { name = "plain" },
  { name = "slow", "peer.turnaround_us" = 500, "wire.jitter_ns" = 3 },
]
"#,
    )
    .expect("valid");
    let parts = scenario.parts();
    let (cell, last) = &parts[7];
    assert_eq!(cell.expect("a cell").values["load"], AxisValue::Number(3.0));
    let environment = &last.runs[0].environment;
    assert_eq!(environment.peer.turnaround_jitter_us, 4);
    assert_eq!(environment.peer.turnaround_us, 500);
    assert!((environment.wire.jitter_ns - 3.0).abs() < 1e-9);
    let timing = last.timing.as_ref().expect("a table");
    assert_ne!(Some(timing), parts[0].1.timing.as_ref());
    let matrix = scenario.matrix.as_ref().expect("a matrix");
    let axes = &matrix.about.axes;
    assert!(axes[0].is_factor && axes[0].name == "turnaround_jitter_us");
    assert_eq!(axes[2].default, AxisValue::Text("plain".to_owned()));
}

#[test]
fn mistakes_have_the_line_of_their_axis_or_value() {
    let axis = |rest: &str| format!("[[matrix.axis]]\n{rest}\n");
    for (matrix, message) in [
        (
            axis("field = \"peer.turnaruond_us\"\nvalues = [1]"),
            "x.toml:13:11: unknown field `turnaruond_us`",
        ),
        (
            axis("field = \"run.variant\"\nvalues = [\n\"windowed\",\n\"windwed\"]"),
            "x.toml:15:1: there is no variant `windwed` (did you mean `windowed`?)",
        ),
        (
            axis("field = \"peer.turnaround_us\"\nvalues = [80, 80]"),
            "x.toml:13:15: `80` is given twice",
        ),
        (
            axis("field = \"timing.cpu.laod_use\"\nvalues = [1]"),
            "x.toml:13:11: `timing.cpu.laod_use`: there is no `laod_use` (did you mean `load_use`?)",
        ),
        (
            axis("field = \"system.clock\"\nvalues = [1]"),
            "x.toml:13:11: board `esp32c6-bitbang` has no system.toml",
        ),
        (
            axis("field = \"wire.jitter_ns\"\nfactors = [1, 2]"),
            "x.toml:13:12: `wire.jitter_ns` has no value to be multiplied",
        ),
        (
            axis("feild = \"a\"\nvalues = [1]"),
            "x.toml:12:1: unknown field `feild`",
        ),
        (
            axis("field = \"peer.turnaround_us\"\nvalues = [1]\nname = \"seed\""),
            "x.toml:14:8: `seed` cannot name a column",
        ),
        (
            format!("{TWO}[[matrix.only]]\nvariants = \"isr-all\""),
            "x.toml:19:1: there is no axis `variants` (did you mean `variant`?)",
        ),
        (
            "[matrix]\nseeds = [1, 1]\n".to_owned(),
            "x.toml:12:9: a seed is given twice",
        ),
    ] {
        let found = error(&matrix);
        assert!(found.starts_with(message), "{found}\n{matrix}");
    }
}

#[test]
fn two_cells_with_the_same_content_are_refused() {
    let found = error(
        r#"[[matrix.axis]]
field = "peer.turnaround_us"
values = [0, 80]
[[matrix.axis]]
name = "setting"
settings = [{ name = "a" }, { name = "b", "peer.turnaround_us" = 80 }]
"#,
    );
    let end = "two cells are the same: setting = b, turnaround_us = 0, seed 5, and setting = a, \
               turnaround_us = 80, seed 5; exclude one of them";
    assert!(found.ends_with(end), "{found}");
}
