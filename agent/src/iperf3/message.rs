//! Messages of the control connection: a cookie, states of one octet, and JSON with a length prefix.

use super::json::{Event, InvalidJson, PartialWriter, Scanner};
use crate::octets::behind;

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

/// A message: a [`state`], or one of those with content, by a number that is no state. 0 is none.
pub(super) type Message = u8;
pub(super) const COOKIE_MESSAGE: Message = 0x80;
pub(super) const PARAMETERS: Message = 0x81;
pub(super) const RESULTS: Message = 0x82;
/// Messages waiting for buffer space.
#[derive(Debug)]
pub(super) struct Outbox {
    /// Four messages, the first in the lowest octet.
    queue: u32,
    /// Number behind the state `SERVER_ERROR`.
    error: u32,
    /// Octets sent of the first message.
    sent: usize,
}

impl Outbox {
    pub(super) const fn new() -> Self {
        Self {
            queue: 0,
            error: 0,
            sent: 0,
        }
    }

    /// The protocol continues only after the peer's answer, so the queue never overflows.
    #[inline(never)]
    pub(super) fn push(&mut self, message: Message) {
        let used = u32::BITS - self.queue.leading_zeros();
        self.queue |= u32::from(message)
            .checked_shl(used.next_multiple_of(8))
            .unwrap_or(0);
    }

    /// Announces an error, with its number.
    pub(super) fn push_error(&mut self, number: u32) {
        self.error = number;
        self.push(state::SERVER_ERROR);
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.queue == 0
    }

    /// Fills `buffer`; `document` writes cookies and JSON messages.
    pub(super) fn fill(
        &mut self,
        buffer: &mut [u8],
        document: &dyn Fn(Message, &mut PartialWriter),
    ) -> usize {
        let mut len = 0;
        while !self.is_empty() {
            let message = self.queue as u8;
            let mut writer = PartialWriter::new(behind(buffer, len), self.sent);
            if matches!(message, PARAMETERS | RESULTS) {
                let octets = PartialWriter::measure(|writer| document(message, writer));
                writer.word(octets as u32);
            }
            if matches!(message, COOKIE_MESSAGE | PARAMETERS | RESULTS) {
                document(message, &mut writer);
            } else {
                writer.raw(&[message]);
            }
            if message == state::SERVER_ERROR {
                writer.word(self.error);
                // The operating system's error number: none.
                writer.word(0);
            }
            let (written, complete) = (writer.written(), writer.is_complete());
            len += written;
            self.sent += written;
            if !complete {
                break;
            }
            self.sent = 0;
            self.queue >>= 8;
        }
        len
    }
}

/// Maximum length of JSON: a hundred streams need a quarter of it.
const MAX_JSON_LEN: u32 = 1 << 16;

/// Parses JSON with a length prefix.
#[derive(Debug)]
pub(super) struct JsonFrame {
    scanner: Scanner<24>,
    /// Octets left; before that, those of the prefix.
    left: u32,
    prefix_octets: u8,
}

impl JsonFrame {
    pub(super) const fn new() -> Self {
        Self {
            scanner: Scanner::new(),
            left: 0,
            prefix_octets: 0,
        }
    }

    /// Prepares for another message, after the previous one was read completely.
    pub(super) const fn restart(&mut self) {
        self.prefix_octets = 0;
        self.scanner.restart();
    }

    /// Reads an octet; returns true with the last one.
    pub(super) fn push(
        &mut self,
        octet: u8,
        on_event: &mut dyn FnMut(u8, Event<'_>),
    ) -> Result<bool, InvalidJson> {
        if self.prefix_octets < 4 {
            self.left = self.left << 8 | u32::from(octet);
            self.prefix_octets += 1;
            if self.prefix_octets == 4 && !(1..=MAX_JSON_LEN).contains(&self.left) {
                return Err(InvalidJson);
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
