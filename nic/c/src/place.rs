//! Drivers in memory provided by the caller.

use core::ffi::c_void;
use core::mem::{align_of, size_of};

use linerate_nic::ledger::Ledger;

use crate::port::Port;

/// `linerate_nic` in C: the start of a [`Slot`].
#[repr(C, align(8))]
pub struct Nic {
    /// A function pointer, so that a program that does not start a driver links none of its code.
    port: unsafe fn(*mut Nic) -> *mut dyn Port,
    ledger: Ledger,
}

#[repr(C)]
struct Slot<P> {
    nic: Nic,
    port: P,
}

/// The driver of a slot.
///
/// # Safety
/// `nic` is the start of a valid `Slot<P>`.
unsafe fn port_of<P: Port + 'static>(nic: *mut Nic) -> *mut dyn Port {
    // SAFETY: the caller guarantees it.
    unsafe { &raw mut (*nic.cast::<Slot<P>>()).port }
}

/// Makes a driver with `start` in `state`; `None` if that does not fit.
///
/// # Safety
/// `state` is null or `octets` octets that nobody else uses from now on.
pub(crate) unsafe fn make<P: Port + 'static, E>(
    state: *mut c_void,
    octets: usize,
    start: impl FnOnce(&'static Ledger) -> Result<P, E>,
) -> Option<Result<*mut Nic, E>> {
    let slot = state.cast::<Slot<P>>();
    if slot.is_null() || !slot.is_aligned() || octets < size_of::<Slot<P>>() {
        return None;
    }
    let nic = Nic {
        port: port_of::<P>,
        ledger: Ledger::new(),
    };
    // SAFETY: length and alignment are checked above, and the caller guarantees exclusive use.
    unsafe { (&raw mut (*slot).nic).write(nic) };
    // SAFETY: written above; from now on it is only shared, and the caller never takes the memory back.
    let ledger: &'static Ledger = unsafe { &(*slot).nic.ledger };
    let port = match start(ledger) {
        Ok(port) => port,
        Err(error) => return Some(Err(error)),
    };
    // SAFETY: as for the other field.
    unsafe { (&raw mut (*slot).port).write(port) };
    Some(Ok(slot.cast()))
}

/// Calls `f` with a driver. `None` if the pointer is null.
///
/// # Safety
/// `nic` is null or was made by [`make`], and nobody else uses it meanwhile.
#[inline]
pub(crate) unsafe fn with<R>(nic: *mut Nic, f: impl FnOnce(&mut dyn Port) -> R) -> Option<R> {
    if nic.is_null() {
        return None;
    }
    // SAFETY: `make` wrote it, with the function that fits its driver; nobody else uses it.
    let port = unsafe { &mut *((*nic).port)(nic) };
    Some(f(port))
}

/// The counters of a driver.
///
/// # Safety
/// `nic` is null or was made by [`make`].
pub(crate) unsafe fn ledger_of<'a>(nic: *const Nic) -> Option<&'a Ledger> {
    // SAFETY: the caller guarantees null or a driver, whose counters are shared only.
    (!nic.is_null()).then(|| unsafe { &(*nic).ledger })
}

/// True if a driver fits into the size stated in the header.
pub(crate) const fn fits<P>(octets: usize) -> bool {
    size_of::<Slot<P>>() <= octets && align_of::<Slot<P>>() <= 8
}
