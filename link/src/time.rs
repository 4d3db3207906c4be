//! Points in time: 32 bits of microseconds, which wrap after 71 minutes.

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
