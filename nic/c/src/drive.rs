//! C functions that drive a network device: those of its seam (`nic/src/device.rs`).

use core::ffi::{CStr, c_char, c_void};

use linerate_ether::ledger::Counter;
use linerate_nic::device::LinkState;

use crate::place::{Nic, ledger_of, with};

/// Function of C that takes a received frame; false: it rejects it.
type Take = extern "C" fn(context: *mut c_void, frame: *mut u8, octets: usize) -> bool;

/// `linerate_nic_part` in C.
#[repr(C)]
pub struct Part {
    octets: *const u8,
    length: usize,
}

/// `linerate_nic_capabilities` in C.
#[repr(C)]
pub struct Capabilities {
    mac: [u8; 6],
    mtu: u16,
    burst_frames: u16,
    checksums_verified: u8,
    checksums_inserted: u8,
    lends: bool,
}

/// Results of sending in C.
const SENT: u8 = 0;
const NO_ROOM: u8 = 1;
const TOO_LONG: u8 = 2;

/// # Safety
/// `nic` is null or a driver that nobody else uses; `take` does not use it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_nic_receive(
    nic: *mut Nic,
    take: Option<Take>,
    context: *mut c_void,
) -> bool {
    let mut pass =
        |frame: &mut [u8]| take.is_some_and(|it| it(context, frame.as_mut_ptr(), frame.len()));
    // SAFETY: the caller's guarantee is the same.
    unsafe { with(nic, |it| it.receive(&mut pass)) }.unwrap_or(false)
}

/// # Safety
/// `nic` is null or a driver that nobody else uses; `octets` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_nic_lend(nic: *mut Nic, octets: *mut usize) -> *mut u8 {
    // SAFETY: the caller guarantees null or a writable place.
    let Some(octets) = (unsafe { octets.as_mut() }) else {
        return core::ptr::null_mut();
    };
    // SAFETY: the caller's guarantee is the same.
    let Some((frame, len)) = unsafe { with(nic, |it| it.lend()) }.flatten() else {
        return core::ptr::null_mut();
    };
    *octets = len;
    frame
}

/// # Safety
/// `nic` is null or a driver that nobody else uses; the caller no longer uses the frame.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_nic_give_back(nic: *mut Nic, frame: *const u8) -> bool {
    // SAFETY: the caller's guarantee is the same.
    unsafe { with(nic, |it| it.give_back(frame.addr())) }.unwrap_or(false)
}

/// # Safety
/// `nic` is null or a driver that nobody else uses; `parts` is null or `count` parts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_nic_transmit(
    nic: *mut Nic,
    parts: *const Part,
    count: usize,
) -> u8 {
    let parts = if parts.is_null() {
        &[]
    } else {
        // SAFETY: the caller guarantees the number.
        unsafe { core::slice::from_raw_parts(parts, count) }
    };
    let parts = parts.iter().filter(|part| !part.octets.is_null());
    let octets = parts
        .clone()
        .fold(0_usize, |all, part| all.saturating_add(part.length));
    let mut fill = |mut frame: &mut [u8]| {
        for part in parts.clone() {
            // SAFETY: the caller guarantees the length of each part.
            let octets = unsafe { core::slice::from_raw_parts(part.octets, part.length) };
            let (to, rest) = frame.split_at_mut(octets.len());
            to.copy_from_slice(octets);
            frame = rest;
        }
    };
    // SAFETY: the caller's guarantee is the same.
    match unsafe { with(nic, |it| it.transmit(octets, &mut fill)) } {
        Some(Ok(true)) => SENT,
        Some(Ok(false)) | None => NO_ROOM,
        Some(Err(_)) => TOO_LONG,
    }
}

