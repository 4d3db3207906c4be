//! Small bounded queues.

/// Removes the first element of a queue and moves the others up.
pub(crate) fn shift<T>(queue: &mut [Option<T>]) {
    if let Some(first) = queue.first_mut() {
        *first = None;
    }
    for at in 1..queue.len() {
        queue.swap(at - 1, at);
    }
}

/// A bounded queue: when it is full, a new element pushes the oldest out.
#[derive(Debug)]
pub(crate) struct BoundedQueue<T, const PLACES: usize>([Option<T>; PLACES]);

impl<T, const PLACES: usize> BoundedQueue<T, PLACES> {
    pub(crate) const fn new() -> Self {
        assert!(PLACES > 0);
        Self([const { None }; PLACES])
    }

    pub(crate) fn push(&mut self, value: T) {
        let free = self.0.iter().position(Option::is_none);
        if free.is_none() {
            shift(&mut self.0);
        }
        if let Some(place) = self.0.get_mut(free.unwrap_or(PLACES - 1)) {
            *place = Some(value);
        }
    }

    /// Removes the oldest element.
    pub(crate) fn pop(&mut self) -> Option<T> {
        // Polled often, mostly when empty.
        let first = self.0.first_mut()?.take()?;
        shift(&mut self.0);
        Some(first)
    }
}

/// A bounded queue that moves no element: for large ones.
#[derive(Debug)]
pub(crate) struct Ring<T, const PLACES: usize> {
    places: [Option<T>; PLACES],
    first: usize,
}

impl<T: Copy, const PLACES: usize> Ring<T, PLACES> {
    pub(crate) const fn new() -> Self {
        assert!(PLACES > 0);
        Self {
            // A copied empty place is only its tag; as a constant it would occupy flash in full.
            places: [None; PLACES],
            first: 0,
        }
    }

    /// The place behind the last element; `None` if the queue is full.
    pub(crate) fn free(&mut self) -> Option<&mut Option<T>> {
        let is_free = |at: &usize| self.places.get(*at).is_some_and(Option::is_none);
        let mut order = (0..PLACES).map(|step| (self.first + step) % PLACES);
        let at = order.find(is_free)?;
        self.places.get_mut(at)
    }

    /// The oldest element.
    pub(crate) fn first(&self) -> Option<&T> {
        self.places.get(self.first)?.as_ref()
    }

    /// Removes the oldest element.
    pub(crate) fn remove_first(&mut self) {
        if let Some(place) = self.places.get_mut(self.first) {
            *place = None;
        }
        self.first = (self.first + 1) % PLACES;
    }
}

#[cfg(test)]
mod tests {
    use super::{BoundedQueue, Ring};

    #[test]
    fn the_first_is_taken_first_and_pushed_out_first() {
        let mut queue = BoundedQueue::<u8, 2>::new();
        for one in [1, 2, 3] {
            queue.push(one);
        }
        assert_eq!(
            [queue.pop(), queue.pop(), queue.pop()],
            [Some(2), Some(3), None]
        );
        queue.push(4);
        assert_eq!(queue.pop(), Some(4));
    }

    #[test]
    fn a_ring_takes_as_many_as_it_has_places_and_returns_them_in_order() {
        let mut ring = Ring::<u8, 3>::new();
        let push = |ring: &mut Ring<u8, 3>, value| {
            let free = ring.free();
            free.map(|place| *place = Some(value)).is_some()
        };
        for round in 0..5 {
            for value in [1, 2, 3] {
                assert!(push(&mut ring, round + value));
            }
            assert!(!push(&mut ring, 9), "full");
            for value in [1, 2] {
                assert_eq!(ring.first(), Some(&(round + value)));
                ring.remove_first();
            }
            assert!(push(&mut ring, 7));
            for value in [round + 3, 7] {
                assert_eq!(ring.first(), Some(&value));
                ring.remove_first();
            }
            assert_eq!(ring.first(), None);
        }
    }
}
