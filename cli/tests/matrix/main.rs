//! Matrices from the command line: `linerate merge`, `results.parquet` as pyarrow reads it, and the job array of
//! `linerate run --slurm`. `cargo xtask test slurm` runs the same array on a real Slurm.

mod merge;
mod parquet;
mod parts;
#[cfg(unix)]
mod slurm;
