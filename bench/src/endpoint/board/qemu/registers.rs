//! A board in QEMU whose registers can be read: its gdb server listens on a Unix socket.

use std::path::PathBuf;
use std::time::Duration;

use linerate_regs_decode::live::Memory;
use linerate_results::record::Direction;
use serde::Deserialize;
use tempfile::TempDir;

use super::QEMU;
use crate::board::Board;
use crate::endpoint::board::runner::{BoardTarget, find};
use crate::endpoint::board::session::BoardSession;
use crate::endpoint::{Amount, NoMonitor, Options, Stream, TargetError, Trial, Url};
use crate::gdb::Gdb;
use crate::registers::Device;

/// Octets transferred over TCP in each direction.
const OCTETS: u64 = 1_000_000;
/// Timeout for a command of Linux.
const COMMAND_TIMEOUT: Duration = Duration::from_mins(1);

/// Switches on the board that `url` names, and waits until it is ready.
pub(crate) fn inspect(url: &Url, options: &Options) -> Result<Box<dyn Device>, TargetError> {
    let mut target = find(url, options, QEMU)?;
    let failed = |what: String| TargetError::Failed {
        target: url.text.clone(),
        what,
    };
    let folder =
        tempfile::tempdir().map_err(|error| failed(format!("no temporary folder: {error}")))?;
    let socket = folder.path().join("gdb");
    if let Some(qemu) = &mut target.board.qemu {
        // With a gdb server, QEMU would pass semihosting calls to the debugger.
        if qemu.arguments.iter().any(|it| it == "-semihosting") {
            let native = ["-semihosting-config", "enable=on,target=native"];
            qemu.arguments.extend(native.map(str::to_owned));
        }
        let server = format!("unix:{},server=on,wait=off", socket.display());
        qemu.arguments.extend(["-gdb".to_owned(), server]);
    }
    let session = target.switch_on(&stream(Direction::ToDevice))?;
    Ok(Box::new(InspectedBoard {
        target,
        session,
        socket,
        timeout: options.timeout,
        _folder: folder,
    }))
}

const fn stream(direction: Direction) -> Trial {
    Trial::Stream(Stream::of(direction, Amount::Octets(OCTETS)))
}

/// Answer of the shell of a Linux system.
#[derive(Deserialize)]
struct Executed {
    /// Exit status of the command.
    status: u8,
}

/// A running board with a gdb server.
struct InspectedBoard {
    target: BoardTarget,
    session: BoardSession,
    socket: PathBuf,
    timeout: Duration,
    _folder: TempDir,
}

impl Device for InspectedBoard {
    fn name(&self) -> String {
        crate::endpoint::Target::name(&self.target)
    }

    fn board(&self) -> Option<&Board> {
        Some(&self.target.board)
    }

    fn is_writable(&self) -> bool {
        // Linux reads its PHY now and then, and would be disturbed.
        self.target.board.has_firmware()
    }

    fn with_memory(&mut self, access: &mut dyn FnMut(&mut dyn Memory)) -> Result<(), TargetError> {
        let failed = |error: crate::gdb::GdbError| self.session.failed(&error.to_string());
        let mut gdb = Gdb::attach_socket(&self.socket, self.timeout).map_err(failed)?;
        access(&mut gdb);
        gdb.detach().map_err(failed)
    }

    fn run_for(&mut self, span: Duration) -> Result<(), TargetError> {
        self.session.run_for(span)
    }

    fn execute(&mut self, command: &str) -> Result<(), TargetError> {
        if self.target.board.has_firmware() {
            return Err(self.session.failed("it runs firmware, which has no shell"));
        }
        self.session.timeout = COMMAND_TIMEOUT;
        let done: Executed = self.session.query(command, "command")?;
        if done.status != 0 {
            let what = format!("`{command}` failed with status {}", done.status);
            return Err(self.session.failed(&what));
        }
        Ok(())
    }

    fn transfer(&mut self) -> Result<String, TargetError> {
        for direction in [Direction::ToDevice, Direction::FromDevice] {
            let mut transfer = self
                .target
                .start_transfer(&stream(direction), &mut self.session)?;
            self.session
                .run_until(&mut NoMonitor, |session| transfer.poll_done(session))?;
            let outcome = transfer.finish(&mut self.session)?;
            let flow = outcome.to_device.or(outcome.from_device);
            let octets = flow.map_or(0, |flow| flow.octets);
            if octets != OCTETS {
                let what = format!("{octets} of {OCTETS} octets arrived over TCP");
                return Err(self.session.failed(&what));
            }
        }
        Ok(format!("{OCTETS} octets each way over TCP"))
    }
}
