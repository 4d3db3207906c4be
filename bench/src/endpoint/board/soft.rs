//! `sim://BOARD` for boards that the simulator builds from a board file: full duplex, up to 1000 Mbit/s.

use linerate_sim::peer::host::{self, Host};

use super::runner::{BoardTarget, Runner, tcp_of};
use crate::board;
use crate::endpoint::{TargetError, Trial};
use crate::machine::{Machine, MachineConfig, sim, soft};

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
    if soft::has_enet(&target.board.name) {
        return Ok(soft::switch_on(&target.board, &image.elf, host)?);
    }
    let mut config = MachineConfig::new(target.board.clone(), image, target.seed);
    config.record.pcapng = target.records_frames;
    Ok(sim::switch_on(&config, Box::new(host))?)
}
