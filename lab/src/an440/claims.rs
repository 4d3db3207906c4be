//! Sentences of the paper with figures, beside its own table and the prediction.

use super::cells::{Cell, Direction, Memory, Optimisation, System};
use super::score::Throughputs;

/// Throughput of a cell over that of another.
type Ratio = (Cell, Cell);

/// A sentence: the paper's figure, and the ratios that it is about.
struct Claim {
    sentence: &'static str,
    figure: &'static str,
    ratios: Vec<Ratio>,
}

const NONE: Optimisation = Optimisation::None;

/// Pairs of all cells that `selected` has, with another cell.
fn pairs(selected: impl Fn(&Cell) -> bool, to: impl Fn(Cell) -> Cell) -> Vec<Ratio> {
    let all = Cell::all().into_iter().filter(selected);
    all.map(|cell| (to(cell), cell)).collect()
}

fn claims() -> Vec<Claim> {
    use Direction::{Rx, Tx};
    use Memory::{Ddr, Ssram};
    use System::{Lan91c111, TseBigCache, TseOptimised, TseStandard};
    let one = |more: (System, Direction, Memory, Optimisation),
               less: (System, Direction, Memory, Optimisation)| {
        let cell = |(system, direction, memory, optimisation)| {
            Cell::new(system, direction, memory, optimisation)
        };
        vec![(cell(more), cell(less))]
    };
    let ssram = |direction, optimisation| {
        one(
            (TseStandard, direction, Ssram, optimisation),
            (TseStandard, direction, Ddr, optimisation),
        )
    };
    let caches = |direction, memory| {
        one(
            (TseBigCache, direction, memory, NONE),
            (TseStandard, direction, memory, NONE),
        )
    };
    let clock = |memory| {
        pairs(
            move |it| it.system == TseBigCache && it.memory == memory && it.optimisation == NONE,
            |it| it.of(TseOptimised),
        )
    };
    let both = Optimisation::Both;
    let hardware = Optimisation::Hardware;
    let claim = |sentence, figure, ratios| Claim {
        sentence,
        figure,
        ratios,
    };
    vec![
        claim(
            "fast packet memory",
            "4% to 45%",
            pairs(
                |it| it.optimisation == NONE,
                |it| it.with(Optimisation::FastMemory),
            ),
        ),
        claim(
            "hardware checksum, in most cases",
            "6% to 40%",
            pairs(|it| it.optimisation == NONE, |it| it.with(hardware)),
        ),
        claim(
            "TSE in place of LAN91C111",
            "15% to 60%",
            pairs(
                |it| it.system == Lan91c111 && it.optimisation == NONE,
                |it| it.of(TseStandard),
            ),
        ),
        claim(
            "SSRAM in place of DDR, TSE Standard, TX",
            "48%",
            ssram(Tx, NONE),
        ),
        claim("the same, RX", "69%", ssram(Rx, NONE)),
        claim(
            "the same with both optimisations, TX",
            "61%",
            ssram(Tx, both),
        ),
        claim(
            "the same with both optimisations, RX",
            "28%",
            ssram(Rx, both),
        ),
        claim("larger caches, DDR, TX", "30%", caches(Tx, Ddr)),
        claim("larger caches, DDR, RX", "14%", caches(Rx, Ddr)),
        claim("larger caches, SSRAM, TX", "42%", caches(Tx, Ssram)),
        claim("larger caches, SSRAM, RX", "37%", caches(Rx, Ssram)),
        claim("150 in place of 83 MHz, DDR", "60%", clock(Ddr)),
        claim("150 in place of 83 MHz, SSRAM", "40%", clock(Ssram)),
        claim(
            "TSE Optimised in place of TSE Standard, SSRAM, hardware checksum",
            "100%",
            pairs(
                |it| it.system == TseStandard && it.memory == Ssram && it.optimisation == hardware,
                |it| it.of(TseOptimised),
            ),
        ),
    ]
}

