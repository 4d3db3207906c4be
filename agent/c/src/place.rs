//! Agents in memory provided by the caller.

use core::ffi::c_void;
use core::mem::{align_of, size_of};

use linerate_agent::Service;

/// Type of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    Iperf2Server = 0x6c72_0001,
    Iperf2Client,
    Iperf3Server,
    StampReflector,
    StampSender,
    HttpServer,
    Echo,
}

/// `linerate_agent` in C: the start of a [`Slot`].
#[repr(C, align(8))]
pub struct Agent {
    kind: Kind,
    /// A function pointer, so that a program without such an agent links none of its code.
    service: unsafe fn(*mut Agent) -> *mut dyn Service,
}

#[repr(C)]
pub(crate) struct Slot<S> {
    agent: Agent,
    service: S,
}

/// The service of a slot.
///
/// # Safety
/// `agent` is the start of a valid `Slot<S>`.
unsafe fn service_of<S: Service + 'static>(agent: *mut Agent) -> *mut dyn Service {
    // SAFETY: the caller guarantees it.
    unsafe { &raw mut (*agent.cast::<Slot<S>>()).service }
}

/// Creates an agent in `storage`. Returns null if it does not fit.
///
/// # Safety
/// `storage` is null or `octets` octets that nobody else uses from now on.
pub(crate) unsafe fn make<S: Service + 'static>(
    storage: *mut c_void,
    octets: usize,
    kind: Kind,
    service: S,
) -> *mut Agent {
    let slot = storage.cast::<Slot<S>>();
    if slot.is_null() || !slot.is_aligned() || octets < size_of::<Slot<S>>() {
        return core::ptr::null_mut();
    }
    let agent = Agent {
        kind,
        service: service_of::<S>,
    };
    // SAFETY: length and alignment are checked above, and the caller guarantees exclusive use.
    unsafe { slot.write(Slot { agent, service }) };
    slot.cast()
}

/// Calls `f` with an agent's service. `None` if the agent is null.
///
/// # Safety
/// `agent` is null or was made by [`make`], and nobody else uses it meanwhile.
pub(crate) unsafe fn with<R>(
    agent: *mut Agent,
    f: impl FnOnce(&mut dyn Service) -> R,
) -> Option<R> {
    if agent.is_null() {
        return None;
    }
    // SAFETY: `make` wrote it, with the function that fits its service; nobody else uses it.
    let service = unsafe { &mut *((*agent).service)(agent) };
    Some(f(service))
}

/// Calls `f` with the agent as its actual type. `None` if it is of another type.
///
/// # Safety
/// As for [`with`]; `S` is the type that `make` creates for this kind.
pub(crate) unsafe fn with_kind<S, R>(
    agent: *mut Agent,
    kind: Kind,
    f: impl FnOnce(&mut S) -> R,
) -> Option<R> {
    // SAFETY: not null; then `make` wrote it.
    if agent.is_null() || unsafe { (*agent).kind } != kind {
        return None;
    }
    // SAFETY: of this kind, so it is a slot of this service; nobody else uses it.
    let slot = unsafe { &mut *agent.cast::<Slot<S>>() };
    Some(f(&mut slot.service))
}

/// True if a service fits into the size stated in the header.
pub(crate) const fn fits<S>(octets: usize) -> bool {
    size_of::<Slot<S>>() <= octets && align_of::<Slot<S>>() <= 8
}
