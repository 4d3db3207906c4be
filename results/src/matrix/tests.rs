use super::*;
use crate::record::{MatrixAxis, MatrixCell, Objective, UdpSweep, UdpSweepMetrics, UdpSweepParams};

/// Values of the axes, seed and rate.
type TestCell<'a> = (&'a [(&'a str, f64)], u64, f64);

/// A run with one result per cell, whose received rate is `rate`.
fn run(cells: &[TestCell<'_>]) -> Run {
    let mut run = Run::new(
        "matrix",
        String::new(),
        crate::record::Provenance::default(),
    );
    for (number, (values, seed, rate)) in cells.iter().enumerate() {
        let values = values.iter();
        let values = values.map(|(name, it)| ((*name).to_owned(), AxisValue::Number(*it)));
        let mut params = UdpSweepParams::default();
        params.setting.cell = Some(MatrixCell {
            number: number as u64,
            seed: *seed,
            values: values.collect(),
        });
        run.results.push(Measurement::UdpSweep(UdpSweep {
            params,
            metrics: UdpSweepMetrics {
                received_bytes_per_s: *rate,
                ..UdpSweepMetrics::default()
            },
            ledger: crate::record::Ledger::default(),
        }));
    }
    let axis = |name: &str, is_factor: bool| MatrixAxis {
        name: name.to_owned(),
        field: String::new(),
        is_factor,
        default: AxisValue::Number(1.0),
    };
    run.matrix = Some(Matrix {
        axes: vec![axis("clock", true), axis("ring", false)],
        cells: cells.len() as u64,
        objective: Some(Objective {
            metric: "received_bytes_per_s".to_owned(),
            is_lowest_best: false,
        }),
    });
    run
}

#[test]
fn the_best_has_the_highest_mean_over_seeds() {
    let run = run(&[
        (&[("clock", 1.0), ("ring", 1.0)], 1, 10.0),
        (&[("clock", 1.0), ("ring", 1.0)], 2, 30.0),
        (&[("clock", 1.0), ("ring", 2.0)], 1, 22.0),
        (&[("clock", 1.0), ("ring", 2.0)], 2, 24.0),
    ]);
    let rankings = rankings(&run);
    assert_eq!(rankings.len(), 1);
    let best = &rankings[0].combinations[0];
    assert_eq!(best.name(), "clock = 1, ring = 2");
    assert!((best.mean - 23.0).abs() < 1e-9 && best.range == (22.0, 24.0));
    assert_eq!(rankings[0].default, Some(1));
}

#[test]
fn an_elasticity_is_that_of_the_factors_next_to_one() {
    let run = run(&[
        (&[("clock", 0.5), ("ring", 1.0)], 1, 1.0),
        (&[("clock", 0.9), ("ring", 1.0)], 1, 90.0),
        (&[("clock", 1.0), ("ring", 1.0)], 1, 100.0),
        (&[("clock", 1.1), ("ring", 1.0)], 1, 110.0),
        // Another axis is not at its default.
        (&[("clock", 1.05), ("ring", 2.0)], 1, 1000.0),
    ]);
    let all = elasticities(&run);
    assert_eq!(all.len(), 1);
    assert!((all[0].elasticity - 1.0).abs() < 1e-9, "{all:?}");
    assert_eq!(all[0].between, (0.9, 1.1));
}

#[test]
fn a_single_factor_gives_no_elasticity() {
    let run = run(&[(&[("clock", 1.0), ("ring", 1.0)], 1, 100.0)]);
    assert_eq!(elasticities(&run), []);
}
