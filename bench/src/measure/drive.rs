//! Runs a machine with an observer, to the end of its program.

use linerate_results::record::{CountedFrames, Duplex, Ledger, Measurement};

use super::{DeviceEvent, MeasureError, Observer};
use crate::machine::{Event, Machine, MachineRecord, RunArtifacts, Unheard};

/// Interval at which an observer is polled: 10 ms of the machine's time.
const STEP_NS: u64 = 10_000_000;
/// Timeout without events. Longer than any retransmission timeout of a download of this size.
const QUIET_S: u64 = 120;
/// The same for an interactive run.
const FOLLOW_QUIET_S: u64 = 20;

/// Drives `machine` until its program reports that it is done, and passes each measurement to
/// `result` as soon as it is complete. `tick` receives the progress after every step, and returns false to cancel.
///
/// # Errors
/// [`MeasureError`] if the program did not complete.
pub fn drive(
    mut machine: Box<dyn Machine>,
    observer: &mut dyn Observer,
    limit_s: u64,
    result: &mut dyn FnMut(Measurement),
    tick: &mut dyn FnMut(u64, (u64, u64)) -> bool,
) -> Result<MachineRecord, MeasureError> {
    let mut watchdog = Watchdog::default();
    let mut unheard = Unheard::default();
    let mut ledger = Ledger::default();
    let mut result = |measured: Measurement| {
        ledger.add(measured.ledger());
        result(measured);
    };
    while !watchdog.done {
        let until_ns = machine.now_ns() + STEP_NS;
        let mut outcome = Ok(());
        machine.advance(until_ns, &mut |event| {
            unheard.observe(&event);
            if outcome.is_ok() {
                outcome = match watchdog.observe(&event) {
                    Err(MeasureError::Device { what }) if observer.may_fail(&what) => {
                        watchdog.done = true;
                        Ok(())
                    }
                    observed => observed,
                }
                .and_then(|()| observer.observe(event));
            }
        })?;
        outcome?;
        observer.busy(machine.busy());
        observer.edges(machine.edges());
        if let Some(waited_ns) = machine.flash_wait_ns() {
            observer.flash_wait(machine.now_ns(), waited_ns);
        }
        let now_ns = machine.now_ns();
        let traffic = machine.stations();
        if !traffic.is_empty() {
            observer.stations(now_ns, traffic);
        }
        if observer.wants_counters(now_ns)
            && let Some(counters) = machine.counters()
        {
            observer.sample(counters);
        }
        while let Some(command) = observer.command(now_ns) {
            machine.type_line(&command);
        }
        let duplex = machine.duplex();
        observer
            .take()
            .into_iter()
            .for_each(|measured| result(with_duplex(duplex, measured)));
        watchdog.done |= observer.poll_complete();
        if !tick(machine.now_ns(), observer.progress()) && !watchdog.done {
            return Err(MeasureError::Cancelled);
        }
        watchdog.check(machine.as_ref(), QUIET_S, limit_s)?;
    }
    let virtual_ns = machine.now_ns();
    let duplex = machine.duplex();
    if let Some(counters) = machine.counters() {
        observer.counters(counters);
    }
    let mut outcome = Ok(());
    let mut artifacts = machine.finish(&mut |event| {
        unheard.observe(&event);
        if outcome.is_ok() {
            outcome = observer.observe(event);
        }
    });
    outcome?;
    let counts = unheard.complete(artifacts.frames.take());
    if let Some(counts) = &counts {
        observer.frame_counts(counts);
    }
    let last = observer.finish()?;
    for measured in last {
        result(with_duplex(duplex, measured));
    }
    // Those of the device are among the counts.
    ledger.counters.clear();
    let frames = counts.map(|counts| CountedFrames { ledger, counts });
    Ok(MachineRecord {
        virtual_ns,
        duplex,
        frames,
        artifacts,
    })
}

fn with_duplex(duplex: Option<Duplex>, mut measured: Measurement) -> Measurement {
    if let Some(duplex) = duplex {
        measured.setting_mut().duplex = duplex;
    }
    measured
}

