//! A board with an ENET behind a switch, to which a host sends datagrams: the machine of `udp_sweep`.

use std::collections::BTreeMap;
use std::sync::Arc;

use linerate_regs_decode::MAPS;
use linerate_results::record::Duplex;
use linerate_sim::lan::{DatagramSource, EnetBoard, SourceConfig, Stop, SwitchConfig, SwitchPort};
use linerate_sim::time::{Instant, Span};

use super::fault::unusable;
use super::{image, soft};
use crate::board::Board;
use crate::machine::{
    DatagramLoad, Event, Identity, Machine, MachineConfig, MachineError, RunArtifacts,
};

/// Counters of the MAC: their registers, and their names in results.
const COUNTERS: [(&str, &str); 2] = [
    ("IEEE_R_MACERR", "overruns"),
    ("IEEE_T_FDXFC", "pause_frames"),
];
/// Symbol of the firmware's counts.
const COUNTS: &str = "UDP_SINK";
/// The words of `COUNTS` (`boards/rv32-enet/src/udp_sink/datagrams.rs`) that are counters, by name.
const WORDS: [(usize, &str); 8] = [
    (0, "ready"),
    (1, "received"),
    (4, "jitter_ns"),
    (5, "interrupts"),
    (6, "turns"),
    (7, "backlog_drops"),
    (9, "sleeps"),
    (10, "socket_drops"),
];
const DEVICE_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];
const HOST: ([u8; 6], [u8; 4], u16) = ([2, 0, 0, 0, 0, 1], [10, 0, 0, 1], 40_000);
/// Port of iperf.
const PORT: u16 = 5001;

/// Switches on the board of `config`, to which a host sends `load`.
///
/// # Errors
/// [`MachineError`] if the firmware or the board cannot be used.
pub(super) fn switch_on(
    config: &MachineConfig,
    load: &DatagramLoad,
) -> Result<Box<dyn Machine>, MachineError> {
    if config.timing.is_some() {
        let what = format!(
            "board {} cannot have a timing table: edit system.toml",
            config.board.name
        );
        return Err(MachineError::Board(what));
    }
    let description = soft::describe(&config.board, config.system.as_deref())?;
    let elf = image(config)?;
    let source = DatagramSource::new(
        SourceConfig {
            bits_per_s: load.bits_per_s,
            payload: load.payload_bytes,
            burst_millis: load.burst_millis,
            seed: config.seed,
            ends: [(DEVICE_MAC, config.board.link.ipv4.octets(), PORT), HOST],
        },
        Instant::ZERO + Span::from_ms(load.from_ms),
    );
    let switch = SwitchConfig {
        queue_bytes: load.queue_bytes,
        ..SwitchConfig::default()
    };
    let port = SwitchPort::new(switch, source);
    let board = EnetBoard::new(&description.config, &elf, port)
        .map_err(|error| MachineError::Board(error.to_string()))?;
    let counts_at = elf
        .symbol(COUNTS)
        .ok_or_else(|| unusable(format!("it has no symbol {COUNTS}")))?
        .addr;
    let registers = COUNTERS.map(|(register, name)| (offset(&config.board, register), name));
    Ok(Box::new(Enet {
        registers: registers
            .into_iter()
            .filter_map(|(offset, name)| Some((offset?, name)))
            .collect(),
        about: config.board.clone(),
        system: config.system.clone(),
        board,
        counts_at,
        wraps: BTreeMap::new(),
        counters: BTreeMap::new(),
        is_up: false,
    }))
}

/// Offset of a register of the board's MAC in its block.
fn offset(board: &Board, name: &str) -> Option<u32> {
    let map = MAPS.iter().find(|map| map.name() == board.registers.map)?;
    let mut blocks = map.blocks();
    let register = blocks.find_map(|block| block.registers().find(|it| it.name == name))?;
    register.offsets().next()
}

/// A board that is switched on.
struct Enet {
    /// Offsets of counters of the MAC, and their names.
    registers: Vec<(u32, &'static str)>,
    about: Board,
    system: Option<Arc<str>>,
    board: EnetBoard<DatagramSource>,
    /// Address of the program's counters.
    counts_at: u32,
    /// Last value and wraps of each of them.
    wraps: BTreeMap<&'static str, (u32, u64)>,
    counters: BTreeMap<String, u64>,
    is_up: bool,
}

impl Enet {
    fn count(&mut self) {
        let mut counters = BTreeMap::new();
        for (index, name) in WORDS {
            let at = self.counts_at + 4 * index as u32;
            let word = self.board.soc.memory().read_u32(at).unwrap_or_default();
            let value = if name == "jitter_ns" {
                u64::from(word)
            } else {
                let (last, total) = self.wraps.entry(name).or_default();
                *total += u64::from(word.wrapping_sub(*last));
                *last = word;
                *total
            };
            counters.insert(name.to_owned(), value);
        }
        for (offset, name) in self.registers.clone() {
            counters.insert(name.to_owned(), self.board.counter(offset));
        }
        let others = [
            ("sent", u64::from(self.board.port.station.sent())),
            ("switch_drops", self.board.port.statistics().dropped),
        ];
        counters.extend(others.map(|(name, value)| (name.to_owned(), value)));
        self.counters = counters;
    }
}

impl Machine for Enet {
    fn identity(&self) -> Identity {
        soft::identity(&self.about, self.system.as_deref())
    }

    fn now_ns(&self) -> u64 {
        self.board.soc.now().as_ns()
    }

    fn advance(&mut self, until_ns: u64, _: &mut dyn FnMut(Event)) -> Result<(), MachineError> {
        let stop = self.board.run(Instant::from_ns(until_ns));
        self.count();
        self.is_up = self.board.soc.link_mode().is_some();
        match stop {
            Stop::Reached => Ok(()),
            Stop::Fault(fault) => Err(MachineError::Fault {
                at_ns: self.now_ns(),
                what: fault.to_string(),
            }),
        }
    }

    fn duplex(&self) -> Option<Duplex> {
        Some(if self.is_up {
            Duplex::Full
        } else {
            Duplex::None
        })
    }

    fn counters(&self) -> Option<BTreeMap<String, u64>> {
        Some(self.counters.clone())
    }

    fn finish(self: Box<Self>, _: &mut dyn FnMut(Event)) -> RunArtifacts {
        RunArtifacts::default()
    }
}
