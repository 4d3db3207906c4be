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
        self.0[free.unwrap_or(PLACES - 1)] = Some(value);
    }

    /// Removes the oldest element.
    pub(crate) fn pop(&mut self) -> Option<T> {
        // Polled often, mostly when empty.
        let first = self.0[0].take()?;
        shift(&mut self.0);
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::BoundedQueue;

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
}
