//! Connections being closed.

use crate::{Close, Connection, Instant, SECOND};

/// Maximum time to wait for the peer to close its end.
const PATIENCE_NS: u64 = 2 * SECOND;

#[derive(Debug, Clone, Copy)]
struct Leaving {
    connection: Connection,
    /// Final state octet to send.
    to_say: Option<u8>,
    until: Instant,
    is_late: bool,
}

#[derive(Debug)]
pub(super) struct Leavings<const N: usize>([Option<Leaving>; N]);

impl<const N: usize> Leavings<N> {
    pub(super) const fn new() -> Self {
        Self([None; N])
    }

    /// Closes the connection after sending `last_state`; returns false if the table is full.
    pub(super) fn add(&mut self, connection: Connection, to_say: Option<u8>, now: Instant) -> bool {
        let free = self.0.iter_mut().find(|slot| slot.is_none());
        let until = now.after_ns(PATIENCE_NS);
        let leaving = Leaving {
            connection,
            to_say,
            until,
            is_late: false,
        };
        free.map(|slot| *slot = Some(leaving)).is_some()
    }

    fn find(&mut self, connection: Connection) -> Option<&mut Leaving> {
        let mut all = self.0.iter_mut().flatten();
        all.find(|it| it.connection == connection)
    }

    pub(super) fn fill(&mut self, connection: Connection, room: &mut [u8]) -> usize {
        let (Some(leaving), Some(first)) = (self.find(connection), room.first_mut()) else {
            return 0;
        };
        let Some(word) = leaving.to_say.take() else {
            return 0;
        };
        *first = word;
        1
    }

    pub(super) fn closed(&mut self, connection: Connection) {
        for slot in &mut self.0 {
            slot.take_if(|it| it.connection == connection);
        }
    }

    pub(super) fn close(&self, connection: Connection) -> Option<Close> {
        let mut all = self.0.iter().flatten();
        let leaving = all.find(|it| it.connection == connection)?;
        Some(match (leaving.is_late, leaving.to_say) {
            (true, _) => Close::Reset,
            (false, Some(_)) => Close::Keep,
            (false, None) => Close::Finish,
        })
    }

    pub(super) fn step(&mut self, now: Instant) {
        for leaving in self.0.iter_mut().flatten() {
            leaving.is_late |= now >= leaving.until;
        }
    }

    pub(super) fn wake_at(&self) -> Instant {
        let mut first = Instant::NEVER;
        for it in self.0.iter().flatten().filter(|it| !it.is_late) {
            first = first.or(match it.to_say {
                Some(_) => Instant::from_ns(0),
                None => it.until,
            });
        }
        first
    }
}
