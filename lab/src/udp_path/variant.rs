//! The variants: ways of a datagram from the program to the ring.

/// Priority of the senders in the firmware (`settings.h`); the worker is below it, or above.
const WORKER_LOW: u32 = 2;
const WORKER_HIGH: u32 = 5;

/// How `lwIP` is built: a build for each value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Build {
    /// The stack's thread does the work: `CORE_LOCKING` is 0. The paths without `lwIP` are in this build.
    Thread,
    /// The sender does it, under a lock.
    CoreLocking,
}

impl Build {
    pub const ALL: [Self; 2] = [Self::Thread, Self::CoreLocking];

    /// Flag of the compiler.
    pub fn flag(self) -> &'static str {
        match self {
            Self::Thread => "-DCORE_LOCKING=0",
            Self::CoreLocking => "-DCORE_LOCKING=1",
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::CoreLocking => "core-locking",
        }
    }
}

/// The firmware's paths, by their number in `settings.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    Waiting = 0,
    Buffered = 1,
    Ring = 2,
    Lwip = 3,
}

/// A variant.
#[derive(Debug, Clone, Copy)]
pub struct Variant {
    pub name: &'static str,
    pub build: Build,
    pub path: Path,
    pub senders: u32,
    worker_priority: u32,
    looks_up: bool,
    pub logs: bool,
}

const WAITING: Variant = Variant {
    name: "waits for the worker",
    build: Build::Thread,
    path: Path::Waiting,
    senders: 1,
    worker_priority: WORKER_LOW,
    looks_up: true,
    logs: false,
};

/// What the article measured.
pub const PUBLISHED: Variant = WAITING;
/// The same without the look-up.
pub const NO_LOOK_UP: Variant = Variant {
    name: "without the look-up",
    looks_up: false,
    ..WAITING
};
/// Frames straight into the ring.
pub const BLASTER: Variant = Variant {
    name: "straight into the ring",
    path: Path::Ring,
    ..WAITING
};

/// All variants, in the order of the table.
pub const VARIANTS: [Variant; 13] = [
    PUBLISHED,
    NO_LOOK_UP,
    Variant {
        name: "two senders",
        senders: 2,
        ..WAITING
    },
    Variant {
        name: "four senders",
        senders: 4,
        ..WAITING
    },
    Variant {
        name: "worker at high priority",
        worker_priority: WORKER_HIGH,
        ..WAITING
    },
    Variant {
        name: "logged",
        logs: true,
        ..WAITING
    },
    Variant {
        name: "buffered",
        path: Path::Buffered,
        ..WAITING
    },
    Variant {
        name: "buffered, no look-up",
        path: Path::Buffered,
        looks_up: false,
        ..WAITING
    },
    Variant {
        name: "buffered, high priority",
        path: Path::Buffered,
        worker_priority: WORKER_HIGH,
        ..WAITING
    },
    BLASTER,
    Variant {
        name: "lwIP, its thread",
        path: Path::Lwip,
        ..WAITING
    },
    Variant {
        name: "lwIP, core locking",
        build: Build::CoreLocking,
        path: Path::Lwip,
        ..WAITING
    },
    Variant {
        name: "lwIP, core locking, two",
        build: Build::CoreLocking,
        path: Path::Lwip,
        senders: 2,
        ..WAITING
    },
];

impl Variant {
    /// `struct settings` of the firmware, for a timer and a UART at these frequencies.
    pub fn settings(&self, timer_hertz: u64, uart_hertz: u64) -> Vec<u8> {
        let sixteenths = (uart_hertz * 16 + BAUD / 2) / BAUD;
        let divider = ((sixteenths / 16) | ((sixteenths % 16) << 20)) as u32;
        [
            timer_hertz as u32,
            self.path as u32,
            self.senders,
            self.worker_priority,
            self.looks_up.into(),
            self.logs.into(),
            divider,
        ]
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .collect()
    }
}

/// Rate of the log's line.
pub const BAUD: u64 = 115_200;
