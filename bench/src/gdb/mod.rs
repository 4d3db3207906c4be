//! The memory of a device behind a gdb server: QEMU, `OpenOCD`, `probe-rs gdb` and other servers of gdb's
//! remote serial protocol (the GDB manual, appendix E).
//!
//! The device is halted from [`Gdb::attach`] to [`Gdb::detach`]. Numbers are little-endian, as on all chips
//! here.

pub mod packet;
#[cfg(test)]
mod tests;

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
#[cfg(unix)]
use std::path::Path;
use std::time::{Duration, Instant};

use linerate_regs_decode::live::{Memory, MemoryError};

use self::packet::{Message, Reader, digits, number, packet};

/// Maximum number of retransmissions of a corrupted packet.
const ATTEMPTS: u32 = 4;

/// Why the device cannot be accessed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GdbError {
    /// The server cannot be reached.
    #[error("no gdb server at {at}: {why}")]
    Unreachable {
        /// The address.
        at: String,
        /// The system's error.
        why: String,
    },
    /// It closed the connection, or violates the protocol.
    #[error("the gdb server {0}")]
    Protocol(String),
}

/// A connection to a gdb server.
pub struct Gdb {
    stream: Box<dyn Stream>,
    reader: Reader,
    /// Timeout for an answer.
    timeout: Duration,
    /// Octets received but not yet parsed.
    received: std::collections::VecDeque<u8>,
}

trait Stream: Read + Write + Send {
    fn limit(&self, span: Duration) -> std::io::Result<()>;
}

impl Stream for TcpStream {
    fn limit(&self, span: Duration) -> std::io::Result<()> {
        self.set_read_timeout(Some(span))?;
        self.set_write_timeout(Some(span))
    }
}

#[cfg(unix)]
impl Stream for UnixStream {
    fn limit(&self, span: Duration) -> std::io::Result<()> {
        self.set_read_timeout(Some(span))?;
        self.set_write_timeout(Some(span))
    }
}

impl Gdb {
    /// Halts the device behind the server at `address`, `HOST:PORT`. `timeout` limits the wait for each answer.
    ///
    /// # Errors
    /// [`GdbError`].
    pub fn attach(address: &str, timeout: Duration) -> Result<Self, GdbError> {
        let absent = |why: std::io::Error| GdbError::Unreachable {
            at: address.to_owned(),
            why: why.to_string(),
        };
        let mut failed = ErrorKind::AddrNotAvailable.into();
        for address in address.to_socket_addrs().map_err(absent)? {
            match TcpStream::connect_timeout(&address, timeout) {
                Ok(stream) => {
                    let _ = stream.set_nodelay(true);
                    return Self::begin(Box::new(stream), timeout);
                }
                Err(error) => failed = error,
            }
        }
        Err(absent(failed))
    }

    /// The same over a Unix socket.
    ///
    /// # Errors
    /// [`GdbError`].
    #[cfg(unix)]
    pub fn attach_socket(path: &Path, timeout: Duration) -> Result<Self, GdbError> {
        let stream = UnixStream::connect(path).map_err(|why| GdbError::Unreachable {
            at: path.display().to_string(),
            why: why.to_string(),
        })?;
        Self::begin(Box::new(stream), timeout)
    }

    fn begin(stream: Box<dyn Stream>, timeout: Duration) -> Result<Self, GdbError> {
        let mut gdb = Self {
            stream,
            reader: Reader::default(),
            timeout,
            received: std::collections::VecDeque::new(),
        };
        gdb.request("qSupported")?;
        // Every client queries the halt reason, and some servers halt the device only then.
        gdb.request("?")?;
        // QEMU: use physical addresses regardless of the processor's page tables, so that devices can
        // be written. Other servers do not support it and have no page tables, or bypass them.
        gdb.request("Qqemu.PhyMemMode:1")?;
        Ok(gdb)
    }

    /// Resumes the device.
    ///
    /// # Errors
    /// [`GdbError`].
    pub fn detach(mut self) -> Result<(), GdbError> {
        match self.request("D")?.as_slice() {
            b"OK" | b"" => Ok(()),
            _ => Err(GdbError::Protocol("does not resume the device".to_owned())),
        }
    }

