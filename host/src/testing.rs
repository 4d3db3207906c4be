//! Helpers for tests with sockets and standard tools.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Returns a port that is free for TCP and UDP, each call a different one, below the ephemeral ports of
/// clients: STAMP and echo answer only clients with a higher port.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let next = std::process::id() % 1000 * 64 + NEXT.fetch_add(1, Ordering::Relaxed);
        let port = 10_000 + (next % 20_000) as u16;
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        if tcp.is_ok() && UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}

/// True if the tool is installed; panics if it is missing where tests must not be skipped.
pub fn has_tool(tool: &str) -> bool {
    let there = Command::new(tool).arg("--version").output().is_ok();
    assert!(
        there || std::env::var_os("LINERATE_REQUIRE_TOOLS").is_none(),
        "{tool} is missing: cargo xtask setup installs it"
    );
    if !there {
        eprintln!("skipped: {tool} is missing (cargo xtask setup installs it)");
    }
    there
}

/// Veth pair, removed on drop.
pub struct VethPair {
    /// Names of the two interfaces.
    pub names: [String; 2],
}

impl VethPair {
    /// Creates the pair; `tag` becomes part of the names. `None` if the user lacks the privilege, which panics
    /// where tests must not be skipped.
    pub fn new(tag: &str) -> Option<Self> {
        // Interface names have at most 15 octets.
        let id = std::process::id() % 100_000;
        let names = ["a", "b"].map(|end| format!("lr{tag}{id}{end}"));
        let ip = |args: &[&str]| {
            let done = Command::new("ip").args(args).output();
            done.is_ok_and(|done| done.status.success())
        };
        let [a, b] = [names[0].as_str(), names[1].as_str()];
        let made = ip(&["link", "add", a, "type", "veth", "peer", "name", b]);
        // From here on the pair is removed on drop.
        let pair = made.then_some(Self {
            names: names.clone(),
        });
        let up = made && [a, b].iter().all(|name| ip(&["link", "set", name, "up"]));
        assert!(
            up || std::env::var_os("LINERATE_REQUIRE_TOOLS").is_none(),
            "a veth pair requires root and iproute2 (cargo xtask setup)"
        );
        if !up {
            eprintln!(
                "skipped: raw frames over a veth pair require root and iproute2 (cargo xtask setup)"
            );
        }
        pair.filter(|_| up)
    }
}

impl Drop for VethPair {
    fn drop(&mut self) {
        let _ = Command::new("ip")
            .args(["link", "delete", &self.names[0]])
            .output();
    }
}
