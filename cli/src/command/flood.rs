//! `linerate flood`.

use crate::args;
use crate::failure::Failure;

/// Unsupported on this system.
#[cfg(not(target_os = "linux"))]
pub fn run(_: &args::Flood) -> Result<(), Failure> {
    Err(anyhow::anyhow!("boards in QEMU have a network on Linux only").into())
}

#[cfg(target_os = "linux")]
pub fn run(args: &args::Flood) -> Result<(), Failure> {
    linux::run(args)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::time::Duration;

    use anyhow::anyhow;
    use linerate_bench::board::{self, Board};
    use linerate_bench::endpoint::flood::{Flood, flood};
    use linerate_bench::firmware;
    use linerate_results::format;

    use crate::args;
    use crate::failure::Failure;
    use crate::output;

    const HEAD: &str = "| board | variant | frames sent | rejected by the link | lost in QEMU's model | \
        lost by the ledger | delivered | rounds/s, idle | flooded | longest time between rounds | answers after |\n\
        |---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n";

    pub fn run(args: &args::Flood) -> Result<(), Failure> {
        let boards = chosen(&args.boards)?;
        output::print(HEAD)?;
        for board in &boards {
            let every = &board.firmware.variants;
            for variant in args
                .variant
                .as_ref()
                .map_or(&every[..], std::slice::from_ref)
            {
                let image = firmware::find(&args.elf_dir, &board.name, "bench_agent", variant)
                    .map_err(anyhow::Error::new)?;
                let flooded = flood(board, &image.elf, Duration::from_secs(args.seconds))
                    .map_err(|what| failed(board, variant, &what))?;
                output::print(&row(board, variant, &flooded))?;
                flooded
                    .check(board)
                    .map_err(|what| failed(board, variant, &what))?;
            }
        }
        Ok(())
    }

    /// Boards with these names.
    fn chosen(names: &[String]) -> Result<Vec<Board>, Failure> {
        if names.is_empty() {
            let boards = board::all().into_iter();
            return Ok(boards.filter(|board| board.qemu.is_some()).collect());
        }
        let find = |name: &String| match board::find(name) {
            Ok(board) if board.qemu.is_some() => Ok(board),
            Ok(board) => Err(anyhow!("{} is not emulated by QEMU", board.name).into()),
            Err(error) => Err(anyhow::Error::new(error).into()),
        };
        names.iter().map(find).collect()
    }

    fn failed(board: &Board, variant: &str, what: &str) -> Failure {
        Failure::Target(anyhow!("{} ({variant}): {what}", board.name))
    }

    fn row(board: &Board, variant: &str, it: &Flood) -> String {
        let count = format::count;
        let dropped: Vec<String> = it
            .dropped
            .iter()
            .map(|(cause, frames)| format!("{} {}", count(*frames), cause.name()))
            .collect();
        let lost = if dropped.is_empty() {
            "0".to_owned()
        } else {
            dropped.join(", ")
        };
        let (frames, span) = it.longest();
        format!(
            "| {} | {variant} | {} | {} | {} | {lost} | {} | {} | {} | {} frames, {} | {} |\n",
            board.name,
            count(it.sent),
            count(it.refused),
            // More received than sent is reported by the check.
            count(it.lost_in_model().max(0).unsigned_abs()),
            count(it.delivered),
            count(it.idle.per_s()),
            it.during
                .map_or("no answer".to_owned(), |during| count(during.per_s())),
            count(frames),
            format::time(span.as_nanos() as u64),
            format::time(it.answered_after.as_nanos() as u64),
        )
    }
}
