//! Devices behind one bus: each in its address range, with the time of its next event.

use core::any::Any;
use core::ops::Range;

use crate::device::Device;
use crate::time::Instant;

/// A device in its address range.
#[derive(Debug)]
struct Slot {
    range: Range<u32>,
    device: Box<dyn Device>,
}

/// The devices, numbered in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct Peripherals {
    slots: Vec<Slot>,
    /// The next event of each device.
    events: Vec<Instant>,
    /// Numbers of the devices by address.
    by_address: Vec<usize>,
    /// The device of the last access: most accesses are to the same one.
    last: usize,
}

impl Peripherals {
    /// Adds a device that answers in `range`.
    ///
    /// # Panics
    /// If another device answers there: a chip's wiring is fixed, not input.
    pub fn add(&mut self, range: Range<u32>, device: Box<dyn Device>) {
        let number = self.slots.len();
        let at = self
            .by_address
            .partition_point(|&other| self.slots[other].range.start < range.start);
        let after = self
            .by_address
            .get(at)
            .map(|&next| self.slots[next].range.start);
        let before = at
            .checked_sub(1)
            .map(|at| self.slots[self.by_address[at]].range.end);
        assert!(
            before.is_none_or(|end| end <= range.start)
                && after.is_none_or(|start| range.end <= start),
            "two devices at {range:#x?}"
        );
        self.events.push(device.next_event());
        self.slots.push(Slot { range, device });
        self.by_address.insert(at, number);
    }

    /// The device at `addr`, and the offset in its range.
    #[inline]
    pub fn at(&mut self, addr: u32) -> Option<(usize, u32)> {
        if !self
            .slots
            .get(self.last)
            .is_some_and(|slot| slot.range.contains(&addr))
        {
            self.last = self.search(addr)?;
        }
        Some((self.last, addr - self.slots[self.last].range.start))
    }

    fn search(&self, addr: u32) -> Option<usize> {
        let after = self
            .by_address
            .partition_point(|&number| self.slots[number].range.start <= addr);
        let number = *self.by_address.get(after.checked_sub(1)?)?;
        self.slots[number].range.contains(&addr).then_some(number)
    }

    /// The device with this number.
    #[inline]
    pub fn device(&mut self, number: usize) -> &mut dyn Device {
        &mut *self.slots[number].device
    }

    /// The same as its model; `None` if it is another one.
    #[inline]
    pub fn model<D: Device>(&mut self, number: usize) -> Option<&mut D> {
        let device: &mut dyn Any = self.device(number);
        device.downcast_mut()
    }

    /// Exchanges a device, with its state, for the one of `other`.
    pub fn swap(&mut self, other: &mut Self, number: usize) {
        core::mem::swap(
            &mut self.slots[number].device,
            &mut other.slots[number].device,
        );
    }

    /// Asks a device for its next event, after an access or an event; returns its time.
    #[inline]
    pub fn update_event(&mut self, number: usize) -> Instant {
        let next = self.slots[number].device.next_event();
        self.events[number] = next;
        next
    }

    /// Sets the time of a device's next event, where more than the device itself decides on it.
    #[inline]
    pub fn set_event(&mut self, number: usize, at: Instant) {
        self.events[number] = at;
    }

    /// True if the device has an event at or before `now`.
    #[inline]
    pub fn is_due(&self, number: usize, now: Instant) -> bool {
        self.events[number] <= now
    }

    /// Time of the next event of any device.
    #[inline]
    pub fn next_event(&self) -> Instant {
        self.events.iter().copied().min().unwrap_or(Instant::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Rng, SysTimer};

    fn two() -> Peripherals {
        let mut peripherals = Peripherals::default();
        peripherals.add(0x6000_2000..0x6000_3000, Box::new(Rng::new(1)));
        peripherals.add(0x6000_0000..0x6000_1000, Box::new(SysTimer::default()));
        peripherals
    }

    #[test]
    fn addresses_find_their_device() {
        let mut peripherals = two();
        assert_eq!(peripherals.at(0x6000_2008), Some((0, 8)));
        assert_eq!(peripherals.at(0x6000_0ffc), Some((1, 0xffc)));
        assert_eq!(peripherals.at(0x6000_1000), None);
        assert_eq!(peripherals.at(0x5fff_fffc), None);
        assert!(peripherals.model::<Rng>(0).is_some());
        assert!(peripherals.model::<Rng>(1).is_none());
    }

    #[test]
    #[should_panic(expected = "two devices")]
    fn ranges_do_not_overlap() {
        two().add(0x6000_0f00..0x6000_1100, Box::new(Rng::new(1)));
    }
}
