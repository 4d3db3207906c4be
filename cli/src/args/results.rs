//! Arguments of the commands that read results: `report`, `compare`, `fidelity`.

use std::path::PathBuf;

use linerate_host::quantity;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate report results/run.json\n  \
    linerate report results --out partial.html                 also of a killed run\n  \
    linerate report results/run.json --markdown                summary on stdout")]
pub struct Report {
    /// Folder of a run, run.json, or trials.ndjson of an incomplete run
    pub results: PathBuf,
    /// Output file [default: report.html next to the results]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print the summary as Markdown instead of writing the page
    #[arg(long, conflicts_with = "out")]
    pub markdown: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate compare last/run.json run.json\n  \
    linerate compare last/run.json run.json --threshold 2% --metric rtt_ns.p99=20%\n\n\
    Results are matched by measurement and conditions. A goodput is worse if it decreases, a loss or\n\
    latency if it increases; descriptive figures are not judged. A missing result counts as worse.")]
pub struct Compare {
    /// Earlier results: folder, run.json or trials.ndjson
    pub before: PathBuf,
    /// Later results
    pub after: PathBuf,
    #[command(flatten)]
    pub limits: Thresholds,
    /// Print all figures as JSON instead of a table of the differences
    #[arg(long)]
    pub json: bool,
}

/// Allowed degradation of figures.
#[derive(Debug, clap::Args)]
pub struct Thresholds {
    /// Allowed degradation of a figure: `5%` or `0.05`
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = share)]
    pub threshold: f64,
    /// Allowed degradation of one metric, by its name or suffix: `rtt_ns.p99=20%`; may be repeated
    #[arg(long = "metric", value_name = "NAME=SHARE", value_parser = metric_share)]
    pub metrics: Vec<(String, f64)>,
}

/// Parses `5%` or `0.05`.
fn share(written: &str) -> Result<f64, String> {
    quantity::parse_fraction(written)
        .ok_or_else(|| "expected a fraction such as 5% or 0.05".to_owned())
}

/// Parses `NAME=5%`.
fn metric_share(written: &str) -> Result<(String, f64), String> {
    let (name, limit) = written
        .split_once('=')
        .ok_or("expected NAME=SHARE such as rtt_ns.p99=20%")?;
    Ok((name.to_owned(), share(limit)?))
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  linerate fidelity results/run.json > docs/fidelity.md")]
pub struct Fidelity {
    /// Results: run.json
    pub results: PathBuf,
}
