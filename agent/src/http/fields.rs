//! The header fields that determine the content's length and the connection's persistence.

use super::line::Line;
use super::{number, split};

/// A malformed head: the status to respond with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault(pub(super) u16);

const BAD: Fault = Fault(400);
const TOO_LARGE: Fault = Fault(431);

#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    pub(super) length: u64,
    pub(super) has_length: bool,
    pub(super) is_chunked: bool,
    pub(super) has_host: bool,
    pub(super) expects_continue: bool,
    pub(super) closes: bool,
}

/// Names of the relevant fields, and their positions in the list.
const NAMES: [&str; 5] = [
    "content-length",
    "transfer-encoding",
    "expect",
    "connection",
    "host",
];
const LENGTH: usize = 0;
const CODING: usize = 1;
const EXPECT: usize = 2;
const CONNECTION: usize = 3;
const HOST: usize = 4;

/// Case-insensitive comparison of names and values.
#[inline(never)]
fn is(text: &[u8], other: &str) -> bool {
    text.eq_ignore_ascii_case(other.as_bytes())
}

fn trim(value: &[u8]) -> &[u8] {
    value.trim_ascii()
}

/// Octets allowed in a name (RFC 9110 section 5.6.2) besides letters and digits.
const NAME_MARKS: &[u8] = b"!#$%&'*+-.^_`|~";

fn is_name(octet: u8) -> bool {
    // Not `contains`, whose search by words takes more code than all of this.
    #[allow(clippy::manual_contains)]
    let is_mark = NAME_MARKS.iter().any(|mark| *mark == octet);
    is_mark || octet.is_ascii_alphanumeric()
}

impl Fields {
    pub(super) const NONE: Self = Self {
        length: 0,
        has_length: false,
        is_chunked: false,
        has_host: false,
        expects_continue: false,
        closes: false,
    };

    /// Parses a line that is not empty.
    #[inline(never)]
    pub(super) fn line(&mut self, line: &Line) -> Result<(), Fault> {
        let text = line.text();
        let Some((name, value)) = split(text, b':') else {
            return Err(if line.is_cut() { TOO_LARGE } else { BAD });
        };
        let value = trim(value);
        // No space before the colon or at the start of a line: otherwise two parsers could interpret a head
        // differently (RFC 9112 sections 5.1 and 5.2).
        let control = |octet: &u8| *octet != b'\t' && octet.is_ascii_control();
        if name.is_empty() || !name.iter().copied().all(is_name) || value.iter().any(control) {
            return Err(BAD);
        }
        let Some(field) = NAMES.iter().position(|it| is(name, it)) else {
            return Ok(());
        };
        if line.is_cut() && field != HOST {
            return Err(TOO_LARGE);
        }
        match field {
            LENGTH => {
                let length = number(value, 10).ok_or(BAD)?;
                if self.has_length && self.length != length {
                    return Err(BAD);
                }
                self.length = length;
                self.has_length = true;
            }
            CODING => {
                if self.is_chunked || !is(value, "chunked") {
                    return Err(Fault(501));
                }
                self.is_chunked = true;
            }
            EXPECT => {
                if !is(value, "100-continue") {
                    return Err(Fault(417));
                }
                self.expects_continue = true;
            }
            CONNECTION => {
                let mut options = value.split(|octet| *octet == b',').map(trim);
                self.closes |= options.any(|option| is(option, "close"));
            }
            _ => {
                // The value of Host is ignored, but there must be only one (RFC 9112 section 3.2).
                if self.has_host {
                    return Err(BAD);
                }
                self.has_host = true;
            }
        }
        Ok(())
    }

    /// Both lengths at once indicate request smuggling (RFC 9112 section 6.3).
    pub(super) const fn check(&self) -> Result<(), Fault> {
        if self.is_chunked && self.has_length {
            return Err(BAD);
        }
        Ok(())
    }
}
