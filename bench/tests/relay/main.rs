//! The relay between two network namespaces: its records against the counts of sockets, stock tools, our
//! servers and the simulated board. Needs root; without it, each test prints that it was skipped.
#![cfg(target_os = "linux")]

mod background;
mod count;
mod jitter;
mod record;
mod serve;
mod serve_tcp;
mod simulated_board;
mod sockets;
mod stock;
mod targets;
mod tool_output;

use linerate_host::relay::{RelayConfig, Rig, rig};
use record::Record;

/// Two namespaces and a relay with the same impairments in both directions; `None`, with a message, if
/// they are unavailable.
fn rig(settings: &str) -> Option<Rig<Record>> {
    let both = settings.parse().unwrap_or_else(|error| panic!("{error}"));
    let config = |both: linerate_host::relay::Impairment| RelayConfig {
        forward: both.clone(),
        backward: both,
        seed: 1,
        busy: false,
    };
    if let Some(why) = rig::unavailable() {
        assert!(
            std::env::var_os("LINERATE_REQUIRE_TOOLS").is_none(),
            "no relay: {why}"
        );
        eprintln!("skipped: tests of the relay take root: {why}");
        return None;
    }
    let rig = Rig::start(config(both), Record::default());
    Some(rig.unwrap_or_else(|error| panic!("{error}")))
}

/// Sets the MTU of both interfaces, if one is given.
fn narrow(rig: &Rig<Record>, mtu: Option<u16>) {
    let Some(mtu) = mtu else { return };
    let words = ["link", "set", rig::INTERFACE, "mtu", &mtu.to_string()];
    let set = [rig.left(), rig.right()].map(|it| it.ip(&words));
    assert!(set.iter().all(Result::is_ok), "{set:?}");
}

/// Attempts at a trial, which a busy host may spoil.
const ATTEMPTS: usize = 5;

/// The outcome of an attempt, or what spoiled it.
type Attempt<T> = Result<T, String>;

/// An outcome, spoiled if any datagram found a full socket or board or came too late: the relay does not see losses
/// after it.
fn unless_lost<T>(outcome: T, lost: u64) -> Attempt<T> {
    match lost {
        0 => Ok(outcome),
        _ => Err(format!(
            "{lost} datagrams found a full socket or board, or came too late"
        )),
    }
}

/// All attempts at a trial were spoiled.
#[derive(Debug, PartialEq)]
struct TooBusy;

/// The first `attempt` that nothing spoiled; `None` if it cannot be made here.
fn first_unspoiled<T>(attempt: impl Fn() -> Option<Attempt<T>>) -> Result<Option<T>, TooBusy> {
    for _ in 0..ATTEMPTS {
        match attempt() {
            Some(Err(why)) => eprintln!("again: {why}"),
            Some(Ok(outcome)) => return Ok(Some(outcome)),
            None => return Ok(None),
        }
    }
    Err(TooBusy)
}

/// The first `attempt` that nothing spoiled. Without one, the machine has no time for this check, and nothing is known:
/// that is printed, and the test goes on without it.
fn undisturbed<T>(attempt: impl Fn() -> Option<Attempt<T>>) -> Option<T> {
    first_unspoiled(attempt).unwrap_or_else(|TooBusy| {
        let test = std::thread::current();
        let test = test.name().unwrap_or("a trial beside others");
        eprintln!(
            "inconclusive: {test}: {ATTEMPTS} attempts were spoiled: this machine is too busy"
        );
        None
    })
}

/// Datagrams dropped by a full socket at either end, as counted in `/proc/net/snmp`.
fn overflows(rig: &Rig<Record>) -> u64 {
    let of = || {
        let text = std::fs::read_to_string("/proc/thread-self/net/snmp").expect("counters");
        let mut udp = text.lines().filter(|line| line.starts_with("Udp: "));
        let (names, values) = (udp.next().expect("names"), udp.next().expect("values"));
        let mut pairs = names.split_whitespace().zip(values.split_whitespace());
        let (_, value) = pairs.find(|(name, _)| *name == "RcvbufErrors").expect("it");
        value.parse::<u64>().expect("a number")
    };
    let ends = [rig.left(), rig.right()].map(|end| end.enter(of).expect("entered"));
    ends.iter().sum()
}

/// Runs `check` with each trial, several in parallel, as they mostly wait.
fn each<T: Sync>(trials: &[T], check: impl Fn(&T) + Sync) {
    const AT_A_TIME: usize = 3;
    for some in trials.chunks(AT_A_TIME) {
        std::thread::scope(|scope| {
            for trial in some {
                scope.spawn(|| check(trial));
            }
        });
    }
}

/// True if the tool is installed; an error if it is not and tests must not be skipped.
fn has(tool: &str) -> bool {
    let there = std::process::Command::new(tool)
        .arg("--version")
        .output()
        .is_ok();
    assert!(
        there || std::env::var_os("LINERATE_REQUIRE_TOOLS").is_none(),
        "{tool} is missing: cargo xtask setup installs it"
    );
    if !there {
        eprintln!("skipped: {tool} is missing (cargo xtask setup installs it)");
    }
    there
}

#[test]
fn a_trial_that_a_busy_machine_always_spoils_is_inconclusive_and_no_failure() {
    let attempts = std::cell::Cell::new(0);
    let spoiled = || {
        attempts.set(attempts.get() + 1);
        Some(unless_lost((), 3))
    };
    assert_eq!(first_unspoiled(spoiled), Err(TooBusy));
    assert_eq!(attempts.get(), ATTEMPTS);
    // The first one that nothing spoiled counts.
    let later = || {
        attempts.set(attempts.get() + 1);
        Some(unless_lost(
            attempts.get(),
            u64::from(attempts.get() < ATTEMPTS + 2),
        ))
    };
    assert_eq!(first_unspoiled(later), Ok(Some(ATTEMPTS + 2)));
}
