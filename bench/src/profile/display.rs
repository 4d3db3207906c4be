//! Display of a profile.

use std::fmt;

use linerate_results::record::{InstructionCost, InstructionProfile};

/// Tables of layers and of the `limit` most expensive functions.
#[must_use]
pub const fn tables(profile: &InstructionProfile, limit: usize) -> Tables<'_> {
    Tables { profile, limit }
}

/// See [`tables`].
pub struct Tables<'a> {
    profile: &'a InstructionProfile,
    limit: usize,
}

impl Tables<'_> {
    fn row(&self, f: &mut fmt::Formatter<'_>, cost: &InstructionCost) -> fmt::Result {
        let it = &self.profile.metrics;
        for count in [cost.own, cost.library, cost.copies, cost.all()] {
            write!(f, "{:>9.1}", it.per_frame(count))?;
        }
        let share = cost.all() as f64 * 100.0 / it.instructions.max(1) as f64;
        write!(f, "{share:>7.1}%")?;
        for count in [cost.reads, cost.writes] {
            write!(f, "{:>8.2}", it.per_frame(count))?;
        }
        Ok(())
    }
}

impl fmt::Display for Tables<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (params, it) = (&self.profile.params, &self.profile.metrics);
        writeln!(
            f,
            "{} ({}), {}: {} frames, {} back; a frame takes {:.0} instructions\n",
            params.board,
            params.setting.variant,
            params.title(),
            it.frames,
            it.frames_back,
            it.instructions_per_frame
        )?;
        writeln!(
            f,
            "      own  library   copies      all   share   reads  writes  layer"
        )?;
        for (layer, cost) in &it.layers {
            self.row(f, cost)?;
            writeln!(f, "  {}", layer.name())?;
        }
        writeln!(
            f,
            "\n      own  library   copies      all   share   reads  writes  function"
        )?;
        for function in it.functions.iter().take(self.limit) {
            self.row(f, &function.cost)?;
            writeln!(f, "  {} ({})", function.name, function.file)?;
        }
        Ok(())
    }
}
