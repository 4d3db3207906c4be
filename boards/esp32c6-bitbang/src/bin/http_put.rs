//! Uploads known bytes to the peer, several sizes, several times each, and reports the rate.

#![no_std]
#![no_main]

use esp32c6_bitbang::{
    config, console, event,
    http::{close, put, report_put},
    info,
    net::{self, Network},
    stage,
};
use smoltcp::socket::tcp;
use static_cell::ConstStaticCell;

const RX_BUFFER: usize = 2048;

#[esp_hal::main]
fn main() -> ! {
    let mut network = Network::start("http_put");
    static RX: ConstStaticCell<[u8; RX_BUFFER]> = ConstStaticCell::new([0; RX_BUFFER]);
    static TX: ConstStaticCell<[u8; stage::TX_BUFFER]> =
        ConstStaticCell::new([0; stage::TX_BUFFER]);
    let handle = network.sockets.add(tcp::Socket::new(
        tcp::SocketBuffer::new(&mut RX.take()[..]),
        tcp::SocketBuffer::new(&mut TX.take()[..]),
    ));

    for (bytes, times) in config::sizes() {
        info!("=== Issuing {times} HTTP PUT requests for /{bytes}");
        for _ in 0..times {
            match put(&mut network, handle, bytes) {
                Ok(sent) => report_put(bytes, &sent),
                Err(failure) => {
                    info!("Request failed: {failure:?}");
                    event!("error", "\"what\":\"put /{bytes}: {failure:?}\"");
                }
            }
            close(&mut network, handle);
        }
        net::report_counters();
        info!("");
    }
    console::done()
}
