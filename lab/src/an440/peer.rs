//! The workstation's half of the benchmark: it receives all bytes of a connection, or sends a number of them.

use linerate_agent::{Close, Connection, Instant, Opened, Refused, Service, SocketRequest};
use linerate_sim::peer::host::program::Program;

/// Port of connections whose bytes it receives.
const SINK: u16 = 5001;
/// Port of connections to which it sends.
const SOURCE: u16 = 5002;

/// The workstation's program.
#[derive(Debug)]
pub struct Workstation {
    requests: Vec<SocketRequest>,
    sources: Vec<Connection>,
    to_send: u64,
    ended: Vec<Connection>,
    /// Bytes that arrived.
    pub received: u64,
}

impl Workstation {
    /// Sends `bytes` to each connection that wants them.
    pub fn new(bytes: u64) -> Self {
        Self {
            requests: vec![SocketRequest::Listen(SINK), SocketRequest::Listen(SOURCE)],
            sources: Vec::new(),
            to_send: bytes,
            ended: Vec::new(),
            received: 0,
        }
    }
}

impl Service for Workstation {
    fn next_request(&mut self) -> Option<SocketRequest> {
        self.requests.pop()
    }

    fn opened(
        &mut self,
        connection: Connection,
        opened: Opened,
        _: Instant,
    ) -> Result<(), Refused> {
        if matches!(opened, Opened::Accepted { port: SOURCE, .. }) {
            self.sources.push(connection);
        }
        Ok(())
    }

    fn received(&mut self, _: Connection, octets: &[u8], _: Instant) {
        self.received += octets.len() as u64;
    }

    fn fill(&mut self, connection: Connection, room: &mut [u8], _: Instant) -> usize {
        if !self.sources.contains(&connection) {
            return 0;
        }
        let len = room.len().min(self.to_send as usize);
        room[..len].fill(0x5a);
        self.to_send -= len as u64;
        len
    }

    fn ended(&mut self, connection: Connection, _: Instant) {
        self.ended.push(connection);
    }

    fn close(&self, connection: Connection) -> Close {
        let is_done = self.sources.contains(&connection) && self.to_send == 0;
        if is_done || self.ended.contains(&connection) {
            Close::Finish
        } else {
            Close::Keep
        }
    }
}

impl Program for Workstation {
    fn poll_finished(&mut self, _: Instant) -> bool {
        false
    }
}
