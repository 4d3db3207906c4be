//! MAC addresses (IEEE 802 clause 8).

use core::fmt;
use core::str::FromStr;

/// A 48-bit MAC address, in transmission order.
///
/// ```
/// use linerate_ether::frame::MacAddress;
/// let address: MacAddress = "02:00:00:00:00:01".parse().unwrap();
/// assert!(address.is_unicast() && address.is_local());
/// assert_eq!(address.0, [2, 0, 0, 0, 0, 1]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// All stations.
    pub const BROADCAST: Self = Self([0xFF; 6]);
    /// The destination of MAC control frames (802.3 Annex 31B.1), which no bridge forwards.
    pub const MAC_CONTROL: Self = Self([0x01, 0x80, 0xC2, 0x00, 0x00, 0x01]);

    /// Address in the first six bytes of `bytes`; `None` if there are fewer.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().copied().map(Self)
    }

    /// True for an individual address: the I/G bit is clear.
    #[must_use]
    pub const fn is_unicast(self) -> bool {
        self.0[0] & 0x01 == 0
    }

    /// True for a group address: the I/G bit is set. Includes broadcast.
    #[must_use]
    pub const fn is_multicast(self) -> bool {
        !self.is_unicast()
    }

    /// True for the broadcast address.
    #[must_use]
    pub fn is_broadcast(self) -> bool {
        self == Self::BROADCAST
    }

    /// True for a locally administered address: the U/L bit is set.
    #[must_use]
    pub const fn is_local(self) -> bool {
        self.0[0] & 0x02 != 0
    }

    /// MAC address of an IPv4 multicast group (RFC 1112 section 6.4): the group's low 23 bits after
    /// 01:00:5e.
    #[must_use]
    pub const fn from_ipv4_multicast(group: [u8; 4]) -> Self {
        Self([0x01, 0x00, 0x5E, group[1] & 0x7F, group[2], group[3]])
    }
}

impl From<[u8; 6]> for MacAddress {
    fn from(bytes: [u8; 6]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for MacAddress {
    /// `02:00:00:00:00:01`; with `{:#}` the hyphenated form of IEEE 802, `02-00-00-00-00-01`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if f.alternate() { '-' } else { ':' };
        for (index, byte) in self.0.iter().enumerate() {
            if index > 0 {
                fmt::Write::write_char(f, separator)?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not a MAC address: six pairs of hexadecimal digits, all separated by `:` or all by
/// `-`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseMacAddressError;

impl fmt::Display for ParseMacAddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a MAC address is six pairs of hexadecimal digits, such as 02:00:00:00:00:01")
    }
}

impl core::error::Error for ParseMacAddressError {}

impl FromStr for MacAddress {
    type Err = ParseMacAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text: &[u8; 17] = text
            .as_bytes()
            .try_into()
            .map_err(|_| ParseMacAddressError)?;
        let separator = text[2];
        if separator != b':' && separator != b'-' {
            return Err(ParseMacAddressError);
        }
        let digit = |at: usize| {
            char::from(text[at])
                .to_digit(16)
                .map(|digit| digit as u8)
                .ok_or(ParseMacAddressError)
        };
        let mut bytes = [0; 6];
        for (index, byte) in bytes.iter_mut().enumerate() {
            let at = index * 3;
            if index > 0 && text[at - 1] != separator {
                return Err(ParseMacAddressError);
            }
            *byte = digit(at)? << 4 | digit(at + 1)?;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::format;
    use std::string::ToString;

    #[test]
    fn kinds_of_address() {
        let local = MacAddress([0x02, 0, 0, 0, 0, 1]);
        assert!(local.is_unicast() && local.is_local() && !local.is_broadcast());
        let universal = MacAddress([0x00, 0x1B, 0x21, 0, 0, 1]);
        assert!(universal.is_unicast() && !universal.is_local());
        assert!(MacAddress::BROADCAST.is_multicast() && MacAddress::BROADCAST.is_broadcast());
        assert!(MacAddress::MAC_CONTROL.is_multicast() && !MacAddress::MAC_CONTROL.is_broadcast());
        assert_eq!(
            MacAddress::from_ipv4_multicast([224, 128, 0, 251]).to_string(),
            "01:00:5e:00:00:fb"
        );
    }

    #[test]
    fn invalid_addresses_are_rejected() {
        for text in [
            "",
            "02",
            "02:00:00:00:00",
            "02:00:00:00:00:0g",
            "02:00:00:00:00:001",
            "02:00:00:00:00-01",
            "02.00.00.00.00.01",
            "+2:00:00:00:00:01",
            "02:00:00:00:00:1 ",
            "0200:00:00:00:001",
            "🦀🦀🦀🦀x",
        ] {
            assert_eq!(
                text.parse::<MacAddress>(),
                Err(ParseMacAddressError),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn text_round_trip(bytes in any::<[u8; 6]>()) {
            let address = MacAddress(bytes);
            prop_assert_eq!(address.to_string().parse(), Ok(address));
            prop_assert_eq!(format!("{address:#}").parse(), Ok(address));
            prop_assert_eq!(address.to_string().to_uppercase().parse(), Ok(address));
        }

        #[test]
        fn any_text_is_safe(text in any::<std::string::String>()) {
            let _ = text.parse::<MacAddress>();
        }
    }
}
