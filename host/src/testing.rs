//! What tests with sockets and stock tools share.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A port that is free for TCP and UDP, each once, and below those that clients get: STAMP and echo
/// answer no others.
pub fn free_port() -> u16 {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    loop {
        let next = std::process::id() % 1000 * 64 + TAKEN.fetch_add(1, Ordering::Relaxed);
        let port = 10_000 + (next % 20_000) as u16;
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        if tcp.is_ok() && UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}

/// Whether the tool is there; where tests must not be skipped, it is an error if it isn't.
pub fn has(tool: &str) -> bool {
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

/// Two joined veth interfaces, removed when this value is dropped.
pub struct VethPair {
    /// Their names.
    pub names: [String; 2],
}

impl VethPair {
    /// Creates the pair; `tag` becomes part of the names. `None`: this user may not, which is an error where tests must not be skipped.
    pub fn new(tag: &str) -> Option<Self> {
        // Names of interfaces have 15 octets at most.
        let id = std::process::id() % 100_000;
        let names = ["a", "b"].map(|end| format!("lr{tag}{id}{end}"));
        let ip = |args: &[&str]| {
            let done = Command::new("ip").args(args).output();
            done.is_ok_and(|done| done.status.success())
        };
        let [a, b] = [names[0].as_str(), names[1].as_str()];
        let made = ip(&["link", "add", a, "type", "veth", "peer", "name", b]);
        // From here on, dropping it removes it.
        let pair = made.then_some(Self {
            names: names.clone(),
        });
        let up = made && [a, b].iter().all(|name| ip(&["link", "set", name, "up"]));
        assert!(
            up || std::env::var_os("LINERATE_REQUIRE_TOOLS").is_none(),
            "a veth pair takes root and iproute2 (cargo xtask setup)"
        );
        if !up {
            eprintln!(
                "skipped: raw frames over a veth pair take root and iproute2 (cargo xtask setup)"
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
