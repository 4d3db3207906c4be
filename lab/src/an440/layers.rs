//! The purpose of each function of the firmware.

use anyhow::Result;
use std::path::Path;

/// What the processor does, in the order of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// In software, or the set-up of the unit, the flush of the cache before it, and the wait for it.
    Checksum,
    Copy,
    /// Driver and its interrupt handler; with PIO also the copy between controller and memory.
    Driver,
    /// TCP, IP, ARP, packet buffers.
    Stack,
    /// Sockets, messages between tasks, locks.
    Sockets,
    /// Scheduler, queues, switches of tasks, entry of interrupts.
    Kernel,
    /// What a fit executes beside lwIP.
    Volume,
    /// The benchmark's loop.
    Program,
}

impl Layer {
    pub const ALL: [Self; 8] = [
        Self::Checksum,
        Self::Copy,
        Self::Driver,
        Self::Stack,
        Self::Sockets,
        Self::Kernel,
        Self::Volume,
        Self::Program,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Checksum => "checksum",
            Self::Copy => "copy",
            Self::Driver => "driver",
            Self::Stack => "stack",
            Self::Sockets => "sockets",
            Self::Kernel => "kernel",
            Self::Volume => "volume",
            Self::Program => "program",
        }
    }

    /// The layer of `function` in the source file `stem`.
    fn of(function: &str, stem: &str) -> Self {
        match function {
            "board_checksum" | "board_flush" | "board_flush_all" | "packet_checksum" => {
                return Self::Checksum;
            }
            // lwIP has a file of this name, too.
            "drain" | "send" | "copied" | "next_received" | "device_received" | "initialise"
                if stem == "netif" =>
            {
                return Self::Driver;
            }
            _ => {}
        }
        match stem {
            "inet_chksum" => Self::Checksum,
            "libc" | "memcpy" | "string" => Self::Copy,
            "tse" | "lan91c111" => Self::Driver,
            "sockets" | "api_lib" | "api_msg" | "netbuf" | "err" | "tcpip" | "sys_arch" => {
                Self::Sockets
            }
            "tasks" | "queue" | "list" | "port" | "portASM" | "heap_4" | "board" | "start" => {
                Self::Kernel
            }
            "work" | "blocks" => Self::Volume,
            "main" | "console" => Self::Program,
            _ => Self::Stack,
        }
    }
}

/// The functions by address.
pub type Functions = crate::functions::Functions<Layer>;

/// Those of `elf`.
///
/// # Errors
/// As [`crate::functions::Functions::read`].
pub fn functions(elf: &Path) -> Result<Functions> {
    Functions::read(elf, Layer::of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_driver_and_of_the_unit_differ_from_those_of_the_stack() {
        assert_eq!(Layer::of("board_checksum", "board"), Layer::Checksum);
        assert_eq!(Layer::of("board_yield", "board"), Layer::Kernel);
        assert_eq!(Layer::of("send", "netif"), Layer::Driver);
        assert_eq!(Layer::of("netif_add", "netif"), Layer::Stack);
        assert_eq!(Layer::of("tcp_write", "tcp_out"), Layer::Stack);
    }
}
