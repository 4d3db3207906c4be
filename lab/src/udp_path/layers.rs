//! Functions of the firmware by address, and the layer of each, from the linker's map.

use anyhow::{Context, Result, bail};
use std::path::Path;

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

/// A function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    pub layer: Layer,
}

/// The functions by address.
#[derive(Debug)]
pub struct Functions {
    pub list: Vec<Function>,
    /// Of each halfword from address 0.
    by_address: Vec<u16>,
}

const UNKNOWN: u16 = u16::MAX;

impl Functions {
    /// Reads the linker's map beside `elf`.
    ///
    /// # Errors
    /// It cannot be read, or lists no function.
    pub fn read(elf: &Path) -> Result<Self> {
        let path = elf.with_extension("map");
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let functions = Self::parse(&text);
        if functions.list.is_empty() {
            bail!("{} lists no functions", path.display());
        }
        Ok(functions)
    }

    /// A section of a function is ` .text.NAME ADDRESS SIZE FILE`, in one line or in two.
    fn parse(map: &str) -> Self {
        let mut functions = Self {
            list: Vec::new(),
            by_address: Vec::new(),
        };
        let (_, map) = map
            .split_once("Linker script and memory map")
            .unwrap_or(("", map));
        let mut words = map.split_whitespace().peekable();
        while let Some(word) = words.next() {
            if word != ".text" && !word.starts_with(".text.") {
                continue;
            }
            let mut rest = words.clone();
            let mut hex = || {
                let digits = rest.next()?.strip_prefix("0x")?;
                u32::from_str_radix(digits, 16).ok()
            };
            let (Some(address), Some(size)) = (hex(), hex()) else {
                continue;
            };
            let Some(file) = rest.next().filter(|it| it.contains(".o")) else {
                continue;
            };
            let stem = file.rsplit('/').next().unwrap_or(file);
            let stem = stem.split(".o").next().unwrap_or(stem);
            let stem = stem.split_once('-').map_or(stem, |(_, stem)| stem);
            let name = word.strip_prefix(".text.").unwrap_or(stem);
            functions.add(address, size, name, stem);
        }
        functions
    }

    fn add(&mut self, address: u32, size: u32, name: &str, stem: &str) {
        let id = self.list.len() as u16;
        // Parts that the compiler has cut off belong to their function.
        let name = name.split('.').next().unwrap_or(name).to_owned();
        let layer = Layer::of(&name, stem);
        self.list.push(Function { name, layer });
        let (first, end) = (address as usize / 2, (address + size) as usize / 2);
        if self.by_address.len() < end {
            self.by_address.resize(end, UNKNOWN);
        }
        self.by_address[first..end].fill(id);
    }

    /// The number of the function at `pc`.
    pub fn at(&self, pc: u32) -> Option<usize> {
        let id = *self.by_address.get(pc as usize / 2)?;
        (id != UNKNOWN).then_some(id.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_a_map_are_found_by_address() {
        let map = "Discarded\n .text.gone 0x0 0x10 a/1-x.o\nLinker script and memory map\n\
                   .text           0x00000000    0x100\n .text.start    0x00000000       0x20 a/9-start.o\n \
                   .text.xQueueSemaphoreTake\n                0x00000020       0x40 a/12-queue.o\n \
                   .text.neighbour_find.isra.0\n                0x00000060       0x20 a/3-frame.o\n";
        let functions = Functions::parse(map);
        let at = |pc| functions.at(pc).map(|it| &functions.list[it]);
        assert_eq!(
            at(0x20).map(|it| it.name.as_str()),
            Some("xQueueSemaphoreTake")
        );
        assert_eq!(at(0x5e).map(|it| it.layer), Some(Layer::Kernel));
        assert_eq!(at(0x7e).map(|it| it.layer), Some(Layer::LookUp));
        assert_eq!(at(0x80), None);
        assert_eq!(functions.list.len(), 3);
    }
}
