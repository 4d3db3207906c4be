//! Measures the cost of a TCP segment on the main thread, from the receive queue to the program, in cycles:
//! everything except the wire and the receive loop, which this program emulates. It needs no network and
//! gives the same results on a chip and in the simulator.
//!
//! A burst of full segments is queued, each with the sums that a receive loop computes. The stack processes
//! them all, the program reads them, the stack sends its acknowledgement.

#![no_std]
#![no_main]

use core::{arch::asm, cell::Cell};

use esp_hal::clock::CpuClock;
use esp32c6_bitbang::{LINERATE_LEDGER, config, console, event, info};
use linerate_ether::{
    checksum::{self, Sum},
    fcs::{Crc32, SLICING_8},
    frame::HEADER_LEN,
    ledger::Counter,
    pattern,
};
use linerate_nic::{
    adapter::smoltcp::Adapter,
    bitbang::{FRAME_OFFSET, SummedFrame},
    mac::{
        AlwaysOn, BitTimes, InterruptHalf, LineRate, Mac, Phy, Receiver, Reception, TransmitError,
        Transmitter, TxStart, receiver_words,
    },
};
use smoltcp::{
    iface::{Config, Interface, PollIngressSingleResult, SocketSet, SocketStorage},
    socket::tcp,
    time::Instant,
    wire::{EthernetAddress, HardwareAddress, IpCidr, Ipv4Address, Ipv4Cidr},
};
use static_cell::ConstStaticCell;

/// Segments in a burst.
const BURST: usize = 20;
const MSS: usize = 1460;
const WORDS: usize = receiver_words(BURST + 2);
const PEER: EthernetAddress = EthernetAddress([0x02, 0, 0, 0, 0, 0x01]);
const DEVICE_IP: [u8; 4] = [169, 254, 10, 2];
const PEER_IP: [u8; 4] = [169, 254, 10, 1];
const HTTP: u16 = 80;
const PORT: u16 = 50_000;

static RECEIVER: Receiver<WORDS> = Receiver::new();

/// The performance counter (MPCCR): cycles or instructions.
fn counter() -> u32 {
    let count;
    // SAFETY: reads a counter.
    unsafe { asm!("csrr {}, 0x7e2", out(reg) count, options(nomem, nostack)) }
    count
}

/// Makes it count cycles (1) or instructions (2).
fn count(what: u32) {
    // SAFETY: configures a counter.
    unsafe { asm!("csrw 0x7e0, {}", "csrwi 0x7e1, 1", in(reg) what) }
}

/// A wire that records the start of the last packet and takes no time.
struct Wire {
    last: [u8; 80],
    sent: u32,
    now: Cell<u32>,
}

impl Wire {
    /// The big-endian word at octet `at` of the last packet, preamble included.
    fn word(&self, at: usize) -> u32 {
        self.last[at..]
            .first_chunk()
            .map_or(0, |word| u32::from_be_bytes(*word))
    }
}

impl Phy for Wire {
    const APPENDS_FCS: bool = true;

    fn now(&self) -> BitTimes {
        // Always later than any gap.
        self.now.set(self.now.get().wrapping_add(1000));
        BitTimes(self.now.get())
    }

    fn transmit(&mut self, packet: &[u8], _: TxStart) -> Result<BitTimes, TransmitError> {
        let len = packet.len().min(self.last.len());
        self.last[..len].copy_from_slice(&packet[..len]);
        self.sent += 1;
        Ok(self.now())
    }
}

type Receive = InterruptHalf<'static, LineRate, AlwaysOn, WORDS>;

/// Queues a frame (without FCS) as a receive loop does.
fn receive(interrupt: &mut Receive, build: impl FnOnce(&mut [u8]) -> usize) {
    let _ = interrupt.receive(|buffer| {
        let len = build(&mut buffer[FRAME_OFFSET..]).max(60);
        let octets = len + 4;
        let fcs = Crc32::with(&SLICING_8)
            .update(&buffer[FRAME_OFFSET..FRAME_OFFSET + len])
            .finish();
        buffer[FRAME_OFFSET + len..FRAME_OFFSET + octets].copy_from_slice(&fcs.to_le_bytes());
        // Little-endian pairs, as the loop adds them.
        let sum = Sum::new()
            .add(&buffer[FRAME_OFFSET..FRAME_OFFSET + octets])
            .fold()
            .swap_bytes();
        Reception::Frame(SummedFrame {
            octets: octets as u16,
            fcs_good: true,
            dribble: false,
            sum: u32::from(sum),
        })
    });
}

