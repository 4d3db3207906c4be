//! Histograms of the gaps between messages, with the equivalent bit rate on a second axis.

use std::fmt::Write as _;

use crate::runs::{Gaps, quantile};

/// Legible on a screen of 390 pixels, too.
const WIDTH: f64 = 440.0;
const LEFT: f64 = 20.0;
const LEGEND: f64 = 40.0;
const ROW: f64 = 120.0;
const BINS: usize = 80;

/// An SVG with a row a run: the share of gaps by their length, and above it the bit rate of a message a gap.
pub fn histograms(runs: &[&Gaps]) -> String {
    let (width, height) = (WIDTH + 2.0 * LEFT, LEGEND + ROW * runs.len() as f64);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\"><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"18\">Below: gap between messages. \
         <tspan fill=\"#aa3377\">Above: bit rate of one message a gap.</tspan></text>\n"
    );
    for (number, run) in runs.iter().enumerate() {
        row(&mut svg, run, LEGEND + ROW * number as f64 + 36.0);
    }
    svg + "</svg>\n"
}

/// Title of a run with the name PORT-BAUD-OCTETS-MHZ, or without the baud rate; of a master of SPI
/// master-HERTZ-PAUSE-TRANSFER-OCTETS-MHZ, or master-dma-.
fn title(name: &str) -> String {
    let parts: Vec<&str> = name.split('-').collect();
    match parts[..] {
        [port, octets, mhz] => {
            format!("{}, {octets} octets, CPU {mhz} MHz", port.to_uppercase())
        }
        [port, baud, octets, mhz] => {
            let port = port.to_uppercase();
            format!("{port}, {baud} baud, {octets} octets, CPU {mhz} MHz")
        }
        ["master", hertz, _, transfer, octets, mhz] => {
            format!("{hertz} Hz, {transfer} a transfer, {octets} octets, CPU {mhz} MHz")
        }
        ["master", "dma", hertz, _, transfer, octets, mhz] => {
            format!("DMA, {hertz} Hz, {transfer} a transfer, {octets} octets, CPU {mhz} MHz")
        }
        _ => name.to_owned(),
    }
}

fn row(svg: &mut String, run: &Gaps, top: f64) {
    let (bottom, high) = (top + 45.0, 45.0);
    let longest = (quantile(&run.sorted_ns, 0.999) as f64 * 1.1).max(1.0);
    let mut counts = [0_u32; BINS];
    for gap in &run.sorted_ns {
        let bin = *gap as f64 / longest * BINS as f64;
        counts[(bin as usize).min(BINS - 1)] += 1;
    }
    let most = f64::from(counts.iter().copied().max().unwrap_or(1).max(1));
    let width = WIDTH / BINS as f64;
    for (bin, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let tall = (f64::from(*count) / most * high).max(1.0);
        let _ = writeln!(
            svg,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{tall:.1}\" fill=\"#4477aa\"/>",
            LEFT + bin as f64 * width,
            bottom - tall
        );
    }
    let _ = writeln!(
        svg,
        "<path d=\"M{LEFT} {bottom} h{WIDTH} M{LEFT} {top} h{WIDTH}\" stroke=\"#888\" fill=\"none\"/>\n\
         <text x=\"{LEFT}\" y=\"{:.1}\" font-weight=\"bold\">{}: {} gaps</text>",
        top - 19.0,
        title(&run.name),
        run.sorted_ns.len()
    );
    for tick in 1..=4 {
        let gap_ns = longest * f64::from(tick) / 4.0;
        let x = LEFT + WIDTH * f64::from(tick) / 4.0;
        let rate = run.message as f64 * 8e3 / gap_ns;
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"end\">{:.0} µs</text>\n\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#aa3377\">{rate:.2} Mbit/s</text>",
            bottom + 14.0,
            gap_ns / 1e3,
            top - 4.0
        );
    }
}
