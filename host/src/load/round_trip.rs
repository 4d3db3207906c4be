//! Round trips of datagrams, and who sends them back.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use hdrhistogram::Histogram;
use linerate_results::record::Distribution;
use serde::Serialize;

use super::gaps::histogram;
use super::pace::Clock;
use super::packet::{HEAD, Head, LONGEST};
use super::udp::Wait;
use super::{LoadError, cpu};
use linerate_results::distribution;

/// A datagram that has not come back by then is lost.
const PATIENCE: Duration = Duration::from_millis(200);
/// How long a sleeping reflector sleeps before it looks whether it is over.
const LOOK: Duration = Duration::from_millis(20);
/// So many lost in a row, and nobody sends back.
const GIVE_UP: u64 = 10;

/// What to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Who sends back: a [`reflect`]or, or any UDP echo.
    pub target: SocketAddr,
    /// Payload, 24 octets at least.
    pub payload_octets: usize,
    /// How many, one after the other.
    pub count: u64,
    /// No longer than this in all.
    pub at_most: Duration,
    /// How what comes back is waited for.
    pub wait: Wait,
    /// The core to measure from.
    pub core: Option<usize>,
}

/// Round trips.
#[derive(Debug, Clone, Serialize)]
pub struct RoundTrips {
    /// Datagrams sent.
    pub sent: u64,
    /// Of these, did not come back within 200 ms.
    pub lost: u64,
    /// The times of the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<Distribution>,
    /// What could not be had.
    pub notes: Vec<String>,
    /// All of the times, nanoseconds.
    #[serde(skip)]
    pub all: Histogram<u64>,
}

/// Sends datagrams, each when the one before has come back, and takes the time.
///
/// # Errors
/// The target has no route, or the payload no room for a number.
pub fn ping(plan: &Plan) -> Result<RoundTrips, LoadError> {
    if !(HEAD..=LONGEST).contains(&plan.payload_octets) {
        return Err(LoadError::Payload {
            octets: plan.payload_octets,
            least: HEAD,
            most: LONGEST,
        });
    }
    let failed = |source| LoadError::Socket {
        step: "round trips to",
        address: plan.target,
        source,
    };
    let any: SocketAddr = if plan.target.is_ipv4() {
        ([0, 0, 0, 0], 0).into()
    } else {
        ([0; 16], 0).into()
    };
    let socket = UdpSocket::bind(any).map_err(failed)?;
    socket.connect(plan.target).map_err(failed)?;
    set_waiting(&socket, plan.wait, PATIENCE).map_err(failed)?;
    let mut notes = Vec::new();
    let pin = cpu::pin(plan.core);
    if let Err(why) = &pin {
        notes.push(why.clone());
    }
    let clock = Clock::start();
    let mut payload = vec![0; plan.payload_octets];
    let mut answer = vec![0; plan.payload_octets + 1];
    let (mut all, mut lost, mut in_a_row, mut sent) = (histogram(), 0, 0, 0);
    while sent < plan.count && (clock.now_ns() as u128) < plan.at_most.as_nanos() {
        let began = clock.now_ns();
        let head = Head {
            stream: 0,
            number: sent,
            sent_ns: began,
        };
        head.write(&mut payload);
        sent += 1;
        // What an earlier datagram brought on is no fault of this one.
        let _ = socket.send(&payload);
        let answered = answered(&socket, &mut answer, head, began, &clock);
        if let Some(ns) = answered.map_err(failed)? {
            all.saturating_record(ns);
            in_a_row = 0;
        } else {
            lost += 1;
            in_a_row += 1;
        }
        if in_a_row == GIVE_UP && all.is_empty() {
            notes.push(format!("{} sends nothing back", plan.target));
            break;
        }
    }
    Ok(RoundTrips {
        sent,
        lost,
        times: distribution::from_histogram(&all),
        notes,
        all,
    })
}

/// How long it was until `head` came back; `None`: it did not.
fn answered(
    socket: &UdpSocket,
    answer: &mut [u8],
    head: Head,
    began: u64,
    clock: &Clock,
) -> io::Result<Option<u64>> {
    loop {
        let came = socket.recv(answer);
        let ns = clock.now_ns() - began;
        match came {
            Ok(len) if Head::read(&answer[..len]) == Some(head) => return Ok(Some(ns)),
            // An earlier one, which was taken for lost.
            Ok(_) => {}
            Err(error) if is_nothing(&error) => {}
            Err(error) => return Err(error),
        }
        if u128::from(ns) > PATIENCE.as_nanos() {
            return Ok(None);
        }
    }
}

/// Sends back whatever arrives at `address`, until `stop` says so: how many. `bound` is told where, as soon
/// as it listens.
///
/// # Errors
/// The address is taken, or not this machine's.
pub fn reflect(
    address: SocketAddr,
    wait: Wait,
    core: Option<usize>,
    bound: impl FnOnce(SocketAddr),
    stop: &dyn Fn() -> bool,
) -> Result<u64, LoadError> {
    let failed = |source| LoadError::Socket {
        step: "reflecting at",
        address,
        source,
    };
    let socket = UdpSocket::bind(address).map_err(failed)?;
    set_waiting(&socket, wait, LOOK).map_err(failed)?;
    // Without, round trips take longer, which who measures them sees.
    let _pin = cpu::pin(core);
    bound(socket.local_addr().map_err(failed)?);
    let mut octets = vec![0; LONGEST + 1];
    let (mut reflected, mut looks) = (0, 0_u32);
    loop {
        match socket.recv_from(&mut octets) {
            Ok((len, from)) => {
                if socket.send_to(&octets[..len], from).is_ok() {
                    reflected += 1;
                }
            }
            Err(error) if is_nothing(&error) => {}
            Err(error) => return Err(failed(error)),
        }
        looks = looks.wrapping_add(1);
        if (wait == Wait::Block || looks.is_multiple_of(256)) && stop() {
            return Ok(reflected);
        }
    }
}

fn set_waiting(socket: &UdpSocket, wait: Wait, at_most: Duration) -> io::Result<()> {
    match wait {
        Wait::Block => socket.set_read_timeout(Some(at_most)),
        Wait::Spin => socket.set_nonblocking(true),
    }
}

/// Whether only nothing came, or an answer that a port is closed.
fn is_nothing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock
            | ErrorKind::TimedOut
            | ErrorKind::Interrupted
            | ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
    )
}