/// Writes the peer's segment; returns the frame's length.
fn segment(frame: &mut [u8], sequence: u32, acknowledge: u32, flags: u8, data: u64) -> usize {
    let syn = flags & 2 != 0;
    let options: &[u8] = if syn { &[2, 4, 5, 180] } else { &[] };
    let payload = if syn { 0 } else { MSS };
    let header = 20 + options.len();
    frame[..6].copy_from_slice(&config::MAC_ADDRESS.0);
    frame[6..12].copy_from_slice(&PEER.0);
    frame[12..14].copy_from_slice(&[8, 0]);
    let ip = &mut frame[HEADER_LEN..];
    let total = (20 + header + payload) as u16;
    ip[..12].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0]);
    ip[2..4].copy_from_slice(&total.to_be_bytes());
    ip[12..16].copy_from_slice(&PEER_IP);
    ip[16..20].copy_from_slice(&DEVICE_IP);
    let sum = checksum::checksum(&ip[..20]);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let tcp = &mut ip[20..usize::from(total)];
    tcp[..2].copy_from_slice(&HTTP.to_be_bytes());
    tcp[2..4].copy_from_slice(&PORT.to_be_bytes());
    tcp[4..8].copy_from_slice(&sequence.to_be_bytes());
    tcp[8..12].copy_from_slice(&acknowledge.to_be_bytes());
    tcp[12] = (header as u8 / 4) << 4;
    tcp[13] = flags;
    tcp[14..20].copy_from_slice(&[0xFF, 0xFF, 0, 0, 0, 0]);
    tcp[20..header].copy_from_slice(options);
    pattern::fill(data, &mut tcp[header..]);
    let sum = checksum::transport_checksum(PEER_IP, DEVICE_IP, checksum::TCP, tcp).unwrap_or(0);
    tcp[16..18].copy_from_slice(&sum.to_be_bytes());
    HEADER_LEN + usize::from(total)
}

