//! Agents in memory that somebody else gave.

use core::ffi::c_void;
use core::mem::{align_of, size_of};

use linerate_agent::Service;

/// Which agent it is.
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

/// What C knows as `linerate_agent`: the start of a [`Slot`].
#[repr(C, align(8))]
pub struct Agent {
    kind: Kind,
    /// By pointer, so that a program that makes no such agent has none of its code.
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
    // SAFETY: it is one, says the caller.
    unsafe { &raw mut (*agent.cast::<Slot<S>>()).service }
}

/// Makes an agent in `storage`. Null: it does not fit.
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
    // SAFETY: long enough and aligned, as was just seen, and ours, says the caller.
    unsafe { slot.write(Slot { agent, service }) };
    slot.cast()
}

/// Does something with an agent's service. `None`: there is none.
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

/// Does something with the agent as what it is. `None`: it is of another kind.
///
/// # Safety
/// As for [`with`]; `S` is what `make` is given with this kind.
pub(crate) unsafe fn with_kind<S, R>(
    agent: *mut Agent,
    kind: Kind,
    f: impl FnOnce(&mut S) -> R,
) -> Option<R> {
    // SAFETY: not null; then `make` wrote it.
    if agent.is_null() || unsafe { (*agent).kind } != kind {
        return None;
    }
    // SAFETY: of this kind, so that it is a slot of this service; nobody else uses it.
    let slot = unsafe { &mut *agent.cast::<Slot<S>>() };
    Some(f(&mut slot.service))
}

/// Whether a service fits in what the header says it needs.
pub(crate) const fn fits<S>(octets: usize) -> bool {
    size_of::<Slot<S>>() <= octets && align_of::<Slot<S>>() <= 8
}
