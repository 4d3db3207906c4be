//! What can be asked for on the console.

use linerate_agent::burner::Load;

/// A line of the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// `counters`: print them.
    Counters,
    /// `frames`: print what has come of raw frames.
    ReportFrames,
    /// `frames STREAM`: count that stream from zero.
    CountFrames(u8),
    /// `burn THOUSANDTHS`, `burn spare`, `burn none`.
    Burn(Load),
    /// `burned`: print what was burned.
    Burned,
}

/// Reads a line; `None`: it is no command.
pub fn parse(line: &str) -> Option<Command> {
    let mut words = line.split_ascii_whitespace();
    let command = match (words.next()?, words.next()) {
        ("counters", None) => Command::Counters,
        ("frames", None) => Command::ReportFrames,
        ("frames", Some(stream)) => Command::CountFrames(stream.parse().ok()?),
        ("burn", Some("none")) => Command::Burn(Load::None),
        ("burn", Some("spare")) => Command::Burn(Load::Spare),
        ("burn", Some(share)) => {
            let share = share.parse().ok().filter(|share| *share <= 1000)?;
            Command::Burn(Load::Share(share))
        }
        ("burned", None) => Command::Burned,
        _ => return None,
    };
    words.next().is_none().then_some(command)
}
