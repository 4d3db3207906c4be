//! Where a connection was captured, and from when on: how much of it the capture can show.

use std::collections::BTreeSet;

/// A capture of so many paths is one of a host that does several things, such as fetching a page: each of them explains a part.
const SEVERAL_PATHS: usize = 3;

/// True if connections, each with its ends as `host:port`, are of several pairs of hosts.
pub fn has_several_paths<'a>(connections: impl Iterator<Item = [&'a str; 2]>) -> bool {
    let host = |end: &'a str| end.rsplit_once(':').map_or(end, |(host, _)| host);
    let paths: BTreeSet<[&str; 2]> = connections
        .map(|ends| {
            let mut hosts = ends.map(host);
            hosts.sort_unstable();
            hosts
        })
        .collect();
    paths.len() >= SEVERAL_PATHS
}

/// Place and beginning of the capture of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vantage {
    /// With its handshake, near the sender of the payload.
    Sender,
    /// With its handshake, near the receiver.
    Receiver,
    /// With its handshake, near neither end.
    Between,
    /// Without its handshake.
    Late,
    /// It is no connection: datagrams, frames, a whole link.
    Other,
}

impl Vantage {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Sender,
        Self::Receiver,
        Self::Between,
        Self::Late,
        Self::Other,
    ];

    /// The vantage of a connection that was captured near its sender, its receiver (`false`) or neither of them.
    pub fn of_connection(is_near_sender: Option<bool>, has_handshake: bool) -> Self {
        match is_near_sender {
            _ if !has_handshake => Self::Late,
            Some(true) => Self::Sender,
            Some(false) => Self::Receiver,
            None => Self::Between,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_between_two_hosts_are_one_path_whichever_opens_them() {
        let paths = |ends: &[[&'static str; 2]]| has_several_paths(ends.iter().copied());
        assert!(!paths(&[
            ["a:1", "b:80"],
            ["b:80", "a:2"],
            ["a:3", "c:80"],
            ["a:4", "c:81"]
        ]));
        assert!(paths(&[
            ["a:1", "b:80"],
            ["a:3", "c:80"],
            ["[d::1]:4", "a:81"]
        ]));
    }

    #[test]
    fn without_the_handshake_the_place_is_unknown() {
        assert_eq!(Vantage::of_connection(Some(true), false), Vantage::Late);
        assert_eq!(Vantage::of_connection(Some(false), true), Vantage::Receiver);
        assert_eq!(Vantage::of_connection(None, true), Vantage::Between);
    }
}
