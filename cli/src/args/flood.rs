//! What can be written behind `linerate flood`.

use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate flood\n  \
    linerate flood qemu-sabrelite --variant interrupt_per_frame --seconds 5\n\n\
    Each board is slowed down to less than 1 MIPS. No rights are needed. Exit code 3: a frame is not\n\
    accounted for, or the board did not recover.")]
pub struct Flood {
    /// The boards (linerate boards) [default: all that QEMU emulates]
    #[arg(value_name = "BOARD")]
    pub boards: Vec<String>,
    /// The variant of their firmware [default: each]
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// How long each is flooded
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub seconds: u64,
    /// Folder with the firmware, BOARD/bench_agent-VARIANT.elf
    #[arg(long, value_name = "DIR", default_value = linerate_bench::firmware::DEFAULT_DIR)]
    pub elf_dir: PathBuf,
}
