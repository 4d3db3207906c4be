//! What can be written behind `linerate regs`.

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
        Numbers in dumps are hexadecimal. docs/regs.md tells what forms of dumps are read."
)]
pub struct Regs {
    #[command(subcommand)]
    pub command: RegsCommand,
}

#[derive(Debug, Subcommand)]
pub enum RegsCommand {
    /// Name the bits of registers' values, as devregs, ethtool, mii-tool and debuggers print them
    Decode(Decode),
    /// Name the bits that differ between two dumps
    Diff(Diff),
    /// Print the maps that there are, or the registers of one
    List(List),
    /// Read registers of a device that runs, and name their bits
    Show(Show),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    ethtool -d eth0 | linerate regs decode - --chip imx6\n  \
    echo 'ENET_RCR 0x05ee0264' | linerate regs decode -\n  \
    linerate regs decode memory.txt --svd STM32F407.svd\n  \
    linerate regs decode virtio.txt --chip virtio --base 0x10001000")]
pub struct Decode {
    /// The dump; - for stdin
    #[arg(value_name = "FILE")]
    pub dump: PathBuf,
    #[command(flatten)]
    pub place: Place,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    linerate regs diff before.txt after.txt\n\n\
    Of a register that a dump has several times, the last value counts.")]
pub struct Diff {
    /// The earlier dump; - for stdin
    pub before: PathBuf,
    /// The later one; - for stdin
    pub after: PathBuf,
    #[command(flatten)]
    pub place: Place,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate regs list                   the maps\n  \
    linerate regs list imx6              the registers of one\n  \
    linerate regs list lan91c111 bank2   a block with its fields\n  \
    linerate regs list --svd STM32F407.svd Ethernet_MAC")]
pub struct List {
    /// The map, without --svd or --map
    #[arg(value_name = "CHIP|NAME")]
    pub first: Option<String>,
    /// A block, or a register of any block: it is told with its fields
    #[arg(value_name = "NAME")]
    pub second: Option<String>,
    #[command(flatten)]
    pub maps: Maps,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate regs show qemu://qemu-sabrelite RCR ANAR ANLPAR\n  \
    linerate regs show qemu://qemu-mps2-an385 --then transfer\n  \
    linerate regs show gdb://localhost:3333 --chip imx6 --devregs > before.txt\n  \
    linerate regs show gdb://localhost:3333 --chip lan9118 --base 0x40200000 --indirect\n  \
    linerate regs show probe://STM32F407VG --svd STM32F407.svd Ethernet_MAC --then enter\n\n\
    The device stands still while it is read. Behind gdb:// there is any gdb server (QEMU's -s,\n\
    OpenOCD); probe:// starts probe-rs, which has to be installed.")]
pub struct Show {
    #[arg(help = "qemu://BOARD, gdb://HOST:PORT or probe://[CHIP]")]
    pub target: String,
    /// Blocks or registers [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// The board, which knows its chip and where that lies (linerate boards) [default: that of qemu://]
    #[arg(long)]
    pub board: Option<String>,
    #[command(flatten)]
    pub place: Place,
    /// Also what lies behind other registers (MDIO, banks, an index): those are written, and put back;
    /// qemu:// always does
    #[arg(long)]
    pub indirect: bool,
    /// Also what reading changes: FIFOs, counters that it clears
    #[arg(long)]
    pub side_effects: bool,
    /// Let the device run, look again, and print what has changed: `transfer` (TCP each way, qemu:// alone),
    /// a time in seconds, or `enter`
    #[arg(long, value_name = "WHAT", value_parser = then)]
    pub then: Option<Then>,
    /// As devregs prints it, for linerate regs diff
    #[arg(long, conflicts_with_all = ["json", "then"])]
    pub devregs: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
    /// How long the device may say nothing, seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub patience: u64,
    /// Folder with the firmware for qemu://, BOARD/PROGRAM-VARIANT.elf
    #[arg(long, value_name = "DIR", default_value = linerate_bench::firmware::DEFAULT_DIR)]
    pub elf_dir: PathBuf,
}

/// What happens between two looks at a device.
#[derive(Clone, Copy, Debug)]
pub enum Then {
    /// TCP, each way.
    Transfer,
    /// So long.
    Seconds(Duration),
    /// Until the user presses the key.
    Enter,
}

fn then(written: &str) -> Result<Then, String> {
    match (written, written.parse::<f64>()) {
        ("transfer", _) => Ok(Then::Transfer),
        ("enter", _) => Ok(Then::Enter),
        (_, Ok(seconds)) if (0.0..=3_600.0).contains(&seconds) => {
            Ok(Then::Seconds(Duration::from_secs_f64(seconds)))
        }
        _ => Err("`transfer`, `enter` or seconds up to 3600 are needed".to_owned()),
    }
}

/// Maps beside those that are built in.
#[derive(Debug, clap::Args)]
pub struct Maps {
    /// A map of another chip: an SVD file, as its maker publishes it
    #[arg(long, value_name = "FILE")]
    pub svd: Option<PathBuf>,
    /// A map of another chip, in the format of regs/data
    #[arg(long, value_name = "FILE", conflicts_with = "svd")]
    pub map: Option<PathBuf>,
}

/// Which registers a dump means.
#[derive(Debug, clap::Args)]
pub struct Place {
    /// The chip (linerate regs list) [default: that of --svd or --map, else that which knows most of the
    /// registers]
    #[arg(long)]
    pub chip: Option<String>,
    /// The block that offsets count from [default: the chip's first]
    #[arg(long)]
    pub block: Option<String>,
    /// The address of that block on this board, where the map has another or none
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub base: Option<u32>,
    #[command(flatten)]
    pub maps: Maps,
}

/// A hexadecimal address.
fn address(written: &str) -> Result<u32, String> {
    let digits = written.strip_prefix("0x").unwrap_or(written);
    u32::from_str_radix(digits, 16)
        .map_err(|_| "an address is hexadecimal, as 0x02188000".to_owned())
}
