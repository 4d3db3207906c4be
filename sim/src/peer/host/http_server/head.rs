//! Head of a request: request line and fields.

/// Request line and the fields that the server uses.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RequestHead {
    pub method: String,
    pub path: String,
    pub keep_alive: bool,
    /// Octets of the body; `None` if the field is absent or invalid.
    pub content_length: Option<u64>,
    /// The client waits for a 100 response before it sends the body (RFC 9110, section 10.1.1).
    pub expects_continue: bool,
}

impl RequestHead {
    /// File size given by the path `/N`.
    pub fn size(&self) -> Option<u64> {
        self.path
            .strip_prefix('/')
            .and_then(|size| size.parse().ok())
    }
}

/// Parses the request line and the fields; returns them and their length in octets, or `None` while
/// they are incomplete. A malformed request line gives a method that no server knows.
pub(super) fn parse(input: &[u8]) -> Option<(RequestHead, usize)> {
    let end = input.windows(4).position(|window| window == b"\r\n\r\n")?;
    let text = String::from_utf8_lossy(&input[..end]);
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let mut word = || words.next().unwrap_or_default().to_owned();
    let (method, path, version) = (word(), word(), word());
    let fields: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(':')).collect();
    let field = |wanted: &str| {
        let found = fields
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map_or_else(String::new, |(_, value)| value.trim().to_ascii_lowercase())
    };
    let connection = field("connection");
    let keep_alive = match version.as_str() {
        "HTTP/1.1" => connection != "close",
        _ => connection == "keep-alive",
    };
    let head = RequestHead {
        method,
        path,
        keep_alive,
        content_length: field("content-length").parse().ok(),
        expects_continue: field("expect") == "100-continue",
    };
    Some((head, end + 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Option<(String, String, bool)> {
        parse(text.as_bytes()).map(|(head, _)| (head.method, head.path, head.keep_alive))
    }

    #[test]
    fn requests_keep_alive_by_version_and_field() {
        let get = |keep_alive| Some(("GET".to_owned(), "/1".to_owned(), keep_alive));
        assert_eq!(head("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"), get(true));
        assert_eq!(
            head("GET /1 HTTP/1.1\r\nconnection: Close\r\n\r\n"),
            get(false)
        );
        assert_eq!(head("GET /1 HTTP/1.0\r\n\r\n"), get(false));
        assert_eq!(
            head("GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
            get(true)
        );
        assert_eq!(head("GET /1 HTTP/1.1\r\nHost: a\r\n"), None);
        assert_eq!(
            head("\r\n\r\n"),
            Some((String::new(), String::new(), false))
        );
    }

    #[test]
    fn an_upload_announces_its_length() {
        let text = "PUT /12 HTTP/1.1\r\nContent-Length: 12\r\nExpect: 100-continue\r\n\r\nabc";
        let (put, used) = parse(text.as_bytes()).unwrap();
        assert_eq!((put.size(), put.content_length), (Some(12), Some(12)));
        assert!(put.expects_continue);
        assert_eq!(&text[used..], "abc");
        let (put, _) = parse(b"PUT /x HTTP/1.1\r\nContent-Length: many\r\n\r\n").unwrap();
        assert_eq!((put.size(), put.content_length), (None, None));
    }
}
