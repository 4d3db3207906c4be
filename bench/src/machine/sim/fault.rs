//! Describes an exception of the simulated program in one sentence.

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
