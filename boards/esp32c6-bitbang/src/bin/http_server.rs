//! Serves `GET /N`: N bytes that a client can check (`linerate_ether::pattern`). Runs forever.

#![no_std]
#![no_main]

use esp32c6_bitbang::{
    config, event,
    http::Connection,
    info,
    net::{self, Network},
    stage,
};
use smoltcp::socket::tcp;
use static_cell::ConstStaticCell;

/// Connections at the same time.
const CONNECTIONS: usize = 4;
const TX_BUFFER: usize = 12 * 1460;
const RX_BUFFER: usize = if stage::TCP_WINDOW < 4 * 1460 {
    stage::TCP_WINDOW
} else {
    4 * 1460
};

#[esp_hal::main]
fn main() -> ! {
    let mut network = Network::start("http_server");
    static RX: ConstStaticCell<[[u8; RX_BUFFER]; CONNECTIONS]> =
        ConstStaticCell::new([[0; RX_BUFFER]; CONNECTIONS]);
    static TX: ConstStaticCell<[[u8; TX_BUFFER]; CONNECTIONS]> =
        ConstStaticCell::new([[0; TX_BUFFER]; CONNECTIONS]);
    let rx = RX.take().each_mut();
    let tx = TX.take().each_mut();
    let mut buffers = rx.into_iter().zip(tx);
    let handles = [(); CONNECTIONS].map(|()| {
        let (rx, tx) = buffers.next().expect("there are as many buffers");
        network.sockets.add(tcp::Socket::new(
            tcp::SocketBuffer::new(&mut rx[..]),
            tcp::SocketBuffer::new(&mut tx[..]),
        ))
    });
    let mut connections = [const { Connection::new() }; CONNECTIONS];
    event!("listening", "\"port\":{}", config::HTTP_PORT);
    info!("Listening at port {}", config::HTTP_PORT);

    let mut requests = 0_u32;
    loop {
        network.poll();
        for (handle, connection) in handles.iter().zip(&mut connections) {
            let socket = network.sockets.get_mut::<tcp::Socket>(*handle);
            let Some(served) = connection.serve(socket, config::HTTP_PORT) else {
                continue;
            };
            requests += 1;
            event!(
                "served",
                "\"status\":{},\"body_bytes\":{}",
                served.status,
                served.body
            );
            if requests.is_multiple_of(100) {
                net::report_counters();
            }
        }
        network.idle();
    }
}
