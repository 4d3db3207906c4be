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
    use linerate_bench::endpoint::flood::flood;
    use linerate_bench::recorder::Recorder;
    use linerate_bench::{firmware, provenance};
    use linerate_results::format;
    use linerate_results::record::{Describe as _, Duplex, Flood, Measurement, Provenance};

    use crate::args;
    use crate::failure::Failure;
    use crate::output;

    const HEAD: &str = "| board | variant | frames sent | rejected by the link | lost in QEMU's model | \
        lost by the ledger | delivered | rounds/s, idle | flooded | longest time between rounds | answers after |\n\
        |---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n";

    pub fn run(args: &args::Flood) -> Result<(), Failure> {
        let boards = chosen(&args.boards)?;
        let provenance = Provenance {
            target: targets(&boards),
            duplex: Duplex::Unknown,
            ..provenance::current()
        };
        let title = "Flood of emulated boards".to_owned();
        let note = &mut |note: &str| message!("{note}");
        let recorder = Recorder::begin(&args.out, "flood", title, provenance, note);
        let mut recorder = recorder.map_err(anyhow::Error::new)?;
        output::print(HEAD)?;
        let measured = boards
            .iter()
            .try_for_each(|board| measure(args, board, &mut recorder));
        if let Err(Failure::Target(error) | Failure::Input(error)) = &measured {
            recorder.run.failures.push(error.to_string());
        }
        recorder.finish(None).map_err(anyhow::Error::new)?;
        message!("report: {}", args.out.join("report.html").display());
        measured
    }

    fn targets(boards: &[Board]) -> String {
        let urls = boards.iter().map(|board| format!("qemu://{}", board.name));
        urls.collect::<Vec<_>>().join(" ")
    }

    fn measure(args: &args::Flood, board: &Board, recorder: &mut Recorder) -> Result<(), Failure> {
        let every = &board.firmware.variants;
        let variants = args.variant.as_ref();
        for variant in variants.map_or(&every[..], std::slice::from_ref) {
            let failed =
                |what: &str| Failure::Target(anyhow!("{} ({variant}): {what}", board.name));
            let image = firmware::find(&args.elf_dir, &board.name, "bench_agent", variant)
                .map_err(anyhow::Error::new)?;
            let name = format!("{}/{}", board.name, image.name);
            let hashes = &mut recorder.run.provenance.elf_sha256;
            hashes.insert(name, firmware::sha256(&image.elf));
            let span = Duration::from_secs(args.seconds);
            let flooded = flood(board, variant, &image.elf, span).map_err(|what| failed(&what))?;
            output::print(&row(variant, &flooded))?;
            let wrong = flooded.failures();
            let recorded = recorder.record(Measurement::Flood(flooded));
            recorded.map_err(anyhow::Error::new)?;
            if let Some(wrong) = wrong.first() {
                return Err(failed(wrong));
            }
        }
        Ok(())
    }

    /// Boards with these names.
    fn chosen(names: &[String]) -> Result<Vec<Board>, Failure> {
        if names.is_empty() {
            let boards = board::all().into_iter();
            return Ok(boards.filter(can_be_flooded).collect());
        }
        let find = |name: &String| match board::find(name) {
            Ok(board) if can_be_flooded(&board) => Ok(board),
            Ok(board) => Err(anyhow!("{} is no board with firmware in QEMU", board.name).into()),
            Err(error) => Err(anyhow::Error::new(error).into()),
        };
        names.iter().map(find).collect()
    }

    const fn can_be_flooded(board: &Board) -> bool {
        board.qemu.is_some() && board.has_firmware()
    }

    fn row(variant: &str, it: &Flood) -> String {
        let count = format::count;
        let (frames, longest_us) = it.longest();
        let metrics = &it.metrics;
        format!(
            "| {} | {variant} | {} | {} | {} | {} | {} | {} | {} | {} frames, {} | {} |\n",
            it.params.board,
            count(metrics.sent_frames),
            count(metrics.rejected_frames),
            // More received than sent is reported by the check.
            count(it.lost_in_model().max(0).unsigned_abs()),
            it.losses(),
            count(it.ledger.delivered_frames),
            count(metrics.idle.per_s()),
            metrics
                .during
                .map_or("no answer".to_owned(), |during| count(during.per_s())),
            count(frames),
            format::time(longest_us * 1_000),
            format::time(metrics.answered_after_ns),
        )
    }
}
