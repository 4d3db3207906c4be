//! The layer of each function of the firmware.

use anyhow::Result;
use std::path::Path;

/// The functions by address.
pub type Functions = crate::functions::Functions<Layer>;

/// Those of `elf`.
///
/// # Errors
/// As [`crate::functions::Functions::read`].
pub fn functions(elf: &Path) -> Result<Functions> {
    Functions::read(elf, Layer::of)
}

/// A part of the way, in the order of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// The program: numbers, its loop.
    Application,
    /// The send itself, and `lwIP`'s sockets.
    Send,
    /// Look-ups of the receiver's address.
    LookUp,
    /// Allocation of callbacks.
    Callbacks,
    /// The network lock, work queue, and `lwIP`'s messages.
    HandOver,
    /// Scheduler, semaphores, switches of tasks.
    Kernel,
    /// Polls of connections, headers, packet buffers.
    Stack,
    Checksum,
    Copy,
    /// The ring.
    Driver,
    /// Interrupt handlers.
    Interrupts,
    /// The log's text.
    Log,
    /// The processor reads a status until a line has room.
    Spins,
    /// The processor sleeps.
    Asleep,
}

impl Layer {
    pub const ALL: [Self; 14] = [
        Self::Application,
        Self::Send,
        Self::LookUp,
        Self::Callbacks,
        Self::HandOver,
        Self::Kernel,
        Self::Stack,
        Self::Checksum,
        Self::Copy,
        Self::Driver,
        Self::Interrupts,
        Self::Log,
        Self::Spins,
        Self::Asleep,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Application => "program",
            Self::Send => "send",
            Self::LookUp => "look-up",
            Self::Callbacks => "callback",
            Self::HandOver => "handover",
            Self::Kernel => "kernel",
            Self::Stack => "stack",
            Self::Checksum => "checksum",
            Self::Copy => "copy",
            Self::Driver => "driver",
            Self::Interrupts => "interrupt",
            Self::Log => "log",
            Self::Spins => "spin",
            Self::Asleep => "asleep",
        }
    }

    /// The layer of `function` in the source file `stem`.
    fn of(function: &str, stem: &str) -> Self {
        match function {
            "frame_checksum" => return Self::Checksum,
            "resolve" | "neighbour_find" | "device_for" => return Self::LookUp,
            "wait_for_uart" | "wait_for_ring" => return Self::Spins,
            "vApplicationIdleHook" => return Self::Kernel,
            _ => {}
        }
        match stem {
            "main" => Self::Application,
            "stack" | "sockets" | "api_lib" | "api_msg" | "netbuf" | "err" => Self::Send,
            "callback" => Self::Callbacks,
            "lock" | "worker" | "tcpip" | "sys_arch" => Self::HandOver,
            "tasks" | "queue" | "list" | "port" | "portASM" | "heap_4" => Self::Kernel,
            "inet_chksum" => Self::Checksum,
            "libc" => Self::Copy,
            "ring_dwmac" | "ring_tse" | "lwip_path" => Self::Driver,
            "board" | "start" => Self::Interrupts,
            "log" | "console" => Self::Log,
            "etharp" => Self::LookUp,
            _ => Self::Stack,
        }
    }
}
