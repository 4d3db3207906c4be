//! Arguments of `linerate profile`.

use std::path::PathBuf;

use linerate_results::record::Workload;

use super::{Record, quantity};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate profile qemu://qemu-sabrelite                    TCP to the device\n  \
    linerate profile qemu://qemu-sabrelite -R                 TCP from the device\n  \
    linerate profile qemu://qemu-riscv32-virt -R --program frames    driver and MAC only\n  \
    linerate profile qemu://qemu-sabrelite --program udp --null      stack and services only\n  \
    linerate profile qemu://qemu-sabrelite --variant legacy -n 20M --json profile.json\n  \
    linerate profile sim://rv32-dwmac                         a simulated soft SoC, in virtual time\n\n\
    QEMU or the simulator counts every instruction by its address. The debug information of the\n\
    firmware gives its function, including inlined ones, and the function's file gives the layer.\n\
    `library` counts language library code called by the layer (divisions, comparisons), `copies`\n\
    code that moves or clears memory for it; reads and writes are device register accesses. See\n\
    docs/drivers.md.")]
pub struct Profile {
    #[arg(
        help = "Board emulated by QEMU, or with a simulated soft SoC: qemu://BOARD, sim://BOARD (see `linerate boards`)"
    )]
    pub target: String,
    /// Profile sending by the device instead of receiving
    #[arg(long, short = 'R')]
    pub reverse: bool,
    /// Traffic: a TCP stream (tcp), full-size UDP datagrams (udp), or raw frames that bypass the stack
    /// (frames)
    #[arg(long, value_name = "NAME", default_value = "tcp", value_parser = program)]
    pub program: Workload,
    /// Replace the network interface by a null device, so that only stack and services are counted; with
    /// `--program udp`, on boards with a program `null`
    #[arg(long)]
    pub null: bool,
    /// Payload octets (decimal suffixes k, M, G)
    #[arg(long, short = 'n', value_name = "OCTETS", value_parser = quantity, default_value = "8M")]
    pub bytes: u64,
    /// Firmware variant [default: the board's]
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Number of functions to list, most expensive first
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
    #[command(flatten)]
    pub record: Record,
    /// Folder with the firmware images, BOARD/bench_agent-VARIANT.elf, and the QEMU plugin
    #[arg(long, value_name = "DIR", default_value = linerate_bench::firmware::DEFAULT_DIR)]
    pub elf_dir: PathBuf,
}

/// Parses `tcp`, `udp` or `frames`.
fn program(written: &str) -> Result<Workload, String> {
    let found = Workload::ALL.into_iter().find(|it| it.name() == written);
    found.ok_or_else(|| {
        let names = Workload::ALL.map(Workload::name);
        format!("expected one of {}", names.join(", "))
    })
}