/// The optimisations in the paper's order of importance, each with the pairs of cells that differ in nothing else.
fn optimisations() -> Vec<(&'static str, Vec<Ratio>)> {
    let is = |optimisation| move |it: &Cell| it.optimisation == optimisation;
    vec![
        (
            "DMA (TSE Standard over LAN91C111)",
            pairs(
                |it| it.system == System::Lan91c111,
                |it| it.of(System::TseStandard),
            ),
        ),
        (
            "clock (TSE Optimised over TSE Big Cache)",
            pairs(
                |it| it.system == System::TseBigCache,
                |it| it.of(System::TseOptimised),
            ),
        ),
        (
            "memory of the program (SSRAM over DDR)",
            pairs(|it| it.memory == Memory::Ddr, |it| it.on(Memory::Ssram)),
        ),
        (
            "checksum unit",
            pairs(is(NONE), |it| it.with(Optimisation::Hardware)),
        ),
        (
            "packets in fast memory",
            pairs(is(NONE), |it| it.with(Optimisation::FastMemory)),
        ),
    ]
}

/// Smallest, mean (geometric) and largest gain in percent.
fn gains(throughputs: &Throughputs, ratios: &[Ratio]) -> Option<[f64; 3]> {
    let logarithms: Option<Vec<f64>> = ratios
        .iter()
        .map(|(more, less)| Some((throughputs.get(more)? / throughputs.get(less)?).ln()))
        .collect();
    let logarithms = logarithms.filter(|it| !it.is_empty())?;
    let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    let smallest = logarithms.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some([smallest, mean, largest].map(|it| 100.0 * it.exp_m1()))
}

fn show(gains: Option<[f64; 3]>) -> String {
    match gains {
        None => "-".to_owned(),
        Some([smallest, _, largest]) if largest - smallest < 1e-9 => format!("{largest:.0}%"),
        Some([smallest, _, largest]) => format!("{smallest:.0}% to {largest:.0}%"),
    }
}

/// "all" if no cell of `ratios` is fitted, "none" if all are.
fn held_out(ratios: &[Ratio]) -> &'static str {
    let fitted = |(more, less): &&Ratio| more.is_fitted() && less.is_fitted();
    let held_out = |(more, less): &&Ratio| !more.is_fitted() && !less.is_fitted();
    match ratios.len() {
        all if ratios.iter().filter(fitted).count() == all => "no",
        all if ratios.iter().filter(held_out).count() == all => "yes",
        _ => "in part",
    }
}

/// Prints the sentences and the order of importance.
pub fn print(predicted: &Throughputs, published: &Throughputs) {
    println!("\nFigures in the paper's text (gains), its table, the prediction:\n");
    println!("| gain by | text | table | predicted | held out |\n|---|---:|---:|---:|---|");
    for it in claims() {
        println!(
            "| {} | {} | {} | {} | {} |",
            it.sentence,
            it.figure,
            show(gains(published, &it.ratios)),
            show(gains(predicted, &it.ratios)),
            held_out(&it.ratios)
        );
    }
    println!(
        "\nOptimisations in the paper's order of importance, mean gain over all cells (rank):\n"
    );
    println!("| optimisation | table | predicted | held out |\n|---|---:|---:|---|");
    let all = optimisations();
    let ranked = |throughputs: &Throughputs, mean: f64| {
        let means = all
            .iter()
            .filter_map(|(_, it)| Some(gains(throughputs, it)?[1]));
        1 + means.filter(|it| *it > mean).count()
    };
    for (name, ratios) in &all {
        let of = |throughputs: &Throughputs| match gains(throughputs, ratios) {
            Some([_, mean, _]) => format!("{mean:.0}% ({})", ranked(throughputs, mean)),
            None => "-".to_owned(),
        };
        let held_out = held_out(ratios);
        println!(
            "| {name} | {} | {} | {held_out} |",
            of(published),
            of(predicted)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_is_in_percent_and_fitted_pairs_are_not_held_out() {
        let throughputs: Throughputs = Cell::all()
            .into_iter()
            .map(|cell| {
                (
                    cell,
                    if cell.memory == Memory::Ssram {
                        30.0
                    } else {
                        20.0
                    },
                )
            })
            .collect();
        let all = claims();
        let found = gains(&throughputs, &all[3].ratios).map(|it| it.map(f64::round));
        assert_eq!(found, Some([50.0; 3]));
        assert_eq!(held_out(&all[3].ratios), "no");
        assert_eq!(held_out(&all[5].ratios), "yes");
        assert_eq!(held_out(&all[0].ratios), "in part");
    }
}
