//! The server's responses.

use crate::window::Window;
use linerate_ether::pattern;

#[derive(Debug, Clone, Copy)]
pub(super) enum Content {
    None,
    /// A prefix of the pattern, in octets.
    Pattern(u64),
    /// A number and a line feed.
    Number(u64),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) content: Content,
    /// The content is described but not sent: HEAD.
    pub(super) is_head: bool,
    /// The connection is closed after the response.
    pub(super) closes: bool,
}

impl Response {
    pub(super) const fn fault(status: u16) -> Self {
        Self {
            status,
            content: Content::None,
            is_head: false,
            closes: true,
        }
    }

    /// Octets of content to send.
    pub(super) const fn octets(&self) -> u64 {
        match self.content {
            Content::Pattern(len) if !self.is_head => len,
            _ => 0,
        }
    }

    /// Writes the head, and the content if it is a number.
    fn text(&self, window: &mut Window) {
        let reason = match self.status {
            100 => "Continue",
            200 => "OK",
            400 => "Bad Request",
            404 => "Not Found",
            405 => "Method Not Allowed\r\nAllow: GET, HEAD, PUT, POST",
            408 => "Request Timeout",
            414 => "URI Too Long",
            417 => "Expectation Failed",
            431 => "Request Header Fields Too Large",
            501 => "Not Implemented",
            _ => "HTTP Version Not Supported",
        };
        window.raw(b"HTTP/1.1 ");
        window.digits(self.status.into(), 10, 1);
        window.raw(b" ");
        window.raw(reason.as_bytes());
        if self.status != 100 {
            let (len, kind) = match self.content {
                Content::None => (0, "text/plain"),
                Content::Pattern(len) => (len, "application/octet-stream"),
                Content::Number(value) => {
                    let line = |window: &mut Window| number(value, window);
                    (Window::measure(line) as u64, "text/plain")
                }
            };
            window.raw(b"\r\nContent-Type: ");
            window.raw(kind.as_bytes());
            window.raw(b"\r\nContent-Length: ");
            window.digits(len, 10, 1);
        }
        if self.closes {
            window.raw(b"\r\nConnection: close");
        }
        window.raw(b"\r\n\r\n");
        if let Content::Number(value) = self.content {
            number(value, window);
        }
    }

    /// Length of the text in octets.
    pub(super) fn text_len(&self) -> usize {
        Window::measure(|window| self.text(window))
    }

    /// Writes the part behind the first `sent` octets, of which `text_len` are text. Returns the length, and
    /// true if the response is complete.
    pub(super) fn fill(&self, text_len: usize, sent: u64, room: &mut [u8]) -> (usize, bool) {
        let mut len = 0;
        if sent < text_len as u64 {
            let mut window = Window::new(room, sent as usize);
            self.text(&mut window);
            len = window.written();
        }
        let room = &mut room[len..];
        let Some(begun) = (sent + len as u64).checked_sub(text_len as u64) else {
            return (len, false);
        };
        let left = self.octets() - begun;
        let now = room.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        pattern::fill(begun, &mut room[..now]);
        (len + now, now as u64 == left)
    }
}

fn number(value: u64, window: &mut Window) {
    window.digits(value, 10, 1);
    window.raw(b"\n");
}
