//! Scores of predicted against published throughputs.

use super::cells::{Cell, Direction, Memory, Optimisation, System};
use std::collections::BTreeMap;

/// Throughputs in Mbit/s.
pub type Throughputs = BTreeMap<Cell, f64>;

/// Comparison of effects of the paper: its name, and the logarithm that is positive where it is as published.
pub type Effect = (&'static str, fn(&Throughputs) -> Option<f64>);

/// Interactions of two effects, and their signs in the published table.
pub const INTERACTIONS: [Effect; 5] = [
    ("fast memory gains more on DDR than on SSRAM", |it| {
        let gain = |memory| {
            gain(
                it,
                |cell| cell.memory == memory,
                |cell| cell.with(Optimisation::None),
                |cell| cell.with(Optimisation::FastMemory),
            )
        };
        Some(gain(Memory::Ddr)? - gain(Memory::Ssram)?)
    }),
    (
        "the checksum unit gains more on SSRAM than on DDR when receiving",
        |it| {
            let gain = |memory| {
                gain(
                    it,
                    |cell| cell.memory == memory && cell.direction == Direction::Rx,
                    |cell| cell.with(Optimisation::None),
                    |cell| cell.with(Optimisation::Hardware),
                )
            };
            Some(gain(Memory::Ssram)? - gain(Memory::Ddr)?)
        },
    ),
    ("SSRAM gains more with DMA than with PIO", |it| {
        let gain = |system| {
            gain(
                it,
                |cell| cell.system == system,
                |cell| cell.on(Memory::Ddr),
                |cell| cell.on(Memory::Ssram),
            )
        };
        Some(gain(System::TseStandard)? - gain(System::Lan91c111)?)
    }),
    ("larger caches gain more on SSRAM than on DDR", |it| {
        let gain = |memory| {
            gain(
                it,
                |cell| cell.memory == memory,
                |cell| cell.of(System::TseStandard),
                |cell| cell.of(System::TseBigCache),
            )
        };
        Some(gain(Memory::Ssram)? - gain(Memory::Ddr)?)
    }),
    ("the faster clock gains more on DDR than on SSRAM", |it| {
        let gain = |memory| {
            gain(
                it,
                |cell| cell.memory == memory,
                |cell| cell.of(System::TseBigCache),
                |cell| cell.of(System::TseOptimised),
            )
        };
        Some(gain(Memory::Ddr)? - gain(Memory::Ssram)?)
    }),
];

/// Pairs of cells whose order in the published table is unexpected.
pub const ANOMALIES: [Effect; 4] = [
    ("the checksum unit slows LAN91C111 down on DDR, TX", |it| {
        hardware_loss(it, Direction::Tx)
    }),
    ("the checksum unit slows LAN91C111 down on DDR, RX", |it| {
        hardware_loss(it, Direction::Rx)
    }),
    (
        "fast memory slows TSE Optimised with the checksum unit down on DDR, TX",
        |it| {
            let cell = |optimisation| {
                Cell::new(
                    System::TseOptimised,
                    Direction::Tx,
                    Memory::Ddr,
                    optimisation,
                )
            };
            logarithm(it, cell(Optimisation::Hardware), cell(Optimisation::Both))
        },
    ),
    (
        "DMA is slower than PIO on DDR without optimisation, RX",
        |it| {
            let cell = |system| Cell::new(system, Direction::Rx, Memory::Ddr, Optimisation::None);
            logarithm(it, cell(System::Lan91c111), cell(System::TseStandard))
        },
    ),
];

fn hardware_loss(throughputs: &Throughputs, direction: Direction) -> Option<f64> {
    let cell = |optimisation| Cell::new(System::Lan91c111, direction, Memory::Ddr, optimisation);
    logarithm(
        throughputs,
        cell(Optimisation::None),
        cell(Optimisation::Hardware),
    )
}

/// Logarithm of the throughput of `more` over that of `less`.
fn logarithm(throughputs: &Throughputs, more: Cell, less: Cell) -> Option<f64> {
    Some((throughputs.get(&more)? / throughputs.get(&less)?).ln())
}

/// Mean logarithm of the throughputs of `to(cell)` over those of `from(cell)`, over all pairs whose first cell is
/// `selected`.
fn gain(
    throughputs: &Throughputs,
    selected: impl Fn(&Cell) -> bool,
    from: impl Fn(Cell) -> Cell,
    to: impl Fn(Cell) -> Cell,
) -> Option<f64> {
    let firsts = throughputs
        .keys()
        .copied()
        .filter(|cell| from(*cell) == *cell && selected(cell));
    let logarithms: Vec<f64> = firsts
        .filter_map(|cell| logarithm(throughputs, to(cell), cell))
        .collect();
    (!logarithms.is_empty()).then(|| logarithms.iter().sum::<f64>() / logarithms.len() as f64)
}

/// Mean absolute logarithm of predicted over published throughputs, over the cells that both have and `selected`.
pub fn mean_absolute_log_error(
    predicted: &Throughputs,
    published: &Throughputs,
    selected: impl Fn(&Cell) -> bool,
) -> Option<f64> {
    let errors: Vec<f64> = pairs(predicted, published)
        .filter(|(cell, ..)| selected(cell))
        .map(|(_, predicted, published)| (predicted / published).ln().abs())
        .collect();
    (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64)
}

/// Spearman's rank correlation of predicted and published throughputs.
pub fn spearman(predicted: &Throughputs, published: &Throughputs) -> Option<f64> {
    let (left, right): (Vec<f64>, Vec<f64>) = pairs(predicted, published)
        .map(|(_, left, right)| (left, right))
        .unzip();
    let (left, right) = (ranks(&left), ranks(&right));
    let mean = 0.5 * (left.len() as f64 + 1.0);
    let sum = |values: &[f64], others: &[f64]| -> f64 {
        values
            .iter()
            .zip(others)
            .map(|(a, b)| (a - mean) * (b - mean))
            .sum()
    };
    let spread = (sum(&left, &left) * sum(&right, &right)).sqrt();
    (spread > 0.0).then(|| sum(&left, &right) / spread)
}

/// Ranks from 1; equal values have the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let equal = values
            .iter()
            .filter(|other| other.total_cmp(value).is_eq())
            .count();
        below as f64 + 0.5 * (equal as f64 + 1.0)
    };
    values.iter().map(rank).collect()
}

