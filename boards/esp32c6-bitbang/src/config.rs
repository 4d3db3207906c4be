//! Build-time configuration by environment variables; [`crate::boot`] replaces some of it at the start.
//!
//! | variable | default | meaning |
//! |---|---|---|
//! | `LINERATE_ADDRESSING` | `static` | source of the address: `static`, `dhcp`, `link-local` |
//! | `LINERATE_IPV4` | `169.254.10.2/16` | the static address |
//! | `LINERATE_PEER` | `169.254.10.1` | the programs' peer |
//! | `LINERATE_DUPLEX` | `auto` | `line-rate`: `auto` negotiates, `half` and `full` force a duplex |
//! | `LINERATE_SIZES` | by stage | sizes that `http_get` requests without a boot line: `10000x5,100000x5` |
//! | `LINERATE_WITHOUT` | nothing | features left out of `line-rate`, to measure their effect: [`Without`]'s names |
//! | `LINERATE_QUEUE` | 38 | frames in the receive queue of `line-rate`; the TCP window follows |

use crate::boot;
use smoltcp::wire::{EthernetAddress, Ipv4Address, Ipv4Cidr};

/// The device's address, locally administered.
pub const MAC_ADDRESS: EthernetAddress = EthernetAddress([0x02, 0, 0, 0, 0, 0x02]);

/// The port of HTTP.
pub const HTTP_PORT: u16 = 80;

/// Source of the IPv4 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addressing {
    /// Built in.
    Static(Ipv4Cidr),
    /// From a DHCP server (RFC 2131).
    Dhcp,
    /// Self-assigned (RFC 3927).
    LinkLocal,
}

/// The configured addressing.
///
/// # Panics
/// If a variable was invalid at build time.
pub fn addressing() -> Addressing {
    match option_env!("LINERATE_ADDRESSING").unwrap_or("static") {
        "static" => Addressing::Static(static_address()),
        "dhcp" => Addressing::Dhcp,
        "link-local" => Addressing::LinkLocal,
        other => panic!("LINERATE_ADDRESSING={other}: not static, dhcp or link-local"),
    }
}

fn static_address() -> Ipv4Cidr {
    let text = option_env!("LINERATE_IPV4").unwrap_or("169.254.10.2");
    let (address, prefix) = text.split_once('/').unwrap_or((text, "16"));
    Ipv4Cidr::new(
        address.parse().expect("LINERATE_IPV4 is an address"),
        prefix.parse().expect("LINERATE_IPV4 has a prefix length"),
    )
}

/// IPv4 address of the programs' peer.
///
/// # Panics
/// If a variable was invalid at build time.
pub fn peer() -> Ipv4Address {
    option_env!("LINERATE_PEER")
        .unwrap_or("169.254.10.1")
        .parse()
        .expect("LINERATE_PEER is an address")
}

/// Sizes that `http_get` requests: a number of bytes, and a number of repetitions. The boot line's `sizes`, or those of
/// the build.
///
/// # Panics
/// If they are invalid.
pub fn sizes() -> impl Iterator<Item = (u64, u32)> {
    let default = if cfg!(any(feature = "isr-all", feature = "main-thread")) {
        "10000x5,100000x5,1000000x5"
    } else {
        "10000x5,100000x5,1000000x5,3000000x5"
    };
    boot::word("sizes")
        .unwrap_or(option_env!("LINERATE_SIZES").unwrap_or(default))
        .split(',')
        .map(|item| {
            let (bytes, times) = item.split_once('x').unwrap_or((item, "1"));
            (
                bytes.parse().expect("each of the sizes is a number"),
                times
                    .parse()
                    .expect("each of the sizes has a number of times"),
            )
        })
}

/// Frames in the receive queue of the last stage: the configured number, or `default`.
///
/// # Panics
/// At build time, if the variable is invalid.
pub(crate) const fn queue_frames(default: usize) -> usize {
    let Some(text) = option_env!("LINERATE_QUEUE") else {
        return default;
    };
    match usize::from_str_radix(text, 10) {
        Ok(frames) if frames >= 5 && frames <= 80 => frames,
        _ => panic!("LINERATE_QUEUE is 5 to 80 frames"),
    }
}

/// An optional feature of the last stage, by its name in `LINERATE_WITHOUT` (names joined by commas):
/// `docs/line-rate.md` states the effect of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Without {
    /// `digest`: a download's CRC-32 is calculated from the bytes.
    Digest,
    /// `checksums`: the stack verifies checksums, too.
    Checksums,
    /// `one-ack`: the stack acknowledges before the program has read, and again afterwards.
    OneAck,
}

impl Without {
    /// True if it was left out.
    pub const fn is_set(self) -> bool {
        let Some(list) = option_env!("LINERATE_WITHOUT") else {
            return false;
        };
        let name = match self {
            Self::Digest => "digest",
            Self::Checksums => "checksums",
            Self::OneAck => "one-ack",
        };
        let (list, name) = (list.as_bytes(), name.as_bytes());
        let mut from = 0;
        while from + name.len() <= list.len() {
            let mut at = 0;
            while at < name.len() && list[from + at] == name[at] {
                at += 1;
            }
            if at == name.len() {
                return true;
            }
            from += 1;
        }
        false
    }
}
