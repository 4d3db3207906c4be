//! Arguments of the commands whose results are recorded on request only.

use std::path::PathBuf;

/// Where the results are recorded.
#[derive(Debug, clap::Args)]
pub struct Record {
    /// Also write the results as JSON to this file; `-` for stdout, instead of the text
    #[arg(long, short = 'J', value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// Also write the results, their report and exports to this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
