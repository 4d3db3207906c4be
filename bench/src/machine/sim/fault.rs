//! Describes why a simulated program cannot run, or not go on, in one sentence.

use std::fmt::Display;

use linerate_sim::board::Stop;
use linerate_sim::chip::esp32c6::FaultReport;

use crate::machine::MachineError;

/// The fault, its address, and its call stack.
pub fn error(report: &FaultReport) -> MachineError {
    let mut what = report.fault.to_string();
    for (depth, frame) in report.frames.iter().enumerate() {
        what.push_str(if depth == 0 {
            ", in "
        } else {
            ", called from "
        });
        what.push_str(&frame.to_string());
    }
    if let Some(last) = &report.last_report {
        what.push_str("; noticed before: ");
        what.push_str(last);
    }
    MachineError::Fault {
        at_ns: report.at.as_ns(),
        what,
    }
}

/// The firmware that cannot be run, and why.
pub fn unusable(what: impl Display) -> MachineError {
    MachineError::Firmware(format!("the firmware cannot be run: {what}"))
}

/// The end of a step at `stop`. A program that falls asleep ends only the next step with an error, because its output
/// before may complete the run.
pub fn after<F>(
    stop: Stop<F>,
    is_asleep: &mut bool,
    error: impl FnOnce(F) -> MachineError,
) -> Result<(), MachineError> {
    match stop {
        Stop::Reached => Ok(()),
        Stop::Asleep => {
            *is_asleep = true;
            Ok(())
        }
        Stop::Fault(fault) => Err(error(fault)),
    }
}

/// The program fell asleep before `at_ns`.
pub fn asleep(at_ns: u64) -> MachineError {
    let what = "the program sleeps and nothing will ever wake it".to_owned();
    MachineError::Fault { at_ns, what }
}
