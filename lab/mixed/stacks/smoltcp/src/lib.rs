//! A device with smoltcp: what the programs of ../../rtos/stacks/programs call. Beyond those of the programs, arguments are
//! `receive` and `send` (octets of a socket's buffers), `ack_delay` (ms, -1 for none), `nagle`, `congestion` (reno, cubic),
//! `mtu` and `burst` (frames that the interface takes at a time).

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::socket::udp;
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpAddress, IpCidr, IpEndpoint, Ipv4Address};
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_long, c_void};
use std::slice;

unsafe extern "C" {
    fn number(key: *const c_char, otherwise: c_long) -> c_long;
    fn word(key: *const c_char, otherwise: *const c_char) -> *const c_char;
    fn address(key: *const c_char) -> u32;
    fn read_words(count: c_int, words: *mut *mut c_char);
    fn open_tap() -> c_int;
    fn wait_for_frame(tap: c_int, most_ms: c_int) -> c_int;
    fn read_frame(tap: c_int, frame: *mut c_void, size: c_int) -> c_int;
    fn write_frame(tap: c_int, frame: *mut c_void, size: c_int);
    fn run_programs();
}

fn value(key: &str, otherwise: i64) -> i64 {
    let key = CString::new(key).expect("a word");
    // SAFETY: a string that lives until the call returns.
    unsafe { number(key.as_ptr(), otherwise as c_long) as i64 }
}

fn is(key: &str, text: &str) -> bool {
    let key = CString::new(key).expect("a word");
    // SAFETY: both are strings; the answer is one of the program's arguments, or the second.
    unsafe { std::ffi::CStr::from_ptr(word(key.as_ptr(), c"".as_ptr())).to_bytes() == text.as_bytes() }
}

fn host(key: &str) -> Ipv4Address {
    let key = CString::new(key).expect("a word");
    // SAFETY: a string that lives until the call returns.
    Ipv4Address::from(u32::from_be(unsafe { address(key.as_ptr()) }))
}

struct Tap(c_int, usize);
struct Received(Vec<u8>);
struct Sending(c_int);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl TxToken for Sending {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, octets: usize, f: F) -> R {
        let mut frame = vec![0; octets];
        let result = f(&mut frame);
        // SAFETY: the frame has so many octets.
        unsafe { write_frame(self.0, frame.as_mut_ptr().cast(), octets as c_int) };
        result
    }
}

impl Device for Tap {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sending;

    fn receive(&mut self, _: Instant) -> Option<(Received, Sending)> {
        let mut frame = vec![0; 1600];
        // SAFETY: the frame has room for so many octets.
        let got = unsafe { read_frame(self.0, frame.as_mut_ptr().cast(), 1600) };
        (got > 0).then(|| {
            frame.truncate(got as usize);
            (Received(frame), Sending(self.0))
        })
    }

    fn transmit(&mut self, _: Instant) -> Option<Sending> {
        Some(Sending(self.0))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut it = DeviceCapabilities::default();
        it.medium = Medium::Ethernet;
        it.max_transmission_unit = self.1;
        it.max_burst_size = usize::try_from(value("burst", 0)).ok().filter(|it| *it > 0);
        it
    }
}

struct Board {
    tap: Tap,
    interface: Interface,
    sockets: SocketSet<'static>,
    /// By port: the socket that waits for a connection.
    listening: Vec<(u16, SocketHandle)>,
    handles: Vec<SocketHandle>,
    last: Option<IpEndpoint>,
}

thread_local! {
    static BOARD: RefCell<Option<Board>> = const { RefCell::new(None) };
}

fn with<R>(f: impl FnOnce(&mut Board) -> R) -> R {
    BOARD.with_borrow_mut(|it| f(it.as_mut().expect("a board")))
}

impl Board {
    /// Waits for a frame, or for what is due, `most` ms at most.
    fn turn(&mut self, most: i64) {
        let now = Instant::now();
        self.interface.poll(now, &mut self.tap, &mut self.sockets);
        let due = self.interface.poll_delay(now, &self.sockets).map_or(50, |it| it.total_micros().div_ceil(1000) as i64);
        // Whether a board that sleeps does so is asked each time.
        let most = if value("wakes", 0) > 0 { most.min(1) } else { most };
        // SAFETY: it takes numbers.
        unsafe { wait_for_frame(self.tap.0, due.clamp(0, most.max(0)) as c_int) };
        self.interface.poll(Instant::now(), &mut self.tap, &mut self.sockets);
    }

