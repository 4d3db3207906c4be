//! Round trips of datagrams, and a reflector.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use hdrhistogram::Histogram;
use linerate_results::record::Distribution;
use serde::Serialize;

use super::gaps::histogram;
use super::pace::Clock;
use super::packet::{HEADER_OCTETS, MAX_PAYLOAD_OCTETS, PacketHeader};
use super::udp::WaitMode;
use super::{LoadError, cpu};
use linerate_results::distribution;

/// Time after which an unanswered datagram counts as lost.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(200);
/// Interval at which a blocking reflector checks its stop condition.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// Number of losses in a row after which the measurement ends if none was answered.
const MAX_LOST_IN_A_ROW: u64 = 10;

/// Configuration of a round-trip measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PingConfig {
    /// Reflector: [`reflect`], or any UDP echo server.
    pub target: SocketAddr,
    /// Payload, at least 24 octets.
    pub payload_octets: usize,
    /// Number of round trips, in sequence.
    pub count: u64,
    /// Maximum total duration.
    pub max_duration: Duration,
    /// Wait mode for answers.
    pub wait: WaitMode,
    /// CPU core to measure from.
    pub core: Option<usize>,
}

/// Result of a round-trip measurement.
#[derive(Debug, Clone, Serialize)]
pub struct PingReport {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams not answered within 200 ms.
    pub lost: u64,
    /// Round-trip times of the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<Distribution>,
    /// Features that were unavailable.
    pub notes: Vec<String>,
    /// Histogram of the round-trip times, nanoseconds.
    #[serde(skip)]
    pub all: Histogram<u64>,
}

/// Sends datagrams, each after the previous one was answered, and measures the round-trip times.
///
/// # Errors
/// There is no route to the target, or the payload is too small for the packet header.
pub fn ping(config: &PingConfig) -> Result<PingReport, LoadError> {
    if !(HEADER_OCTETS..=MAX_PAYLOAD_OCTETS).contains(&config.payload_octets) {
        return Err(LoadError::Payload {
            octets: config.payload_octets,
            min: HEADER_OCTETS,
            max: MAX_PAYLOAD_OCTETS,
        });
    }
    let failed = |source| LoadError::Socket {
        step: "round trips to",
        address: config.target,
        source,
    };
    let any: SocketAddr = if config.target.is_ipv4() {
        ([0, 0, 0, 0], 0).into()
    } else {
        ([0; 16], 0).into()
    };
    let socket = UdpSocket::bind(any).map_err(failed)?;
    socket.connect(config.target).map_err(failed)?;
    set_wait_mode(&socket, config.wait, ANSWER_TIMEOUT).map_err(failed)?;
    let mut notes = Vec::new();
    let pin = cpu::pin(config.core);
    if let Err(why) = &pin {
        notes.push(why.clone());
    }
    let clock = Clock::start();
    let mut payload = vec![0; config.payload_octets];
    let mut answer = vec![0; config.payload_octets + 1];
    let (mut all, mut lost, mut in_a_row, mut sent) = (histogram(), 0, 0, 0);
    while sent < config.count && (clock.now_ns() as u128) < config.max_duration.as_nanos() {
        let began = clock.now_ns();
        let head = PacketHeader {
            stream: 0,
            number: sent,
            sent_ns: began,
        };
        head.write(&mut payload);
        sent += 1;
        // Ignores an error caused by an earlier datagram.
        let _ = socket.send(&payload);
        let answered = receive_answer(&socket, &mut answer, head, began, &clock);
        if let Some(ns) = answered.map_err(failed)? {
            all.saturating_record(ns);
            in_a_row = 0;
        } else {
            lost += 1;
            in_a_row += 1;
        }
        if in_a_row == MAX_LOST_IN_A_ROW && all.is_empty() {
            notes.push(format!("{} does not answer", config.target));
            break;
        }
    }
    Ok(PingReport {
        sent,
        lost,
        times: distribution::from_histogram(&all),
        notes,
        all,
    })
}

/// Waits for the answer with `head` and returns its round-trip time; `None` if lost.
fn receive_answer(
    socket: &UdpSocket,
    answer: &mut [u8],
    head: PacketHeader,
    began: u64,
    clock: &Clock,
) -> io::Result<Option<u64>> {
    loop {
        let came = socket.recv(answer);
        let ns = clock.now_ns() - began;
        match came {
            Ok(len) if PacketHeader::read(&answer[..len]) == Some(head) => return Ok(Some(ns)),
            // An earlier datagram that was counted as lost.
            Ok(_) => {}
            Err(error) if is_no_datagram(&error) => {}
            Err(error) => return Err(error),
        }
        if u128::from(ns) > ANSWER_TIMEOUT.as_nanos() {
            return Ok(None);
        }
    }
}

/// Sends back every datagram received at `address` until `stop` returns true; returns their number. `bound` is
/// called with the local address once the socket is bound.
///
/// # Errors
/// The address is in use, or not local.
pub fn reflect(
    address: SocketAddr,
    wait: WaitMode,
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
    set_wait_mode(&socket, wait, STOP_CHECK_INTERVAL).map_err(failed)?;
    // Without pinning, round trips take longer, which the measuring side sees.
    let _pin = cpu::pin(core);
    bound(socket.local_addr().map_err(failed)?);
    let mut octets = vec![0; MAX_PAYLOAD_OCTETS + 1];
    let (mut reflected, mut polls) = (0, 0_u32);
    loop {
        match socket.recv_from(&mut octets) {
            Ok((len, from)) => {
                if socket.send_to(&octets[..len], from).is_ok() {
                    reflected += 1;
                }
            }
            Err(error) if is_no_datagram(&error) => {}
            Err(error) => return Err(failed(error)),
        }
        polls = polls.wrapping_add(1);
        if (wait == WaitMode::Block || polls.is_multiple_of(256)) && stop() {
            return Ok(reflected);
        }
    }
}

fn set_wait_mode(socket: &UdpSocket, wait: WaitMode, max_duration: Duration) -> io::Result<()> {
    match wait {
        WaitMode::Block => socket.set_read_timeout(Some(max_duration)),
        WaitMode::Spin => socket.set_nonblocking(true),
    }
}

/// True if nothing was received or an ICMP port unreachable message arrived.
fn is_no_datagram(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock
            | ErrorKind::TimedOut
            | ErrorKind::Interrupted
            | ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
    )
}
