//! `sim://BOARD`: a simulated board in virtual time.

use linerate_sim::chip::esp32c6;
use linerate_sim::peer::host::{self, Host};

use super::runner::{self, BoardTarget, Runner, tcp_of};
use super::soft;
use crate::endpoint::{Options, TargetError, Trial, Url};
use crate::machine::{self, Machine, MachineConfig};

/// 10BASE-T.
const LINE_BITS_PER_S: u64 = 10_000_000;

const SIMULATOR: Runner = Runner {
    how: "simulated",
    is_simulated: true,
    // Unless a scenario negotiates.
    is_half_duplex: true,
    line_bits_per_s: Some(LINE_BITS_PER_S),
    runs: |board| board.simulated.is_some(),
    switch_on,
    identify: |board| machine::sim::identity(&board.name, &esp32c6::timing_table()),
};

/// Opens the board that `url` names.
pub(in crate::endpoint) fn open(
    url: &Url,
    options: &Options,
) -> Result<Box<dyn crate::endpoint::Target>, TargetError> {
    if soft::runs(&url.host) {
        return runner::open(url, options, soft::SIMULATOR);
    }
    runner::open(url, options, SIMULATOR)
}

fn switch_on(target: &BoardTarget, trial: &Trial) -> Result<Box<dyn Machine>, TargetError> {
    let image = target.image()?;
    let mut config = MachineConfig::new(target.board.clone(), image, target.seed);
    config.record.pcapng = target.records_frames;
    let host = Host::new(host::Config {
        seed: config.seed ^ machine::sim::PEER_SEED,
        http_server: None,
        tcp: tcp_of(trial),
        ..host::Config::default()
    });
    Ok(machine::sim::switch_on(&config, Box::new(host))?)
}
