//! What waits for its turn.

/// Forgets the first of a queue: the others move up.
pub(crate) fn shift<T>(queue: &mut [Option<T>]) {
    if let Some(first) = queue.first_mut() {
        *first = None;
    }
    for at in 1..queue.len() {
        queue.swap(at - 1, at);
    }
}

/// The last few things worth telling, first the one that came first; more of them push that one out.
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

    /// The first of them, once.
    pub(crate) fn take(&mut self) -> Option<T> {
        // Asked for again and again, mostly for nothing.
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
