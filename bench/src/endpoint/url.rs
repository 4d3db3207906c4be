//! URLs of targets: `iperf2://192.0.2.7:5001`, `http://board.local/1000000`.

use std::net::{SocketAddr, ToSocketAddrs};

use super::TargetError;

/// A parsed URL of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// The whole URL as written.
    pub text: String,
    /// The part before `://`.
    pub scheme: String,
    /// Name or address of the host, or a board or interface.
    pub host: String,
    /// The port, if given.
    pub port: Option<u16>,
    /// The path including the first `/`, up to the `?`; may be empty.
    pub path: String,
    /// The query after the `?`: names and values, `?from=tradeoff&x=y`.
    pub query: Vec<(String, String)>,
}

impl Url {
    /// Parses `text`.
    ///
    /// # Errors
    /// [`TargetError::Url`] names what is missing or wrong.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let wrong = |what: String| TargetError::Url {
            url: text.to_owned(),
            what,
        };
        let Some((scheme, rest)) = text.split_once("://") else {
            let what = format!("the scheme is missing, as in iperf2://{text}");
            return Err(wrong(what));
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        // The colons of an IPv6 address are in brackets.
        let (host, port) = match authority.strip_prefix('[') {
            Some(inner) => match inner.split_once(']') {
                None => return Err(wrong("the `]` is missing".to_owned())),
                Some((host, "")) => (host, None),
                Some((host, behind)) => match behind.strip_prefix(':') {
                    Some(port) => (host, Some(port)),
                    None => return Err(wrong(format!("`{behind}` after the `]` is not a port"))),
                },
            },
            None => match authority.split_once(':') {
                Some((_, port)) if port.contains(':') => {
                    let what = format!("an IPv6 address needs brackets: [{authority}]");
                    return Err(wrong(what));
                }
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        // A path or nothing follows these schemes.
        let is_device = ["serial", "pty"].contains(&scheme);
        if host.is_empty() && !is_device {
            let what = format!("the host is missing, as in {scheme}://192.0.2.7");
            return Err(wrong(what));
        }
        let port = match port.map(str::parse::<u16>) {
            None => None,
            Some(Ok(port)) if port > 0 => Some(port),
            Some(_) => return Err(wrong("a port is a number from 1 to 65535".to_owned())),
        };
        Ok(Self {
            text: text.to_owned(),
            scheme: scheme.to_ascii_lowercase(),
            host: host.to_owned(),
            port,
            path: path.to_owned(),
            query: pairs
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        })
    }

    /// Checks that the query has no names other than `known`.
    ///
    /// # Errors
    /// [`TargetError::Url`] names the unknown one.
    pub fn check_query(&self, known: &[&str]) -> Result<(), TargetError> {
        let mut names = self.query.iter().map(|(name, _)| name.as_str());
        let Some(name) = names.find(|name| !known.contains(name)) else {
            return Ok(());
        };
        let there_is = if known.is_empty() {
            "nothing may follow a `?`".to_owned()
        } else {
            format!("there is {}", known.join(", "))
        };
        Err(TargetError::Url {
            url: self.text.clone(),
            what: format!("{}:// has no option `{name}`; {there_is}", self.scheme),
        })
    }

    /// The value of `name` in the query.
    pub fn query_value(&self, name: &str) -> Option<&str> {
        let mut pairs = self.query.iter();
        let found = pairs.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The host's address, resolved by the system if it is a name; IPv4 preferred, as boards use
    /// it.
    ///
    /// # Errors
    /// [`TargetError::Url`] if the host cannot be resolved.
    pub fn address(&self, default_port: u16) -> Result<SocketAddr, TargetError> {
        let port = self.port.unwrap_or(default_port);
        let found = (self.host.as_str(), port).to_socket_addrs();
        let addresses: Vec<SocketAddr> = match found {
            Ok(addresses) => addresses.collect(),
            Err(error) => {
                return Err(TargetError::Url {
                    url: self.text.clone(),
                    what: format!("the host {} cannot be resolved: {error}", self.host),
                });
            }
        };
        let v4 = addresses.iter().find(|address| address.is_ipv4());
        v4.or(addresses.first())
            .copied()
            .ok_or_else(|| TargetError::Url {
                url: self.text.clone(),
                what: format!("the host {} has no address", self.host),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_s_parts() {
        let url = Url::parse("IPERF2://192.0.2.7:5002/x/y").expect("a URL");
        assert_eq!(
            (
                url.scheme.as_str(),
                url.host.as_str(),
                url.port,
                url.path.as_str()
            ),
            ("iperf2", "192.0.2.7", Some(5002), "/x/y")
        );
        let url = Url::parse("http://[2001:db8::1]/1").expect("a URL");
        assert_eq!((url.host.as_str(), url.port), ("2001:db8::1", None));
        let url = Url::parse("stamp://[::1]:862").expect("a URL");
        let address = url.address(1).expect("an address");
        assert_eq!(address.to_string(), "[::1]:862");
    }

    #[test]
    fn what_follows_a_question_mark() {
        let url = Url::parse("iperf2://h:5001?from=tradeoff&x").expect("a URL");
        assert_eq!((url.port, url.path.as_str()), (Some(5001), ""));
        assert_eq!(url.query_value("from"), Some("tradeoff"));
        assert!(url.check_query(&["from", "x"]).is_ok());
        let error = url.check_query(&["from"]).expect_err("x").to_string();
        assert!(
            error.contains("`x`") && error.contains("there is from"),
            "{error}"
        );
    }

    #[test]
    fn an_invalid_url_is_explained() {
        for (text, part) in [
            ("192.0.2.7", "iperf2://192.0.2.7"),
            ("iperf2://", "the host is missing"),
            ("iperf2://:5001", "the host is missing"),
            ("iperf2://h:0", "1 to 65535"),
            ("iperf2://h:99999", "1 to 65535"),
            ("iperf2://::1", "[::1]"),
            ("iperf2://[::1", "`]`"),
            ("iperf2://[::1]5001", "`5001`"),
        ] {
            let error = Url::parse(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
