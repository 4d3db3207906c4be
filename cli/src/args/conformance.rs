//! Arguments of `linerate conformance`.

use super::target::Link;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate conformance qemu://qemu-sabrelite                 all cases\n  \
    linerate conformance qemu://qemu-sabrelite --case over     cases with `over` in their name\n  \
    linerate conformance qemu://qemu-sabrelite --case random --frames 1M\n\n\
    Each case restarts the board. A case that the board's model cannot pass is run and reported as\n\
    skipped, with the reason from board.toml. Exit code 1 if a case failed. See docs/drivers.md.")]
pub struct Conformance {
    #[command(flatten)]
    pub link: Link,
    /// Run only cases with this word in their name; may be repeated
    #[arg(long = "case", value_name = "WORD")]
    pub cases: Vec<String>,
    /// Number of frames of the case `random` (suffixes k, M)
    #[arg(long, value_name = "N", default_value = "3000", value_parser = super::quantity)]
    pub frames: u64,
}
