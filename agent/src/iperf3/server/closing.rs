//! Connections being closed.

use crate::{Close, Connection, Instant, SECOND};

/// Maximum time to wait for the peer to close its end.
const CLOSE_TIMEOUT_NS: u64 = 2 * SECOND;

#[derive(Debug, Clone, Copy)]
struct ClosingConnection {
    connection: Connection,
    /// Final state octet to send.
    last_state: Option<u8>,
    until: Instant,
    is_late: bool,
}

#[derive(Debug)]
pub(super) struct ClosingConnections<const N: usize>([Option<ClosingConnection>; N]);

impl<const N: usize> ClosingConnections<N> {
    pub(super) const fn new() -> Self {
        Self([None; N])
    }

    /// Closes the connection after sending `last_state`; returns false if the table is full.
    pub(super) fn add(
        &mut self,
        connection: Connection,
        last_state: Option<u8>,
        now: Instant,
    ) -> bool {
        let free = self.0.iter_mut().find(|slot| slot.is_none());
        let until = now.after_ns(CLOSE_TIMEOUT_NS);
        let leaving = ClosingConnection {
            connection,
            last_state,
            until,
            is_late: false,
        };
        free.map(|slot| *slot = Some(leaving)).is_some()
    }

    fn find(&mut self, connection: Connection) -> Option<&mut ClosingConnection> {
        let mut all = self.0.iter_mut().flatten();
        all.find(|it| it.connection == connection)
    }

    pub(super) fn fill(&mut self, connection: Connection, buffer: &mut [u8]) -> usize {
        let (Some(leaving), Some(first)) = (self.find(connection), buffer.first_mut()) else {
            return 0;
        };
        let Some(word) = leaving.last_state.take() else {
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
        Some(match (leaving.is_late, leaving.last_state) {
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
            first = first.earlier(match it.last_state {
                Some(_) => Instant::from_ns(0),
                None => it.until,
            });
        }
        first
    }
}
