//! A byte link on the simulated ESP32-C6: goodput, gaps and round trips by port, bit rate and message, the octets that
//! are missed by the load of another interrupt, and what transfers of SPI and octets of a UART cost with and without DMA.
//!
//! `cargo run --release -p linerate-sim --example link -- FOLDER ELF [ELF_80_MHZ]`
//!
//! Prints a line a run, and writes `boards.json` and the histograms to FOLDER. `cargo xtask links` builds the ELFs
//! (`boards/esp32c6-link/firmware`) and calls this.

mod bench;
mod chart;
mod end;
mod pair;
mod runs;
mod transfers;
mod uart;

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
    let mut elfs = vec![("160", read(elf)?)];
    if let Some(slow) = slow {
        elfs.push(("80", read(slow)?));
    }
    let (mut results, mut others) = (Vec::new(), Vec::new());
    for (mhz, elf) in &elfs {
        others.extend(transfers::by_length(mhz, elf)?);
        others.extend(uart::costs(mhz, elf)?);
        others.extend(pair::exchanges(mhz, elf)?);
        let ports = if *mhz == "160" {
            runs::GAPS
        } else {
            runs::GAPS_80
        };
        results.extend(runs::gaps(mhz, elf, ports)?);
        results.extend(runs::gaps(mhz, elf, &runs::master())?);
        others.extend(runs::pauses(mhz, elf)?);
        if *mhz == "160" {
            others.extend(runs::loads(elf)?);
        }
    }
    let charts = ["uart", "usb", "spi", "master"].map(|port| {
        // Of a master, only those at the higher clock: they are many.
        let of_port = results.iter().filter(|run| {
            run.name.starts_with(port) && (port != "master" || run.name.ends_with("-160"))
        });
        (port, chart::histograms(&of_port.collect::<Vec<_>>()))
    });
    for (port, picture) in charts {
        write(&folder.join(format!("gaps-{port}.svg")), &picture)?;
    }
    let json: Vec<String> = results.iter().map(runs::Gaps::json).chain(others).collect();
    let text = format!("[\n{}\n]\n", json.join(",\n"));
    write(&folder.join("boards.json"), &text)
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}
