//! A byte link on the simulated ESP32-C6: goodput, gaps and round trips by port, bit rate and message, and the octets that
//! are missed by the load of another interrupt.
//!
//! `cargo run --release -p linerate-sim --example link -- FOLDER ELF [ELF_80_MHZ]`
//!
//! Prints a line a run, and writes `boards.json` and the histograms to FOLDER. `cargo xtask links` builds the ELFs
//! (`boards/esp32c6-link/firmware`) and calls this.

mod bench;
mod chart;
mod end;
mod runs;
mod transfers;

use std::path::Path;
use std::process::ExitCode;

use linerate_sim::elf::Elf;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, elf, rest @ ..] = &arguments[..] else {
        eprintln!("usage: link FOLDER ELF [ELF_80_MHZ]");
        return ExitCode::from(2);
    };
    match run(Path::new(folder), elf, rest.first()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn read(elf: &String) -> Result<Elf, String> {
    let bytes = std::fs::read(elf).map_err(|error| format!("{elf}: {error}"))?;
    Elf::parse(&bytes).map_err(|error| error.to_string())
}

fn run(folder: &Path, elf: &String, slow: Option<&String>) -> Result<(), String> {
    let fast = read(elf)?;
    let mut loads = [runs::loads(&fast)?, runs::pauses("160", &fast)?].concat();
    loads.extend(transfers::by_length("160", &fast)?);
    let mut results = runs::gaps("160", &fast, runs::GAPS)?;
    results.extend(runs::gaps("160", &fast, &runs::master())?);
    if let Some(slow) = slow {
        let slow = read(slow)?;
        results.extend(runs::gaps("80", &slow, runs::GAPS_80)?);
        results.extend(runs::gaps("80", &slow, &runs::master())?);
        loads.extend(transfers::by_length("80", &slow)?);
        loads.extend(runs::pauses("80", &slow)?);
    }
    let charts = ["uart", "usb", "spi", "master"].map(|port| {
        let of_port = results.iter().filter(|run| run.name.starts_with(port));
        (port, chart::histograms(&of_port.collect::<Vec<_>>()))
    });
    for (port, picture) in charts {
        write(&folder.join(format!("gaps-{port}.svg")), &picture)?;
    }
    let json: Vec<String> = results.iter().map(runs::Gaps::json).chain(loads).collect();
    let text = format!("[\n{}\n]\n", json.join(",\n"));
    write(&folder.join("boards.json"), &text)
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}
