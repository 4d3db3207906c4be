//! A device whose registers are read.

use std::time::Duration;

use linerate_regs_decode::live::Memory;

use crate::board::Board;
use crate::endpoint::TargetError;

/// A device that runs, or will.
pub trait Device {
    /// What it is, for a sentence.
    fn name(&self) -> String;

    /// The board that it is, where that is known.
    fn board(&self) -> Option<&Board> {
        None
    }

    /// Whether it is there for this alone, so that its registers may be written and put back.
    fn is_writable(&self) -> bool {
        false
    }

    /// Stops it, hands its memory to `look`, and lets it go on.
    ///
    /// # Errors
    /// [`TargetError`]: it is not reached.
    fn with_memory(&mut self, access: &mut dyn FnMut(&mut dyn Memory)) -> Result<(), TargetError>;

    /// Lets it run for so long.
    ///
    /// # Errors
    /// [`TargetError`]: it has stopped.
    fn run_for(&mut self, span: Duration) -> Result<(), TargetError> {
        std::thread::sleep(span);
        Ok(())
    }

    /// Moves something over TCP, each way. Says what.
    ///
    /// # Errors
    /// [`TargetError`]: it does not do that here, or fails.
    fn transfer(&mut self) -> Result<String, TargetError> {
        Err(TargetError::Url {
            url: self.name(),
            what:
                "nothing is sent to it from here: let it do something yourself, with --then enter"
                    .to_owned(),
        })
    }
}
