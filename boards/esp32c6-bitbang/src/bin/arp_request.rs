//! Requests the peer's hardware address by manual ARP requests (RFC 826): the smallest exchange that needs
//! both directions of the PHY and the MAC, and no stack.

#![no_std]
#![no_main]

use esp32c6_bitbang::{
    config, console, event, info,
    net::{self, Arp, Network},
};
use smoltcp::{time::Duration, wire::Ipv4Address};

const REQUESTS: u32 = 3;
const INTERVAL: Duration = Duration::from_millis(100);

#[esp_hal::main]
fn main() -> ! {
    let mut network = Network::start("arp_request");
    let peer = config::peer();
    let own = network
        .iface
        .ipv4_addr()
        .unwrap_or(Ipv4Address::UNSPECIFIED);

    for seq in 0..REQUESTS {
        info!("Who has {peer}? Tell {own}");
        let sent_at = net::now();
        Arp::request(&mut network.device, own, peer);
        let mut answered = false;
        while net::now() < sent_at + INTERVAL {
            let Some(Some(arp)) = Arp::receive(&mut network.device) else {
                continue;
            };
            if arp.is_reply && arp.sender == peer && !answered {
                answered = true;
                let rtt = (net::now() - sent_at).total_micros();
                let hardware = arp.sender_hardware;
                info!("{peer} is at {hardware} ({rtt} us)");
                event!(
                    "arp",
                    "\"seq\":{seq},\"mac\":\"{hardware}\",\"rtt_us\":{rtt}"
                );
            }
        }
        if !answered {
            info!("No answer");
            event!("arp_lost", "\"seq\":{seq}");
        }
    }
    net::report_counters();
    console::done()
}
