//! smoltcp as a library that knows no time but what it is told: each call is answered with a result and the packets to send.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::Mutex;

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::{tcp, udp};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, IpEndpoint, Ipv4Address};

#[derive(Default)]
struct Queues {
    arrived: VecDeque<Vec<u8>>,
    sent: Vec<Vec<u8>>,
    mtu: usize,
}

struct Arrived(Vec<u8>);
struct Room<'a>(&'a mut Vec<Vec<u8>>);

impl RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let result = f(&mut packet);
        self.0.push(packet);
        result
    }
}

impl Device for Queues {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Room<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Arrived, Room<'_>)> {
        Some((Arrived(self.arrived.pop_front()?), Room(&mut self.sent)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Room<'_>> {
        Some(Room(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut it = DeviceCapabilities::default();
        it.medium = Medium::Ip;
        it.max_transmission_unit = self.mtu;
        it
    }
}

/// One call: what to do, two numbers, the time in microseconds, octets.
struct Call {
    what: u8,
    a: u32,
    b: u32,
    now: Instant,
    data: Vec<u8>,
}

fn read_call(input: &mut impl Read) -> io::Result<Call> {
    let mut head = [0; 21];
    input.read_exact(&mut head)?;
    let number =
        |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let now = i64::from(number(9)) | i64::from(number(13)) << 32;
    let mut data = vec![0; number(17) as usize];
    input.read_exact(&mut data)?;
    Ok(Call {
        what: head[0],
        a: number(1),
        b: number(5),
        now: Instant::from_micros(now),
        data,
    })
}

struct Settings {
    received: usize,
    sent: usize,
    nagle: bool,
    ack_delay: Option<Duration>,
}

impl Settings {
    fn socket(&self) -> tcp::Socket<'static> {
        let mut it = tcp::Socket::new(
            tcp::SocketBuffer::new(vec![0; self.received]),
            tcp::SocketBuffer::new(vec![0; self.sent]),
        );
        it.set_nagle_enabled(self.nagle);
        it.set_ack_delay(self.ack_delay);
        it
    }
}

struct Board {
    device: Queues,
    interface: Interface,
    sockets: SocketSet<'static>,
    handles: Vec<SocketHandle>,
    settings: Settings,
}

impl Board {
    /// `a` is the address; the data has the gateway, the MTU, both buffers, Nagle, and the delay of acknowledgments in ms plus 1.
    fn new(call: &Call) -> Option<Board> {
        let numbers: Vec<u32> = call
            .data
            .chunks_exact(4)
            .map(|it| u32::from_le_bytes([it[0], it[1], it[2], it[3]]))
            .collect();
        let [gateway, mtu, received, sent, nagle, delay, seed] = *numbers.as_slice() else {
            return None;
        };
        let mut device = Queues {
            mtu: mtu as usize,
            ..Queues::default()
        };
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = u64::from(seed);
        let mut interface = Interface::new(config, &mut device, call.now);
        interface.update_ip_addrs(|list| {
            list.push(IpCidr::new(IpAddress::Ipv4(Ipv4Address::from(call.a)), 24))
                .unwrap_or(())
        });
        interface
            .routes_mut()
            .add_default_ipv4_route(Ipv4Address::from(gateway))
            .ok()?;
        let ack_delay = (delay > 1).then(|| Duration::from_millis(u64::from(delay) - 1));
        let settings = Settings {
            received: received as usize,
            sent: sent as usize,
            nagle: nagle != 0,
            ack_delay,
        };
        Some(Board {
            device,
            interface,
            sockets: SocketSet::new(vec![]),
            handles: vec![],
            settings,
        })
    }

    fn add(&mut self, handle: SocketHandle) -> i32 {
        self.handles.push(handle);
        self.handles.len() as i32 - 1
    }

    /// The result and octets of a call.
    fn perform(&mut self, call: Call) -> (i32, Vec<u8>) {
        match call.what {
            1 => self.device.arrived.push_back(call.data),
            2 => {}
            3 => {
                let mut socket = self.settings.socket();
                let is_free = socket.listen(call.a as u16).is_ok();
                let handle = self.sockets.add(socket);
                return (if is_free { self.add(handle) } else { -1 }, vec![]);
            }
            4 => {
                let mut socket = self.settings.socket();
                let to = IpEndpoint::new(IpAddress::Ipv4(Ipv4Address::from(call.a)), call.b as u16);
                let is_begun = socket
                    .connect(self.interface.context(), to, (call.b >> 16) as u16)
                    .is_ok();
                let handle = self.sockets.add(socket);
                return (if is_begun { self.add(handle) } else { -1 }, vec![]);
            }
            10 => {
                let buffer =
                    || udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; 16], vec![0; 16384]);
                let mut socket = udp::Socket::new(buffer(), buffer());
                let is_free = socket.bind(call.a as u16).is_ok();
                let handle = self.sockets.add(socket);
                return (if is_free { self.add(handle) } else { -1 }, vec![]);
            }
            _ => return self.of_socket(call),
        }
        (0, vec![])
    }