    fn stream(&mut self) -> SocketHandle {
        let buffer = |key| SocketBuffer::new(vec![0; value(key, 5_840) as usize]);
        let mut it = Socket::new(buffer("receive"), buffer("send"));
        it.set_ack_delay(u64::try_from(value("ack_delay", 10)).ok().map(Duration::from_millis));
        it.set_nagle_enabled(value("nagle", 1) != 0);
        if is("congestion", "reno") {
            it.set_congestion_control(CongestionControl::Reno);
        } else if is("congestion", "cubic") {
            it.set_congestion_control(CongestionControl::Cubic);
        }
        self.sockets.add(it)
    }

    fn listen(&mut self, port: u16) {
        let handle = self.stream();
        self.sockets.get_mut::<Socket>(handle).listen(port).expect("a port");
        self.listening.push((port, handle));
    }

    fn named(&mut self, handle: SocketHandle) -> isize {
        self.handles.push(handle);
        self.handles.len() as isize - 1
    }

    fn socket(&mut self, it: isize) -> &mut Socket<'static> {
        let handle = self.handles[it as usize];
        self.sockets.get_mut::<Socket>(handle)
    }

    fn datagrams(&mut self, it: isize) -> &mut udp::Socket<'static> {
        let handle = self.handles[it as usize];
        self.sockets.get_mut::<udp::Socket>(handle)
    }
}

#[unsafe(no_mangle)]
extern "C" fn stream_listen(port: c_int) -> isize {
    with(|it| it.listen(port as u16));
    port as isize
}

#[unsafe(no_mangle)]
extern "C" fn stream_accept(listening: isize) -> isize {
    with(|it| {
        let port = listening as u16;
        let at = it.listening.iter().position(|(own, _)| *own == port).expect("a port");
        let handle = it.listening[at].1;
        while !it.sockets.get_mut::<Socket>(handle).may_send() {
            if it.sockets.get_mut::<Socket>(handle).state() == State::Closed {
                it.sockets.get_mut::<Socket>(handle).listen(port).expect("a port");
            }
            it.turn(50);
        }
        it.listening.remove(at);
        it.listen(port);
        it.named(handle)
    })
}

