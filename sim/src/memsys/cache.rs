//! A cache's tags: set-associative, least recently used replaced first.

/// Size and shape, all powers of two except the number of ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Capacity in bytes.
    pub size: u32,
    /// Bytes in a line, at least 4.
    pub line: u32,
    /// Lines in a set.
    pub ways: u32,
}

impl Geometry {
    /// Number of sets; `None` if the numbers do not describe a cache.
    pub fn sets(self) -> Option<u32> {
        let Self { size, line, ways } = self;
        if !line.is_power_of_two() || line < 4 || ways == 0 || size == 0 {
            return None;
        }
        let sets = size / line / ways;
        (sets.is_power_of_two() && sets * ways * line == size).then_some(sets)
    }
}

/// Result of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The line is present.
    Hit,
    /// The line was allocated.
    Miss {
        /// Number of the replaced line, if it was modified.
        dirty_victim: Option<u32>,
    },
}

/// No address has this line number.
const NO_LINE: u32 = u32::MAX;

/// The tags. Lines have numbers: address divided by the line's length.
#[derive(Clone, Debug)]
pub struct Cache {
    geometry: Geometry,
    line_shift: u32,
    set_mask: u32,
    /// The most recently used line of each set: checked first.
    latest: Box<[u32]>,
    /// The same if it is modified, else [`NO_LINE`].
    latest_dirty: Box<[u32]>,
    /// The other ways of each set side by side, the more recently used first, each with its dirty
    /// bit.
    older: Box<[(u32, bool)]>,
}

impl Cache {
    /// An empty cache.
    ///
    /// # Panics
    /// If [`Geometry::sets`] is `None`: whoever reads a board file checks that first.
    pub fn new(geometry: Geometry) -> Self {
        let sets = geometry.sets().expect("a possible cache");
        Self {
            geometry,
            line_shift: geometry.line.trailing_zeros(),
            set_mask: sets - 1,
            latest: vec![NO_LINE; sets as usize].into_boxed_slice(),
            latest_dirty: vec![NO_LINE; sets as usize].into_boxed_slice(),
            older: vec![(NO_LINE, false); (sets * (geometry.ways - 1)) as usize].into_boxed_slice(),
        }
    }

    /// Size and shape.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The line that holds `addr`.
    #[inline]
    pub fn line_of(&self, addr: u32) -> u32 {
        addr >> self.line_shift
    }

    /// True if the line is the most recently used of its set: a read of it changes nothing.
    #[inline]
    pub fn is_latest(&self, line: u32) -> bool {
        self.latest.get((line & self.set_mask) as usize) == Some(&line)
    }

    /// True if it is modified as well: a write to it changes nothing.
    #[inline]
    pub fn is_latest_dirty(&self, line: u32) -> bool {
        self.latest_dirty.get((line & self.set_mask) as usize) == Some(&line)
    }

    /// True if the line is present.
    pub fn contains(&self, line: u32) -> bool {
        let others = self.geometry.ways as usize - 1;
        let set = (line & self.set_mask) as usize;
        let older = &self.older[set * others..(set + 1) * others];
        self.is_latest(line) || older.iter().any(|&(other, _)| other == line)
    }

    /// The most recently used line of the set of `line`.
    pub fn latest_beside(&self, line: u32) -> Option<u32> {
        let latest = self.latest[(line & self.set_mask) as usize];
        (latest != NO_LINE).then_some(latest)
    }

    /// Reads or writes the line; a missing one is allocated. A write marks it as modified.
    pub fn access(&mut self, line: u32, write: bool) -> Access {
        let set = (line & self.set_mask) as usize;
        let others = self.geometry.ways as usize - 1;
        let older = &mut self.older[set * others..(set + 1) * others];
        let latest = self.latest[set];
        let was_dirty = latest != NO_LINE && self.latest_dirty[set] == latest;
        if latest == line {
            if write {
                self.latest_dirty[set] = line;
            }
            return Access::Hit;
        }
        let found = older.iter().position(|&(other, _)| other == line);
        // The entry that leaves its place: the line itself, or the least recently used one.
        let (left, is_dirty, access) = if let Some(way) = found {
            (way + 1, older[way].1, Access::Hit)
        } else {
            let (victim, dirty) = older.last().copied().unwrap_or((latest, was_dirty));
            let dirty_victim = (victim != NO_LINE && dirty).then_some(victim);
            (others, false, Access::Miss { dirty_victim })
        };
        if let Some(moved) = older.get_mut(..left)
            && !moved.is_empty()
        {
            moved.rotate_right(1);
            moved[0] = (latest, was_dirty);
        }
        self.latest[set] = line;
        self.latest_dirty[set] = if write || is_dirty { line } else { NO_LINE };
        access
    }

    /// Removes the line; true if it was present and modified.
    pub fn remove(&mut self, line: u32) -> bool {
        let set = (line & self.set_mask) as usize;
        let others = self.geometry.ways as usize - 1;
        let older = &mut self.older[set * others..(set + 1) * others];
        let was_dirty = self.latest_dirty[set] == line;
        let entry = if self.latest[set] == line {
            let (latest, dirty) = older.first().copied().unwrap_or((NO_LINE, false));
            self.latest[set] = latest;
            self.latest_dirty[set] = if dirty { latest } else { NO_LINE };
            Some((0, was_dirty))
        } else {
            let way = older.iter().position(|&(other, _)| other == line);
            way.map(|way| (way, older[way].1))
        };
        let Some((way, dirty)) = entry else {
            return false;
        };
        if let Some(moved) = older.get_mut(way..)
            && !moved.is_empty()
        {
            moved.rotate_left(1);
            if let Some(last) = moved.last_mut() {
                *last = (NO_LINE, false);
            }
        }
        dirty
    }

    /// Removes all lines; modified ones are not written anywhere.
    pub fn invalidate(&mut self) {
        self.latest.fill(NO_LINE);
        self.latest_dirty.fill(NO_LINE);
        self.older.fill((NO_LINE, false));
    }
}
