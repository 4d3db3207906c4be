//! What can be written behind `linerate explain`.

use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  \
        linerate explain slow.pcapng\n  \
        linerate explain slow.pcapng --report slow.html --svg pictures\n  \
        tcpdump -i eth0 -s 128 -w - host 192.0.2.7 | linerate explain -\n  \
        linerate explain get.pcapng --with run.json\n  \
        linerate explain --with linerate-out/sweep/run.json\n  \
        linerate explain monday.pcap.gz tuesday.pcap.zst --json\n\n\
        Captures are taken for one, in the order in which they stand there. docs/explain.md tells what each\n\
        figure means."
)]
pub struct Explain {
    /// pcap or pcapng, compressed by gzip or zstd or not; - for stdin
    #[arg(value_name = "CAPTURE", required_unless_present = "with")]
    pub captures: Vec<PathBuf>,
    /// Results of the run that was captured (run.json): what was counted, too; alone, without a capture
    #[arg(long, value_name = "FILE")]
    pub with: Option<PathBuf>,
    /// Everything as JSON instead of the causes and a table
    #[arg(long)]
    pub json: bool,
    /// Each packet that is remarkable with its flags, as tshark calls them, instead of the causes
    #[arg(long, conflicts_with = "json", requires = "captures")]
    pub flags: bool,
    /// Write a page with the causes, pictures of the connections that cost most, and the table
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "flags",
        requires = "captures"
    )]
    pub report: Option<PathBuf>,
    /// Write these pictures into a folder, a file for each connection
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with = "flags",
        requires = "captures"
    )]
    pub svg: Option<PathBuf>,
    /// Of so many connections
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub pictures: usize,
}
