//! Display of a profile.

use std::fmt;

use linerate_results::record::Direction;

use super::{Cost, Profile};

impl Profile {
    /// The workload and its direction, in one line.
    #[must_use]
    pub fn title(&self) -> String {
        let way = match self.direction {
            Direction::ToDevice => "to the device",
            Direction::FromDevice => "from the device",
            Direction::Both => "both ways",
        };
        format!("{} {way}", self.program.name())
    }

    /// Tables of layers and of the `limit` most expensive functions.
    #[must_use]
    pub fn tables(&self, limit: usize) -> Tables<'_> {
        Tables {
            profile: self,
            limit,
        }
    }

    fn row(&self, f: &mut fmt::Formatter<'_>, cost: &Cost) -> fmt::Result {
        for count in [cost.own, cost.library, cost.copies, cost.all()] {
            write!(f, "{:>9.1}", self.per_frame(count))?;
        }
        let share = cost.all() as f64 * 100.0 / self.instructions.max(1) as f64;
        write!(f, "{share:>7.1}%")?;
        for count in [cost.reads, cost.writes] {
            write!(f, "{:>8.2}", self.per_frame(count))?;
        }
        Ok(())
    }
}

/// See [`Profile::tables`].
pub struct Tables<'a> {
    profile: &'a Profile,
    limit: usize,
}

impl fmt::Display for Tables<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let it = self.profile;
        writeln!(
            f,
            "{} ({}), {}: {} frames, {} back; a frame takes {:.0} instructions\n",
            it.board,
            it.variant,
            it.title(),
            it.frames,
            it.frames_back,
            it.per_frame(it.instructions)
        )?;
        writeln!(
            f,
            "      own  library   copies      all   share   reads  writes  layer"
        )?;
        for layer in &it.layers {
            it.row(f, &layer.cost)?;
            writeln!(f, "  {}", layer.layer.name())?;
        }
        writeln!(
            f,
            "\n      own  library   copies      all   share   reads  writes  function"
        )?;
        for function in it.functions.iter().take(self.limit) {
            it.row(f, &function.cost)?;
            writeln!(f, "  {} ({})", function.name, function.file)?;
        }
        Ok(())
    }
}
