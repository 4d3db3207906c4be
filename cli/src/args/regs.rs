//! Arguments of `linerate regs`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;

#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  \
        devregs ENET | linerate regs decode -\n  \
        linerate regs decode dump.txt --chip lan9118\n  \
        linerate regs diff before.txt after.txt\n  \
        linerate regs list imx6 RCR\n  \
        linerate regs show qemu://qemu-sabrelite RCR ANAR ANLPAR\n\n\
        Numbers in dumps are hexadecimal. docs/regs.md describes the supported dump formats."
)]
pub struct Regs {
    #[command(subcommand)]
    pub command: RegsCommand,
}

#[derive(Debug, Subcommand)]
pub enum RegsCommand {
    /// Decode register values printed by devregs, ethtool, mii-tool or a debugger
    Decode(Decode),
    /// Decode the differences between two dumps
    Diff(Diff),
    /// List the register maps, or the registers of one
    List(List),
    /// Read and decode registers of a running device
    Show(Show),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    ethtool -d eth0 | linerate regs decode - --chip imx6\n  \
    echo 'ENET_RCR 0x05ee0264' | linerate regs decode -\n  \
    linerate regs decode memory.txt --svd STM32F407.svd\n  \
    linerate regs decode virtio.txt --chip virtio --base 0x10001000")]
pub struct Decode {
    /// Dump; - for stdin
    #[arg(value_name = "FILE")]
    pub dump: PathBuf,
    #[command(flatten)]
    pub place: Place,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    linerate regs diff before.txt after.txt\n\n\
    If a dump contains a register several times, the last value counts.")]
pub struct Diff {
    /// Earlier dump; - for stdin
    pub before: PathBuf,
    /// Later dump; - for stdin
    pub after: PathBuf,
    #[command(flatten)]
    pub place: Place,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate regs list                   list the maps\n  \
    linerate regs list imx6              list the registers of a map\n  \
    linerate regs list lan91c111 bank2   list a block with its fields\n  \
    linerate regs list --svd STM32F407.svd Ethernet_MAC")]
pub struct List {
    /// Register map, unless --svd or --map is given
    #[arg(value_name = "CHIP|NAME")]
    pub first: Option<String>,
    /// Block, or register of any block, to list with its fields
    #[arg(value_name = "NAME")]
    pub second: Option<String>,
    #[command(flatten)]
    pub maps: Maps,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate regs show qemu://qemu-sabrelite RCR ANAR ANLPAR\n  \
    linerate regs show qemu://qemu-mps2-an385 --then transfer\n  \
    linerate regs show qemu://linux-sabrelite RCR --then 'type ethtool -A eth0 autoneg off rx off tx off'\n  \
    linerate regs show gdb://localhost:3333 --chip imx6 --devregs > before.txt\n  \
    linerate regs show gdb://localhost:3333 --chip lan9118 --base 0x40200000 --indirect\n  \
    linerate regs show probe://STM32F407VG --svd STM32F407.svd Ethernet_MAC --then enter\n\n\
    The device is halted while it is read. gdb:// connects to any gdb server (QEMU -s, OpenOCD);\n\
    probe:// starts probe-rs, which must be installed.")]
pub struct Show {
    #[arg(help = "qemu://BOARD, gdb://HOST:PORT or probe://[CHIP]")]
    pub target: String,
    /// Blocks or registers to read [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Board, which determines chip and base address (see `linerate boards`) [default: that of qemu://]
    #[arg(long)]
    pub board: Option<String>,
    #[command(flatten)]
    pub place: Place,
    /// Also read registers that are accessed through others (MDIO, banks, an index), which are written
    /// and restored; always on for qemu://
    #[arg(long)]
    pub indirect: bool,
    /// Also read registers with read side effects: FIFOs, clear-on-read counters
    #[arg(long)]
    pub side_effects: bool,
    /// Resume the device, read again, and print the changes: after `transfer` (TCP in each direction, qemu://
    /// only), a time in seconds, `enter` (key press), or `type COMMAND` (in the shell of a board that runs Linux)
    #[arg(long, value_name = "WHAT", value_parser = resume_until)]
    pub then: Option<ResumeUntil>,
    /// Print in devregs format, for `linerate regs diff`
    #[arg(long, conflicts_with_all = ["json", "then"])]
    pub devregs: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Timeout for an answer of the device, in seconds
    #[arg(long, alias = "patience", value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub timeout: u64,
    /// Folder with the firmware images for qemu://, BOARD/PROGRAM-VARIANT.elf
    #[arg(long, value_name = "DIR", default_value = linerate_bench::firmware::DEFAULT_DIR)]
    pub elf_dir: PathBuf,
}

/// Event until which a device runs between two reads.
#[derive(Clone, Debug)]
pub enum ResumeUntil {
    /// After TCP transfers in each direction.
    Transfer,
    /// After this time.
    Seconds(Duration),
    /// After the user presses Enter.
    Enter,
    /// After this command.
    Command(String),
}

fn resume_until(written: &str) -> Result<ResumeUntil, String> {
    if let Some(command) = written.strip_prefix("type ") {
        return Ok(ResumeUntil::Command(command.to_owned()));
    }
    match (written, written.parse::<f64>()) {
        ("transfer", _) => Ok(ResumeUntil::Transfer),
        ("enter", _) => Ok(ResumeUntil::Enter),
        (_, Ok(seconds)) if (0.0..=3_600.0).contains(&seconds) => {
            Ok(ResumeUntil::Seconds(Duration::from_secs_f64(seconds)))
        }
        _ => Err("expected `transfer`, `enter`, `type COMMAND` or seconds up to 3600".to_owned()),
    }
}

/// Register maps in addition to the built-in ones.
#[derive(Debug, clap::Args)]
pub struct Maps {
    /// Map of another chip: an SVD file of its vendor
    #[arg(long, value_name = "FILE")]
    pub svd: Option<PathBuf>,
    /// Map of another chip, in the format of regs/data
    #[arg(long, value_name = "FILE", conflicts_with = "svd")]
    pub map: Option<PathBuf>,
}

/// Chip and block to which a dump belongs.
#[derive(Debug, clap::Args)]
pub struct Place {
    /// Chip (see `linerate regs list`) [default: that of --svd or --map, else the best match]
    #[arg(long)]
    pub chip: Option<String>,
    /// Block to which offsets are relative [default: the chip's first]
    #[arg(long)]
    pub block: Option<String>,
    /// Base address of that block on this board, if the map has none or a different one
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub base: Option<u32>,
    #[command(flatten)]
    pub maps: Maps,
}

/// Parses a hexadecimal address.
fn address(written: &str) -> Result<u32, String> {
    let digits = written.strip_prefix("0x").unwrap_or(written);
    u32::from_str_radix(digits, 16)
        .map_err(|_| "expected a hexadecimal address such as 0x02188000".to_owned())
}
