//! C functions that drive an agent: those of [`Service`](linerate_agent::Service).

use linerate_agent::frame::{ReflectFilter, reflect};
use linerate_agent::{Close, Connection, Instant, Opened, SocketRequest, Udp};

use crate::place::{Agent, with};
use crate::types::{Address, DatagramOut, Request};

/// Octets passed by the caller.
///
/// # Safety
/// `octets` is null or `length` octets that nobody changes meanwhile.
unsafe fn given<'a>(octets: *const u8, length: usize) -> &'a [u8] {
    if octets.is_null() {
        return &[];
    }
    // SAFETY: the caller guarantees the length.
    unsafe { core::slice::from_raw_parts(octets, length) }
}

/// Buffer passed by the caller.
///
/// # Safety
/// `buffer` is null or `length` initialized octets that nobody else uses meanwhile.
unsafe fn buffer_of<'a>(buffer: *mut u8, length: usize) -> &'a mut [u8] {
    if buffer.is_null() {
        return &mut [];
    }
    // SAFETY: the caller guarantees the length.
    unsafe { core::slice::from_raw_parts_mut(buffer, length) }
}

const fn at(ns: u64) -> Instant {
    Instant::from_ns(ns)
}

/// # Safety
/// `agent` is null or an agent that nobody else uses; `request` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_next_request(agent: *mut Agent, request: *mut Request) -> bool {
    if request.is_null() {
        return false;
    }
    // SAFETY: the caller's guarantee is the same.
    let Some(found) = unsafe { with(agent, |service| service.next_request()) }.flatten() else {
        return false;
    };
    let mut it = Request {
        kind: 0,
        socket: 0,
        token: 0,
        reserved: 0,
        port: 0,
        to: Address::NONE,
    };
    match found {
        SocketRequest::Listen(port) => {
            it.kind = 1;
            it.port = port;
        }
        SocketRequest::Bind(Udp(socket), port) => {
            it.kind = 2;
            it.socket = socket;
            it.port = port.unwrap_or(0);
        }
        SocketRequest::Unbind(Udp(socket)) => {
            it.kind = 3;
            it.socket = socket;
        }
        SocketRequest::Connect { to, token } => {
            it.kind = 4;
            it.token = token;
            it.to = to.into();
        }
    }
    // SAFETY: not null; the caller guarantees that it can be written.
    unsafe { request.write(it) };
    true
}

/// # Safety
/// `agent` is null or an agent that nobody else uses; `from` is null or an address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_accepted(
    agent: *mut Agent,
    connection: u8,
    port: u16,
    from: *const Address,
    now_ns: u64,
) -> bool {
    // SAFETY: the caller guarantees null or an address.
    let Some(from) = unsafe { from.as_ref() }.and_then(Address::get) else {
        return false;
    };
    let opened = Opened::Accepted { port, from };
    let connection = Connection(connection);
    // SAFETY: the caller's guarantee is the same.
    let result = unsafe { with(agent, |it| it.opened(connection, opened, at(now_ns))) };
    matches!(result, Some(Ok(())))
}

/// # Safety
/// `agent` is null or an agent that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_connected(
    agent: *mut Agent,
    connection: u8,
    token: u8,
    now_ns: u64,
) -> bool {
    let opened = Opened::Connected { token };
    let connection = Connection(connection);
    // SAFETY: the caller's guarantee is the same.
    let result = unsafe { with(agent, |it| it.opened(connection, opened, at(now_ns))) };
    matches!(result, Some(Ok(())))
}

/// # Safety
/// `agent` is null or an agent that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_failed(agent: *mut Agent, token: u8, now_ns: u64) {
    // SAFETY: the caller's guarantee is the same.
    unsafe { with(agent, |it| it.failed(token, at(now_ns))) };
}

/// # Safety
/// `agent` is null or an agent that nobody else uses; `octets` is null or `length` octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_received(
    agent: *mut Agent,
    connection: u8,
    octets: *const u8,
    length: usize,
    now_ns: u64,
) {
    // SAFETY: the caller's guarantee is the same.
    let octets = unsafe { given(octets, length) };
    // SAFETY: so is this one.
    unsafe {
        with(agent, |it| {
            it.received(Connection(connection), octets, at(now_ns));
        })
    };
}

