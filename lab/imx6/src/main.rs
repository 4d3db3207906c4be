//! Simulates the published curves of an i.MX 6 on RV32 with ENET: `cargo xtask imx6`.
#![forbid(unsafe_code)]

mod curves;
mod point;
mod score;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Parser;
use linerate_sim::elf::Elf;

use curves::{Curve, Curves, Role};
use score::{Compared, compare, fit, rms};

/// Simulates the published curves of an i.MX 6, scores them, and writes scores.json.
#[derive(Parser)]
struct Cli {
    /// The firmware `udp_sink` of boards/rv32-enet
    elf: PathBuf,
    /// Folder of the published data
    #[arg(long, env = "LINERATE_DATA")]
    data: PathBuf,
    /// Folder for the results
    #[arg(long, default_value = "target/imx6")]
    out: PathBuf,
    /// Simulate two seconds a point, as published
    #[arg(long)]
    long: bool,
    /// Fit the parameters on the fitted curve, and print them
    #[arg(long)]
    fit: bool,
    /// Only the curves with this role: fitted
    #[arg(long)]
    only_fitted: bool,
    /// Use the priors instead of the fitted values
    #[arg(long)]
    priors: bool,
    /// Other values, such as receive_fifo_bytes=2048
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Further words of the boot line, for every curve
    #[arg(long, default_value = "")]
    boot: String,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    let bytes = std::fs::read(&cli.elf).with_context(|| cli.elf.display().to_string())?;
    let elf = Elf::parse(&bytes)?;
    let curves = Curves::read(&cli.data, cli.long, &cli.boot)?;
    if cli.fit {
        let fitted = fit(&curves, &elf, |values, error| {
            println!("{error:.4} {values:?}")
        })?;
        for (name, value) in fitted {
            println!("{name} = {value}");
        }
        return Ok(());
    }
    let mut values = curves.values(!cli.priors);
    for word in &cli.set {
        let (name, value) = word.split_once('=').context("--set NAME=VALUE")?;
        values.insert(name.to_owned(), value.parse()?);
    }
    let chosen: Vec<&Curve> = curves
        .all()
        .iter()
        .filter(|it| !cli.only_fitted || it.role == Role::Fitted)
        .collect();
    let compared = compare(&curves, &chosen, &values, &elf)?;
    for curve in &compared {
        print(curve);
    }
    for role in ["fitted", "held-out"] {
        let of: Vec<&Compared> = compared.iter().filter(|it| it.role == role).collect();
        if !of.is_empty() {
            println!("RMS log error, {role}: {:.3}", rms(&of, curves.floor()));
        }
    }
    Ok(())
}

fn print(curve: &Compared) {
    println!(
        "{} ({}; rms log error {:.3})",
        curve.name,
        curve.role,
        curve.rms_log_error.unwrap_or(f64::NAN)
    );
    for it in &curve.points {
        let p = &it.point;
        println!(
            "  {:4} offered {:5.0} published {:6.1} simulated {:6.1} lost {:6} overruns {:6} pauses {:6} irq {:6} turns {:6} jitter {:.3} drops {} {} bad {}",
            it.target_mbit_per_s,
            p.offered_mbit_per_s,
            it.published_mbit_per_s.unwrap_or(f64::NAN),
            it.predicted_mbit_per_s,
            p.lost,
            p.overruns,
            p.pause_frames,
            p.interrupts,
            p.turns,
            p.jitter_ms,
            p.switch_drops,
            p.backlog_drops,
            p.bad_frames,
        );
    }
}