/// Predicted throughputs over that of each system's and direction's DDR cell without optimisation, compared with the
/// published ratios: the mean absolute logarithm, without the cells that are 1 by definition.
pub fn ratio_error(predicted: &Throughputs, published: &Throughputs) -> Option<f64> {
    let base = |cell: &Cell| cell.on(Memory::Ddr).with(Optimisation::None);
    let ratios = |throughputs: &Throughputs| -> Throughputs {
        let cells = throughputs.iter().filter(|(cell, _)| base(cell) != **cell);
        cells
            .filter_map(|(cell, it)| Some((*cell, it / throughputs.get(&base(cell))?)))
            .collect()
    };
    mean_absolute_log_error(&ratios(predicted), &ratios(published), |_| true)
}

/// Number of effects with the published sign, of those whose cells were run.
pub fn met(effects: &[Effect], throughputs: &Throughputs) -> usize {
    effects
        .iter()
        .filter(|(_, effect)| effect(throughputs).is_some_and(|it| it > 0.0))
        .count()
}

fn pairs<'a>(
    predicted: &'a Throughputs,
    published: &'a Throughputs,
) -> impl Iterator<Item = (Cell, f64, f64)> + 'a {
    let pair = |(cell, it): (&Cell, &f64)| Some((*cell, *it, *published.get(cell)?));
    predicted.iter().filter_map(pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(optimisation: Optimisation) -> Cell {
        Cell::new(
            System::TseStandard,
            Direction::Tx,
            Memory::Ddr,
            optimisation,
        )
    }

    fn throughputs(values: [f64; 4]) -> Throughputs {
        Optimisation::ALL
            .map(cell)
            .into_iter()
            .zip(values)
            .collect()
    }

    #[test]
    fn a_common_factor_changes_the_error_and_neither_ranks_nor_ratios() {
        let published = throughputs([10.0, 20.0, 30.0, 40.0]);
        let predicted = throughputs([20.0, 40.0, 60.0, 80.0]);
        let error = mean_absolute_log_error(&predicted, &published, |_| true).unwrap();
        assert!((error - std::f64::consts::LN_2).abs() < 1e-12);
        assert!((spearman(&predicted, &published).unwrap() - 1.0).abs() < 1e-12);
        assert!(ratio_error(&predicted, &published).unwrap() < 1e-12);
    }

    #[test]
    fn the_reverse_order_has_a_rank_correlation_of_minus_one() {
        let published = throughputs([10.0, 20.0, 30.0, 40.0]);
        let predicted = throughputs([4.0, 3.0, 2.0, 1.0]);
        assert!((spearman(&predicted, &published).unwrap() + 1.0).abs() < 1e-12);
    }

    #[test]
    fn an_interaction_compares_the_gains_on_both_memories() {
        let mut it = throughputs([10.0, 20.0, 10.0, 20.0]);
        for (cell, value) in throughputs([10.0, 11.0, 10.0, 11.0]) {
            it.insert(cell.on(Memory::Ssram), value);
        }
        let (_, effect) = INTERACTIONS[0];
        let expected = 2.0_f64.ln() - 1.1_f64.ln();
        assert!((effect(&it).unwrap() - expected).abs() < 1e-12);
    }
}
