//! A device on a debug probe: `probe-rs gdb` is started for each access.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use linerate_regs_decode::live::Memory;

use super::{Device, failed};
use crate::endpoint::TargetError;
use crate::gdb::{Gdb, GdbError};

const PROGRAM: &str = "probe-rs";
/// Interval between attempts to connect to the server.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The device on the probe.
pub(super) struct Probe {
    chip: String,
    timeout: Duration,
}

impl Probe {
    /// `chip` is probe-rs's name for it; if empty, probe-rs detects it or takes it from its environment.
    pub(super) fn new(chip: &str, timeout: Duration) -> Self {
        Self {
            chip: chip.to_owned(),
            timeout,
        }
    }

    fn failed(&self, what: String) -> TargetError {
        TargetError::Failed {
            target: self.name(),
            what,
        }
    }

    /// Starts the server on a free port.
    fn start(&self) -> Result<(ServerProcess, String), TargetError> {
        let no_port = |error| self.failed(format!("no port for its gdb server: {error}"));
        let free = TcpListener::bind("127.0.0.1:0").map_err(no_port)?;
        let address = free.local_addr().map_err(no_port)?.to_string();
        drop(free);
        // Its stderr is shown to the user.
        let process = Command::new(PROGRAM)
            .args(arguments(&self.chip, &address))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        match process {
            Ok(process) => Ok((ServerProcess(process), address)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(self.failed(
                "probe-rs is not installed: `cargo install probe-rs-tools --locked`, or \
                 https://probe.rs/docs/getting-started/installation"
                    .to_owned(),
            )),
            Err(error) => Err(self.failed(format!("{PROGRAM}: {error}"))),
        }
    }

    /// Waits until it listens.
    fn attach(&self, server: &mut ServerProcess, address: &str) -> Result<Gdb, TargetError> {
        let until = Instant::now() + self.timeout;
        loop {
            match Gdb::attach(address, self.timeout) {
                Err(GdbError::Unreachable { .. }) if Instant::now() < until => {}
                attached => return attached.map_err(|error| failed(self.name(), &error)),
            }
            if let Ok(Some(status)) = server.0.try_wait() {
                return Err(self.failed(format!("probe-rs has ended ({status})")));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

/// The arguments of `probe-rs`.
pub(super) fn arguments<'a>(chip: &'a str, address: &'a str) -> Vec<&'a str> {
    let mut arguments = vec!["gdb", "--gdb-connection-string", address];
    if !chip.is_empty() {
        arguments.extend(["--chip", chip]);
    }
    arguments
}

impl Device for Probe {
    fn name(&self) -> String {
        match self.chip.as_str() {
            "" => "the chip on the debug probe".to_owned(),
            chip => format!("{chip} on the debug probe"),
        }
    }

    fn with_memory(&mut self, access: &mut dyn FnMut(&mut dyn Memory)) -> Result<(), TargetError> {
        let (mut server, address) = self.start()?;
        let mut gdb = self.attach(&mut server, &address)?;
        access(&mut gdb);
        gdb.detach().map_err(|error| failed(self.name(), &error))
    }
}

/// A process that is killed when this is dropped.
struct ServerProcess(Child);

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
