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
pub(crate) struct Notes<T, const PLACES: usize>([Option<T>; PLACES]);

impl<T, const PLACES: usize> Notes<T, PLACES> {
    pub(crate) const fn new() -> Self {
        assert!(PLACES > 0);
        Self([const { None }; PLACES])
    }

    pub(crate) fn note(&mut self, one: T) {
        let free = self.0.iter().position(Option::is_none);
        if free.is_none() {
            shift(&mut self.0);
        }
        self.0[free.unwrap_or(PLACES - 1)] = Some(one);
    }

    /// Removes the oldest element.
    pub(crate) fn take(&mut self) -> Option<T> {
        // Polled often, mostly when empty.
        let first = self.0[0].take()?;
        shift(&mut self.0);
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::Notes;

    #[test]
    fn the_first_is_taken_first_and_pushed_out_first() {
        let mut notes = Notes::<u8, 2>::new();
        for one in [1, 2, 3] {
            notes.note(one);
        }
        assert_eq!(
            [notes.take(), notes.take(), notes.take()],
            [Some(2), Some(3), None]
        );
        notes.note(4);
        assert_eq!(notes.take(), Some(4));
    }
}
