//! C functions that create agents.

use core::ffi::c_void;
use core::time::Duration;

use linerate_agent::iperf2::{self, Amount, ReturnTest, Test};
use linerate_agent::stamp::{self, Clock};
use linerate_agent::{Limits, echo, http, iperf3};

use crate::place::{Agent, Kind, fits, make};
use crate::types::{Iperf2Plan, StampPlan};

pub(crate) type Iperf2Server = iperf2::Server<4>;
pub(crate) type Iperf2Client = iperf2::Client;
pub(crate) type Iperf3Server = iperf3::Server<4>;
pub(crate) type StampReflector = stamp::Reflector<8, 4, 128>;
pub(crate) type StampSender = stamp::Sender<16>;
pub(crate) type HttpServer = http::Server<4>;
pub(crate) type Echo = echo::Echo<2, 1472>;

// The header's LINERATE_..._OCTETS.
const _: () = assert!(fits::<Iperf2Server>(4096));
const _: () = assert!(fits::<Iperf2Client>(1024));
const _: () = assert!(fits::<Iperf3Server>(4096));
const _: () = assert!(fits::<StampReflector>(2048));
const _: () = assert!(fits::<StampSender>(2560));
const _: () = assert!(fits::<HttpServer>(2560));
const _: () = assert!(fits::<Echo>(3328));

fn limits(sends_datagrams: bool, longest_ns: u64) -> Limits {
    Limits {
        sends_datagrams,
        longest: Duration::from_nanos(longest_ns),
        ..Limits::default()
    }
}

/// # Safety
/// `storage` is null or `octets` octets that nobody else uses from now on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_iperf2_server(
    storage: *mut c_void,
    octets: usize,
    port: u16,
    sends_datagrams: bool,
    longest_ns: u64,
) -> *mut Agent {
    let limits = limits(sends_datagrams, longest_ns);
    let server = Iperf2Server::new(port, limits);
    // SAFETY: the caller's guarantee is the same.
    unsafe { make(storage, octets, Kind::Iperf2Server, server) }
}

/// # Safety
/// `storage` is null or `octets` octets that nobody else uses from now on; `plan` is null or a plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_iperf2_client(
    storage: *mut c_void,
    octets: usize,
    plan: *const Iperf2Plan,
) -> *mut Agent {
    // SAFETY: the caller guarantees null or a plan.
    let plan = unsafe { plan.as_ref() };
    let Some((plan, to)) = plan.and_then(|plan| Some((plan, plan.to.get()?))) else {
        return core::ptr::null_mut();
    };
    let amount = match plan.span_ns {
        0 => Amount::Octets(plan.octets),
        ns => Amount::Span(Duration::from_nanos(ns)),
    };
    let client = Iperf2Client::new(iperf2::Plan {
        to,
        udp: plan.udp,
        test: Test {
            port: to.port(),
            buffer_octets: plan.buffer_octets,
            amount,
            rate_bits_per_s: plan.rate_bits_per_s,
            return_test: ReturnTest::No,
            reverse: plan.reverse,
            full_duplex: false,
        },
        timeout: Duration::from_nanos(plan.timeout_ns),
    });
    // SAFETY: the caller's guarantee is the same.
    unsafe { make(storage, octets, Kind::Iperf2Client, client) }
}

/// # Safety
/// `storage` is null or `octets` octets that nobody else uses from now on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_iperf3_server(
    storage: *mut c_void,
    octets: usize,
    port: u16,
    sends_datagrams: bool,
    longest_ns: u64,
) -> *mut Agent {
    let limits = limits(sends_datagrams, longest_ns);
    let server = Iperf3Server::new(port, limits);
    // SAFETY: the caller's guarantee is the same.
    unsafe { make(storage, octets, Kind::Iperf3Server, server) }
}

/// # Safety
/// `storage` is null or `octets` octets that nobody else uses from now on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_stamp_reflector(
    storage: *mut c_void,
    octets: usize,
    port: u16,
    resolution_ns: u64,
) -> *mut Agent {
    let clock = Clock::free(Duration::from_nanos(resolution_ns));
    let reflector = StampReflector::new(port, clock);
    // SAFETY: the caller's guarantee is the same.
    unsafe { make(storage, octets, Kind::StampReflector, reflector) }
}

/// # Safety
/// `storage` is null or `octets` octets that nobody else uses from now on; `plan` is null or a plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_stamp_sender(
    storage: *mut c_void,
    octets: usize,
    plan: *const StampPlan,
) -> *mut Agent {
    // SAFETY: the caller guarantees null or a plan.
    let plan = unsafe { plan.as_ref() };
    let Some((plan, to)) = plan.and_then(|plan| Some((plan, plan.to.get()?))) else {
        return core::ptr::null_mut();
    };
    let sender = StampSender::new(stamp::Plan {
        to,
        count: plan.count,
        interval: Duration::from_nanos(plan.interval_ns),
        octets: plan.octets.into(),
        timeout: Duration::from_nanos(plan.timeout_ns),
        clock: Clock::free(Duration::from_nanos(plan.resolution_ns)),
        stateful: plan.stateful,
        session: 0,
    });
    // SAFETY: the caller's guarantee is the same.
    unsafe { make(storage, octets, Kind::StampSender, sender) }
}

/// # Safety
/// `storage` is null or `octets` octets that nobody else uses from now on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_http_server(
    storage: *mut c_void,
    octets: usize,
    port: u16,
    timeout_ns: u64,
) -> *mut Agent {
    let server = HttpServer::new(port, Duration::from_nanos(timeout_ns));
    // SAFETY: the caller's guarantee is the same.
    unsafe { make(storage, octets, Kind::HttpServer, server) }
}

/// # Safety
/// `storage` is null or `octets` octets that nobody else uses from now on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_echo(
    storage: *mut c_void,
    octets: usize,
    port: u16,
) -> *mut Agent {
    // SAFETY: the caller's guarantee is the same.
    unsafe { make(storage, octets, Kind::Echo, Echo::new(port)) }
}
