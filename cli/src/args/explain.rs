//! What can be written behind `linerate explain`.

use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  \
        linerate explain slow.pcapng\n  \
        tcpdump -i eth0 -s 128 -w - host 192.0.2.7 | linerate explain -\n  \
        linerate explain monday.pcap.gz tuesday.pcap.zst --json\n\n\
        Captures are taken for one, in the order in which they stand there. docs/explain.md tells what each\n\
        figure means."
)]
pub struct Explain {
    /// pcap or pcapng, compressed by gzip or zstd or not; - for stdin
    #[arg(value_name = "CAPTURE", required = true)]
    pub captures: Vec<PathBuf>,
    /// Everything as JSON instead of the causes and a table
    #[arg(long)]
    pub json: bool,
    /// Each packet that is remarkable with its flags, as tshark calls them, instead of the causes
    #[arg(long, conflicts_with = "json")]
    pub flags: bool,
}
