//! What can be written behind `linerate profile`.

use std::path::PathBuf;

use linerate_bench::profile::Workload;

use super::quantity;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate profile qemu://qemu-sabrelite                    TCP to the device\n  \
    linerate profile qemu://qemu-sabrelite -R                 TCP from the device\n  \
    linerate profile qemu://qemu-riscv32-virt -R --program frames    driver and MAC alone\n  \
    linerate profile qemu://qemu-sabrelite --program udp --null      stack and services alone\n  \
    linerate profile qemu://qemu-sabrelite --variant legacy -n 20M --json profile.json\n\n\
    QEMU counts every instruction by its address. The debug data of the firmware say which function\n\
    it is of, inlined ones included; the function's file says which layer. `library` is what the\n\
    language's library was executed for it (divisions, comparisons), `copies` what moved or cleared\n\
    octets for it; reads and writes are those of devices' registers. docs/drivers.md has more.")]
pub struct Profile {
    #[arg(help = "A board that QEMU emulates: qemu://BOARD (linerate boards)")]
    pub target: String,
    /// What the device sends, instead of what it receives
    #[arg(long, short = 'R')]
    pub reverse: bool,
    /// What goes on: a TCP stream, UDP datagrams that fill frames, raw frames past the stack
    #[arg(long, value_name = "NAME", default_value = "tcp", value_parser = program)]
    pub program: Workload,
    /// Without the network: datagrams come from nowhere and go there, so that what is left is what the stack
    /// and the services take; with `--program udp`, on boards that have a program `null`
    #[arg(long)]
    pub null: bool,
    /// Octets of payload (suffixes k, M, G: decimal)
    #[arg(long, short = 'n', value_name = "OCTETS", value_parser = quantity, default_value = "8M")]
    pub bytes: u64,
    /// The firmware's variant [default: the board's]
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// How many functions are listed, the dearest ones
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
    /// Write all of it to this file too, every function; `-` for stdout
    #[arg(long, short = 'J', value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// Folder with the firmware, BOARD/bench_agent-VARIANT.elf, and the plugin for QEMU
    #[arg(long, value_name = "DIR", default_value = linerate_bench::firmware::DEFAULT_DIR)]
    pub elf_dir: PathBuf,
}

/// `tcp`, `udp` or `frames`.
fn program(written: &str) -> Result<Workload, String> {
    let found = Workload::ALL.into_iter().find(|it| it.name() == written);
    found.ok_or_else(|| {
        let names = Workload::ALL.map(Workload::name);
        format!("there are {}", names.join(", "))
    })
}
