//! `sim://BOARD`: a simulated board in virtual time.

use std::sync::Arc;

use linerate_sim::peer::host::{self, Host};

use super::runner::{self, BoardTarget, Runner, tcp_of};
use crate::board::Board;
use crate::endpoint::{Options, TargetError, Trial, Url};
use crate::firmware::Image;
use crate::machine::{self, Machine, MachineConfig};
use crate::profile::counts::SimulatedCounts;

/// 10BASE-T.
const LINE_BITS_PER_S: u64 = 10_000_000;

pub(super) const SIMULATOR: Runner = Runner {
    how: "simulated",
    is_simulated: true,
    // The line of a soft SoC is not; that of the bit-banged MAC is, unless a scenario negotiates.
    is_half_duplex: |board| board.soft_soc.is_none(),
    line_bits_per_s: |board| {
        let soft_soc = board.soft_soc.as_ref();
        Some(soft_soc.map_or(LINE_BITS_PER_S, |it| it.line_bits_per_s))
    },
    runs: Board::is_simulated,
    switch_on,
    identify: machine::sim::identity_of,
};

/// Opens the board that `url` names.
pub(in crate::endpoint) fn open(
    url: &Url,
    options: &Options,
) -> Result<Box<dyn crate::endpoint::Target>, TargetError> {
    runner::open(url, options, SIMULATOR)
}

fn switch_on(target: &BoardTarget, trial: &Trial) -> Result<Box<dyn Machine>, TargetError> {
    switch_on_counted(target, target.image()?, trial, None)
}

/// Switches on a board; each of its instructions is counted in `counts`.
pub(super) fn switch_on_counted(
    target: &BoardTarget,
    image: Image,
    trial: &Trial,
    counts: Option<Arc<SimulatedCounts>>,
) -> Result<Box<dyn Machine>, TargetError> {
    let mut config = MachineConfig::new(target.board.clone(), image, target.seed);
    config.counts = counts;
    config.record.pcapng = target.records_frames;
    let addresses = machine::sim::host_addresses(&target.board);
    let host = Host::new(host::Config {
        seed: config.seed ^ machine::sim::PEER_SEED,
        http_server: None,
        tcp: tcp_of(trial),
        ..addresses
    });
    Ok(machine::sim::switch_on(&config, Box::new(host))?)
}
