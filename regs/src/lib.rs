//! Register maps as data: what a register is called, where it lies and what it holds after reset.
//!
//! Drivers and device models may share a map, never behaviour. A map is a text file under `data/`
//! (its head explains the format and names the source) that is read on demand, so that this crate
//! needs neither an allocator nor a generator.
#![no_std]
#![forbid(unsafe_code)]

/// The registers of the ESP32-C6.
pub const ESP32C6: Map = Map(include_str!("../data/esp32c6.regs"));

/// All register blocks of a chip.
#[derive(Clone, Copy, Debug)]
pub struct Map(&'static str);

/// The registers of one peripheral.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Name of the peripheral as in the reference manual.
    pub name: &'static str,
    /// Address of offset 0.
    pub base: u32,
    lines: &'static str,
}

/// One register, or an array of equal registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// Name without the peripheral's; in an array `{}` stands for the index.
    pub name: &'static str,
    /// Bytes from the block's base to the register, or to the array's first.
    pub offset: u32,
    /// Bytes from one register of the array to the next.
    pub stride: u32,
    /// Registers in the array; 1 for a single register.
    pub count: u32,
    /// Value after power-on reset.
    pub reset: u32,
}

impl Map {
    /// The blocks, by rising address.
    pub fn blocks(self) -> impl Iterator<Item = Block> {
        self.0.split("\nblock ").skip(1).filter_map(|text| {
            let (head, lines) = text.split_once('\n')?;
            let (name, base) = head.split_once(' ')?;
            Some(Block {
                name,
                base: hex(base)?,
                lines,
            })
        })
    }

    /// The block called `name`.
    pub fn block(self, name: &str) -> Option<Block> {
        self.blocks().find(|block| block.name == name)
    }
}

impl Block {
    /// The registers, by rising offset of the first of each array.
    pub fn registers(self) -> impl Iterator<Item = Register> {
        self.lines.lines().filter_map(Register::parse)
    }

    /// The register called `name` (`{}` for the index in arrays).
    pub fn register(self, name: &str) -> Option<Register> {
        self.registers().find(|register| register.name == name)
    }

    /// Bytes from the base to the end of the last register.
    pub fn size(self) -> u32 {
        self.registers()
            .map(|r| r.offset + r.stride * (r.count - 1) + 4)
            .max()
            .unwrap_or(0)
    }
}

impl Register {
    fn parse(line: &'static str) -> Option<Self> {
        let mut words = line.split(' ');
        let (place, name, reset) = (words.next()?, words.next()?, words.next()?);
        let (offset, stride, count) = match place.split_once('+') {
            None => (hex(place)?, 4, 1),
            Some((offset, array)) => {
                let (stride, count) = array.split_once('*')?;
                (hex(offset)?, hex(stride)?, hex(count)?)
            }
        };
        Some(Self {
            name,
            offset,
            stride,
            count,
            reset: hex(reset)?,
        })
    }

    /// The offset of each register of the array.
    pub fn offsets(self) -> impl Iterator<Item = u32> {
        (0..self.count).map(move |i| self.offset + i * self.stride)
    }
}

fn hex(digits: &str) -> Option<u32> {
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read() {
        let lines = ESP32C6
            .0
            .lines()
            .filter(|line| !line.starts_with('#'))
            .count();
        let read: usize = ESP32C6.blocks().map(|b| 1 + b.registers().count()).sum();
        assert_eq!(read, lines);
        assert!(read > 2000);
    }

    #[test]
    fn no_two_registers_share_an_address() {
        for block in ESP32C6.blocks() {
            let mut registers: [Option<Register>; 512] = [None; 512];
            for (slot, register) in registers.iter_mut().zip(block.registers()) {
                *slot = Some(register);
            }
            for register in registers.into_iter().flatten() {
                assert_eq!(register.offset % 4, 0, "{} {}", block.name, register.name);
                for other in registers
                    .into_iter()
                    .flatten()
                    .filter(|other| *other != register)
                {
                    assert!(
                        register.offsets().all(|a| other.offsets().all(|b| a != b)),
                        "{} {} and {}",
                        block.name,
                        register.name,
                        other.name
                    );
                }
            }
        }
    }

    /// The CLINT's registers lie on both sides of the PLICs', so ranges may overlap.
    #[test]
    fn no_two_blocks_share_an_address() {
        let addresses = |block: Block| {
            block
                .registers()
                .flat_map(Register::offsets)
                .map(move |offset| block.base + offset)
        };
        for (i, a) in ESP32C6.blocks().enumerate() {
            for b in ESP32C6
                .blocks()
                .skip(i + 1)
                .filter(|b| b.base < a.base + a.size())
            {
                assert!(
                    addresses(b).all(|b| addresses(a).all(|a| a != b)),
                    "{} {}",
                    a.name,
                    b.name
                );
            }
        }
    }

    /// Addresses that a third source (what unmodified programs on esp-hal 1.2.2 were seen to
    /// access) gives.
    #[test]
    fn addresses_agree_with_what_programs_use() {
        let addr = |block: &str, register: &str| {
            let block = ESP32C6.block(block).unwrap();
            block.base + block.register(register).unwrap().offset
        };
        assert_eq!(addr("GPIO", "FUNC{}_IN_SEL_CFG"), 0x6009_1154);
        assert_eq!(addr("SYSTIMER", "UNIT{}_OP"), 0x6000_a004);
        assert_eq!(addr("LP_TIMER", "UPDATE"), 0x600b_0c10);
        assert_eq!(addr("LPPERI", "RNG_DATA"), 0x600b_2808);
        assert_eq!(addr("PLIC_MX", "MXINT_THRESH"), 0x2000_1090);
        assert_eq!(addr("INTMTX", "CORE_0_INTR_STATUS{}"), 0x6001_0134);
        assert_eq!(addr("PCR", "TIMERGROUP0.TIMER_CLK_CONF"), 0x6009_6040);
    }
}
