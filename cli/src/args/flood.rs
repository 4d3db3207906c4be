//! Arguments of `linerate flood`.

use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate flood\n  \
    linerate flood qemu-sabrelite --variant interrupt_per_frame --seconds 5\n\n\
    Each board is slowed down to less than 1 MIPS. No privileges are required. Exit code 3 if a frame\n\
    is unaccounted for or a board did not recover.")]
pub struct Flood {
    /// Boards (see `linerate boards`) [default: all boards emulated by QEMU]
    #[arg(value_name = "BOARD")]
    pub boards: Vec<String>,
    /// Firmware variant [default: all]
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Duration of the flood for each board, in seconds
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub seconds: u64,
    /// Folder for the results and their report
    #[arg(long, value_name = "DIR", default_value = "linerate-out/flood")]
    pub out: PathBuf,
    /// Folder with the firmware images, BOARD/bench_agent-VARIANT.elf
    #[arg(long, value_name = "DIR", default_value = linerate_bench::firmware::DEFAULT_DIR)]
    pub elf_dir: PathBuf,
}
