//! The console: lines for a person, lines with one JSON object each for a program, prefixed with `@ `, and
//! commands from either.

use crate::blast_command::BlastCommand;
use core::fmt::{self, Write};
use linerate_agent::burner::Load;
use linerate_ether::ledger::Counter;
use linerate_nic::ledger::Ledger;

/// Prints a line for a person.
pub fn info(to: &mut impl Write, text: fmt::Arguments<'_>) {
    // Console errors are ignored.
    let _ = to.write_fmt(format_args!("INFO - {text}\n"));
}

/// Prints one event for a program: its name, and the further members of the JSON object, if any.
pub fn event(to: &mut impl Write, name: &str, members: fmt::Arguments<'_>) {
    let comma = if members.as_str() == Some("") {
        ""
    } else {
        ","
    };
    let _ = to.write_fmt(format_args!("@ {{\"event\":\"{name}\"{comma}{members}}}\n"));
}

/// Prints all nonzero counters.
pub fn counters(to: &mut impl Write, ledger: &Ledger) {
    let all = Counters(ledger);
    if ledger.non_zero().next().is_none() {
        event(to, "counters", format_args!(""));
    } else {
        event(to, "counters", format_args!("{all}"));
    }
}

struct Counters<'a>(&'a Ledger);

impl fmt::Display for Counters<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |counter: Counter| counter.name();
        for (index, (counter, count)) in self.0.non_zero().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}\"{}\":{count}", name(counter))?;
        }
        Ok(())
    }
}

/// A console command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// `counters`: print the counters.
    Counters,
    /// `frames`: print the counters of raw frames.
    ReportFrames,
    /// `frames STREAM`: count this stream from zero.
    CountFrames(u8),
    /// `burn THOUSANDTHS`, `burn spare`, `burn none`.
    Burn(Load),
    /// `burned`: print the CPU load so far.
    Burned,
    /// `blast FRAMES LENGTH [ADDRESS]`: send raw frames as fast as possible; print a report at the end.
    Blast(BlastCommand),
    /// `hold on`, `hold off`: receive no frames meanwhile.
    Hold(bool),
    /// `device stop`, `device start`.
    Stop(bool),
    /// `rounds`: print the main loop's counters since the last report.
    Rounds,
}

impl Command {
    /// Parses a line; `None` if it is not a command.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let command = match (words.next()?, words.next()) {
            ("counters", None) => Self::Counters,
            ("frames", None) => Self::ReportFrames,
            ("frames", Some(stream)) => Self::CountFrames(stream.parse().ok()?),
            ("burn", Some("none")) => Self::Burn(Load::None),
            ("burn", Some("spare")) => Self::Burn(Load::Spare),
            ("burn", Some(share)) => {
                let share = share.parse().ok().filter(|share| *share <= 1000)?;
                Self::Burn(Load::Share(share))
            }
            ("burned", None) => Self::Burned,
            ("blast", Some(frames)) => {
                Self::Blast(BlastCommand::parse(frames, words.next()?, words.next())?)
            }
            ("hold", Some("on")) => Self::Hold(true),
            ("hold", Some("off")) => Self::Hold(false),
            ("device", Some("stop")) => Self::Stop(true),
            ("device", Some("start")) => Self::Stop(false),
            ("rounds", None) => Self::Rounds,
            _ => return None,
        };
        words.next().is_none().then_some(command)
    }
}

/// Maximum length of a command.
const LINE: usize = 80;

/// The line being typed.
#[derive(Debug)]
pub struct Line {
    octets: [u8; LINE],
    len: usize,
    /// The line was returned: the next octet begins another.
    is_over: bool,
}

impl Line {
    /// Creates an empty line.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            octets: [0; LINE],
            len: 0,
            is_over: false,
        }
    }

    /// Appends an octet; returns the line without its end when it is complete. A line above 80 octets is
    /// truncated; one that is not UTF-8 is dropped.
    pub fn push(&mut self, octet: u8) -> Option<&str> {
        if core::mem::take(&mut self.is_over) {
            self.len = 0;
        }
        if octet == b'\n' || octet == b'\r' {
            self.is_over = true;
            let line = str::from_utf8(&self.octets[..self.len]).ok();
            return line.filter(|line| !line.is_empty());
        }
        if let Some(place) = self.octets.get_mut(self.len) {
            *place = octet;
            self.len += 1;
        }
        None
    }
}

impl Default for Line {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::string::String;

    #[test]
    fn counters_are_an_object_whatever_is_counted() {
        static LEDGER: Ledger = Ledger::new();
        let output = || {
            let mut output = String::new();
            counters(&mut output, &LEDGER);
            output
        };
        assert_eq!(output(), "@ {\"event\":\"counters\"}\n");
        LEDGER.count(Counter::TxFrames);
        LEDGER.add(Counter::RxRunts, 2);
        let all = "@ {\"event\":\"counters\",\"TxFrames\":1,\"RxRunts\":2}\n";
        assert_eq!(output(), all);
    }

    #[test]
    fn commands_for_the_device_are_read() {
        let parsed = Command::parse;
        assert_eq!(parsed("hold on"), Some(Command::Hold(true)));
        assert_eq!(parsed("hold off"), Some(Command::Hold(false)));
        assert_eq!(parsed("device stop"), Some(Command::Stop(true)));
        assert_eq!(parsed("device start"), Some(Command::Stop(false)));
        for wrong in ["hold", "device", "device off", "hold on now"] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }
}
