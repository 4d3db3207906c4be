//! A page with the 64 cells as small multiples: cycles of a segment by cause, in one SVG a system and direction.

use super::cells::{Cell, Direction, Memory, Optimisation, System};
use super::score::Throughputs;
use super::{Results, Scores};
use std::fmt::Write as _;

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 200.0;
const BAR: f64 = 36.0;
const BASE: f64 = 165.0;

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
        "main{display:flex;flex-wrap:wrap;gap:1rem}figure{margin:0;flex:1 1 26rem}svg{width:100%;height:auto}",
        "text{font:11px system-ui,sans-serif;fill:currentColor}i{display:inline-block;width:.8em;height:.8em}</style>",
        "<h1>AN 440 on the RV32 soft SoC with TSE and SGDMA</h1>",
        "<p>Cycles of the processor for a segment of 1458 bytes, by cause. Above each bar is the throughput in Mbit/s, ",
        "below it the published one; the line is the number of cycles that the published throughput implies.</p><p>"
    ));
    for (name, colour) in CAUSES {
        let _ = write!(page, "<i style=\"background:{colour}\"></i> {name} &nbsp; ");
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
        "<figure><figcaption>{} {}</figcaption><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">",
        system.name(),
        direction.name()
    );
    for (number, cell) in cells.iter().enumerate() {
        let x = 20.0 + number as f64 * 54.0 + if number > 3 { 8.0 } else { 0.0 };
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
                "<text x=\"{x:.1}\" y=\"{:.1}\">{:.1}</text>",
                y - 4.0,
                measured.mbit_per_s
            );
        }
        if let (Some(cycles), Some(published)) = (implied(cell), published.get(cell)) {
            let y = BASE - height(cycles);
            let _ = write!(
                svg,
                "<path d=\"M{:.1} {y:.1}h{}\" stroke=\"currentColor\" stroke-width=\"2\"/>",
                x - 4.0,
                BAR + 8.0
            );
            let _ = write!(
                svg,
                "<text x=\"{x:.1}\" y=\"{}\">{published:.1}</text>",
                BASE + 12.0
            );
        }
        let memory = cell.memory.name();
        let _ = write!(
            svg,
            "<text x=\"{x:.1}\" y=\"{}\">{}</text><text x=\"{x:.1}\" y=\"{}\">{memory}</text>",
            BASE + 23.0,
            cell.optimisation.name(),
            BASE + 34.0
        );
    }
    svg + "</svg></figure>"
}
