//! Two network namespaces with a relay between them: a network with known faults, for tests.

use super::error::RelayError;
use super::namespace::Namespace;
use super::port::Port;
use super::run::{Plan, Report, Witness, run};
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// The interface in each namespace.
pub const INTERFACE: &str = "eth0";
/// The address of the first namespace, in a network of 24 bits.
pub const LEFT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// The address of the second.
pub const RIGHT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// What an interface holds for a relay that is not given a processor for a while, in frames.
const TRANSMIT_QUEUE: &str = "10000";

/// Two network namespaces, each with an interface and an address, and the ports between which a relay
/// is to run. They are removed when this is dropped.
#[derive(Debug)]
pub struct Pair {
    /// Which has [`LEFT`].
    pub left: Arc<Namespace>,
    /// Which has [`RIGHT`].
    pub right: Arc<Namespace>,
    ports: [Port; 2],
}

impl Pair {
    /// Makes namespaces with these names. Where they are `quiet`, every frame is one that a program has
    /// sent: there is no IPv6, and each end knows the other's hardware address.
    ///
    /// # Errors
    /// They exist, or the user may not make them.
    pub fn make(left: &str, right: &str, quiet: bool) -> Result<Self, RelayError> {
        let (left, left_port) = end(left, LEFT, quiet)?;
        let (right, right_port) = end(right, RIGHT, quiet)?;
        if quiet {
            introduce(&left, &right, RIGHT)?;
            introduce(&right, &left, LEFT)?;
        }
        Ok(Self {
            left,
            right,
            ports: [left_port, right_port],
        })
    }

    /// The ports: left, right.
    #[must_use]
    pub const fn ports(&self) -> [&Port; 2] {
        [&self.ports[0], &self.ports[1]]
    }
}

fn end(name: &str, address: Ipv4Addr, quiet: bool) -> Result<(Arc<Namespace>, Port), RelayError> {
    let namespace = Arc::new(Namespace::make(name)?);
    if quiet {
        // A system without IPv6 has none to switch off.
        let switch_off =
            |what| std::fs::write(format!("/proc/sys/net/ipv6/conf/{what}/disable_ipv6"), "1");
        let _ = namespace.enter(|| ["all", "default"].map(switch_off))?;
    }
    let port = Port::open(INTERFACE, &namespace)?;
    let network = format!("{address}/24");
    namespace.ip(&["address", "add", &network, "dev", INTERFACE])?;
    namespace.ip(&["link", "set", INTERFACE, "up", "txqueuelen", TRANSMIT_QUEUE])?;
    Ok((namespace, port))
}

/// Tells `own` the hardware address of the interface in `other`.
fn introduce(own: &Namespace, other: &Namespace, address: Ipv4Addr) -> Result<(), RelayError> {
    let file = format!("/sys/class/net/{INTERFACE}/address");
    let shown = other.command("cat").arg(file).output();
    let shown = shown.map_err(RelayError::NoIp)?.stdout;
    let hardware = String::from_utf8_lossy(&shown).trim().to_owned();
    let address = address.to_string();
    let known = ["lladdr", &hardware, "dev", INTERFACE, "nud", "permanent"];
    own.ip(&[&["neigh", "replace", &address], &known[..]].concat())
}

/// A pair with a relay that runs on a thread of its own. Dropped, also by a panic, it stops and
/// removes everything. Any number of them can be there at a time.
#[derive(Debug)]
pub struct Rig<W: Witness + Send + 'static> {
    pair: Arc<Pair>,
    is_over: Arc<AtomicBool>,
    relay: Option<JoinHandle<Result<(Report, W), RelayError>>>,
}

impl<W: Witness + Send + 'static> Rig<W> {
    /// Two namespaces with names that no other has, quiet, and a relay with this plan.
    ///
    /// # Errors
    /// The user may not: see [`unavailable`].
    pub fn start(plan: Plan, witness: W) -> Result<Self, RelayError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("linerate-{}-{number}", std::process::id());
        let pair = Pair::make(&format!("{name}-left"), &format!("{name}-right"), true)?;
        let pair = Arc::new(pair);
        let is_over = Arc::new(AtomicBool::new(false));
        let relay = {
            let (pair, is_over) = (Arc::clone(&pair), Arc::clone(&is_over));
            let mut witness = witness;
            thread::spawn(move || {
                let stop = || is_over.load(Ordering::Relaxed);
                let report = run(pair.ports(), &plan, &stop, &mut witness)?;
                Ok((report, witness))
            })
        };
        Ok(Self {
            pair,
            is_over,
            relay: Some(relay),
        })
    }

    /// The namespace with [`LEFT`].
    #[must_use]
    pub fn left(&self) -> &Namespace {
        &self.pair.left
    }

    /// The namespace with [`RIGHT`].
    #[must_use]
    pub fn right(&self) -> &Namespace {
        &self.pair.right
    }

    /// Stops, and says what became of the frames.
    ///
    /// # Errors
    /// The relay failed.
    pub fn finish(mut self) -> Result<(Report, W), RelayError> {
        self.stop()
            .unwrap_or_else(|| unreachable!("it was not stopped before"))
    }

    fn stop(&mut self) -> Option<Result<(Report, W), RelayError>> {
        self.is_over.store(true, Ordering::Relaxed);
        let outcome = self.relay.take()?.join();
        Some(outcome.unwrap_or_else(|panic| {
            if thread::panicking() {
                // One panic is enough.
                return Err(RelayError::Wait(std::io::Error::other(
                    "the relay panicked",
                )));
            }
            std::panic::resume_unwind(panic)
        }))
    }
}

impl<W: Witness + Send + 'static> Drop for Rig<W> {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// Why there can be no [`Rig`] here, as a sentence; `None` if there can.
#[must_use]
pub fn unavailable() -> Option<String> {
    static PROBING: Mutex<()> = Mutex::new(());
    let name = format!("linerate-{}-probe", std::process::id());
    let _one = PROBING.lock();
    let probe = || {
        let namespace = Arc::new(Namespace::make(&name)?);
        Port::open(INTERFACE, &namespace)
    };
    probe().err().map(|error| error.to_string())
}
