//! Message heads: collected as they arrive, then parsed.

use super::MAX_HEAD;

/// Reason for rejecting a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadError {
    /// It is longer than [`MAX_HEAD`].
    TooLong,
    /// It is not an HTTP/1.1 head.
    Malformed,
}

/// Collects a message's head: everything up to the empty line.
pub struct Head {
    bytes: [u8; MAX_HEAD],
    len: usize,
}

/// A parsed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'h> {
    /// The method.
    pub method: &'h str,
    /// The target, as in the request line.
    pub target: &'h str,
    /// True if the connection closes after the response.
    pub close: bool,
}

impl Head {
    /// Creates an empty head.
    pub const fn new() -> Self {
        Self {
            bytes: [0; MAX_HEAD],
            len: 0,
        }
    }

    /// Discards the collected bytes.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Consumes bytes. Returns the number that belong to the head, and true if it is complete.
    ///
    /// # Errors
    /// [`HeadError::TooLong`].
    pub fn push(&mut self, bytes: &[u8]) -> Result<(usize, bool), HeadError> {
        for (index, &byte) in bytes.iter().enumerate() {
            let place = self.bytes.get_mut(self.len).ok_or(HeadError::TooLong)?;
            *place = byte;
            self.len += 1;
            if self.bytes[..self.len].ends_with(b"\r\n\r\n") {
                return Ok((index + 1, true));
            }
        }
        Ok((bytes.len(), false))
    }

    /// The head's lines.
    fn lines(&self) -> Result<impl Iterator<Item = &str> + Clone, HeadError> {
        let text = str::from_utf8(&self.bytes[..self.len]).map_err(|_| HeadError::Malformed)?;
        Ok(text.split("\r\n"))
    }

    /// The value of a field; names are case-insensitive.
    fn field<'h>(mut lines: impl Iterator<Item = &'h str>, name: &str) -> Option<&'h str> {
        lines.find_map(|line| {
            let (field, value) = line.split_once(':')?;
            field.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// Parses the head as a request.
    ///
    /// # Errors
    /// [`HeadError::Malformed`].
    pub fn request(&self) -> Result<Request<'_>, HeadError> {
        let mut lines = self.lines()?;
        let first = lines.next().ok_or(HeadError::Malformed)?;
        let mut parts = first.split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(HeadError::Malformed);
        };
        if !version.starts_with("HTTP/1.") {
            return Err(HeadError::Malformed);
        }
        let connection = Self::field(lines, "connection");
        let close = match connection {
            Some(value) => value.eq_ignore_ascii_case("close"),
            None => version == "HTTP/1.0",
        };
        Ok(Request {
            method,
            target,
            close,
        })
    }

    /// Parses the head as a response: its status, and the length of its body if stated.
    ///
    /// # Errors
    /// [`HeadError::Malformed`].
    pub fn response(&self) -> Result<(u16, Option<u64>), HeadError> {
        let mut lines = self.lines()?;
        let first = lines.next().ok_or(HeadError::Malformed)?;
        let status = first
            .strip_prefix("HTTP/1.")
            .and_then(|rest| rest.split(' ').nth(1))
            .and_then(|status| status.parse().ok())
            .ok_or(HeadError::Malformed)?;
        let length = match Self::field(lines, "content-length") {
            Some(value) => Some(value.parse().map_err(|_| HeadError::Malformed)?),
            None => None,
        };
        Ok((status, length))
    }
}

impl Default for Head {
    fn default() -> Self {
        Self::new()
    }
}
