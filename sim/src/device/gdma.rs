//! General DMA controller (ESP32-C6 Technical Reference Manual, "GDMA Controller"): three channels, each from memory
//! to a peripheral and from a peripheral to memory, along lists of descriptors. Outputs 0 to 2 interrupt for the
//! channels to memory, 3 to 5 for those from memory.
//!
//! Octets move when the peripheral transfers them. The contention with the hart on the bus, and the time of reading
//! descriptors, are not modelled; nor are copies within memory.

use super::Device;
use crate::time::Instant;

const CHANNELS: usize = 3;
/// Interrupt registers of a channel: raw, status, enable, clear.
const INTERRUPTS_END: u32 = 0x60;
const MISC_CONF: u32 = 0x64;
/// Registers of channel 0, and the distance to the next.
const CHANNEL: u32 = 0x70;
const CHANNEL_SIZE: u32 = 0xc0;
/// Of these, the ones from memory.
const OUT: u32 = 0x60;
/// Offsets in each half.
const CONF0: u32 = 0x00;
const CONF1: u32 = 0x04;
const FIFO_STATUS: u32 = 0x08;
const LINK: u32 = 0x10;
const EOF_DES_ADDR: u32 = 0x18;
const DSCR: u32 = 0x20;
const PRI: u32 = 0x2c;
const PERI_SEL: u32 = 0x30;

/// `CONF0`: reset of the channel.
const RST: u32 = 1 << 0;
/// `OUT_CONF0`: clear the owner bit of descriptors that were read.
const OUT_AUTO_WRBACK: u32 = 1 << 2;
/// `OUTFIFO_STATUS`, `INFIFO_STATUS`: full, empty.
const FIFO_EMPTY: u32 = 1 << 1;
/// `LINK`: bits of the address; the rest is that of the RAM.
const LINK_ADDR: u32 = 0xf_ffff;
const RAM: u32 = 0x4080_0000;

/// Interrupts to memory.
const IN_DONE: u32 = 1 << 0;
const IN_SUC_EOF: u32 = 1 << 1;
const IN_DSCR_ERR: u32 = 1 << 3;
const IN_DSCR_EMPTY: u32 = 1 << 4;
/// Interrupts from memory.
const OUT_DONE: u32 = 1 << 0;
const OUT_EOF: u32 = 1 << 1;
const OUT_DSCR_ERR: u32 = 1 << 2;
const OUT_TOTAL_EOF: u32 = 1 << 3;

/// Word 0 of a descriptor.
const SUC_EOF: u32 = 1 << 30;
const OWNER: u32 = 1 << 31;

/// Memory that the controller accesses.
pub trait DmaMemory {
    /// Reads `to.len()` octets at `addr`; false if there is no memory.
    fn read(&self, addr: u32, to: &mut [u8]) -> bool;
    /// Writes `octets` at `addr`; false if there is no memory.
    fn write(&mut self, addr: u32, octets: &[u8]) -> bool;
}

/// A descriptor.
#[derive(Clone, Copy, Debug)]
struct Descriptor {
    flags: u32,
    buffer: u32,
    next: u32,
}

impl Descriptor {
    fn read(memory: &impl DmaMemory, addr: u32) -> Option<Self> {
        let mut octets = [0; 12];
        memory.read(addr, &mut octets).then(|| {
            let word = |number: usize| {
                let octets = octets[4 * number..][..4].try_into();
                u32::from_le_bytes(octets.unwrap_or_default())
            };
            Self {
                flags: word(0),
                buffer: word(1),
                next: word(2),
            }
        })
    }

    const fn size(&self) -> u32 {
        self.flags & 0xfff
    }

    const fn len(&self) -> u32 {
        self.flags >> 12 & 0xfff
    }
}

/// A direction of a channel.
#[derive(Clone, Copy, Debug, Default)]
struct Half {
    conf0: u32,
    conf1: u32,
    link: u32,
    priority: u32,
    peripheral: u32,
    raw: u32,
    enabled: u32,
    /// The current descriptor while it runs, and the octets of it that were moved.
    current: Option<u32>,
    moved: u32,
    eof_descriptor: u32,
}

impl Half {
    fn reset() -> Self {
        Self {
            peripheral: 0x3f,
            ..Self::default()
        }
    }

    fn is_running_for(&self, peripheral: u32) -> bool {
        self.peripheral == peripheral && self.current.is_some()
    }