/// Writes the peer's ARP request, which gives the stack the peer's address.
fn arp_request(frame: &mut [u8]) -> usize {
    frame[..60].fill(0);
    frame[..6].fill(0xFF);
    frame[6..12].copy_from_slice(&PEER.0);
    frame[12..22].copy_from_slice(&[8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
    frame[22..28].copy_from_slice(&PEER.0);
    frame[28..32].copy_from_slice(&PEER_IP);
    frame[38..42].copy_from_slice(&DEVICE_IP);
    60
}

/// Cost of the parts of a burst.
#[derive(Default)]
struct Cost {
    receive: u32,
    read: u32,
    acknowledge: u32,
    packets: u32,
}

#[esp_hal::main]
fn main() -> ! {
    esp_hal::init(esp_hal::Config::default().with_cpu_clock(CpuClock::_160MHz));
    event!(
        "boot",
        "\"program\":\"segment_cost\",\"variant\":\"line-rate\""
    );
    let (mut interrupt, receiver) = RECEIVER
        .split::<LineRate, _>(&LINERATE_LEDGER, AlwaysOn)
        .expect("once");
    let wire = Wire {
        last: [0; 80],
        sent: 0,
        now: Cell::new(0),
    };
    let transmitter = Transmitter::new(wire, &LINERATE_LEDGER);
    let mut device = Adapter(Mac::new(receiver, transmitter, config::MAC_ADDRESS.0));
    let now = Instant::from_millis(1);
    let mut iface = Interface::new(
        Config::new(HardwareAddress::Ethernet(config::MAC_ADDRESS)),
        &mut device,
        now,
    );
    iface.update_ip_addrs(|addresses| {
        let _ = addresses.push(IpCidr::Ipv4(Ipv4Cidr::new(
            Ipv4Address::from(DEVICE_IP),
            16,
        )));
    });
    static STORAGE: ConstStaticCell<[SocketStorage<'static>; 1]> =
        ConstStaticCell::new([SocketStorage::EMPTY; 1]);
    static BUFFER: ConstStaticCell<[u8; BURST * MSS]> = ConstStaticCell::new([0; BURST * MSS]);
    static SEND: ConstStaticCell<[u8; MSS]> = ConstStaticCell::new([0; MSS]);
    let mut sockets = SocketSet::new(&mut STORAGE.take()[..]);
    let handle = sockets.add(tcp::Socket::new(
        tcp::SocketBuffer::new(&mut BUFFER.take()[..]),
        tcp::SocketBuffer::new(&mut SEND.take()[..]),
    ));

    count(1);
    receive(&mut interrupt, arp_request);
    iface.poll(now, &mut device, &mut sockets);
    sockets
        .get_mut::<tcp::Socket>(handle)
        .connect(iface.context(), (Ipv4Address::from(PEER_IP), HTTP), PORT)
        .expect("the socket is closed");
    iface.poll(now, &mut device, &mut sockets);
    let sequence = device.0.tx.phy().word(8 + HEADER_LEN + 20 + 4);
    let acknowledge = sequence.wrapping_add(1);
    receive(&mut interrupt, |frame| {
        segment(frame, 999, acknowledge, 0x12, 0)
    });
    iface.poll(now, &mut device, &mut sockets);

    info!("{:14} {:>8} {:>8}", "of a segment", "cycles", "instr.");
    let mut next = 1000_u32;
    let mut costs = [Cost::default(), Cost::default()];
    for (what, cost) in [1, 2].into_iter().zip(&mut costs) {
        // The first burst warms up; the second counts.
        for _ in 0..2 {
            for index in 0..BURST as u32 {
                let at = next.wrapping_add(index * MSS as u32);
                receive(&mut interrupt, |frame| {
                    segment(frame, at, acknowledge, 0x10, u64::from(at - 1000))
                });
            }
            next = next.wrapping_add((BURST * MSS) as u32);
            let sent = device.0.tx.phy().sent;
            let mut crc = Crc32::with(&SLICING_8);
            count(what);
            let begin = counter();
            while iface.poll_ingress_single(now, &mut device, &mut sockets)
                != PollIngressSingleResult::None
            {}
            let received = counter();
            let socket = sockets.get_mut::<tcp::Socket>(handle);
            while socket.can_recv() {
                let _ = socket.recv(|data| {
                    crc.update(data);
                    (data.len(), ())
                });
            }
            let read = counter();
            iface.poll_egress(now, &mut device, &mut sockets);
            let end = counter();
            count(1);
            *cost = Cost {
                receive: received.wrapping_sub(begin),
                read: read.wrapping_sub(received),
                acknowledge: end.wrapping_sub(read),
                packets: device.0.tx.phy().sent - sent,
            };
        }
    }
    // Share of the MAC: the same frames, without a receiver.
    let mut mac = [0; 2];
    for (what, mac) in [1, 2].into_iter().zip(&mut mac) {
        for _ in 0..BURST {
            receive(&mut interrupt, |frame| {
                segment(frame, next, acknowledge, 0x10, 0)
            });
        }
        count(what);
        let begin = counter();
        while let Some(frame) = device.0.rx.receive() {
            frame.consume(|_| ());
        }
        *mac = counter().wrapping_sub(begin);
        count(1);
    }
    let burst = BURST as u32;
    let [cycles, instructions] = &costs;
    for (what, cycles, instructions) in [
        ("MAC", mac[0], mac[1]),
        ("MAC and stack", cycles.receive, instructions.receive),
        ("read, CRC-32", cycles.read, instructions.read),
        (
            "ACK, a burst's",
            cycles.acknowledge * burst,
            instructions.acknowledge * burst,
        ),
    ] {
        info!("{what:14} {:8} {:8}", cycles / burst, instructions / burst);
        event!(
            "cost",
            "\"what\":\"{what}\",\"cycles\":{},\"instructions\":{}",
            cycles / burst,
            instructions / burst
        );
    }
    info!(
        "{} packets sent for a burst of {BURST}; acknowledged up to {} of {}; {} wrong checksums",
        cycles.packets,
        device.0.tx.phy().word(8 + HEADER_LEN + 20 + 8),
        next,
        LINERATE_LEDGER.get(Counter::RxBadChecksum),
    );
    console::done()
}