/// Runs `machine`, with its console output passed to `console`, until its program reports that it
/// is done, `limit_s` of its time have passed or `stop` returns true.
///
/// # Errors
/// [`MeasureError`] if the machine cannot continue, or without a limit, if it has no events for too
/// long.
pub fn follow(
    mut machine: Box<dyn Machine>,
    limit_s: Option<u64>,
    stop: &dyn Fn() -> bool,
    console: &mut dyn FnMut(&str),
) -> Result<RunArtifacts, MeasureError> {
    let mut watchdog = Watchdog::default();
    let limit_ns = limit_s.map_or(u64::MAX, |limit_s| limit_s.saturating_mul(1_000_000_000));
    while !watchdog.done && !stop() && machine.now_ns() < limit_ns {
        let until_ns = (machine.now_ns() + STEP_NS).min(limit_ns);
        let mut outcome = Ok(());
        machine.advance(until_ns, &mut |event| {
            if let Event::Console { line, .. } = &event {
                console(line);
            }
            if outcome.is_ok() {
                outcome = watchdog.observe(&event);
            }
        })?;
        outcome?;
        if limit_s.is_none() {
            watchdog.check(machine.as_ref(), FOLLOW_QUIET_S, u64::MAX)?;
        }
    }
    Ok(machine.finish(&mut |_| {}))
}

/// Detects the end, errors and timeouts.
#[derive(Default)]
struct Watchdog {
    done: bool,
    last_event_ns: u64,
    last_line: Option<String>,
}

impl Watchdog {
    fn observe(&mut self, event: &Event) -> Result<(), MeasureError> {
        match event {
            Event::Frame(frame) => self.last_event_ns = self.last_event_ns.max(frame.end_ns),
            // Link pulses raise the pin even on an idle board.
            Event::Debug(_) | Event::Uploaded(_) => {}
            Event::Console { at_ns, line } => {
                self.last_event_ns = self.last_event_ns.max(*at_ns);
                match DeviceEvent::parse(line) {
                    Some(Ok(DeviceEvent::Done)) => self.done = true,
                    Some(Ok(DeviceEvent::Error { what })) => {
                        return Err(MeasureError::Device { what });
                    }
                    Some(Err(what)) => return Err(MeasureError::Unexpected { what }),
                    _ => {}
                }
                self.last_line = Some(line.clone());
            }
        }
        Ok(())
    }

    fn check(&self, machine: &dyn Machine, quiet_s: u64, limit_s: u64) -> Result<(), MeasureError> {
        if self.done {
            return Ok(());
        }
        let now_ns = machine.now_ns();
        if now_ns.saturating_sub(self.last_event_ns) > quiet_s * 1_000_000_000 {
            return Err(MeasureError::Quiet {
                quiet_s,
                last: self.last_line.clone(),
                position: machine.position(),
            });
        }
        if now_ns > limit_s.saturating_mul(1_000_000_000) {
            return Err(MeasureError::TimeOut { limit_s });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::scripted::{Script, line};

    struct Nothing;

    impl Observer for Nothing {
        fn observe(&mut self, _: Event) -> Result<(), MeasureError> {
            Ok(())
        }
        fn take(&mut self) -> Vec<Measurement> {
            Vec::new()
        }
        fn progress(&self) -> (u64, u64) {
            (0, 1)
        }
        fn finish(&mut self) -> Result<Vec<Measurement>, MeasureError> {
            Ok(Vec::new())
        }
    }

    fn outcome(script: Script, limit_s: u64) -> Result<u64, String> {
        drive(
            Box::new(script),
            &mut Nothing,
            limit_s,
            &mut |_| {},
            &mut |_, _| true,
        )
        .map(|driven| driven.virtual_ns)
        .map_err(|error| error.to_string())
    }

    #[test]
    fn ends_when_the_program_is_done() {
        let script = Script::new([line(25_000_000, r#"@ {"event":"done"}"#)]);
        assert_eq!(outcome(script, 1), Ok(30_000_000));
    }

    #[test]
    fn silence_ends_it_with_the_last_line() {
        let script = Script::new([line(5, "INFO - Booted up!")]);
        assert_eq!(
            outcome(script, 1_000),
            Err(
                "nothing happened for 120 s of virtual time: no frame, no line on the console; \
                 the last line was \"INFO - Booted up!\""
                    .into()
            )
        );
    }

    #[test]
    fn chatter_without_an_end_runs_into_the_limit() {
        let script =
            Script::new((0..60).map(|second| line(second * 1_000_000_000, "INFO - still here")));
        assert_eq!(
            outcome(script, 50),
            Err("the program did not end within 50 s of virtual time".into())
        );
    }

    #[test]
    fn what_the_firmware_reports_is_passed_on() {
        let script = Script::new([line(5, r#"@ {"event":"error","what":"no link"}"#)]);
        assert_eq!(
            outcome(script, 1),
            Err("the firmware reports: no link".into())
        );
    }
}
