//! Address by DHCP (RFC 2131), with smoltcp's client.

use smoltcp::{iface::SocketHandle, socket::dhcpv4};

use super::Network;
use crate::{event, info};

/// Starts the client and waits for an address.
pub(super) fn start(network: &mut Network) {
    let handle = network.sockets.add(dhcpv4::Socket::new());
    network.dhcp = Some(handle);
    loop {
        network.poll();
        if network.iface.ipv4_addr().is_some() {
            break;
        }
        network.idle();
    }
}

/// Applies the client's events. Call it after each poll.
#[inline]
pub(super) fn maintain(network: &mut Network, handle: SocketHandle) {
    let socket = network.sockets.get_mut::<dhcpv4::Socket>(handle);
    let Some(found) = socket.poll() else { return };
    match found {
        dhcpv4::Event::Configured(config) => {
            let (address, router) = (config.address, config.router);
            network.set_address(address);
            let routes = network.iface.routes_mut();
            routes.remove_default_ipv4_route();
            if let Some(router) = router {
                // The table has space for the one route.
                let _ = routes.add_default_ipv4_route(router);
            }
            event!(
                "address",
                "\"how\":\"dhcp\",\"ipv4\":\"{}\"",
                address.address()
            );
            info!("Address {address} (DHCP)");
        }
        // The client begins with this event.
        dhcpv4::Event::Deconfigured if network.iface.ipv4_addr().is_none() => {}
        dhcpv4::Event::Deconfigured => {
            network
                .iface
                .update_ip_addrs(|addresses| addresses.truncate(0));
            network.iface.routes_mut().remove_default_ipv4_route();
            event!("address_lost");
            info!("The address is no longer ours");
        }
    }
}