/// # Safety
/// `agent` is null or an agent that nobody else uses; `buffer` is null or `length` octets that nobody else
/// uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_fill(
    agent: *mut Agent,
    connection: u8,
    buffer: *mut u8,
    length: usize,
    now_ns: u64,
) -> usize {
    // SAFETY: the caller's guarantee is the same.
    let buffer = unsafe { buffer_of(buffer, length) };
    // SAFETY: so is this one.
    unsafe {
        with(agent, |it| {
            it.fill(Connection(connection), buffer, at(now_ns))
        })
    }
    .unwrap_or(0)
}

/// # Safety
/// `agent` is null or an agent that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_ended(agent: *mut Agent, connection: u8, now_ns: u64) {
    // SAFETY: the caller's guarantee is the same.
    unsafe { with(agent, |it| it.ended(Connection(connection), at(now_ns))) };
}

/// # Safety
/// `agent` is null or an agent that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_closed(agent: *mut Agent, connection: u8, now_ns: u64) {
    // SAFETY: the caller's guarantee is the same.
    unsafe { with(agent, |it| it.closed(Connection(connection), at(now_ns))) };
}

/// # Safety
/// `agent` is null or an agent that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_close_wanted(agent: *const Agent, connection: u8) -> u8 {
    let agent = agent.cast_mut();
    // SAFETY: the caller's guarantee is the same; nothing is changed.
    let close = unsafe { with(agent, |it| it.close(Connection(connection))) };
    match close {
        Some(Close::Keep) => 0,
        Some(Close::Finish) => 1,
        Some(Close::Reset) | None => 2,
    }
}

/// # Safety
/// `agent` is null or an agent that nobody else uses; `from` is null or an address, `octets` null or
/// `length` octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_datagram(
    agent: *mut Agent,
    socket: u8,
    from: *const Address,
    octets: *const u8,
    length: usize,
    now_ns: u64,
) {
    // SAFETY: the caller guarantees null or an address.
    let Some(from) = unsafe { from.as_ref() }.and_then(Address::get) else {
        return;
    };
    // SAFETY: the caller's guarantee is the same.
    let octets = unsafe { given(octets, length) };
    // SAFETY: so is this one.
    unsafe {
        with(agent, |it| {
            it.datagram(Udp(socket), from, octets, at(now_ns));
        })
    };
}

/// # Safety
/// `agent` is null or an agent that nobody else uses; `buffer` is null or `length` octets that nobody else
/// uses, `out` null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_next_datagram(
    agent: *mut Agent,
    buffer: *mut u8,
    length: usize,
    now_ns: u64,
    out: *mut DatagramOut,
) -> bool {
    if out.is_null() {
        return false;
    }
    // SAFETY: the caller's guarantee is the same.
    let buffer = unsafe { buffer_of(buffer, length) };
    // SAFETY: so is this one.
    let datagram = unsafe { with(agent, |it| it.next_datagram(buffer, at(now_ns))) }.flatten();
    let Some(datagram) = datagram else {
        return false;
    };
    let it = DatagramOut {
        to: datagram.to.into(),
        socket: datagram.socket.0,
        length: datagram.len,
    };
    // SAFETY: not null; the caller guarantees that it can be written.
    unsafe { out.write(it) };
    true
}

/// # Safety
/// `agent` is null or an agent that nobody else uses; `at_ns` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_wake_at(agent: *const Agent, at_ns: *mut u64) -> bool {
    let agent = agent.cast_mut();
    // SAFETY: the caller's guarantee is the same; nothing is changed.
    let Some(at) = unsafe { with(agent, |it| it.wake_at()) }.flatten() else {
        return false;
    };
    // SAFETY: the caller guarantees null or a writable place.
    if let Some(place) = unsafe { at_ns.as_mut() } {
        *place = at.ns();
    }
    true
}

/// # Safety
/// `frame` is null or `length` octets that nobody else uses; `own` is null or six octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_reflect_frame(
    frame: *mut u8,
    length: usize,
    own: *const [u8; 6],
) -> bool {
    // SAFETY: the caller's guarantee is the same.
    let frame = unsafe { buffer_of(frame, length) };
    // SAFETY: the caller guarantees null or six octets; octets are aligned anywhere.
    let own = unsafe { own.as_ref() };
    own.is_some_and(|own| reflect(frame, *own, ReflectFilter::Marked))
}
