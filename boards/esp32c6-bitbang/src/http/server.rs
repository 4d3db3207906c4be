//! One connection of the server.

use core::fmt::Write as _;

use linerate_ether::pattern;
use smoltcp::socket::tcp;

use super::{Head, HeadError, Writer};

/// Serves connections on one socket, one at a time.
pub struct Connection {
    head: Head,
    state: State,
}

enum State {
    /// Waiting for a request.
    Request,
    /// Sending bytes `sent..len` of the pattern, then closing if asked to.
    Body { sent: u64, len: u64, close: bool },
    /// Closed here; waiting for the other side.
    Closing,
}

/// Result of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    /// The status of the answer.
    pub status: u16,
    /// The bytes of the body.
    pub body: u64,
}

impl Connection {
    /// Creates a server without a connection.
    pub const fn new() -> Self {
        Self {
            head: Head::new(),
            state: State::Request,
        }
    }

    /// Advances the connection, and makes the socket listen at `port` again when it is over. Returns the
    /// response when all of it is in the socket's buffer.
    #[inline(never)]
    pub fn serve(&mut self, socket: &mut tcp::Socket, port: u16) -> Option<Served> {
        if !socket.is_open() {
            self.head.clear();
            self.state = State::Request;
            // A closed socket can listen, and the port is not 0.
            let _ = socket.listen(port);
            return None;
        }
        match self.state {
            State::Request => self.request(socket),
            State::Body { .. } => self.body(socket),
            State::Closing => {
                // Further data from the client are discarded, but must not fill its window.
                while socket.can_recv() {
                    if socket.recv(|data| (data.len(), ())).is_err() {
                        break;
                    }
                }
                if socket.state() == tcp::State::TimeWait {
                    socket.abort();
                }
                None
            }
        }
    }

    fn request(&mut self, socket: &mut tcp::Socket) -> Option<Served> {
        if !socket.can_recv() {
            // The client closed between requests.
            if socket.state() == tcp::State::CloseWait {
                socket.close();
                self.state = State::Closing;
            }
            return None;
        }
        let head = &mut self.head;
        let pushed = socket.recv(|data| match head.push(data) {
            Ok((used, complete)) => (used, Ok(complete)),
            Err(error) => (data.len(), Err(error)),
        });
        let complete = match pushed {
            Ok(Ok(complete)) => complete,
            Ok(Err(error)) => return Some(self.refuse(socket, status_of(error))),
            Err(_) => return None,
        };
        if !complete {
            return None;
        }
        let (status, len, close) = match self.head.request() {
            Err(error) => (status_of(error), 0, true),
            Ok(request) if request.method != "GET" => (405, 0, true),
            Ok(request) => match request.target.strip_prefix('/').map(str::parse::<u64>) {
                Some(Ok(len)) => (200, len, request.close),
                _ => (404, 0, request.close),
            },
        };
        if status != 200 && close {
            return Some(self.refuse(socket, status));
        }
        self.head.clear();
        write_head(socket, status, len, close);
        self.state = State::Body {
            sent: 0,
            len,
            close,
        };
        if status == 200 {
            return self.body(socket);
        }
        self.state = State::Request;
        Some(Served { status, body: 0 })
    }

    fn refuse(&mut self, socket: &mut tcp::Socket, status: u16) -> Served {
        write_head(socket, status, 0, true);
        socket.close();
        self.state = State::Closing;
        Served { status, body: 0 }
    }

    fn body(&mut self, socket: &mut tcp::Socket) -> Option<Served> {
        let State::Body { sent, len, close } = &mut self.state else {
            return None;
        };
        while *sent < *len && socket.can_send() {
            let filled = socket.send(|room| {
                let count = (*len - *sent).min(room.len() as u64) as usize;
                pattern::fill(*sent, &mut room[..count]);
                (count, count)
            });
            match filled {
                Ok(count) => *sent += count as u64,
                Err(_) => break,
            }
        }
        if !socket.may_send() {
            self.state = State::Closing;
            return None;
        }
        if *sent < *len {
            return None;
        }
        let served = Served {
            status: 200,
            body: *len,
        };
        self.state = if *close {
            socket.close();
            State::Closing
        } else {
            State::Request
        };
        Some(served)
    }
}

impl Default for Connection {
    fn default() -> Self {
        Self::new()
    }
}

fn status_of(error: HeadError) -> u16 {
    match error {
        HeadError::TooLong => 431,
        HeadError::Malformed => 400,
    }
}

fn write_head(socket: &mut tcp::Socket, status: u16, len: u64, close: bool) {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        _ => "Request Header Fields Too Large",
    };
    let connection = if close { "close" } else { "keep-alive" };
    // A head is sent after the previous one and its body: there is space.
    let _ = write!(
        Writer(socket),
        "HTTP/1.1 {status} {reason}\r\nContent-Type: application/octet-stream\r\n\
         Content-Length: {len}\r\nConnection: {connection}\r\n\r\n"
    );
}
