//! Connections being closed.

use crate::{Close, Connection, Instant, SECOND};

/// Maximum time to wait for the peer to close its end.
const CLOSE_TIMEOUT_NS: u64 = 2 * SECOND;

#[derive(Debug, Clone, Copy)]
struct ClosingConnection {
    until: Instant,
    connection: Connection,
    /// Final state octet to send; `SENT` if there is none.
    last_state: u8,
    is_late: bool,
}

/// No state: none has this number.
pub(super) const SENT: u8 = 0;

#[derive(Debug)]
pub(super) struct ClosingConnections<const N: usize>([Option<ClosingConnection>; N]);

impl<const N: usize> ClosingConnections<N> {
    pub(super) const fn new() -> Self {
        Self([None; N])
    }

    /// Closes the connection after sending `last_state`; returns false if the table is full.
    pub(super) fn add(&mut self, connection: Connection, last_state: u8, now: Instant) -> bool {
        let Some(free) = self.0.iter_mut().find(|slot| slot.is_none()) else {
            return false;
        };
        *free = Some(ClosingConnection {
            until: now.after_ns(CLOSE_TIMEOUT_NS),
            connection,
            last_state,
            is_late: false,
        });
        true
    }

    fn find(&mut self, connection: Connection) -> Option<&mut ClosingConnection> {
        let mut all = self.0.iter_mut().flatten();
        all.find(|it| it.connection == connection)
    }

    pub(super) fn fill(&mut self, connection: Connection, buffer: &mut [u8]) -> usize {
        let (Some(leaving), Some(first)) = (self.find(connection), buffer.first_mut()) else {
            return 0;
        };
        if leaving.last_state == SENT {
            return 0;
        }
        *first = core::mem::replace(&mut leaving.last_state, SENT);
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
            (false, SENT) => Close::Finish,
            (false, _) => Close::Keep,
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
                SENT => it.until,
                _ => Instant::from_ns(0),
            });
        }
        first
    }
}
