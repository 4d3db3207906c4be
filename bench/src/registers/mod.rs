//! Devices whose registers can be shown, by URL: `qemu://BOARD`, `gdb://HOST:PORT`, `probe://CHIP`.

mod device;
mod probe;
#[cfg(test)]
mod tests;

use std::time::Duration;

use linerate_regs_decode::live::Memory;

pub use device::Device;

use crate::endpoint::{Options, TargetError, Url};
use crate::gdb::{Gdb, GdbError};

/// Opens the device that `url` names; one in QEMU is started and waited for.
///
/// # Errors
/// [`TargetError`].
pub fn open(url: &str, options: &Options) -> Result<Box<dyn Device>, TargetError> {
    // The chip is optional, as probe-rs can detect it.
    if let Some(chip) = url.strip_prefix("probe://") {
        return Ok(Box::new(probe::Probe::new(chip, options.timeout)));
    }
    let parsed = Url::parse(url)?;
    parsed.check_query(&[])?;
    match parsed.scheme.as_str() {
        #[cfg(target_os = "linux")]
        "qemu" => crate::endpoint::inspect(&parsed, options),
        "gdb" => server(&parsed, options),
        _ => Err(TargetError::Url {
            url: url.to_owned(),
            what: "registers can be read of qemu://BOARD, gdb://HOST:PORT and probe://CHIP"
                .to_owned(),
        }),
    }
}

/// A gdb server that is already running.
struct GdbServer {
    address: String,
    timeout: Duration,
}

fn server(url: &Url, options: &Options) -> Result<Box<dyn Device>, TargetError> {
    let Some(port) = url.port else {
        return Err(TargetError::Url {
            url: url.text.clone(),
            what: "the port is missing: `-s` of QEMU has 1234, OpenOCD 3333, probe-rs gdb 1337"
                .to_owned(),
        });
    };
    let host = if url.host.contains(':') {
        format!("[{}]", url.host)
    } else {
        url.host.clone()
    };
    Ok(Box::new(GdbServer {
        address: format!("{host}:{port}"),
        timeout: options.timeout,
    }))
}

impl Device for GdbServer {
    fn name(&self) -> String {
        format!("the device behind the gdb server at {}", self.address)
    }

    fn with_memory(&mut self, access: &mut dyn FnMut(&mut dyn Memory)) -> Result<(), TargetError> {
        let failed = |error| failed(self.name(), &error);
        let mut gdb = Gdb::attach(&self.address, self.timeout).map_err(failed)?;
        access(&mut gdb);
        gdb.detach().map_err(failed)
    }
}

fn failed(target: String, error: &GdbError) -> TargetError {
    TargetError::Failed {
        target,
        what: error.to_string(),
    }
}