/// # Safety
/// `nic` is null or a driver that nobody else uses; `found` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_nic_describe(nic: *mut Nic, found: *mut Capabilities) -> bool {
    // SAFETY: the caller guarantees null or a writable place.
    let Some(found) = (unsafe { found.as_mut() }) else {
        return false;
    };
    let describe = |it: &mut dyn crate::port::Port| {
        let all = it.capabilities();
        let sums = [
            all.checksums.ipv4,
            all.checksums.tcp,
            all.checksums.udp,
            all.checksums.icmp,
        ];
        let bits = |is_done: fn(&linerate_nic::device::Offload) -> bool| {
            let bits = sums.iter().zip(0..);
            bits.fold(0, |all, (it, bit)| all | u8::from(is_done(it)) << bit)
        };
        *found = Capabilities {
            mac: it.mac_address(),
            mtu: all.mtu as u16,
            burst_frames: all.max_burst_frames.unwrap_or(0) as u16,
            checksums_verified: bits(|it| it.receive),
            checksums_inserted: bits(|it| it.transmit),
            lends: it.can_lend(),
        };
    };
    // SAFETY: the caller's guarantee is the same.
    unsafe { with(nic, describe) }.is_some()
}

/// # Safety
/// `nic` is null or a driver that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_nic_poll_link(nic: *mut Nic) -> bool {
    // SAFETY: the caller's guarantee is the same.
    let link = unsafe { with(nic, |it| it.poll_link()) };
    link == Some(LinkState::Up)
}

/// # Safety
/// `nic` is null or a driver that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_nic_unmask(nic: *mut Nic) -> bool {
    // No interrupt signals the time to send a frame that the driver holds.
    // SAFETY: the caller's guarantee is the same.
    unsafe { with(nic, |it| it.unmask() && !it.has_pending_tx()) }.unwrap_or(false)
}

/// # Safety
/// `nic` is null or a driver that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_nic_mask(nic: *mut Nic) {
    // SAFETY: the caller's guarantee is the same.
    unsafe { with(nic, |it| it.mask()) };
}

/// # Safety
/// `nic` is null or a driver that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_nic_halt(nic: *mut Nic) {
    // SAFETY: the caller's guarantee is the same.
    unsafe { with(nic, |it| it.halt()) };
}

/// # Safety
/// `nic` is null or a driver that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_nic_resume(nic: *mut Nic) -> bool {
    // SAFETY: the caller's guarantee is the same.
    unsafe { with(nic, |it| it.resume()) }.unwrap_or(false)
}

/// # Safety
/// `nic` is null or a driver; `name` is null or a string that ends in a zero; `count` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_nic_counter(
    nic: *const Nic,
    name: *const c_char,
    count: *mut u32,
) -> bool {
    if name.is_null() {
        return false;
    }
    // SAFETY: the caller guarantees null or a driver.
    let ledger = unsafe { ledger_of(nic) };
    // SAFETY: not null; the caller guarantees a string.
    let name = unsafe { CStr::from_ptr(name) };
    let counter = name.to_str().ok().and_then(Counter::from_name);
    // SAFETY: the caller guarantees null or a writable place.
    let (Some(ledger), Some(counter), Some(count)) = (ledger, counter, unsafe { count.as_mut() })
    else {
        return false;
    };
    *count = ledger.get(counter);
    true
}

/// # Safety
/// `nic` is null or a driver; `name` is null or `room` initialized octets; `count` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_nic_counter_at(
    nic: *const Nic,
    index: usize,
    name: *mut c_char,
    room: usize,
    count: *mut u32,
) -> bool {
    // SAFETY: the caller guarantees null or a driver.
    let Some(ledger) = (unsafe { ledger_of(nic) }) else {
        return false;
    };
    let Some(counter) = Counter::ALL.get(index) else {
        return false;
    };
    if !name.is_null() && room > 0 {
        // SAFETY: the caller guarantees the length.
        let to = unsafe { core::slice::from_raw_parts_mut(name.cast::<u8>(), room) };
        let octets = counter.name().as_bytes();
        let len = octets.len().min(room - 1);
        to[..len].copy_from_slice(&octets[..len]);
        to[len] = 0;
    }
    // SAFETY: the caller guarantees null or a writable place.
    if let Some(count) = unsafe { count.as_mut() } {
        *count = ledger.get(*counter);
    }
    true
}
