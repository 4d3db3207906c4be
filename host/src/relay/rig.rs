//! Two network namespaces with a relay between them: a network with known impairments, for tests.

use super::error::RelayError;
use super::namespace::Namespace;
use super::port::Port;
use super::run::{FrameObserver, RelayConfig, run};
use linerate_results::record::RelayMetrics;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// Name of the interface in each namespace.
pub const INTERFACE: &str = "eth0";
/// Address of the first namespace; the prefix length is 24.
pub const LEFT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// Address of the second namespace.
pub const RIGHT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// Transmit queue of an interface, frames: for times when the relay is not scheduled.
const TRANSMIT_QUEUE: &str = "10000";

/// Two network namespaces, each with an interface and an address, and the ports for a relay between
/// them. Both are removed on drop.
#[derive(Debug)]
pub struct NamespacePair {
    /// Namespace with [`LEFT`].
    pub left: Arc<Namespace>,
    /// Namespace with [`RIGHT`].
    pub right: Arc<Namespace>,
    ports: [Port; 2],
}

impl NamespacePair {
    /// Creates namespaces with these names. If `quiet`, only programs send frames: IPv6 is disabled, and
    /// each end has a permanent neighbor entry for the other.
    ///
    /// # Errors
    /// They exist, or the user lacks the privilege.
    pub fn create(left: &str, right: &str, quiet: bool) -> Result<Self, RelayError> {
        let (left, left_port) = end(left, LEFT, quiet)?;
        let (right, right_port) = end(right, RIGHT, quiet)?;
        if quiet {
            add_neighbor(&left, &right, RIGHT)?;
            add_neighbor(&right, &left, LEFT)?;
        }
        Ok(Self {
            left,
            right,
            ports: [left_port, right_port],
        })
    }

    /// Ports: left, right.
    #[must_use]
    pub const fn ports(&self) -> [&Port; 2] {
        [&self.ports[0], &self.ports[1]]
    }
}

fn end(name: &str, address: Ipv4Addr, quiet: bool) -> Result<(Arc<Namespace>, Port), RelayError> {
    let namespace = Arc::new(Namespace::create(name)?);
    if quiet {
        // On a system without IPv6 there is nothing to disable.
        let disable_ipv6 =
            |scope| std::fs::write(format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"), "1");
        let _ = namespace.enter(|| ["all", "default"].map(disable_ipv6))?;
    }
    let port = Port::open(INTERFACE, &namespace)?;
    let network = format!("{address}/24");
    namespace.ip(&["address", "add", &network, "dev", INTERFACE])?;
    namespace.ip(&["link", "set", INTERFACE, "up", "txqueuelen", TRANSMIT_QUEUE])?;
    Ok((namespace, port))
}

/// Adds the hardware address of the interface in `other` to the neighbor table of `own`.
fn add_neighbor(own: &Namespace, other: &Namespace, address: Ipv4Addr) -> Result<(), RelayError> {
    let file = format!("/sys/class/net/{INTERFACE}/address");
    let shown = other.command("cat").arg(file).output();
    let shown = shown.map_err(RelayError::IpUnavailable)?.stdout;
    let hardware = String::from_utf8_lossy(&shown).trim().to_owned();
    let address = address.to_string();
    let known = ["lladdr", &hardware, "dev", INTERFACE, "nud", "permanent"];
    own.ip(&[&["neigh", "replace", &address], &known[..]].concat())
}

/// A namespace pair with a relay on a separate thread. On drop, also after a panic, it stops and removes
/// everything. Any number of them can exist at a time.
#[derive(Debug)]
pub struct Rig<W: FrameObserver + Send + 'static> {
    pair: Arc<NamespacePair>,
    is_over: Arc<AtomicBool>,
    relay: Option<JoinHandle<Result<(RelayMetrics, W), RelayError>>>,
}

impl<W: FrameObserver + Send + 'static> Rig<W> {
    /// Creates two quiet namespaces with unique names and starts a relay with this configuration.
    ///
    /// # Errors
    /// The user lacks the privilege: see [`unavailable`].
    pub fn start(config: RelayConfig, observer: W) -> Result<Self, RelayError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("linerate-{}-{number}", std::process::id());
        let pair = NamespacePair::create(&format!("{name}-left"), &format!("{name}-right"), true)?;
        let pair = Arc::new(pair);
        let is_over = Arc::new(AtomicBool::new(false));
        let relay = {
            let (pair, is_over) = (Arc::clone(&pair), Arc::clone(&is_over));
            let mut observer = observer;
            thread::spawn(move || {
                let stop = || is_over.load(Ordering::Relaxed);
                let report = run(pair.ports(), &config, &stop, &mut observer)?;
                Ok((report, observer))
            })
        };
        Ok(Self {
            pair,
            is_over,
            relay: Some(relay),
        })
    }

    /// Namespace with [`LEFT`].
    #[must_use]
    pub fn left(&self) -> &Namespace {
        &self.pair.left
    }

    /// Namespace with [`RIGHT`].
    #[must_use]
    pub fn right(&self) -> &Namespace {
        &self.pair.right
    }

    /// Stops the relay and returns its report.
    ///
    /// # Errors
    /// The relay failed.
    pub fn finish(mut self) -> Result<(RelayMetrics, W), RelayError> {
        self.stop()
            .unwrap_or_else(|| unreachable!("the relay was stopped twice"))
    }

    fn stop(&mut self) -> Option<Result<(RelayMetrics, W), RelayError>> {
        self.is_over.store(true, Ordering::Relaxed);
        let outcome = self.relay.take()?.join();
        Some(outcome.unwrap_or_else(|panic| {
            if thread::panicking() {
                // One panic is enough.
                return Err(RelayError::Poll(std::io::Error::other(
                    "the relay panicked",
                )));
            }
            std::panic::resume_unwind(panic)
        }))
    }
}

impl<W: FrameObserver + Send + 'static> Drop for Rig<W> {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// Reason why no [`Rig`] can be created here, as a sentence; `None` if one can.
#[must_use]
pub fn unavailable() -> Option<String> {
    static PROBING: Mutex<()> = Mutex::new(());
    let name = format!("linerate-{}-probe", std::process::id());
    let _guard = PROBING.lock();
    let probe = || {
        let namespace = Arc::new(Namespace::create(&name)?);
        Port::open(INTERFACE, &namespace)
    };
    probe().err().map(|error| error.to_string())
}
