//! `sim://BOARD` for boards that the simulator builds from a board file: full duplex, up to 1000 Mbit/s.

use linerate_sim::peer::host::{self, Host};

use super::runner::{BoardTarget, Runner, tcp_of};
use crate::board;
use crate::endpoint::{TargetError, Trial};
use crate::machine::{Machine, soft};

/// 1000BASE-T.
const LINE_BITS_PER_S: u64 = 1_000_000_000;

pub(super) const SIMULATOR: Runner = Runner {
    how: "simulated",
    is_simulated: true,
    is_half_duplex: false,
    line_bits_per_s: Some(LINE_BITS_PER_S),
    runs: |board| board.soft_soc.is_some(),
    switch_on,
    identify: |board| soft::identity(&board.name),
};

/// True if the board called `name` is one of these.
pub(super) fn runs(name: &str) -> bool {
    board::find(name).is_ok_and(|board| board.soft_soc.is_some())
}

fn switch_on(target: &BoardTarget, trial: &Trial) -> Result<Box<dyn Machine>, TargetError> {
    let image = target.image()?;
    let [a, b, c, _] = target.board.link.ipv4.octets();
    let host = Host::new(host::Config {
        seed: target.seed,
        http_server: None,
        tcp: tcp_of(trial),
        ..host::Config::default().at([a, b, c, 1].into(), 24)
    });
    Ok(soft::switch_on(&target.board, &image.elf, host)?)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::board;
    use crate::conformance::{CASES, Outcome, run_case};
    use crate::endpoint::{NoMonitor, Options, open};

    /// Frames of the case that is long.
    const FRAMES: u64 = 500;

    /// On a model with FIFOs, pause frames and address filters, every case.
    #[test]
    fn every_driver_passes_on_models_with_time() {
        let Some(folder) = std::env::var_os("LINERATE_FIRMWARE") else {
            println!("skipped: `cargo xtask test` builds the firmware and names its folder");
            return;
        };
        let options = Options {
            elf_dir: Path::new(&folder).parent().expect("a folder").into(),
            ..Options::default()
        };
        for board in board::all().iter().filter(|it| it.soft_soc.is_some()) {
            let target = open(&format!("sim://{}", board.name), &options).expect("a board");
            let test_board = target.test_board().expect("a board");
            for case in CASES {
                let outcome = run_case(&test_board, case, FRAMES, &mut NoMonitor);
                let outcome = outcome.unwrap_or_else(|error| panic!("{}: {error}", board.name));
                assert!(
                    matches!(outcome, Outcome::Passed(_)),
                    "{} {}: {outcome:?}",
                    board.name,
                    case.name
                );
            }
        }
    }
}
