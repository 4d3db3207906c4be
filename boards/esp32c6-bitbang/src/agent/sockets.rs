//! The services' shared sockets, and their memory.

use linerate_agent_smoltcp::{Driver, MAX_DATAGRAM};
use smoltcp::{
    iface::SocketHandle,
    socket::{tcp, udp},
};
use static_cell::ConstStaticCell;

use crate::net::Network;

/// Frames received before the services run: the capacity of the smallest socket to which bursts are sent, so
/// a burst waits in the receive queue and is not lost.
pub const FRAMES_A_ROUND: usize = RECEIVED;

/// Concurrent TCP connections of all services. iperf 3 has one beside its streams.
const STREAMS: usize = 5;
/// Buffers of a TCP socket, in segments: all windows together fit into the receive queue.
const RX_BUFFER: usize = 5 * 1460;
const TX_BUFFER: usize = 4 * 1460;

/// Listening UDP sockets: iperf 2, iperf 3, STAMP, echo, which ask first.
const LISTENING: usize = 4;
/// UDP sockets of iperf 2 return tests, which receive reports only.
const BACK: usize = 1;
/// Datagrams of maximum size that they can queue.
const RECEIVED: usize = 4;
const SENT: usize = 2;
const RECEIVED_BACK: usize = 1;

/// The driver of all sockets.
pub type Sockets = Driver<STREAMS, { LISTENING + BACK }>;

/// Memory of a UDP socket; datagrams are separate from their metadata, so that they need not be in the image.
struct UdpBuffers<const RX: usize, const TX: usize> {
    rx: [[u8; MAX_DATAGRAM]; RX],
    tx: [[u8; MAX_DATAGRAM]; TX],
}

struct UdpMetadata<const RX: usize, const TX: usize> {
    rx: [udp::PacketMetadata; RX],
    tx: [udp::PacketMetadata; TX],
}

impl<const RX: usize, const TX: usize> UdpBuffers<RX, TX> {
    const EMPTY: Self = Self {
        rx: [[0; MAX_DATAGRAM]; RX],
        tx: [[0; MAX_DATAGRAM]; TX],
    };

    fn socket(&'static mut self, heads: &'static mut UdpMetadata<RX, TX>) -> udp::Socket<'static> {
        udp::Socket::new(
            udp::PacketBuffer::new(&mut heads.rx[..], self.rx.as_flattened_mut()),
            udp::PacketBuffer::new(&mut heads.tx[..], self.tx.as_flattened_mut()),
        )
    }
}

impl<const RX: usize, const TX: usize> UdpMetadata<RX, TX> {
    const EMPTY: Self = Self {
        rx: [udp::PacketMetadata::EMPTY; RX],
        tx: [udp::PacketMetadata::EMPTY; TX],
    };
}

/// Opens all sockets. Call it once.
///
/// # Panics
/// If called twice.
pub fn open(network: &mut Network) -> Sockets {
    static TCP: ConstStaticCell<[([u8; RX_BUFFER], [u8; TX_BUFFER]); STREAMS]> =
        ConstStaticCell::new([([0; RX_BUFFER], [0; TX_BUFFER]); STREAMS]);
    static FIRST: ConstStaticCell<[UdpBuffers<RECEIVED, SENT>; LISTENING]> =
        ConstStaticCell::new([UdpBuffers::EMPTY; LISTENING]);
    static FIRST_HEADS: ConstStaticCell<[UdpMetadata<RECEIVED, SENT>; LISTENING]> =
        ConstStaticCell::new([UdpMetadata::EMPTY; LISTENING]);
    static SECOND: ConstStaticCell<[UdpBuffers<RECEIVED_BACK, SENT>; BACK]> =
        ConstStaticCell::new([UdpBuffers::EMPTY; BACK]);
    static SECOND_HEADS: ConstStaticCell<[UdpMetadata<RECEIVED_BACK, SENT>; BACK]> =
        ConstStaticCell::new([UdpMetadata::EMPTY; BACK]);
    let tcp = TCP.take().each_mut().map(|(rx, tx)| {
        let (rx, tx) = (&mut rx[..], &mut tx[..]);
        let (rx, tx) = (tcp::SocketBuffer::new(rx), tcp::SocketBuffer::new(tx));
        network.sockets.add(tcp::Socket::new(rx, tx))
    });
    let first = FIRST.take().iter_mut().zip(FIRST_HEADS.take());
    let first = first.map(|(room, heads)| room.socket(heads));
    let second = SECOND.take().iter_mut().zip(SECOND_HEADS.take());
    let second = second.map(|(room, heads)| room.socket(heads));
    let mut all = first.chain(second);
    let udp: [SocketHandle; LISTENING + BACK] = core::array::from_fn(|_| {
        let socket = all.next().expect("there are as many");
        network.sockets.add(socket)
    });
    Driver::new(tcp, udp, network.random())
}
