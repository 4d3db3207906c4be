//! Points in time: 32 bits of microseconds, which wrap after 71 minutes.

/// The time at which something is due, if it is: a time of 0 stands for none, so 0 itself becomes 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Deadline(u32);

impl Deadline {
    pub(crate) const NONE: Self = Self(0);

    pub(crate) const fn at(time: Instant) -> Self {
        Self(if time.us == 0 { 1 } else { time.us })
    }

    pub(crate) const fn is_set(self) -> bool {
        self.0 != 0
    }

    pub(crate) const fn is_due(self, now: Instant) -> bool {
        self.is_set() && now.has_reached(Instant::from_us(self.0))
    }

    pub(crate) fn get(self) -> Option<Instant> {
        self.is_set().then_some(Instant::from_us(self.0))
    }
}

/// A point in time on a monotonic clock with an arbitrary zero, in microseconds modulo 2^32.
///
/// Half the memory of a 64-bit clock, and what the timer of a microcontroller counts. Two points are compared by
/// their distance, which must be less than 35 minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Instant {
    us: u32,
}

impl Instant {
    /// The time `us` microseconds after the clock's zero.
    #[must_use]
    pub const fn from_us(us: u32) -> Self {
        Self { us }
    }

    /// Microseconds since the clock's zero, modulo 2^32.
    #[must_use]
    pub const fn us(self) -> u32 {
        self.us
    }

    /// The time `us` microseconds later.
    #[must_use]
    pub const fn after_us(self, us: u32) -> Self {
        Self::from_us(self.us.wrapping_add(us))
    }

    /// Microseconds since `earlier`.
    #[must_use]
    pub const fn us_since(self, earlier: Self) -> u32 {
        self.us.wrapping_sub(earlier.us)
    }

    /// True if this is not before `other`.
    #[must_use]
    pub const fn has_reached(self, other: Self) -> bool {
        self.us_since(other) as i32 >= 0
    }
}