    /// Sends `body` and returns the reply.
    fn request(&mut self, body: &str) -> Result<Vec<u8>, GdbError> {
        let until = Instant::now() + self.timeout;
        let is_stop = body == "?";
        let mut sent = 0;
        let mut again = true;
        let mut corrupted = 0;
        loop {
            if again {
                sent += 1;
                if sent > ATTEMPTS {
                    let what = "rejects every packet: is it a gdb server?";
                    return Err(GdbError::Protocol(what.to_owned()));
                }
                self.send(&packet(body))?;
                again = false;
            }
            match self.next(until)? {
                Message::Ack => {}
                Message::Nak => again = true,
                Message::Corrupted => {
                    corrupted += 1;
                    if corrupted > ATTEMPTS {
                        let what = "sends corrupted packets: is it a gdb server?";
                        return Err(GdbError::Protocol(what.to_owned()));
                    }
                    self.send(b"-")?;
                }
                Message::Packet(reply) => {
                    self.send(b"+")?;
                    match reply.first() {
                        Some(b'W' | b'X') => {
                            let what = "reports that the program has ended";
                            return Err(GdbError::Protocol(what.to_owned()));
                        }
                        // Repeated stop replies, and the program's output.
                        Some(b'T' | b'S') if !is_stop => {}
                        Some(b'O') if reply != b"OK" => {}
                        _ => return Ok(reply),
                    }
                }
            }
        }
    }

    fn send(&mut self, octets: &[u8]) -> Result<(), GdbError> {
        let written = self
            .stream
            .limit(self.timeout)
            .and_then(|()| self.stream.write_all(octets));
        written.map_err(|error| GdbError::Protocol(format!("cannot be written to: {error}")))
    }

    /// Returns its next message.
    fn next(&mut self, until: Instant) -> Result<Message, GdbError> {
        loop {
            // The timeout applies whatever it sends.
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(GdbError::Protocol(format!(
                    "gives no answer within {} s: is it a gdb server, and is no other client attached?",
                    self.timeout.as_secs_f64()
                )));
            }
            while let Some(octet) = self.received.pop_front() {
                if let Some(message) = self.reader.feed(octet) {
                    return Ok(message);
                }
            }
            let mut piece = [0; 1024];
            let read = self
                .stream
                .limit(left)
                .and_then(|()| self.stream.read(&mut piece));
            match read {
                Ok(0) => return Err(GdbError::Protocol("has closed the connection".to_owned())),
                Ok(octets) => self.received.extend(&piece[..octets]),
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                    ) => {}
                Err(error) => {
                    return Err(GdbError::Protocol(format!("cannot be read from: {error}")));
                }
            }
        }
    }

    /// Requests an access to memory.
    fn access(&mut self, body: &str) -> Result<Vec<u8>, MemoryError> {
        let reply = self
            .request(body)
            .map_err(|error| MemoryError::Lost(error.to_string()))?;
        match reply.as_slice() {
            [] => Err(MemoryError::Lost(
                "the gdb server gives no access to memory".to_owned(),
            )),
            [b'E', b'.', why @ ..] => Err(refused(&String::from_utf8_lossy(why))),
            [b'E', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                Err(refused(&String::from_utf8_lossy(&reply)))
            }
            _ => Ok(reply),
        }
    }
}

fn refused(why: &str) -> MemoryError {
    MemoryError::Refused(format!("the device does not answer there ({why})"))
}

impl Memory for Gdb {
    fn read(&mut self, address: u32, bits: u8) -> Result<u32, MemoryError> {
        let octets = usize::from(bits / 8);
        let reply = self.access(&format!("m{address:x},{octets:x}"))?;
        number(&reply, octets).ok_or_else(|| {
            let text = String::from_utf8_lossy(&reply).into_owned();
            refused(&format!(
                "{octets} octets were requested, `{text}` was received"
            ))
        })
    }

    fn write(&mut self, address: u32, bits: u8, value: u32) -> Result<(), MemoryError> {
        let octets = usize::from(bits / 8);
        let digits = digits(value, octets);
        let reply = self.access(&format!("M{address:x},{octets:x}:{digits}"))?;
        if reply == b"OK" {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&reply).into_owned();
        Err(refused(&text))
    }
}
