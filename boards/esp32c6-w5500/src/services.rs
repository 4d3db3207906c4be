//! The programs that are measured.

use embassy_executor::Spawner;
use embassy_net::Stack;
use embassy_net::tcp::TcpSocket;
use embassy_net::udp::{PacketMetadata, UdpSocket};
use static_cell::ConstStaticCell;

/// Ports.
const ECHO: u16 = 7;
const DISCARD: u16 = 9;
const SEND: u16 = 19;

/// Octets of a TCP socket's buffer in its direction: ten segments, as many as the W5500's memory can hold.
const STREAM: usize = 10 * 1460;
/// Octets in the direction that is not used.
const UNUSED: usize = 1460;
/// Datagrams in a UDP socket.
const DATAGRAMS: usize = 6;
const DATAGRAM: usize = 1472;

/// Starts all of them.
pub fn start(spawner: Spawner, stack: Stack<'static>) {
    spawner.spawn(discard(stack).expect("started once"));
    spawner.spawn(send(stack).expect("started once"));
    spawner.spawn(echo(stack).expect("started once"));
    spawner.spawn(send_datagrams(stack).expect("started once"));
}

#[embassy_executor::task]
async fn discard(stack: Stack<'static>) -> ! {
    static RX: ConstStaticCell<[u8; STREAM]> = ConstStaticCell::new([0; STREAM]);
    static TX: ConstStaticCell<[u8; UNUSED]> = ConstStaticCell::new([0; UNUSED]);
    let (rx, tx) = (RX.take(), TX.take());
    loop {
        let mut socket = TcpSocket::new(stack, rx, tx);
        if socket.accept(DISCARD).await.is_err() {
            continue;
        }
        while let Ok(1..) = socket
            .read_with(|octets| (octets.len(), octets.len()))
            .await
        {}
        socket.abort();
        let _ = socket.flush().await;
    }
}

#[embassy_executor::task]
async fn send(stack: Stack<'static>) -> ! {
    static RX: ConstStaticCell<[u8; UNUSED]> = ConstStaticCell::new([0; UNUSED]);
    static TX: ConstStaticCell<[u8; STREAM]> = ConstStaticCell::new([0; STREAM]);
    let (rx, tx) = (RX.take(), TX.take());
    loop {
        let mut socket = TcpSocket::new(stack, rx, tx);
        if socket.accept(SEND).await.is_err() {
            continue;
        }
        while let Ok(1..) = socket.write_with(|room| (room.len(), room.len())).await {}
        socket.abort();
        let _ = socket.flush().await;
    }
}

/// Memory of a UDP socket.
struct Datagrams {
    rx: [u8; DATAGRAMS * DATAGRAM],
    tx: [u8; DATAGRAMS * DATAGRAM],
    rx_heads: [PacketMetadata; DATAGRAMS],
    tx_heads: [PacketMetadata; DATAGRAMS],
}

impl Datagrams {
    const EMPTY: Self = Self {
        rx: [0; DATAGRAMS * DATAGRAM],
        tx: [0; DATAGRAMS * DATAGRAM],
        rx_heads: [PacketMetadata::EMPTY; DATAGRAMS],
        tx_heads: [PacketMetadata::EMPTY; DATAGRAMS],
    };

    fn socket(&'static mut self, stack: Stack<'static>, port: u16) -> UdpSocket<'static> {
        let (rx, tx) = (&mut self.rx[..], &mut self.tx[..]);
        let mut socket = UdpSocket::new(stack, &mut self.rx_heads, rx, &mut self.tx_heads, tx);
        socket.bind(port).expect("the port is free");
        socket
    }
}

#[embassy_executor::task]
async fn echo(stack: Stack<'static>) -> ! {
    static MEMORY: ConstStaticCell<Datagrams> = ConstStaticCell::new(Datagrams::EMPTY);
    static COPY: ConstStaticCell<[u8; DATAGRAM]> = ConstStaticCell::new([0; DATAGRAM]);
    let (socket, copy) = (MEMORY.take().socket(stack, ECHO), COPY.take());
    loop {
        if let Ok((len, from)) = socket.recv_from(copy).await {
            let _ = socket.send_to(&copy[..len], from).await;
        }
    }
}

/// Answers a datagram with two big-endian numbers, of octets and of datagrams, by so many numbered datagrams.
#[embassy_executor::task]
async fn send_datagrams(stack: Stack<'static>) -> ! {
    static MEMORY: ConstStaticCell<Datagrams> = ConstStaticCell::new(Datagrams::EMPTY);
    static COPY: ConstStaticCell<[u8; DATAGRAM]> = ConstStaticCell::new([0; DATAGRAM]);
    let (socket, copy) = (MEMORY.take().socket(stack, SEND), COPY.take());
    loop {
        let Ok((4.., from)) = socket.recv_from(copy).await else {
            continue;
        };
        let number = |at: usize| u16::from_be_bytes([copy[at], copy[at + 1]]);
        let (octets, count) = (usize::from(number(0)).min(DATAGRAM), number(2));
        for number in 0..count {
            copy[..2].copy_from_slice(&number.to_be_bytes());
            let _ = socket.send_to(&copy[..octets], from).await;
        }
    }
}
