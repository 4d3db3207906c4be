//! Arguments of `linerate explain`.

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
        Several captures are read as one, in the given order. docs/explain.md describes each figure."
)]
pub struct Explain {
    /// Capture files, pcap or pcapng, optionally compressed by gzip or zstd; - for stdin
    #[arg(value_name = "CAPTURE", required_unless_present = "with")]
    pub captures: Vec<PathBuf>,
    /// Results of the captured run (run.json) to include its counters; also works without a capture
    #[arg(long, value_name = "FILE")]
    pub with: Option<PathBuf>,
    /// Print JSON instead of the causes and a table
    #[arg(long)]
    pub json: bool,
    /// Print the flags of each notable packet, named as in tshark, instead of the causes
    #[arg(long, conflicts_with = "json", requires = "captures")]
    pub flags: bool,
    /// Write an HTML page with the causes, charts of the most affected connections, and the table
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "flags",
        requires = "captures"
    )]
    pub report: Option<PathBuf>,
    /// Write these charts as SVG files to a folder, one per connection
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with = "flags",
        requires = "captures"
    )]
    pub svg: Option<PathBuf>,
    /// Number of connections with charts
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub pictures: usize,
}
