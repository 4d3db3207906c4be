//! `cargo xtask bench`: speed of the simulator compared with QEMU, RAM and flash of the firmware's PHY and
//! MAC, of the agent and of the link layer, the load generator compared with iperf3 and trafgen, instructions per frame on
//! emulated boards, and `explain` compared with tcptrace and tshark; writes `docs/performance.md`.

mod agent;
mod captures;
mod history;
mod instructions;
mod link;
mod load;
mod readers;
mod simulator;
mod soft_soc;

use crate::footprint::{CODE_TARGET, Footprint};
use anyhow::{Context, Result};
use std::fs;
use xtask::{board, firmware, sh};

/// The document, and the title of its section on RAM and flash.
const DOCUMENT: &str = "docs/performance.md";
const FOOTPRINT_TITLE: &str = "\n## RAM and flash of PHY and MAC\n";

/// Selection of the measurements.
#[derive(Clone, Copy)]
pub enum Selection {
    /// The simulator, RAM and flash.
    Simulator,
    /// Only RAM and flash.
    Footprint,
    /// Only RAM and flash of the agent's services.
    Agent,
    /// Only the load generator.
    Load,
    /// Only the instructions per frame on emulated boards.
    Instructions,
    /// Only the instructions per frame on simulated boards.
    Simulated,
    /// Only the instructions per frame with lwIP, beside smoltcp.
    Lwip,
    /// Only the analysis of captures.
    Captures,
    /// Only the simulated soft `SoCs`.
    SoftSocs,
    /// Only the readers of a link in Rust and in Python.
    Readers,
}

/// Runs the command: measures, and updates the sections of the document.
pub fn run(selection: Selection) -> Result<()> {
    let file = sh::root().join(DOCUMENT);
    let mut text = fs::read_to_string(&file)?;
    text = match selection {
        Selection::Load => {
            let Some(section) = load::measure()? else {
                return Ok(());
            };
            with_section(&text, load::TITLE, &section)
        }
        Selection::Instructions => {
            with_section(&text, instructions::TITLE, &instructions::measure()?)
        }
        Selection::Simulated => with_section(
            &text,
            instructions::SIMULATED_TITLE,
            &instructions::measure_simulated()?,
        ),
        Selection::Lwip => with_section(
            &text,
            instructions::LWIP_TITLE,
            &instructions::measure_lwip()?,
        ),
        Selection::Captures => with_section(&text, captures::TITLE, &captures::measure()?),
        Selection::SoftSocs => with_section(&text, soft_soc::TITLE, &simulator::soft_socs()?),
        Selection::Readers => with_section(&text, readers::TITLE, &readers::measure()?),
        Selection::Footprint => with_footprints(&text)?,
        Selection::Agent => with_section(&text, agent::TITLE, &agent::measure()?),
        Selection::Simulator => {
            let text = with_footprints(&text)?;
            let sections = text.find("\n## ").map_or("", |at| &text[at..]);
            let (start, soft_socs) = simulator::speed()?;
            with_section(&(start + sections), soft_soc::TITLE, &soft_socs)
        }
    };
    fs::write(&file, text)?;
    println!("written: {DOCUMENT}");
    Ok(())
}

/// Updates the sections on PHY, MAC, agent and link layer.
fn with_footprints(document: &str) -> Result<String> {
    println!("RAM and flash of PHY and MAC, http_get-line-rate.elf:");
    let footprint = footprint()?;
    print!("{footprint}");
    let text = with_section(document, FOOTPRINT_TITLE, &paragraph(&footprint));
    println!("\nRAM and flash of the agent:");
    let text = with_section(&text, agent::TITLE, &agent::measure()?);
    println!("\nRAM and flash of the link layer:");
    Ok(with_section(&text, link::TITLE, &link::measure()?))
}

/// Replaces the section with this title, or appends it.
fn with_section(document: &str, title: &str, section: &str) -> String {
    let (before, rest) = document.split_once(title).unwrap_or((document, ""));
    let after = rest.find("\n## ").map_or("", |at| &rest[at..]);
    format!("{before}{section}{after}")
}

/// Footprint of PHY and MAC in the fastest variant.
fn footprint() -> Result<Footprint> {
    let board = board::read(board::DEFAULT)?;
    let (program, variant) = ("http_get".to_owned(), "line-rate".to_owned());
    let elfs = firmware::build(&board, &[program], &[variant], None)?;
    Footprint::read(elfs.first().context("no firmware")?)
}

/// The section of the document.
fn paragraph(footprint: &Footprint) -> String {
    format!(
        "{FOOTPRINT_TITLE}\n\
         In `http_get-line-rate.elf`, by its symbols (`cargo xtask bench --footprint` updates this \
         section only). Functions and variables with `linerate_nic`, `linerate_ether`, \
         `esp32c6_bitbang::phy` or `linerate_line_rate_` in their names are counted, and the ledger. \
         Inlined code counts for the function that contains it. Constants without a name and the stack \
         are not counted. Initialised data and code in RAM are also in flash, from where the boot loader \
         copies them.\n\n\
         {footprint}\n\
         The target is at most {CODE_TARGET} octets of code in RAM. Code that must not wait for flash, the \
         first two rows of the table, has {} octets. The total is {}: the rest is in RAM because the \
         whole program is (`boards/esp32c6-bitbang/ld/all_code.x`), as a fetch from flash on the main \
         thread delays an interrupt.\n",
        footprint.time_critical_code(),
        footprint.code_in_ram()
    )
}

#[cfg(test)]
mod tests {
    use super::with_section;

    #[test]
    fn a_section_is_replaced_in_place() {
        let document = "# Title\ntext\n\n## One\n1\n\n## Two\n2\n";
        let renewed = with_section(document, "\n## One\n", "\n## One\nuno\n");
        assert_eq!(renewed, "# Title\ntext\n\n## One\nuno\n\n## Two\n2\n");
        let added = with_section(document, "\n## Three\n", "\n## Three\n3\n");
        assert_eq!(added, format!("{document}\n## Three\n3\n"));
    }
}
