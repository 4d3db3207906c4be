//! `sim://BOARD`: a simulated board in virtual time.

use linerate_agent::Instant;
use linerate_ether::ledger::DropCause;
use linerate_results::record::Ledger;
use linerate_sim::board::{Board, Event, Stop};
use linerate_sim::chip::esp32c6::{self, Port};
use linerate_sim::peer::host::program::Programs;
use linerate_sim::peer::host::{self, Host};
use linerate_sim::time::Span;

use super::runner::{self, BoardTarget, Runner, tcp_of};
use super::session::{RunningBoard, STEP, StepError};
use crate::endpoint::{BoardObservation, Options, TargetError, Trial, Url};
use crate::machine::{self, MachineConfig};
use crate::scenario::{Environment, Record};

/// 10BASE-T.
const LINE_BITS_PER_S: u64 = 10_000_000;

const SIMULATOR: Runner = Runner {
    how: "simulated",
    is_simulated: true,
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
    runner::open(url, options, SIMULATOR)
}

fn switch_on(target: &BoardTarget, trial: &Trial) -> Result<Box<dyn RunningBoard>, TargetError> {
    let image = target.image()?;
    let config = MachineConfig {
        board: target.board.clone(),
        name: image.name,
        elf: image.elf,
        seed: target.seed,
        environment: Environment::default(),
        pings: None,
        downloads: Vec::new(),
        timing: None,
        record: Record {
            pcapng: false,
            vcd_ms: 0,
            profile: false,
        },
    };
    let host = Host::new(host::Config {
        seed: config.seed ^ machine::sim::PEER_SEED,
        http_server: None,
        tcp: tcp_of(trial),
        ..host::Config::default()
    });
    Ok(Box::new(machine::sim::board(&config, Box::new(host))?))
}

impl RunningBoard for Board {
    fn now(&self) -> Instant {
        Instant::from_ns(Self::now(self).as_ns())
    }

    fn step(&mut self, console: &mut Vec<String>) -> Result<(), StepError> {
        let until = Self::now(self) + Span::from_ns(STEP.as_nanos() as u64);
        match self.run(until) {
            Stop::Reached => {}
            Stop::Fault(report) => return Err(machine::sim::fault(&report).into()),
            Stop::Asleep => {
                let what = "the program sleeps and nothing will ever wake it";
                return Err(StepError::Reason(what.to_owned()));
            }
        }
        while let Some(event) = self.poll_event() {
            if let Event::Line { text, .. } = event {
                console.push(text);
            }
        }
        // These are not used.
        self.take_edges();
        Ok(())
    }

    fn type_in(&mut self, text: &str) {
        self.console_input(Port::UsbSerial, text.as_bytes());
    }

    fn with_programs(&mut self, with: &mut dyn FnMut(&mut Programs)) {
        self.with_peer(|peer| peer.programs().map(with));
    }

    fn observe(&mut self) -> Option<BoardObservation> {
        self.finish();
        let tally = self.tally();
        let mut ledger = Ledger {
            sent_frames: tally.sent,
            delivered_frames: tally.delivered,
            counters: machine::sim::counters(self).unwrap_or_default(),
            ..Ledger::default()
        };
        for &(cause, frames) in &tally.lost {
            ledger.lose(cause, frames);
        }
        Some(BoardObservation {
            ledger,
            duplex: machine::sim::duplex(self),
            virtual_ns: Self::now(self).as_ns(),
        })
    }

    fn notes(&self) -> Vec<String> {
        let tally = self.tally();
        // Collided frames are sent again, the others are still in transit.
        let open = [
            DropCause::Collision,
            DropCause::InFlight,
            DropCause::LeftInQueue,
        ];
        let lost = tally.lost.iter().filter(|(cause, _)| !open.contains(cause));
        let causes: Vec<String> = lost
            .map(|(cause, count)| format!("{} {count}", cause.name()))
            .collect();
        if causes.is_empty() {
            return Vec::new();
        }
        vec![format!(
            "of {} frames to the device some were lost: {}",
            tally.sent,
            causes.join(", ")
        )]
    }
}
