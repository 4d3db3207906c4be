//! A device whose registers can be read.

use std::time::Duration;

use linerate_regs_decode::live::Memory;

use crate::board::Board;
use crate::endpoint::TargetError;

/// A device that runs, or can be started.
pub trait Device {
    /// Its name, for messages.
    fn name(&self) -> String;

    /// Its board, if known.
    fn board(&self) -> Option<&Board> {
        None
    }

    /// True if it was started for this purpose only, so that its registers may be written and
    /// restored.
    fn is_writable(&self) -> bool {
        false
    }

    /// Halts it, passes its memory to `access`, and resumes it.
    ///
    /// # Errors
    /// [`TargetError`] if it cannot be reached.
    fn with_memory(&mut self, access: &mut dyn FnMut(&mut dyn Memory)) -> Result<(), TargetError>;

    /// Runs it for `span`.
    ///
    /// # Errors
    /// [`TargetError`] if it has stopped.
    fn run_for(&mut self, span: Duration) -> Result<(), TargetError> {
        std::thread::sleep(span);
        Ok(())
    }

    /// Executes `command` in the shell on its console.
    ///
    /// # Errors
    /// [`TargetError`] if it has none, or the command fails.
    fn execute(&mut self, _command: &str) -> Result<(), TargetError> {
        Err(TargetError::Url {
            url: self.name(),
            what: "it has no shell; `type` is for boards that run Linux, as qemu://linux-sabrelite"
                .to_owned(),
        })
    }

    /// Transfers data over TCP in each direction. Returns a description of the transfer.
    ///
    /// # Errors
    /// [`TargetError`] if this is not supported, or fails.
    fn transfer(&mut self) -> Result<String, TargetError> {
        Err(TargetError::Url {
            url: self.name(),
            what:
                "nothing can be sent to it from here: generate traffic yourself and use --then enter"
                    .to_owned(),
        })
    }
}
