//! What can be written behind `linerate conformance`.

use super::target::Link;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate conformance qemu://qemu-sabrelite                 every case\n  \
    linerate conformance qemu://qemu-sabrelite --case over     those with this word in their name\n  \
    linerate conformance qemu://qemu-sabrelite --case random --frames 1M\n\n\
    Each case switches the board on anew. A case that the board's model cannot pass is tried, and\n\
    skipped with the reason in board.toml. Exit code 1 when a case failed. docs/drivers.md has more.")]
pub struct Conformance {
    #[command(flatten)]
    pub link: Link,
    /// Only cases with this word in their name; more than one can be given
    #[arg(long = "case", value_name = "WORD")]
    pub cases: Vec<String>,
    /// Frames of the case `random` (suffixes k, M)
    #[arg(long, value_name = "N", default_value = "3000", value_parser = super::quantity)]
    pub frames: u64,
}
