//! `qemu://BOARD`: a board emulated by QEMU, without privileges: the far end of its cable is in this
//! process, whose host stack runs in wall-clock time.

mod emulator;
pub mod flood;
mod monitor;
pub(super) mod profile;
mod registers;

use std::time::{Duration, Instant as Wall};

use linerate_ether::frame::MacAddress;
use linerate_sim::peer::generator::DEVICE;
use linerate_sim::peer::host::program::Programs;
use linerate_sim::peer::host::{self, Host};
use linerate_sim::peer::{Peer as _, Station as _, tcp};
use linerate_sim::time::{self, Span};

use self::emulator::Emulator;
pub(crate) use self::registers::inspect;
use crate::endpoint::board::runner::{self, BoardTarget, Runner, tcp_of};
use crate::endpoint::{Options, TargetError, Trial, Url};
use crate::firmware;
use crate::machine::{Event, Identity, Machine, MachineError, RunArtifacts};

pub(super) const QEMU: Runner = Runner {
    how: "emulated by QEMU",
    is_simulated: false,
    is_half_duplex: |_| false,
    // A network in QEMU is as fast as this host.
    line_bits_per_s: |_| None,
    runs: |board| board.qemu.is_some(),
    switch_on,
    identify: |board| identity(&board.name),
};

/// Frames received before some are sent.
const BURST: usize = 64;

fn identity(board: &str) -> Identity {
    Identity {
        board: board.to_owned(),
        ..Identity::default()
    }
}

/// Opens the board that `url` names.
pub(in crate::endpoint) fn open(
    url: &Url,
    options: &Options,
) -> Result<Box<dyn crate::endpoint::Target>, TargetError> {
    runner::open(url, options, QEMU)
}

fn switch_on(target: &BoardTarget, trial: &Trial) -> Result<Box<dyn Machine>, TargetError> {
    let image = target.image()?;
    let board = start(target, &image.elf, tcp_of(trial), &linux_images(target)?)?;
    Ok(Box::new(board))
}

/// Arguments for the images of a Linux system besides its kernel.
fn linux_images(target: &BoardTarget) -> Result<Vec<String>, TargetError> {
    let Some(linux) = &target.board.linux else {
        return Ok(Vec::new());
    };
    let mut arguments = Vec::new();
    for (option, name) in [("-dtb", &linux.device_tree), ("-initrd", &linux.initramfs)] {
        let path = firmware::linux_image(&target.elf_dir, &target.board.name, name)
            .map_err(|error| MachineError::Firmware(error.to_string()))?;
        arguments.extend([option.to_owned(), path.display().to_string()]);
    }
    Ok(arguments)
}

/// Starts QEMU with these `further` arguments, and a host with this TCP.
fn start(
    target: &BoardTarget,
    elf: &[u8],
    tcp: tcp::Config,
    further: &[String],
) -> Result<Emulated, TargetError> {
    let Some(qemu) = &target.board.qemu else {
        let what = format!("QEMU does not have the board {}", target.board.name);
        return Err(MachineError::Board(what).into());
    };
    let emulator = Emulator::start(qemu, elf, MacAddress(DEVICE), further);
    let emulator = emulator.map_err(|what| crate::endpoint::Target::failure(target, what))?;
    let [a, b, c, _] = target.board.link.ipv4.octets();
    let host = Host::new(host::Config {
        seed: target.seed,
        // The real time of this process.
        turnaround: Span::ZERO,
        http_server: None,
        tcp,
        ..host::Config::default().at([a, b, c, 1].into(), 24)
    });
    Ok(Emulated {
        name: target.board.name.clone(),
        emulator,
        host,
        started: Wall::now(),
        held: None,
    })
}

/// A board in QEMU, and the host at the other end.
struct Emulated {
    name: String,
    emulator: Emulator,
    host: Host,
    started: Wall,
    /// A frame that QEMU had no room for.
    held: Option<Vec<u8>>,
}

impl Emulated {
    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Sends due frames, as far as there is room.
    fn send(&mut self) -> Result<(), String> {
        let now = simulated(self.elapsed());
        loop {
            let frame = self.held.take().or_else(|| self.host.poll_transmit(now));
            let Some(frame) = frame else { return Ok(()) };
            if !self.emulator.send(&frame)? {
                self.held = Some(frame);
                return Ok(());
            }
        }
    }

    /// Receives pending frames. `true`: there were some.
    fn receive(&mut self) -> Result<bool, String> {
        for taken in 0..BURST {
            let now = simulated(self.started.elapsed());
            let host = &mut self.host;
            if !self.emulator.receive(|frame| host.receive(frame, now))? {
                return Ok(taken > 0);
            }
        }
        Ok(true)
    }
}

/// Converts a time for the host.
fn simulated(since_start: Duration) -> time::Instant {
    time::Instant::from_ns(since_start.as_nanos() as u64)
}

impl Machine for Emulated {
    fn identity(&self) -> Identity {
        identity(&self.name)
    }

    fn now_ns(&self) -> u64 {
        self.elapsed().as_nanos() as u64
    }

    fn advance(&mut self, until_ns: u64, sink: &mut dyn FnMut(Event)) -> Result<(), MachineError> {
        let end = Duration::from_nanos(until_ns);
        while self.elapsed() < end {
            self.send().map_err(MachineError::Failed)?;
            if self.receive().map_err(MachineError::Failed)? {
                continue;
            }
            let due = Duration::from_nanos(self.host.poll_timeout().as_ns()).min(end);
            let left = due.saturating_sub(self.elapsed());
            self.emulator.wait(left, self.held.is_some());
        }
        let mut lines = Vec::new();
        let read = self.emulator.read(&mut lines);
        let at_ns = self.now_ns();
        for line in lines {
            sink(Event::Console { at_ns, line });
        }
        read.map_err(MachineError::Failed)
    }

    fn type_line(&mut self, line: &str) {
        self.emulator.type_in(&format!("{line}\n"));
    }

    fn with_programs(&mut self, with: &mut dyn FnMut(&mut Programs)) {
        self.host.programs().map(with);
    }

    fn set_link(&mut self, is_up: bool) -> Result<(), MachineError> {
        let done = self.emulator.monitor().set_link(is_up);
        done.map_err(MachineError::Failed)
    }

    /// Neither QEMU nor its cable reports losses.
    fn finish(self: Box<Self>, _: &mut dyn FnMut(Event)) -> RunArtifacts {
        RunArtifacts::default()
    }
}

#[cfg(test)]
mod tests;
