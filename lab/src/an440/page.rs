//! A page with the 64 cells as small multiples: cycles of a segment by cause, in one SVG a system and direction.

use super::cells::{Cell, Direction, Memory, Optimisation, System};
use super::score::Throughputs;
use super::{Results, Scores};
use std::fmt::Write as _;

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 208.0;
const BAR: f64 = 36.0;
const BASE: f64 = 160.0;
/// From a bar to the next.
const PITCH: f64 = 54.0;
/// Between the memories.
const GAP: f64 = 10.0;

/// Names and colours of the causes, from the axis up.
const CAUSES: [(&str, &str); 5] = [
    ("execution", "#3b6ea5"),
    ("instruction fetch", "#7fb0d8"),
    ("data misses", "#d9a441"),
    ("uncached and devices", "#b5532f"),
    ("idle", "#9a9a9a"),
];

/// The page.
pub fn page(results: &Results, published: &Throughputs, scores: &Scores) -> String {
    let mut page = String::from(concat!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">",
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
        "<title>AN 440 on the RV32 soft SoC with TSE and SGDMA</title><style>",
        ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:auto;padding:1rem}",
        "main{display:flex;flex-wrap:wrap;gap:1rem}figure{margin:0;flex:1 1 22rem}svg{width:100%;height:auto}",
        "text{font:13px system-ui,sans-serif;fill:currentColor;text-anchor:middle}span{white-space:nowrap;margin-right:1em}",
        "figcaption small{opacity:.7}i{display:inline-block;width:.8em;height:.8em}</style>",
        "<h1>AN 440 on the RV32 soft SoC with TSE and SGDMA</h1>",
        "<p>Cycles of the processor for a segment of 1458 bytes, by cause. Above each bar is the throughput in Mbit/s, ",
        "below it the published one; the line is the number of cycles that the published throughput implies. Each picture has its own scale. fm: fast ",
        "memory for packets; hw: checksum unit.</p><p>"
    ));
    for (name, colour) in CAUSES {
        let _ = write!(
            page,
            "<span><i style=\"background:{colour}\"></i> {name}</span> "
        );
    }
    let _ = write!(page, "</p><p>{}</p><main>", scores.summary());
    for system in System::ALL {
        for direction in Direction::ALL {
            page += &figure(system, direction, results, published);
        }
    }
    page + "</main></html>\n"
}

fn figure(
    system: System,
    direction: Direction,
    results: &Results,
    published: &Throughputs,
) -> String {
    let cells: Vec<Cell> = Memory::ALL
        .into_iter()
        .flat_map(|memory| Optimisation::ALL.map(|it| Cell::new(system, direction, memory, it)))
        .collect();
    // Cycles and Mbit/s are inversely proportional for a system, so one cell gives the factor.
    let factor = cells.iter().find_map(|cell| {
        let it = results.get(cell)?;
        Some(it.per_segment.cycles * it.mbit_per_s)
    });
    let Some(factor) = factor else {
        return String::new();
    };
    let implied = |cell: &Cell| published.get(cell).map(|it| factor / it);
    let cycles = |cell: &Cell| results.get(cell).map(|it| it.per_segment.cycles);
    let most = cells
        .iter()
        .flat_map(|it| [implied(it), cycles(it)])
        .flatten()
        .fold(1.0, f64::max);
    let height = |cycles: f64| cycles / most * 130.0;
    let mut svg = format!(
        "<figure><figcaption>{0} {1} <small>tallest: {most:.0} cycles</small></figcaption><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         role=\"img\" aria-label=\"{0} {1}: cycles of a segment by cause\">",
        system.name(),
        direction.name()
    );
    for (number, cell) in cells.iter().enumerate() {
        let x = 12.0 + number as f64 * PITCH + if number > 3 { GAP } else { 0.0 };
        let middle = x + BAR / 2.0;
        let line = implied(cell).map(|cycles| BASE - height(cycles));
        let mut y = BASE;
        if let Some(measured) = results.get(cell) {
            let it = measured.per_segment;
            let parts = [
                it.execution,
                it.fetch_misses,
                it.data_misses,
                it.direct_accesses,
                it.idle,
            ];
            for (part, (name, colour)) in parts.into_iter().zip(CAUSES) {
                y -= height(part);
                let _ = write!(
                    svg,
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{BAR}\" height=\"{:.1}\" fill=\"{colour}\"><title>{name}: \
                     {part:.0} cycles</title></rect>",
                    height(part)
                );
            }
            let _ = write!(
                svg,
                "<text x=\"{middle:.1}\" y=\"{:.1}\">{:.1}</text>",
                y.min(line.unwrap_or(y)) - 5.0,
                measured.mbit_per_s
            );
        }
        if let (Some(y), Some(published)) = (line, published.get(cell)) {
            let _ = write!(
                svg,
                "<path d=\"M{:.1} {y:.1}h{}\" stroke=\"currentColor\" stroke-width=\"2\"/><text x=\"{middle:.1}\" \
                 y=\"{}\">{published:.1}</text>",
                x - 4.0,
                BAR + 8.0,
                BASE + 14.0
            );
        }
        let _ = write!(
            svg,
            "<text x=\"{middle:.1}\" y=\"{}\">{}</text>",
            BASE + 28.0,
            cell.optimisation.name()
        );
        // Once for the four cells on a memory.
        if cell.optimisation == Optimisation::None {
            let _ = write!(
                svg,
                "<text x=\"{:.1}\" y=\"{}\">{}</text>",
                middle + 1.5 * PITCH,
                BASE + 44.0,
                cell.memory.name()
            );
        }
    }
    svg + "</svg></figure>"
}