    fn of_socket(&mut self, call: Call) -> (i32, Vec<u8>) {
        let Some(&handle) = self.handles.get(call.a as usize) else {
            return (-1, vec![]);
        };
        match call.what {
            11 => {
                let socket = self.sockets.get_mut::<udp::Socket>(handle);
                let (head, payload) = call.data.split_at(4);
                let to = Ipv4Address::new(head[0], head[1], head[2], head[3]);
                let sent =
                    socket.send_slice(payload, IpEndpoint::new(IpAddress::Ipv4(to), call.b as u16));
                return (if sent.is_ok() { 0 } else { -1 }, vec![]);
            }
            12 => {
                let Ok((payload, from)) = self.sockets.get_mut::<udp::Socket>(handle).recv() else {
                    return (-1, vec![]);
                };
                let IpAddress::Ipv4(address) = from.endpoint.addr;
                let mut data = address.octets().to_vec();
                data.extend_from_slice(payload);
                return (i32::from(from.endpoint.port), data);
            }
            _ => {}
        }
        let socket = self.sockets.get_mut::<tcp::Socket>(handle);
        match call.what {
            5 => (
                if socket.may_send() {
                    socket.send_slice(&call.data).unwrap_or(0) as i32
                } else {
                    -1
                },
                vec![],
            ),
            6 => {
                let mut data = vec![0; call.b as usize];
                match socket.recv_slice(&mut data) {
                    Ok(0) if !socket.may_recv() => (-1, vec![]),
                    Ok(n) => {
                        data.truncate(n);
                        (n as i32, data)
                    }
                    Err(_) => (-1, vec![]),
                }
            }
            7 => {
                socket.close();
                (0, vec![])
            }
            8 => {
                socket.abort();
                (0, vec![])
            }
            _ => {
                let state = match socket.state() {
                    tcp::State::Listen | tcp::State::SynSent | tcp::State::SynReceived => 0,
                    tcp::State::Closed | tcp::State::TimeWait => 2,
                    _ => 1,
                };
                let mut data = (socket.send_queue() as u32).to_le_bytes().to_vec();
                if let Some(IpEndpoint {
                    addr: IpAddress::Ipv4(address),
                    port,
                }) = socket.remote_endpoint()
                {
                    data.extend_from_slice(&address.octets());
                    data.extend_from_slice(&port.to_le_bytes());
                }
                (state, data)
            }
        }
    }
}

static BOARD: Mutex<Option<Board>> = Mutex::new(None);

/// Performs a call, and writes its result and the packets to send; returns the octets written, or 0 if the call makes no sense
/// or the answer has no room.
///
/// # Safety
/// `call` has `octets` octets, and `answer` has room for `room`.
#[no_mangle]
pub unsafe extern "C" fn smoltcp_call(
    call: *const u8,
    octets: usize,
    answer: *mut u8,
    room: usize,
) -> usize {
    // SAFETY: the caller gives both, with their sizes.
    let (call, answer) = unsafe {
        (
            std::slice::from_raw_parts(call, octets),
            std::slice::from_raw_parts_mut(answer, room),
        )
    };
    BOARD.lock().map_or(0, |mut board| {
        answer_to(&mut board, call, answer).unwrap_or(0)
    })
}

fn answer_to(board: &mut Option<Board>, mut call: &[u8], answer: &mut [u8]) -> io::Result<usize> {
    let call = read_call(&mut call)?;
    let Some(board) = board else {
        *board = Board::new(&call);
        return Ok(0);
    };
    let now = call.now;
    let (result, data) = board.perform(call);
    while board
        .interface
        .poll(now, &mut board.device, &mut board.sockets)
        != smoltcp::iface::PollResult::None
    {}
    let next = board
        .interface
        .poll_delay(now, &board.sockets)
        .map_or(-1, |it| it.total_micros() as i64);
    let room = answer.len();
    let mut rest = answer;
    rest.write_all(&result.to_le_bytes())?;
    rest.write_all(&next.to_le_bytes())?;
    rest.write_all(&(data.len() as u32).to_le_bytes())?;
    rest.write_all(&data)?;
    rest.write_all(&(board.device.sent.len() as u32).to_le_bytes())?;
    for packet in board.device.sent.drain(..) {
        rest.write_all(&(packet.len() as u32).to_le_bytes())?;
        rest.write_all(&packet)?;
    }
    Ok(room - rest.len())
}
