//! The QEMU process: its network ends in a socket of ours, and its serial port is on a pipe.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use linerate_ether::frame::MacAddress;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tempfile::TempDir;

use super::monitor::Monitor;
use crate::board::Qemu;

/// Longer than any frame of the network.
const LONGEST: usize = 2048;

/// The monitor's socket in the folder.
const MONITOR: &str = "monitor";

/// A running QEMU; it is killed when this is dropped.
pub(super) struct Emulator {
    process: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    cable: UnixDatagram,
    /// QEMU's socket is connected.
    is_connected: bool,
    /// The incomplete last line of the console.
    line: Vec<u8>,
    /// The firmware, the sockets, QEMU's stderr.
    folder: TempDir,
}

impl Emulator {
    /// Starts a machine with `elf` in its memory, `mac` as the address of its network device and `further`
    /// arguments.
    pub(super) fn start(
        qemu: &Qemu,
        elf: &[u8],
        mac: MacAddress,
        further: &[String],
    ) -> Result<Self, String> {
        let folder =
            tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
        let at = |name: &str| folder.path().join(name);
        let (image, ours, theirs) = (at("firmware.elf"), at("host"), at("board"));
        let failed = |what: &str, error: std::io::Error| format!("{what}: {error}");
        fs::write(&image, elf).map_err(|error| failed("the firmware cannot be written", error))?;
        let cable = UnixDatagram::bind(&ours)
            .and_then(|socket| socket.set_nonblocking(true).map(|()| socket))
            .map_err(|error| failed("the socket for its cable cannot be created", error))?;
        let stderr = fs::File::create(at("stderr"))
            .map_err(|error| failed("the file for QEMU's stderr cannot be created", error))?;
        if !is_installed(&qemu.program) {
            return Err(format!(
                "{} is not installed; on Debian: apt-get install qemu-system-misc qemu-system-arm",
                qemu.program
            ));
        }
        let monitor = at(MONITOR);
        let sockets = [&ours, &theirs, &monitor].map(PathBuf::as_path);
        let mut command = command(qemu, &image, sockets, mac);
        command.args(further);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command
            .stderr(stderr)
            .spawn()
            .map_err(|error| failed(&qemu.program, error))?;
        let (Some(stdin), Some(stdout)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(format!("{} has no console", qemu.program));
        };
        rustix::io::ioctl_fionbio(&stdout, true)
            .map_err(|error| failed("the console cannot be read", error.into()))?;
        Ok(Self {
            process,
            stdin,
            stdout,
            cable,
            is_connected: false,
            line: Vec::new(),
            folder,
        })
    }

    /// Sends a frame. `false`: QEMU has no room for it now.
    pub(super) fn send(&mut self, frame: &[u8]) -> Result<bool, String> {
        if !self.is_connected {
            self.is_connected = self.cable.connect(self.folder.path().join("board")).is_ok();
        }
        if !self.is_connected {
            return self.check_running().map(|()| false);
        }
        match self.cable.send(frame) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            // The other end has closed its socket.
            Err(_) => self.check_running().map(|()| false),
        }
    }

    /// Passes the next received frame to `take`. `false`: there is none.
    pub(super) fn receive(&mut self, take: impl FnOnce(&[u8])) -> Result<bool, String> {
        let mut frame = [0; LONGEST];
        match self.cable.recv(&mut frame) {
            Ok(octets) => {
                take(&frame[..octets]);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(format!("its cable is broken: {error}")),
        }
    }

    /// Appends the console's new lines to `to`.
    pub(super) fn read(&mut self, to: &mut Vec<String>) -> Result<(), String> {
        let mut piece = [0; 4096];
        loop {
            match self.stdout.read(&mut piece) {
                Ok(0) => return self.check_running(),
                Ok(octets) => self.line.extend_from_slice(&piece[..octets]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(format!("its console cannot be read: {error}")),
            }
        }
        while let Some(end) = self.line.iter().position(|octet| *octet == b'\n') {
            let line: Vec<u8> = self.line.drain(..=end).collect();
            to.push(String::from_utf8_lossy(&line).trim_end().to_owned());
        }
        Ok(())
    }

    /// Types on the console.
    pub(super) fn type_in(&mut self, text: &str) {
        // If this fails, the next check of the process reports the cause.
        let _ = self.stdin.write_all(text.as_bytes());
        let _ = self.stdin.flush();
    }

    /// Sleeps for `span`, or until a frame is received, or one can be sent if `wants_room`.
    pub(super) fn wait(&self, span: Duration, wants_room: bool) {
        let mut flags = PollFlags::IN;
        if wants_room && self.is_connected {
            flags |= PollFlags::OUT;
        }
        let span = Timespec {
            tv_sec: span.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: span.subsec_nanos().into(),
        };
        // An early wake-up does no harm.
        let _ = poll(&mut [PollFd::new(&self.cable, flags)], Some(&span));
    }

    /// Its monitor.
    pub(super) fn monitor(&self) -> Monitor {
        Monitor {
            socket: self.folder.path().join(MONITOR),
        }
    }

    /// Fails with the reason if the process has ended.
    fn check_running(&mut self) -> Result<(), String> {
        let Ok(Some(status)) = self.process.try_wait() else {
            return Ok(());
        };
        let stderr = fs::read_to_string(self.folder.path().join("stderr")).unwrap_or_default();
        let last = stderr.lines().last().unwrap_or("no message");
        Err(format!("QEMU has ended ({status}): {last}"))
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn command(
    qemu: &Qemu,
    image: &Path,
    [ours, theirs, monitor]: [&Path; 3],
    mac: MacAddress,
) -> Command {
    // If this process is killed, QEMU is killed, too.
    let mut command = if is_installed("setpriv") {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", &qemu.program]);
        command
    } else {
        Command::new(&qemu.program)
    };
    let cable = format!(
        "dgram,id=n0,local.type=unix,local.path={},remote.type=unix,remote.path={}",
        theirs.display(),
        ours.display()
    );
    let device = qemu
        .device
        .iter()
        .map(|it| it.replace("{mac}", &mac.to_string()));
    // Ctrl-C is handled by this process, which ends the trial and then QEMU.
    command.process_group(0);
    command
        .args(&qemu.arguments)
        .args(["-display", "none", "-monitor", "none", "-serial", "stdio"])
        .args(["-netdev", &cable, "-qmp"])
        .arg(format!("unix:{},server=on,wait=off", monitor.display()))
        .args(device)
        .arg("-kernel")
        .arg(image);
    command
}

/// True if the program is installed.
pub(super) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
