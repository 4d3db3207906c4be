//! What tests with sockets and stock tools share.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A port that is free for TCP and UDP, each once, and below those that clients get: STAMP and echo
/// answer no others.
pub(crate) fn free_port() -> u16 {
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
pub(crate) fn has(tool: &str) -> bool {
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
