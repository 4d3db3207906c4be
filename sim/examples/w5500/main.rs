//! Transfers over a W5500 on the simulated ESP32-C6, by driver and SPI clock.
//!
//! `cargo run --release -p linerate-sim --example w5500 -- ELF FOLDER [RUN...]`
//!
//! Prints a line a run, and writes `w5500.json` and the pictures of the SPI's lines to FOLDER. `cargo xtask links` builds
//! the ELF (`boards/esp32c6-w5500`) and calls this.

mod host;
mod runs;
mod scope;

use std::path::Path;
use std::process::ExitCode;

use linerate_sim::elf::Elf;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [elf, folder, wanted @ ..] = &arguments[..] else {
        eprintln!("usage: w5500 ELF FOLDER [RUN...]");
        return ExitCode::from(2);
    };
    match run(Path::new(elf), Path::new(folder), wanted) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(elf: &Path, folder: &Path, wanted: &[String]) -> Result<(), String> {
    let bytes = std::fs::read(elf).map_err(|error| format!("{}: {error}", elf.display()))?;
    let elf = Elf::parse(&bytes).map_err(|error| error.to_string())?;
    let mut json = Vec::new();
    for run in runs::RUNS {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == run.name) {
            continue;
        }
        let result = runs::measure(run, &elf).map_err(|error| format!("{}: {error}", run.name))?;
        println!("{}", result.line());
        json.push(result.json());
        if let Some(picture) = &result.picture {
            let file = folder.join(format!("w5500-{}.svg", run.name));
            write(&file, picture)?;
        }
    }
    let text = format!("[\n{}\n]\n", json.join(",\n"));
    write(&folder.join("w5500.json"), &text)
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}
