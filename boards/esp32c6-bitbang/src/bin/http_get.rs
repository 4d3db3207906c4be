//! Downloads known bytes from the peer, several sizes, several times each, and reports the rate.

#![no_std]
#![no_main]

use esp32c6_bitbang::{
    config, console, event,
    http::{close, get, report_get},
    info,
    net::{self, Network},
    stage,
};
use smoltcp::socket::tcp;
use static_cell::ConstStaticCell;

const TX_BUFFER: usize = 2048;

#[esp_hal::main]
fn main() -> ! {
    let mut network = Network::start("http_get");
    static RX: ConstStaticCell<[u8; stage::TCP_WINDOW]> =
        ConstStaticCell::new([0; stage::TCP_WINDOW]);
    static TX: ConstStaticCell<[u8; TX_BUFFER]> = ConstStaticCell::new([0; TX_BUFFER]);
    let socket = tcp::Socket::new(
        tcp::SocketBuffer::new(&mut RX.take()[..]),
        tcp::SocketBuffer::new(&mut TX.take()[..]),
    );
    let handle = network.sockets.add(socket);

    for (bytes, times) in config::sizes() {
        info!("=== Issuing {times} HTTP GET requests for /{bytes}");
        for _ in 0..times {
            match get(&mut network, handle, bytes) {
                Ok(fetched) => report_get(bytes, &fetched),
                Err(failure) => {
                    info!("Request failed: {failure:?}");
                    event!("error", "\"what\":\"get /{bytes}: {failure:?}\"");
                }
            }
            close(&mut network, handle);
        }
        net::report_counters();
        info!("");
    }
    console::done()
}