    fn start(&mut self) {
        self.current = Some(RAM | self.link & LINK_ADDR);
        self.moved = 0;
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Gdma {
    /// To memory, by channel.
    to_memory: [Half; CHANNELS],
    from_memory: [Half; CHANNELS],
    misc: u32,
}

impl Default for Gdma {
    fn default() -> Self {
        Self {
            to_memory: [Half::reset(); CHANNELS],
            from_memory: [Half::reset(); CHANNELS],
            misc: 0,
        }
    }
}

impl Gdma {
    /// True if a channel has octets for `peripheral`.
    pub fn has_octets_for(&self, peripheral: u32) -> bool {
        let mut halves = self.from_memory.iter();
        halves.any(|half| half.is_running_for(peripheral))
    }

    /// True if a channel has room for octets of `peripheral`.
    pub fn has_room_for(&self, peripheral: u32) -> bool {
        let mut halves = self.to_memory.iter();
        halves.any(|half| half.is_running_for(peripheral))
    }

    /// `peripheral` takes up to `to.len()` octets; those that no descriptor has are left as they are. Returns the number of
    /// the others.
    pub fn take(&mut self, peripheral: u32, to: &mut [u8], memory: &mut impl DmaMemory) -> usize {
        let of = |half: &&mut Half| half.is_running_for(peripheral);
        let Some(half) = self.from_memory.iter_mut().find(of) else {
            return 0;
        };
        let mut done = 0;
        while done < to.len()
            && let Some(addr) = half.current
        {
            let Some(descriptor) = Descriptor::read(memory, addr) else {
                half.current = None;
                half.raw |= OUT_DSCR_ERR;
                return done;
            };
            let count = (to.len() - done).min((descriptor.len() - half.moved) as usize);
            memory.read(descriptor.buffer + half.moved, &mut to[done..][..count]);
            done += count;
            half.moved += count as u32;
            if half.moved < descriptor.len() {
                return done;
            }
            half.moved = 0;
            half.raw |= OUT_DONE;
            if half.conf0 & OUT_AUTO_WRBACK != 0 {
                memory.write(addr, &(descriptor.flags & !OWNER).to_le_bytes());
            }
            if descriptor.flags & SUC_EOF != 0 {
                half.raw |= OUT_EOF;
                half.eof_descriptor = addr;
            }
            half.current = (descriptor.next != 0).then_some(descriptor.next);
            if half.current.is_none() {
                half.raw |= OUT_TOTAL_EOF;
            }
        }
        done
    }

    /// `peripheral` gives `octets`, the last ones of its transfer if `is_last`; those without a descriptor are lost. The next
    /// transfer begins with the next descriptor.
    pub fn put(
        &mut self,
        peripheral: u32,
        octets: &[u8],
        is_last: bool,
        memory: &mut impl DmaMemory,
    ) {
        let of = |half: &&mut Half| half.is_running_for(peripheral);
        let Some(half) = self.to_memory.iter_mut().find(of) else {
            return;
        };
        let mut done = 0;
        while let Some(addr) = half.current {
            let Some(descriptor) = Descriptor::read(memory, addr) else {
                half.current = None;
                half.raw |= IN_DSCR_ERR;
                return;
            };
            let count = (octets.len() - done).min((descriptor.size() - half.moved) as usize);
            memory.write(descriptor.buffer + half.moved, &octets[done..][..count]);
            done += count;
            half.moved += count as u32;
            let ends = is_last && done == octets.len();
            if half.moved < descriptor.size() && !ends {
                return;
            }
            let flags = descriptor.flags & 0xfff | half.moved << 12;
            let flags = flags | if ends { SUC_EOF } else { 0 };
            memory.write(addr, &flags.to_le_bytes());
            half.moved = 0;
            half.raw |= IN_DONE;
            half.current = (descriptor.next != 0).then_some(descriptor.next);
            if ends {
                half.raw |= IN_SUC_EOF;
                half.eof_descriptor = addr;
            } else if half.current.is_none() {
                half.raw |= IN_DSCR_EMPTY;
            }
            if done == octets.len() {
                return;
            }
        }
    }

    /// The half of a channel at `offset`, the register in it, and true if it is the one from memory.
    fn half(&mut self, offset: u32) -> Option<(&mut Half, u32, bool)> {
        let offset = offset.checked_sub(CHANNEL)?;
        let (channel, register) = ((offset / CHANNEL_SIZE) as usize, offset % CHANNEL_SIZE);
        match register.checked_sub(OUT) {
            None => Some((self.to_memory.get_mut(channel)?, register, false)),
            Some(register) => Some((self.from_memory.get_mut(channel)?, register, true)),
        }
    }

    /// The half whose interrupt register is at `offset`, and which of the four it is.
    fn interrupt_register(&mut self, offset: u32) -> (&mut Half, u32) {
        let channel = (offset / 16) as usize;
        let half = match channel.checked_sub(CHANNELS) {
            None => &mut self.to_memory[channel],
            Some(channel) => &mut self.from_memory[channel],
        };
        (half, offset % 16 / 4)
    }
}

impl Device for Gdma {
    fn read(&mut self, offset: u32, _: Instant) -> Option<u32> {
        if offset < INTERRUPTS_END {
            let (half, register) = self.interrupt_register(offset);
            return Some(match register {
                0 => half.raw,
                1 => half.raw & half.enabled,
                2 => half.enabled,
                _ => 0,
            });
        }
        if offset == MISC_CONF {
            return Some(self.misc);
        }
        let (half, register, _) = self.half(offset)?;
        Some(match register {
            CONF0 => half.conf0,
            CONF1 => half.conf1,
            FIFO_STATUS if half.current.is_some() => 0,
            FIFO_STATUS => FIFO_EMPTY,
            LINK => half.link,
            EOF_DES_ADDR => half.eof_descriptor,
            DSCR => half.current.unwrap_or(0),
            PRI => half.priority,
            PERI_SEL => half.peripheral,
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: Instant) -> bool {
        if offset < INTERRUPTS_END {
            let (half, register) = self.interrupt_register(offset);
            match register {
                2 => half.enabled = value,
                3 => half.raw &= !value,
                _ => {}
            }
            return true;
        }
        if offset == MISC_CONF {
            self.misc = value;
            return true;
        }
        let Some((half, register, from_memory)) = self.half(offset) else {
            return false;
        };
        match register {
            CONF0 => {
                half.conf0 = value;
                if value & RST != 0 {
                    half.current = None;
                }
            }
            CONF1 => half.conf1 = value,
            LINK => {
                half.link = value & LINK_ADDR;
                // Stop, start, restart.
                let stop = if from_memory { 20 } else { 21 };
                if value >> stop & 1 != 0 {
                    half.current = None;
                }
                if value >> (stop + 1) & 3 != 0 {
                    half.start();
                }
            }
            PRI => half.priority = value,
            PERI_SEL => half.peripheral = value & 0x3f,
            FIFO_STATUS | EOF_DES_ADDR | DSCR => {}
            _ => return false,
        }
        true
    }

    fn interrupts(&self) -> u32 {
        let halves = self.to_memory.iter().chain(&self.from_memory);
        let level = |half: &Half| u32::from(half.raw & half.enabled != 0);
        halves
            .enumerate()
            .fold(0, |levels, (number, half)| levels | level(half) << number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 256 octets from [`RAM`] on.
    struct Ram([u8; 256]);

    impl DmaMemory for Ram {
        fn read(&self, addr: u32, to: &mut [u8]) -> bool {
            let at = (addr - RAM) as usize;
            self.0.get(at..at + to.len()).is_some_and(|from| {
                to.copy_from_slice(from);
                true
            })
        }

        fn write(&mut self, addr: u32, octets: &[u8]) -> bool {
            let at = (addr - RAM) as usize;
            self.0.get_mut(at..at + octets.len()).is_some_and(|to| {
                to.copy_from_slice(octets);
                true
            })
        }
    }

    impl Ram {
        fn put(&mut self, at: usize, words: &[u32]) {
            for (number, word) in words.iter().enumerate() {
                self.0[at + 4 * number..][..4].copy_from_slice(&word.to_le_bytes());
            }
        }

        fn word(&self, at: usize) -> u32 {
            u32::from_le_bytes(self.0[at..at + 4].try_into().unwrap())
        }
    }

    const CHANNEL_1: u32 = CHANNEL + CHANNEL_SIZE;
    const NOW: Instant = Instant::ZERO;

    #[test]
    fn octets_leave_memory_along_the_list() {
        let mut ram = Ram([0; 256]);
        let (first, second) = (RAM + 0x10, RAM + 0x20);
        ram.put(0x10, &[OWNER | 3 << 12 | 3, RAM + 0x80, second]);
        ram.put(0x20, &[OWNER | SUC_EOF | 2 << 12 | 2, RAM + 0x90, 0]);
        ram.put(0x80, &[0x0003_0201]);
        ram.put(0x90, &[0x0504]);
        let mut gdma = Gdma::default();
        gdma.write(CHANNEL_1 + OUT + PERI_SEL, 0, NOW);
        assert_eq!(
            gdma.read(CHANNEL_1 + OUT + FIFO_STATUS, NOW),
            Some(FIFO_EMPTY)
        );
        gdma.write(CHANNEL_1 + OUT + LINK, first & LINK_ADDR | 1 << 21, NOW);
        assert_eq!(gdma.read(CHANNEL_1 + OUT + FIFO_STATUS, NOW), Some(0));
        let mut octets = [0; 4];
        assert_eq!(gdma.take(1, &mut octets, &mut ram), 0);
        assert_eq!(octets, [0; 4], "another peripheral");
        assert_eq!(gdma.take(0, &mut octets, &mut ram), 4);
        assert_eq!(octets, [1, 2, 3, 4]);
        gdma.write(0x30 + 16 + 8, OUT_TOTAL_EOF, NOW);
        assert_eq!(gdma.interrupts(), 0);
        assert_eq!(gdma.take(0, &mut octets, &mut ram), 1, "all that is left");
        assert_eq!(octets[0], 5);
        assert_eq!(gdma.interrupts(), 1 << 4);
        assert_eq!(gdma.read(CHANNEL_1 + OUT + EOF_DES_ADDR, NOW), Some(second));
        gdma.write(0x30 + 16 + 12, OUT_TOTAL_EOF, NOW);
        assert_eq!(gdma.interrupts(), 0);
    }

    #[test]
    fn octets_reach_memory_and_the_descriptor_has_their_number() {
        let mut ram = Ram([0; 256]);
        ram.put(0x10, &[OWNER | 4, RAM + 0x80, RAM + 0x20]);
        ram.put(0x20, &[OWNER | 4, RAM + 0x90, 0]);
        let mut gdma = Gdma::default();
        gdma.write(CHANNEL + PERI_SEL, 0, NOW);
        gdma.write(CHANNEL + LINK, 0x10 | 1 << 22, NOW);
        gdma.write(8, IN_SUC_EOF, NOW);
        gdma.put(0, &[1, 2, 3], false, &mut ram);
        gdma.put(0, &[4, 5, 6], true, &mut ram);
        assert_eq!(ram.word(0x80), 0x0403_0201);
        assert_eq!(ram.word(0x90), 0x0605);
        assert_eq!(ram.word(0x10), 4 << 12 | 4, "full, of the processor");
        assert_eq!(ram.word(0x20), SUC_EOF | 2 << 12 | 4);
        assert_eq!(gdma.interrupts(), 1);
    }

    #[test]
    fn a_transfer_that_ends_leaves_the_rest_of_the_list_to_the_next_ones() {
        let mut ram = Ram([0; 256]);
        ram.put(0x10, &[OWNER | 4, RAM + 0x80, RAM + 0x20]);
        ram.put(0x20, &[OWNER | 4, RAM + 0x90, RAM + 0x30]);
        ram.put(0x30, &[OWNER | 4, RAM + 0xa0, 0]);
        let mut gdma = Gdma::default();
        gdma.write(CHANNEL + PERI_SEL, 2, NOW);
        gdma.write(CHANNEL + LINK, 0x10 | 1 << 22, NOW);
        assert!(gdma.has_room_for(2) && !gdma.has_room_for(0) && !gdma.has_octets_for(2));
        gdma.put(2, &[1, 2], false, &mut ram);
        // It ends without a further octet.
        gdma.put(2, &[], true, &mut ram);
        gdma.put(2, &[3], true, &mut ram);
        assert_eq!(ram.word(0x10), SUC_EOF | 2 << 12 | 4);
        assert_eq!(ram.word(0x20), SUC_EOF | 1 << 12 | 4);
        assert_eq!((ram.word(0x80), ram.word(0x90)), (0x0201, 3));
        gdma.put(2, &[4, 5, 6, 7], false, &mut ram);
        assert_eq!(ram.word(0x30), 4 << 12 | 4);
        assert!(!gdma.has_room_for(2), "the end of the list");
    }

    #[test]
    fn octets_beyond_the_list_are_lost_and_the_program_can_tell() {
        let mut ram = Ram([0; 256]);
        ram.put(0x10, &[OWNER | 2, RAM + 0x80, 0]);
        let mut gdma = Gdma::default();
        gdma.write(CHANNEL + PERI_SEL, 0, NOW);
        gdma.write(CHANNEL + LINK, 0x10 | 1 << 22, NOW);
        gdma.put(0, &[1, 2, 3], true, &mut ram);
        assert_eq!(gdma.read(0, NOW), Some(IN_DONE | IN_DSCR_EMPTY));
        assert_eq!(ram.word(0x80), 0x0201);
    }
}
