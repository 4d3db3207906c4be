//! What can be written behind the commands that read results: `report`, `compare`, `fidelity`.

use std::path::PathBuf;

use linerate_host::quantity;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate report results/run.json\n  \
    linerate report results/trials.ndjson --out partial.html   what a killed run measured\n  \
    linerate report results/run.json --markdown                the summary on stdout")]
pub struct Report {
    /// run.json, or trials.ndjson of a run that did not end
    pub results: PathBuf,
    /// The page [default: report.html beside the results]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print the summary as Markdown instead of writing a page
    #[arg(long, conflicts_with = "out")]
    pub markdown: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate compare last/run.json run.json\n  \
    linerate compare last/run.json run.json --threshold 2% --metric rtt_ns.p99=20%\n\n\
    Results belong together when they measure the same under the same conditions. A goodput is worse\n\
    when it falls, a loss or a latency when it grows; what only describes is not judged. A result\n\
    that is missing counts as worse.")]
pub struct Compare {
    /// The earlier results: run.json, or trials.ndjson
    pub before: PathBuf,
    /// The later ones
    pub after: PathBuf,
    #[command(flatten)]
    pub limits: Thresholds,
    /// Every figure as JSON instead of a table of those that differ
    #[arg(long)]
    pub json: bool,
}

/// How much worse a figure may get.
#[derive(Debug, clap::Args)]
pub struct Thresholds {
    /// How much worse a figure may get: `5%` or `0.05`
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = share)]
    pub threshold: f64,
    /// The same of one metric, by its name or the end of it: `rtt_ns.p99=20%`; several times
    #[arg(long = "metric", value_name = "NAME=SHARE", value_parser = metric_share)]
    pub metrics: Vec<(String, f64)>,
}

/// `5%` or `0.05`.
fn share(written: &str) -> Result<f64, String> {
    quantity::parse_fraction(written).ok_or_else(|| "a share is needed, as 5% or 0.05".to_owned())
}

/// `NAME=5%`.
fn metric_share(written: &str) -> Result<(String, f64), String> {
    let (name, limit) = written
        .split_once('=')
        .ok_or("a name, `=` and a share are needed, as rtt_ns.p99=20%")?;
    Ok((name.to_owned(), share(limit)?))
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  linerate fidelity results/run.json > docs/fidelity.md")]
pub struct Fidelity {
    /// run.json
    pub results: PathBuf,
}
