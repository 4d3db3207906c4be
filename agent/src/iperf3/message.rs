//! Messages of the control connection: a cookie, states of one octet, and JSON with a length prefix.

use super::json::{Event, InvalidJson, PartialWriter, Scanner};
use crate::queue::shift;

/// Protocol states, as sent on the wire.
pub(super) mod state {
    pub(crate) const TEST_START: u8 = 1;
    pub(crate) const TEST_RUNNING: u8 = 2;
    pub(crate) const TEST_END: u8 = 4;
    pub(crate) const PARAM_EXCHANGE: u8 = 9;
    pub(crate) const CREATE_STREAMS: u8 = 10;
    pub(crate) const SERVER_TERMINATE: u8 = 11;
    pub(crate) const EXCHANGE_RESULTS: u8 = 13;
    pub(crate) const DISPLAY_RESULTS: u8 = 14;
    pub(crate) const IPERF_DONE: u8 = 16;
    pub(crate) const ACCESS_DENIED: u8 = 0xff;
    pub(crate) const SERVER_ERROR: u8 = 0xfe;
}

/// Error numbers from iperf's own header (`iperf_api.h`).
pub(super) mod error {
    /// More streams than supported.
    pub(crate) const NUM_STREAMS: u32 = 6;
    /// Not supported here.
    pub(crate) const NOT_IMPLEMENTED: u32 = 13;
    /// The parameters are invalid.
    pub(crate) const PARAMETERS: u32 = 114;
    /// The results are invalid.
    pub(crate) const RESULTS: u32 = 117;
}

/// A client's UDP message to open a stream, and the server's answer.
pub(super) const HELLO: &[u8; 4] = b"9876";
pub(super) const HELLO_ANSWER: &[u8; 4] = b"6789";

/// Identifies a test: the first octets of all its connections. The last one is zero.
pub type Cookie = [u8; COOKIE];
pub(super) const COOKIE: usize = 37;

/// Generates a cookie from the seed, of the characters that iperf uses.
pub(super) fn cookie(seed: u64) -> Cookie {
    let mut random = seed;
    let mut cookie = [0; COOKIE];
    for octet in &mut cookie[..COOKIE - 1] {
        // splitmix64.
        random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (random ^ random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        *octet = b"abcdefghijklmnopqrstuvwxyz234567"[(z >> 59) as usize];
    }
    cookie
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Message {
    Cookie,
    State(u8),
    Parameters,
    Results,
    /// The error state and its number.
    Error(u32),
}

/// Messages waiting for buffer space.
#[derive(Debug)]
pub(super) struct Outbox {
    queue: [Option<Message>; 4],
    /// Octets sent of the first message.
    sent: usize,
}

impl Outbox {
    pub(super) const fn new() -> Self {
        Self {
            queue: [None; 4],
            sent: 0,
        }
    }

    /// The protocol continues only after the peer's answer, so the queue never overflows.
    #[inline(never)]
    pub(super) fn push(&mut self, message: Message) {
        if let Some(free) = self.queue.iter_mut().find(|it| it.is_none()) {
            *free = Some(message);
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.queue[0].is_none()
    }

    /// Fills `buffer`; `document` writes cookies and JSON messages.
    pub(super) fn fill(
        &mut self,
        buffer: &mut [u8],
        document: impl Fn(Message, &mut PartialWriter),
    ) -> usize {
        let mut len = 0;
        while let Some(message) = self.queue[0] {
            let mut writer = PartialWriter::new(&mut buffer[len..], self.sent);
            match message {
                Message::State(state) => writer.raw(&[state]),
                Message::Error(number) => {
                    writer.raw(&[state::SERVER_ERROR]);
                    writer.raw(&number.to_be_bytes());
                    // The operating system's error number: none.
                    writer.raw(&[0; 4]);
                }
                Message::Cookie => document(message, &mut writer),
                Message::Parameters | Message::Results => {
                    let octets = PartialWriter::measure(|writer| document(message, writer));
                    writer.raw(&(octets as u32).to_be_bytes());
                    document(message, &mut writer);
                }
            }
            let (written, complete) = (writer.written(), writer.is_complete());
            len += written;
            self.sent += written;
            if !complete {
                break;
            }
            self.sent = 0;
            shift(&mut self.queue);
        }
        len
    }
}

/// Maximum length of JSON: a hundred streams need a quarter of it.
const MAX_JSON_LEN: u32 = 1 << 16;

/// Parses JSON with a length prefix.
#[derive(Debug)]
pub(super) struct JsonFrame {
    head: u32,
    head_octets: u8,
    left: u32,
    scanner: Scanner<24>,
}

impl JsonFrame {
    pub(super) const fn new() -> Self {
        Self {
            head: 0,
            head_octets: 0,
            left: 0,
            scanner: Scanner::new(),
        }
    }

    /// Prepares for another message, after the previous one was read completely.
    pub(super) const fn restart(&mut self) {
        self.head_octets = 0;
        self.scanner.restart();
    }

    /// Reads an octet; returns true with the last one.
    pub(super) fn push(
        &mut self,
        octet: u8,
        on_event: &mut dyn FnMut(u8, Event<'_>),
    ) -> Result<bool, InvalidJson> {
        if self.head_octets < 4 {
            self.head = self.head << 8 | u32::from(octet);
            self.head_octets += 1;
            if self.head_octets == 4 {
                self.left = self.head;
                if self.left == 0 || self.left > MAX_JSON_LEN {
                    return Err(InvalidJson);
                }
            }
            return Ok(false);
        }
        self.left -= 1;
        self.scanner.push(octet, on_event)?;
        if self.left > 0 {
            return Ok(false);
        }
        self.scanner.finish(on_event)?;
        Ok(true)
    }
}
