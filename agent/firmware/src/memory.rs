//! Memory of the device under test: its services, and their shared sockets.

use core::time::Duration;
use linerate_agent::{Limits, echo, http, iperf2, iperf3};
use linerate_agent_smoltcp::{Driver, MAX_DATAGRAM};
use smoltcp::iface::{SocketHandle, SocketSet, SocketStorage};
use smoltcp::socket::{tcp, udp};

/// Concurrent iperf 2 tests in each direction, iperf 3 streams in both directions together, HTTP requests.
const TESTS: usize = 2;
const STREAMS: usize = 4;
const REQUESTS: usize = 3;
/// Timeout in the middle of a request.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The port of HTTP.
pub const HTTP_PORT: u16 = 80;

/// Concurrent TCP connections of all services. iperf 3 has one beside its streams.
const CONNECTIONS: usize = 5;
/// Buffers of a TCP socket, in segments.
const TCP_RX: usize = 44 * 1460;
const TCP_TX: usize = 22 * 1460;
const WORD: usize = size_of::<u32>();

/// UDP sockets: iperf 2, iperf 3, STAMP, echo, which ask first; one for iperf 2 return tests.
const UDP: usize = 5;
/// Datagrams that each UDP socket can queue.
pub const WAITING: usize = 16;

type Datagrams = [u8; WAITING * MAX_DATAGRAM];

/// Word-aligned octets.
#[repr(C, align(4))]
struct Words<const OCTETS: usize>([u8; OCTETS]);

/// The driver of the sockets.
pub(crate) type Sockets = Driver<CONNECTIONS, UDP>;

/// All memory except the network device's: one instance, static.
pub struct Memory {
    storage: [SocketStorage<'static>; CONNECTIONS + UDP],
    tcp: [(Words<TCP_RX>, Words<{ TCP_TX + WORD }>); CONNECTIONS],
    udp: [(Datagrams, Datagrams); UDP],
    heads: [[[udp::PacketMetadata; WAITING]; 2]; UDP],
    services: Services,
}

/// The services of the device.
pub struct Services {
    pub(crate) iperf2: iperf2::Server<TESTS>,
    pub(crate) iperf3: iperf3::Server<STREAMS>,
    pub(crate) http: http::Server<REQUESTS>,
    pub(crate) echo: echo::Echo<WAITING, MAX_DATAGRAM>,
}

impl Memory {
    /// Creates unused memory. `fastest_bits_per_s` limits UDP tests in which the device sends.
    #[must_use]
    #[expect(
        clippy::large_stack_arrays,
        reason = "the initial value of a static is not on the stack"
    )]
    pub const fn new(fastest_bits_per_s: u64) -> Self {
        let limits = Limits {
            fastest_bits_per_s,
            ..Limits::own_network()
        };
        Self {
            storage: [const { SocketStorage::EMPTY }; CONNECTIONS + UDP],
            tcp: [const { (Words([0; TCP_RX]), Words([0; TCP_TX + WORD])) }; CONNECTIONS],
            udp: [([0; WAITING * MAX_DATAGRAM], [0; WAITING * MAX_DATAGRAM]); UDP],
            heads: [[[udp::PacketMetadata::EMPTY; WAITING]; 2]; UDP],
            services: Services {
                iperf2: iperf2::Server::new(5001, limits),
                iperf3: iperf3::Server::new(iperf3::PORT, limits),
                http: http::Server::new(HTTP_PORT, TIMEOUT),
                echo: echo::Echo::new(echo::PORT),
            },
        }
    }

    /// Returns the sockets, their driver and the services. `skew`: see [`Setup`](crate::Setup).
    pub(crate) fn open(
        &'static mut self,
        seed: u32,
        skew: usize,
    ) -> (SocketSet<'static>, Sockets, &'static mut Services) {
        let mut sockets = SocketSet::new(&mut self.storage[..]);
        let tcp = self.tcp.each_mut().map(|(rx, tx)| {
            let (rx, tx) = (&mut rx.0[..], &mut tx.0[skew % WORD..][..TCP_TX]);
            let (rx, tx) = (tcp::SocketBuffer::new(rx), tcp::SocketBuffer::new(tx));
            sockets.add(tcp::Socket::new(rx, tx))
        });
        let mut memory = self.udp.iter_mut().zip(&mut self.heads);
        let udp: [SocketHandle; UDP] = core::array::from_fn(|_| {
            let ((rx, tx), [rx_heads, tx_heads]) = memory.next().expect("one per socket");
            sockets.add(udp::Socket::new(
                udp::PacketBuffer::new(&mut rx_heads[..], &mut rx[..]),
                udp::PacketBuffer::new(&mut tx_heads[..], &mut tx[..]),
            ))
        });
        (sockets, Driver::new(tcp, udp, seed), &mut self.services)
    }
}
