//! A cache against a textbook model: sets of lines, each with the time of its last use.

use linerate_sim::memsys::{Access, Cache, Geometry};
use proptest::prelude::*;

/// A line of a set.
#[derive(Clone, Copy, Debug)]
struct Line {
    number: u32,
    dirty: bool,
    last_use: usize,
}

/// The textbook's cache.
#[derive(Debug)]
pub struct Textbook {
    ways: usize,
    sets: Vec<Vec<Line>>,
    uses: usize,
}

impl Textbook {
    pub fn new(geometry: Geometry) -> Self {
        let sets = geometry.size / geometry.line / geometry.ways;
        Self {
            ways: geometry.ways as usize,
            sets: vec![Vec::new(); sets as usize],
            uses: 0,
        }
    }

    fn set(&mut self, number: u32) -> &mut Vec<Line> {
        let sets = self.sets.len();
        &mut self.sets[number as usize % sets]
    }

    pub fn contains(&mut self, number: u32) -> bool {
        self.set(number).iter().any(|line| line.number == number)
    }

    /// True if the line was present and modified.
    pub fn remove(&mut self, number: u32) -> bool {
        let set = self.set(number);
        let at = set.iter().position(|line| line.number == number);
        at.is_some_and(|at| set.remove(at).dirty)
    }

    /// Numbers of the lines in the set of `number`, the most recently used first.
    pub fn beside(&mut self, number: u32) -> Vec<u32> {
        let mut lines = self.set(number).clone();
        lines.sort_by_key(|line| std::cmp::Reverse(line.last_use));
        lines.iter().map(|line| line.number).collect()
    }

    pub fn access(&mut self, number: u32, write: bool) -> Access {
        self.uses += 1;
        let (uses, ways) = (self.uses, self.ways);
        let set = self.set(number);
        if let Some(line) = set.iter_mut().find(|line| line.number == number) {
            line.last_use = uses;
            line.dirty |= write;
            return Access::Hit;
        }
        let mut dirty_victim = None;
        if set.len() == ways {
            let (oldest, _) = set
                .iter()
                .enumerate()
                .min_by_key(|(_, line)| line.last_use)
                .unwrap();
            let victim = set.remove(oldest);
            dirty_victim = victim.dirty.then_some(victim.number);
        }
        set.push(Line {
            number,
            dirty: write,
            last_use: uses,
        });
        Access::Miss { dirty_victim }
    }
}

proptest! {
    #[test]
    fn hits_and_victims_are_those_of_a_textbook_cache(
        ways in 1..5_u32,
        sets in 0..4_u32,
        trace in prop::collection::vec((0..64_u32, any::<bool>(), 0..8_u32), 1..400),
    ) {
        let geometry = Geometry { size: (16 * ways) << sets, line: 16, ways };
        let (mut cache, mut textbook) = (Cache::new(geometry), Textbook::new(geometry));
        for (line, write, action) in trace {
            if action == 0 {
                prop_assert_eq!(cache.remove(line), textbook.remove(line));
                continue;
            }
            prop_assert_eq!(cache.contains(line), textbook.contains(line));
            // What the hart relies on without asking further.
            let is_fast = if write { cache.is_latest_dirty(line) } else { cache.is_latest(line) };
            let access = textbook.access(line, write);
            prop_assert!(!is_fast || access == Access::Hit);
            if !is_fast {
                prop_assert_eq!(cache.access(line, write), access);
            }
        }
    }
}
