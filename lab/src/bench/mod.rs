//! `cargo xtask bench`: how fast the simulator is, beside QEMU, what RAM and flash the firmware's PHY and
//! MAC and the agent take, how the load generator does beside iperf3 and trafgen, what a frame
//! takes on emulated boards, and how `explain` does beside tcptrace and tshark; writes `docs/performance.md`.

mod agent;
mod captures;
mod instructions;
mod load;
mod simulator;

use crate::footprint::{CODE_TARGET, Footprint};
use anyhow::{Context, Result};
use std::fs;
use xtask::{board, firmware, sh};

/// The document, and how the section in it begins that tells of RAM and flash.
const DOCUMENT: &str = "docs/performance.md";
const FOOTPRINT_TITLE: &str = "\n## RAM and flash of PHY and MAC\n";

/// What is to be measured.
#[derive(Clone, Copy)]
pub enum What {
    /// The simulator, RAM and flash.
    Simulator,
    /// Only RAM and flash.
    Footprint,
    /// Only the load generator.
    Load,
    /// Only the instructions of a frame on emulated boards.
    Instructions,
    /// Only the analysis of captures.
    Captures,
}

/// The command: measures, and renews what the document says of it.
pub fn run(what: What) -> Result<()> {
    let file = sh::root().join(DOCUMENT);
    let mut text = fs::read_to_string(&file)?;
    text = match what {
        What::Load => {
            let Some(section) = load::measure()? else {
                return Ok(());
            };
            with_section(&text, load::TITLE, &section)
        }
        What::Instructions => with_section(&text, instructions::TITLE, &instructions::measure()?),
        What::Captures => with_section(&text, captures::TITLE, &captures::measure()?),
        What::Footprint => with_footprints(&text)?,
        What::Simulator => {
            let text = with_footprints(&text)?;
            let sections = text.find("\n## ").map_or("", |at| &text[at..]);
            simulator::speed()? + sections
        }
    };
    fs::write(&file, text)?;
    println!("written: {DOCUMENT}");
    Ok(())
}

/// The document with what PHY, MAC and agent take now.
fn with_footprints(document: &str) -> Result<String> {
    println!("RAM and flash of PHY and MAC, http_get-line-rate.elf:");
    let footprint = footprint()?;
    print!("{footprint}");
    let text = with_section(document, FOOTPRINT_TITLE, &paragraph(&footprint));
    println!("\nRAM and flash of the agent:");
    Ok(with_section(&text, agent::TITLE, &agent::measure()?))
}

/// The document with this section in place of the one that has its title, or at the end.
fn with_section(document: &str, title: &str, section: &str) -> String {
    let (before, rest) = document.split_once(title).unwrap_or((document, ""));
    let after = rest.find("\n## ").map_or("", |at| &rest[at..]);
    format!("{before}{section}{after}")
}

/// What PHY and MAC of the fastest variant take.
fn footprint() -> Result<Footprint> {
    let board = board::read(board::DEFAULT)?;
    let (program, variant) = ("http_get".to_owned(), "line-rate".to_owned());
    let elfs = firmware::build(&board, &[program], &[variant], None)?;
    Footprint::read(elfs.first().context("no firmware")?)
}

/// What `docs/performance.md` says of it, at its end.
fn paragraph(footprint: &Footprint) -> String {
    format!(
        "{FOOTPRINT_TITLE}\n\
         In `http_get-line-rate.elf`, by its symbols (`cargo xtask bench --footprint` renews this \
         section alone). Counted is each function and variable with `linerate_nic`, \
         `linerate_ether`, `esp32c6_bitbang::phy` or `linerate_line_rate_` in its name, and the \
         ledger; what the compiler put into another function counts there; constants without a name \
         and the stack are left out. What is in RAM from the start lies in flash, too, for the boot \
         loader to copy.\n\n\
         {footprint}\n\
         At most {CODE_TARGET} octets of code in RAM are the target. What the line gives no time to \
         fetch from flash, the first two lines of the table, takes {}. All together take {}: the rest \
         is in RAM because the whole program is (`boards/esp32c6-bitbang/ld/all_code.x`), for a fetch \
         on the main thread holds up an interrupt.\n",
        footprint.code_at_once(),
        footprint.code_in_ram()
    )
}

#[cfg(test)]
mod tests {
    use super::with_section;

    #[test]
    fn a_section_is_renewed_where_it_stands() {
        let document = "# Title\ntext\n\n## One\n1\n\n## Two\n2\n";
        let renewed = with_section(document, "\n## One\n", "\n## One\nuno\n");
        assert_eq!(renewed, "# Title\ntext\n\n## One\nuno\n\n## Two\n2\n");
        let added = with_section(document, "\n## Three\n", "\n## Three\n3\n");
        assert_eq!(added, format!("{document}\n## Three\n3\n"));
    }
}
