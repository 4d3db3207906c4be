//! A self-assigned address in 169.254/16 (RFC 3927): chosen at random, probed for, announced.
//!
//! smoltcp has no such client. Times are those of RFC 3927 section 9. The address is kept once claimed; later
//! conflicts are not defended against.

use linerate_nic::device::Device as _;
use smoltcp::{
    time::{Duration, Instant},
    wire::{Ipv4Address, Ipv4Cidr},
};

use super::{Arp, Network, now};
use crate::{config::MAC_ADDRESS, event, info, phy};

const PROBE_WAIT: Duration = Duration::from_secs(1);
const PROBES: u32 = 3;
const PROBE_MIN: Duration = Duration::from_secs(1);
const PROBE_MAX: Duration = Duration::from_secs(2);
const ANNOUNCE_WAIT: Duration = Duration::from_secs(2);
const ANNOUNCEMENTS: u32 = 2;
const ANNOUNCE_INTERVAL: Duration = Duration::from_secs(2);
const MAX_CONFLICTS: u32 = 10;
const RATE_LIMIT_INTERVAL: Duration = Duration::from_secs(60);

/// Claims an address and assigns it to the interface.
pub(super) fn start(network: &mut Network) {
    let mut conflicts = 0;
    // The address should be the same each time (RFC 3927 section 2.1): the first candidate comes
    // from the hardware address, later ones from it and the number of conflicts.
    let address = loop {
        let candidate = candidate(conflicts);
        if probe(network, candidate) {
            break candidate;
        }
        info!("{candidate} is taken");
        conflicts += 1;
        if conflicts > MAX_CONFLICTS {
            listen(network, candidate, now() + RATE_LIMIT_INTERVAL);
        }
    };
    network.set_address(Ipv4Cidr::new(address, 16));
    for index in 0..ANNOUNCEMENTS {
        if index > 0 {
            network.wait(ANNOUNCE_INTERVAL);
        }
        Arp::request(&mut network.device, address, address);
    }
    event!("address", "\"how\":\"link-local\",\"ipv4\":\"{address}\"");
    info!("Address {address} (link-local)");
}

/// The candidate after this number of conflicts: 169.254.1.0 to 169.254.254.255, evenly distributed.
fn candidate(conflicts: u32) -> Ipv4Address {
    let mut hash = 0x811C_9DC5_u32;
    for byte in MAC_ADDRESS.0.into_iter().chain(conflicts.to_le_bytes()) {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    hash ^= hash >> 15;
    let [third, fourth] = (0x0100 + (hash % 0xFE00) as u16).to_be_bytes();
    Ipv4Address::new(169, 254, third, fourth)
}

/// Probes for the candidate; `true` without a conflict.
fn probe(network: &mut Network, candidate: Ipv4Address) -> bool {
    let mut quiet = wait_for_conflict(network, candidate, Duration::ZERO, PROBE_WAIT);
    for index in 0..PROBES {
        if !quiet {
            return false;
        }
        Arp::request(&mut network.device, Ipv4Address::UNSPECIFIED, candidate);
        quiet = if index + 1 < PROBES {
            wait_for_conflict(network, candidate, PROBE_MIN, PROBE_MAX)
        } else {
            wait_for_conflict(network, candidate, ANNOUNCE_WAIT, ANNOUNCE_WAIT)
        };
    }
    quiet
}

/// Listens for a random time between the two; `true` without a conflict.
fn wait_for_conflict(
    network: &mut Network,
    candidate: Ipv4Address,
    min: Duration,
    max: Duration,
) -> bool {
    let spread = max.total_micros() - min.total_micros();
    let extra = (u64::from(network.random()) * spread) >> 32;
    listen(
        network,
        candidate,
        now() + min + Duration::from_micros(extra),
    )
}

/// Listens until the given time; `true` if nobody uses the candidate or probes for it (RFC 3927 section
/// 2.2.1).
fn listen(network: &mut Network, candidate: Ipv4Address, until: Instant) -> bool {
    while now() < until {
        match Arp::receive(&mut network.device) {
            Some(Some(arp)) if arp.sender_hardware != MAC_ADDRESS => {
                let probed = arp.sender.is_unspecified() && arp.target == candidate;
                if arp.sender == candidate || probed {
                    return false;
                }
            }
            Some(_) => {}
            None if network.device.0.has_pending_tx() => {}
            None => {
                let queue = network.device.0.rx.queue();
                phy::sleep_if(|| queue.used_bytes() == 0);
            }
        }
    }
    true
}
