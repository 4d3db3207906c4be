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

const METHODS: [(&str, Method); 4] = [
    ("GET", Method::Get),
    ("HEAD", Method::Head),
    ("PUT", Method::Put),
    ("POST", Method::Put),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// A number of octets.
    Octets,
    /// `/crc32`.
    Crc32,
    Other,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    /// Of the target, if it is a number.
    pub(super) octets: u64,
    pub(super) target: Target,
    pub(super) method: Method,
    /// HTTP/1.0: no chunks, no second request.
    pub(super) is_http_1_0: bool,
}

impl Request {
    pub(super) const NONE: Self = Self {
        octets: 0,
        target: Target::Octets,
        method: Method::Get,
        is_http_1_0: false,
    };

    pub(super) fn parse(line: &Line) -> Result<Self, Fault> {
        if line.is_cut() {
            return Err(Fault(414));
        }
        let (method, rest) = split(line.text(), b' ').ok_or(Fault(400))?;
        let (target, version) = split(rest, b' ').ok_or(Fault(400))?;
        let is_http_1_0 = version == b"HTTP/1.0";
        if !is_http_1_0 && version != b"HTTP/1.1" {
            let is_other = matches!(version.strip_prefix(b"HTTP/"), Some([a, b'.', b])
                if a.is_ascii_digit() && b.is_ascii_digit());
            return Err(Fault(if is_other { 505 } else { 400 }));
        }
        let Some((_, method)) = METHODS.iter().find(|(name, _)| name.as_bytes() == method) else {
            return Err(Fault(if method.is_empty() { 400 } else { 405 }));
        };
        let method = *method;
        let path = path(target).unwrap_or_default();
        let octets = number(path, 10);
        Ok(Self {
            octets: octets.unwrap_or(0),
            target: match octets {
                Some(_) => Target::Octets,
                None if path == b"crc32" => Target::Crc32,
                None => Target::Other,
            },
            method,
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
