//! Fits three parameters on the eight cells without optimisation of LAN91C111 and TSE Standard. Each changes what is
//! executed: the software beside lwIP when sending and when receiving, and the time of an access to the LAN91C111.

use super::cells::{Cell, Direction, System};
use super::score::Throughputs;
use super::system::Parameters;
use anyhow::{Context, Result};

/// Rounds of the fit: cycles are nearly linear in the parameters.
const ROUNDS: usize = 4;

/// One parameter: the cells that it affects, and the step with which its effect is measured.
struct Fitted {
    name: &'static str,
    affects: fn(&Cell) -> bool,
    step: f64,
    largest: f64,
    set: fn(&mut Parameters, u32),
}

/// The order matters: the third is fitted with the first two known.
const FITTED: [Fitted; 3] = [
    Fitted {
        name: "blocks of 32 instructions and 8 lines for each segment sent",
        affects: |cell| cell.system == System::TseStandard && cell.direction == Direction::Tx,
        step: 40.0,
        largest: 2_000.0,
        set: |parameters, value| parameters.blocks_sent = value,
    },
    Fitted {
        name: "blocks of 64 instructions and 8 lines for each segment received",
        affects: |cell| cell.system == System::TseStandard && cell.direction == Direction::Rx,
        step: 40.0,
        largest: 2_000.0,
        set: |parameters, value| parameters.blocks_received = value,
    },
    Fitted {
        name: "cycles of an access to the LAN91C111",
        affects: |cell| cell.system == System::Lan91c111,
        step: 8.0,
        largest: 200.0,
        set: |parameters, value| parameters.pio_cycles = Some(value),
    },
];

/// A fitted parameter.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Value {
    pub name: &'static str,
    pub value: u32,
}

/// Fits the parameters; `run` measures cells.
///
/// # Errors
/// A cell fails, or is not published.
pub fn fit(
    published: &Throughputs,
    run: impl Fn(&[Cell], &Parameters) -> Result<Throughputs>,
) -> Result<(Parameters, Vec<Value>)> {
    let mut parameters = Parameters::default();
    let mut values = Vec::new();
    for fitted in &FITTED {
        let cells: Vec<Cell> = Cell::all()
            .into_iter()
            .filter(|cell| cell.is_fitted() && (fitted.affects)(cell))
            .collect();
        let error = |value: f64| -> Result<f64> {
            let mut tried = parameters.clone();
            (fitted.set)(&mut tried, value.round() as u32);
            mean_log(&run(&cells, &tried)?, published)
        };
        // Secant on the mean logarithm of predicted over published, which falls with each parameter.
        let (mut left, mut right) = (0.0_f64, fitted.step);
        let (mut at_left, mut at_right) = (error(left)?, error(right)?);
        for _ in 0..ROUNDS {
            if (at_right - at_left).abs() < 1e-9 || (left - right).abs() < 1.0 {
                break;
            }
            let slope = (at_right - at_left) / (right - left);
            let next = (right - at_right / slope)
                .clamp(0.0, fitted.largest)
                .round();
            if (next - right).abs() < 1.0 {
                break;
            }
            (left, at_left) = (right, at_right);
            (right, at_right) = (next, error(next)?);
        }
        let best = if at_left.abs() < at_right.abs() {
            left
        } else {
            right
        };
        (fitted.set)(&mut parameters, best as u32);
        values.push(Value {
            name: fitted.name,
            value: best as u32,
        });
    }
    Ok((parameters, values))
}

fn mean_log(predicted: &Throughputs, published: &Throughputs) -> Result<f64> {
    let mut sum = 0.0;
    for (cell, throughput) in predicted {
        let published = published
            .get(cell)
            .with_context(|| format!("{cell} is not published"))?;
        sum += (throughput / published).ln();
    }
    Ok(sum / predicted.len() as f64)
}