#[unsafe(no_mangle)]
extern "C" fn stream_connect(port: c_int) -> isize {
    with(|it| {
        let handle = it.stream();
        let own = 49_152 + (value("own", 0) as u16 + port as u16) % 10_000;
        let to = (host("peer"), port as u16);
        let context = it.interface.context();
        it.sockets.get_mut::<Socket>(handle).connect(context, to, own).expect("a socket");
        while !it.sockets.get_mut::<Socket>(handle).may_send() {
            if it.sockets.get_mut::<Socket>(handle).state() == State::Closed {
                return -1;
            }
            it.turn(50);
        }
        it.named(handle)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn stream_send(which: isize, octets: *const c_void, size: c_int) -> c_int {
    // SAFETY: the caller's buffer has so many octets, and is not written meanwhile.
    let data = unsafe { slice::from_raw_parts(octets.cast::<u8>(), size as usize) };
    with(|it| loop {
        let socket = it.socket(which);
        if !socket.may_send() {
            return -1;
        }
        let done = socket.send_slice(data).unwrap_or(0);
        if done > 0 {
            it.interface.poll(Instant::now(), &mut it.tap, &mut it.sockets);
            return done as c_int;
        }
        it.turn(50);
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn stream_receive(which: isize, octets: *mut c_void, size: c_int) -> c_int {
    // SAFETY: the caller's buffer has room for so many octets, and nobody else uses it meanwhile.
    let data = unsafe { slice::from_raw_parts_mut(octets.cast::<u8>(), size as usize) };
    with(|it| loop {
        let socket = it.socket(which);
        if socket.can_recv() {
            let got = socket.recv_slice(data).unwrap_or(0);
            it.interface.poll(Instant::now(), &mut it.tap, &mut it.sockets);
            return got as c_int;
        }
        if !socket.may_recv() {
            return 0;
        }
        it.turn(50);
    })
}

#[unsafe(no_mangle)]
extern "C" fn stream_no_delay(which: isize) {
    with(|it| it.socket(which).set_nagle_enabled(false));
}

#[unsafe(no_mangle)]
extern "C" fn stream_whole_segments(_: isize, _: c_int) {}

#[unsafe(no_mangle)]
extern "C" fn stream_close(which: isize) {
    with(|it| {
        it.socket(which).close();
        let begun = Instant::now();
        while Instant::now() - begun < Duration::from_secs(3) && !matches!(it.socket(which).state(), State::Closed | State::TimeWait) {
            it.turn(50);
        }
        it.sockets.remove(it.handles[which as usize]);
    });
}

#[unsafe(no_mangle)]
extern "C" fn datagram_open(port: c_int) -> isize {
    with(|it| {
        let buffer = || udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; 64], vec![0; 65_536]);
        let mut socket = udp::Socket::new(buffer(), buffer());
        socket.bind(if port > 0 { port as u16 } else { 50_050 }).expect("a port");
        let handle = it.sockets.add(socket);
        it.named(handle)
    })
}

fn send_datagram(it: &mut Board, which: isize, octets: *const c_void, size: c_int, to: IpEndpoint) -> c_int {
    // SAFETY: the caller's buffer has so many octets, and is not written meanwhile.
    let data = unsafe { slice::from_raw_parts(octets.cast::<u8>(), size as usize) };
    let done = it.datagrams(which).send_slice(data, to).map_or(-1, |()| size);
    it.interface.poll(Instant::now(), &mut it.tap, &mut it.sockets);
    done
}

#[unsafe(no_mangle)]
extern "C" fn datagram_send(which: isize, octets: *const c_void, size: c_int, port: c_int) -> c_int {
    with(|it| send_datagram(it, which, octets, size, IpEndpoint::new(IpAddress::Ipv4(host("peer")), port as u16)))
}

#[unsafe(no_mangle)]
extern "C" fn datagram_answer(which: isize, octets: *const c_void, size: c_int) -> c_int {
    with(|it| {
        let to = it.last.expect("a datagram");
        send_datagram(it, which, octets, size, to)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn datagram_receive(which: isize, octets: *mut c_void, size: c_int, patience_ms: c_int) -> c_int {
    // SAFETY: the caller's buffer has room for so many octets, and nobody else uses it meanwhile.
    let data = unsafe { slice::from_raw_parts_mut(octets.cast::<u8>(), size as usize) };
    with(|it| {
        let begun = Instant::now();
        while Instant::now() - begun < Duration::from_millis(patience_ms as u64) {
            if let Ok((got, from)) = it.datagrams(which).recv_slice(data) {
                it.last = Some(from.endpoint);
                return got as c_int;
            }
            it.turn(50);
        }
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn rest(ms: c_int) {
    let until = Instant::now() + Duration::from_millis(ms.max(0) as u64);
    while Instant::now() < until {
        with(|it| it.turn((until - Instant::now()).total_micros().div_ceil(1000) as i64));
    }
}

#[unsafe(no_mangle)]
extern "C" fn stand_still(ms: c_int) {
    std::thread::sleep(std::time::Duration::from_millis(ms.max(0) as u64));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn main(count: c_int, words: *mut *mut c_char) -> c_int {
    // SAFETY: the arguments of the program.
    unsafe { read_words(count, words) };
    // SAFETY: it takes nothing.
    let mut tap = Tap(unsafe { open_tap() }, value("mtu", 1500) as usize + 14);
    let mut config = Config::new(HardwareAddress::Ethernet(EthernetAddress([2, 0x73, 0x6d, 0x6f, 0x6c, 1])));
    config.random_seed = u64::from(std::process::id()) * 2_654_435_761;
    let mut interface = Interface::new(config, &mut tap, Instant::now());
    interface.update_ip_addrs(|it| it.push(IpCidr::new(IpAddress::Ipv4(host("ip")), 24)).expect("room"));
    interface.routes_mut().add_default_ipv4_route(host("gate")).expect("room");
    let board = Board { tap, interface, sockets: SocketSet::new(vec![]), listening: vec![], handles: vec![], last: None };
    BOARD.set(Some(board));
    // SAFETY: it takes nothing, and calls the functions above.
    unsafe { run_programs() };
    0
}
