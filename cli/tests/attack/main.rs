//! `linerate serve` under attack, with its output unread: stock clients on another address are served, and its memory
//! does not grow.
//!
//! Seconds in the quick tier, ten minutes with `LINERATE_LONG`.
#![cfg(target_os = "linux")]

mod clients;
mod floods;
mod holds;
mod server;
mod syn;

use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clients::{Client, LIMIT, Outcome};
use server::{Ports, Server};

/// Duration of the attacks.
const QUICK: Duration = Duration::from_secs(10);
const LONG: Duration = Duration::from_mins(10);
/// Part of it after which buffers and tables have their size.
const WARM_UP: u32 = 3;
/// Growth of memory that is still called flat: pages of buffers that are not used all the time.
const MAX_GROWTH_KIB: u64 = 4 << 10;
/// Set in a network namespace of its own.
const ISOLATED: &str = "LINERATE_ATTACK_ISOLATED";
/// Attackers: two addresses, neither of them the clients'.
const ATTACKERS: [Ipv4Addr; 2] = [Ipv4Addr::new(127, 0, 0, 66), Ipv4Addr::new(127, 0, 0, 67)];

/// What attackers share.
#[derive(Clone, Copy)]
struct Attack<'a> {
    ports: Ports,
    stop: &'a AtomicBool,
}

impl Attack<'_> {
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Sleeps until the next `interval`; false at the end.
    fn wait(&self, interval: Duration) -> bool {
        std::thread::sleep(interval);
        !self.is_over()
    }
}

/// Sets its flag, also after a panic.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn everyone_else_is_served_while_a_host_attacks() {
    let missing = clients::missing_tools();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        assert!(
            std::env::var_os("LINERATE_REQUIRE_TOOLS").is_none(),
            "{missing} missing: cargo xtask setup installs them"
        );
        eprintln!("skipped: {missing} missing (cargo xtask setup installs them)");
        return;
    }
    if std::env::var_os(ISOLATED).is_none() && run_isolated() {
        return;
    }
    let span = match std::env::var_os("LINERATE_LONG") {
        Some(_) => LONG,
        None => QUICK,
    };
    // One is attacked; the other shows what this machine is capable of meanwhile.
    let (attacked, quiet) = (Server::start(), Server::start());
    let stop = AtomicBool::new(false);
    let mut log = Log::default();
    std::thread::scope(|scope| {
        let _stop = Stop(&stop);
        let attack = Attack {
            ports: attacked.ports,
            stop: &stop,
        };
        for hold in holds::ALL {
            scope.spawn(move || hold.run(attack));
        }
        for flood in floods::ALL {
            scope.spawn(move || flood(attack));
        }
        if std::env::var_os(ISOLATED).is_some() {
            scope.spawn(move || syn::flood(attack));
        }
        let began = Instant::now();
        while began.elapsed() < span {
            for client in Client::ALL {
                let before = (attacked.dropped_datagrams(), attacked.waited());
                let outcome = client.run(&attacked.ports);
                let meanwhile = format!(
                    "{} datagrams found no room, and the server's threads waited {:?} for a processor",
                    attacked.dropped_datagrams() - before.0,
                    attacked.waited().saturating_sub(before.1)
                );
                log.add(*client, &outcome, &meanwhile, || client.run(&quiet.ports));
            }
            log.memory(attacked.memory_kib(), began.elapsed() > span / WARM_UP);
        }
    });
    log.print();
    quiet.interrupt();
    let (took, code) = attacked.interrupt();
    log.check();
    assert_eq!(code, Some(0), "its exit code after an interrupt");
    assert!(took < LIMIT, "it ended {took:?} after an interrupt");
}

/// Runs this test again in a network namespace, where segments with forged addresses can be sent; false if the user
/// lacks the privilege.
fn run_isolated() -> bool {
    let own = std::env::current_exe().expect("a path");
    let script = "ip link set lo up && exec \"$0\" --nocapture";
    let may = Command::new("unshare").args(["--net", "true"]).status();
    if !may.is_ok_and(|status| status.success()) {
        eprintln!("without root, half-open connections are left out");
        return false;
    }
    let status = Command::new("unshare")
        .args(["--net", "sh", "-c", script])
        .arg(own)
        .env(ISOLATED, "1")
        .status();
    assert!(status.expect("unshare runs").success(), "see above");
    true
}

/// What clients and memory showed.
#[derive(Default)]
struct Log {
    served: usize,
    longest: Duration,
    failed: Vec<String>,
    /// Too slow, as was a server that nobody attacked.
    inconclusive: Vec<String>,
    /// Resident memory during warm-up, and its highest value since.
    warm_kib: u64,
    highest_kib: u64,
}

impl Log {
    fn add(
        &mut self,
        client: Client,
        outcome: &Outcome,
        meanwhile: &str,
        again: impl FnOnce() -> Outcome,
    ) {
        self.longest = self.longest.max(outcome.took);
        let Some(why) = outcome.failure() else {
            self.served += 1;
            return;
        };
        let quiet = again();
        let text = format!(
            "{}: {why}\n{meanwhile}; without attack: {}",
            client.command(&Ports::default()),
            quiet
                .failure()
                .unwrap_or_else(|| format!("{:?}", quiet.took))
        );
        // Without a machine that has time, nothing is known.
        if quiet.took > LIMIT / 5 {
            self.inconclusive.push(text);
        } else {
            self.failed.push(text);
        }
    }

    fn memory(&mut self, kib: u64, is_warm: bool) {
        // On a busy machine the first clients take all of the warm-up.
        if !is_warm || self.warm_kib == 0 {
            self.warm_kib = self.warm_kib.max(kib);
        }
        self.highest_kib = self.highest_kib.max(kib);
    }

    fn print(&self) {
        println!(
            "{} clients served in {:?} at most, {} failed, {} inconclusive; memory {} KiB, at most {} KiB",
            self.served,
            self.longest,
            self.failed.len(),
            self.inconclusive.len(),
            self.warm_kib,
            self.highest_kib
        );
        for text in &self.inconclusive {
            println!("inconclusive: {text}");
        }
    }

    fn check(&self) {
        assert!(self.failed.is_empty(), "{}", self.failed.join("\n\n"));
        let all = self.served + self.inconclusive.len();
        assert!(
            self.served * 2 > all,
            "this machine was too busy for {} of {all} clients",
            self.inconclusive.len()
        );
        let growth = self.highest_kib.saturating_sub(self.warm_kib);
        assert!(growth <= MAX_GROWTH_KIB, "memory grew by {growth} KiB");
    }
}

#[test]
fn a_late_client_is_a_failure_only_if_this_machine_serves_others_in_time() {
    let outcome = |took, is_ok| Outcome {
        took,
        is_ok,
        printed: String::new(),
    };
    let mut log = Log::default();
    let (quick, slow) = (Duration::from_millis(300), LIMIT / 2);
    log.add(Client::Stamp, &outcome(quick, true), "", || {
        unreachable!("it was served")
    });
    log.add(Client::Stamp, &outcome(quick, false), "", || {
        outcome(slow, true)
    });
    log.add(Client::Stamp, &outcome(2 * LIMIT, true), "", || {
        outcome(slow, true)
    });
    assert_eq!(
        (log.served, log.inconclusive.len(), log.failed.len()),
        (1, 2, 0)
    );
    log.add(Client::Stamp, &outcome(2 * LIMIT, true), "", || {
        outcome(quick, true)
    });
    assert_eq!((log.inconclusive.len(), log.failed.len()), (2, 1));
}
