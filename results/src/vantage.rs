//! Where a connection was captured, and from when on: how much of it the capture can show.

/// A capture with so many connections is one of a host that does several things, such as fetching a page: each of them explains a part.
pub const SEVERAL_CONNECTIONS: usize = 4;

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
    fn without_the_handshake_the_place_is_unknown() {
        assert_eq!(Vantage::of_connection(Some(true), false), Vantage::Late);
        assert_eq!(Vantage::of_connection(Some(false), true), Vantage::Receiver);
        assert_eq!(Vantage::of_connection(None, true), Vantage::Between);
    }
}
