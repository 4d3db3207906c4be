//! Downloads known bytes from the peer, several sizes, several times each, and says how fast.

#![no_std]
#![no_main]

use esp32c6_bitbang::{
    config, console, event,
    http::{Fetched, close, get},
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
                Ok(fetched) => report(bytes, fetched),
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

fn report(bytes: u64, fetched: Fetched) {
    let Fetched { body, crc, took } = fetched;
    let took = took.total_micros();
    event!(
        "get",
        "\"path\":\"/{bytes}\",\"body_bytes\":{body},\"crc32\":{crc},\"duration_us\":{took}"
    );
    // kB/s with one decimal: bytes per 100 us.
    let rate = body * 10_000 / took.max(1);
    info!(
        "Received {body} bytes over {}.{:03} s ({}.{} kB/sec) with CRC32 {crc}",
        took / 1_000_000,
        took / 1000 % 1000,
        rate / 10,
        rate % 10,
    );
}
