//! Downloads and uploads at the same time, over two connections, for each size.

#![no_std]
#![no_main]

use esp32c6_bitbang::{
    config, console, event,
    http::{Download, Failure, Step, Upload, close, report_get, report_put},
    info,
    net::{self, Network},
    stage,
};
use smoltcp::{iface::SocketHandle, socket::tcp};
use static_cell::ConstStaticCell;

/// Buffer size of the direction with little data on each connection.
const SMALL: usize = 2048;

#[esp_hal::main]
fn main() -> ! {
    let mut network = Network::start("http_both");
    static GET_RX: ConstStaticCell<[u8; stage::TCP_WINDOW]> =
        ConstStaticCell::new([0; stage::TCP_WINDOW]);
    static GET_TX: ConstStaticCell<[u8; SMALL]> = ConstStaticCell::new([0; SMALL]);
    static PUT_RX: ConstStaticCell<[u8; SMALL]> = ConstStaticCell::new([0; SMALL]);
    static PUT_TX: ConstStaticCell<[u8; stage::TX_BUFFER]> =
        ConstStaticCell::new([0; stage::TX_BUFFER]);
    let down = network.sockets.add(tcp::Socket::new(
        tcp::SocketBuffer::new(&mut GET_RX.take()[..]),
        tcp::SocketBuffer::new(&mut GET_TX.take()[..]),
    ));
    let up = network.sockets.add(tcp::Socket::new(
        tcp::SocketBuffer::new(&mut PUT_RX.take()[..]),
        tcp::SocketBuffer::new(&mut PUT_TX.take()[..]),
    ));

    for (bytes, times) in config::sizes() {
        info!("=== Issuing {times} HTTP GET and PUT requests at once for /{bytes}");
        for _ in 0..times {
            if let Err(failure) = both(&mut network, down, up, bytes) {
                info!("Request failed: {failure:?}");
                event!("error", "\"what\":\"both /{bytes}: {failure:?}\"");
            }
            close(&mut network, down);
            close(&mut network, up);
        }
        net::report_counters();
        info!("");
    }
    console::done()
}

/// Transfers `bytes` in each direction, and reports each when it is done.
fn both(
    network: &mut Network,
    down: SocketHandle,
    up: SocketHandle,
    bytes: u64,
) -> Result<(), Failure> {
    let mut download = Some(Download::start(network, down, bytes)?);
    let mut upload = Some(Upload::start(network, up, bytes)?);
    while download.is_some() || upload.is_some() {
        match &mut download {
            Some(running) => running.receive(network),
            None => network.take(),
        }
        let mut idle = true;
        if let Some(running) = &mut download {
            match running.step(network)? {
                Step::Done(fetched) => {
                    report_get(bytes, &fetched);
                    download = None;
                }
                Step::Busy => idle = false,
                Step::Idle => {}
            }
        }
        if let Some(running) = &mut upload {
            match running.step(network)? {
                Step::Done(sent) => {
                    report_put(bytes, &sent);
                    upload = None;
                }
                Step::Busy => idle = false,
                Step::Idle => {}
            }
        }
        network.give();
        if idle {
            network.idle();
        }
    }
    Ok(())
}
