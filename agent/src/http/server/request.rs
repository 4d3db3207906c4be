//! The request line.

use super::super::fields::Fault;
use super::super::line::Line;
use super::super::{number, split};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Head,
    /// PUT or POST.
    Put,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: Method,
    /// The path, if it is a number.
    pub(super) octets: Option<u64>,
    /// The path is `/crc32`.
    pub(super) is_crc32: bool,
    /// HTTP/1.0: no chunks, no second request.
    pub(super) is_http_1_0: bool,
}

impl Request {
    pub(super) fn parse(line: &Line) -> Result<Self, Fault> {
        if line.is_cut() {
            return Err(Fault(414));
        }
        let (method, rest) = split(line.text(), b' ').ok_or(Fault(400))?;
        let (target, version) = split(rest, b' ').ok_or(Fault(400))?;
        let is_http_1_0 = match version.strip_prefix(b"HTTP/") {
            Some(b"1.1") => false,
            Some(b"1.0") => true,
            Some([b'0'..=b'9', b'.', b'0'..=b'9']) => return Err(Fault(505)),
            _ => return Err(Fault(400)),
        };
        let method = match method {
            b"GET" => Method::Get,
            b"HEAD" => Method::Head,
            b"PUT" | b"POST" => Method::Put,
            b"" => return Err(Fault(400)),
            _ => return Err(Fault(405)),
        };
        let path = path(target);
        Ok(Self {
            method,
            octets: path.and_then(number),
            is_crc32: path == Some(b"crc32"),
            is_http_1_0,
        })
    }
}

/// Path behind its first slash and before any query (RFC 9112 section 3.2: the target is a path, or a whole
/// URL).
fn path(target: &[u8]) -> Option<&[u8]> {
    let path = match target {
        [b'/', path @ ..] => path,
        url => {
            let authority = url.get(7..)?;
            if !url[..7].eq_ignore_ascii_case(b"http://") {
                return None;
            }
            split(authority, b'/')?.1
        }
    };
    Some(split(path, b'?').map_or(path, |(path, _)| path))
}
