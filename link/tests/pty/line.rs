//! The line between two pseudo-terminals, with faults.

use linerate_ether::random::Random;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// Octets in which each fault occurs once on average: bit errors of 10⁻⁵.
const ONE_IN: [(u64, Fault); 5] = [
    (12_500, Fault::Bit),
    (100_000, Fault::Dropped),
    (100_000, Fault::Inserted),
    (100_000, Fault::Duplicated),
    (400_000, Fault::Stall),
];
/// Duration of a stall, longer than the shortest time-out of a link.
const STALL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};
/// The line looks for its end so often.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// Something that a line does to an octet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    Bit,
    Dropped,
    Inserted,
    Duplicated,
    Stall,
}

impl Fault {
    pub const ALL: [Self; 5] = [
        Self::Bit,
        Self::Dropped,
        Self::Inserted,
        Self::Duplicated,
        Self::Stall,
    ];
}

/// A pseudo-terminal. The user's side stays open, so the line outlives a process.
pub struct Terminal {
    controller: OwnedFd,
    user: OwnedFd,
}

impl Terminal {
    pub fn new() -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pty");
        grantpt(&controller).expect("a pty");
        unlockpt(&controller).expect("a pty");
        let name = ptsname(&controller, Vec::new()).expect("a name");
        let flags = OFlags::RDWR | OFlags::NOCTTY;
        let user = rustix::fs::open(name, flags, Mode::empty()).expect("a terminal");
        let mut settings = tcgetattr(&user).expect("a terminal");
        settings.make_raw();
        tcsetattr(&user, OptionalActions::Now, &settings).expect("a terminal");
        Self { controller, user }
    }

    /// The user's side, for the standard input of a process, which may also write to it.
    pub fn user(&self) -> Stdio {
        Stdio::from(self.user.try_clone().expect("a terminal"))
    }

    fn file(&self) -> File {
        File::from(self.controller.try_clone().expect("a pty"))
    }
}

/// Number of each fault.
type Faults = BTreeMap<Fault, u64>;

/// Both directions.
pub struct Line {
    directions: [JoinHandle<Faults>; 2],
    has_ended: Arc<AtomicBool>,
}

impl Line {
    pub fn connect(terminals: &[Terminal; 2], seed: u64) -> Self {
        let has_ended = Arc::new(AtomicBool::new(false));
        let directions = [0, 1].map(|n| {
            let (from, to) = (terminals[n].file(), terminals[1 - n].file());
            let has_ended = has_ended.clone();
            let seed = seed * 2 + n as u64;
            thread::spawn(move || pass(from, to, seed, &has_ended))
        });
        Self {
            directions,
            has_ended,
        }
    }

    /// Ends the line; returns the faults of both directions.
    pub fn disconnect(self) -> Faults {
        self.has_ended.store(true, Ordering::Relaxed);
        let mut all = Faults::new();
        for direction in self.directions {
            for (fault, count) in direction.join().expect("a line") {
                *all.entry(fault).or_default() += count;
            }
        }
        all
    }
}

/// Passes octets on until the line ends.
fn pass(mut from: File, mut to: File, seed: u64, has_ended: &AtomicBool) -> Faults {
    let mut random = Random::new(seed);
    let mut faults = Faults::new();
    let (mut octets, mut passed) = ([0; 1024], Vec::new());
    while !has_ended.load(Ordering::Relaxed) {
        let mut wait = [PollFd::new(&from, PollFlags::IN)];
        if poll(&mut wait, Some(&LOOK)).expect("a pty") == 0 {
            continue;
        }
        let count = from.read(&mut octets).expect("a pty");
        passed.clear();
        for octet in &octets[..count] {
            let fault = ONE_IN
                .into_iter()
                .find_map(|(octets, fault)| random.chance(1, octets).then_some(fault));
            if let Some(fault) = fault {
                *faults.entry(fault).or_default() += 1;
            }
            match fault {
                Some(Fault::Bit) => passed.push(octet ^ (1 << random.below(8))),
                Some(Fault::Dropped) => {}
                Some(Fault::Inserted) => passed.extend([*octet, random.next_u64() as u8]),
                Some(Fault::Duplicated) => passed.extend([*octet; 2]),
                Some(Fault::Stall) => {
                    passed.push(*octet);
                    to.write_all(&passed).expect("a pty");
                    passed.clear();
                    // Nothing is awaited but the time.
                    poll(&mut [], Some(&STALL)).expect("a time-out");
                }
                None => passed.push(*octet),
            }
        }
        to.write_all(&passed).expect("a pty");
    }
    faults
}
