//! A minimal assembler for the tests' programs.

use linerate_sim::elf::Elf;

pub const ZERO: u8 = 0;
pub const RA: u8 = 1;
pub const T0: u8 = 5;
pub const T1: u8 = 6;
pub const A0: u8 = 10;
pub const A1: u8 = 11;
pub const A2: u8 = 12;

/// Start address of programs: in RAM, so that no cache affects the timing.
pub const CODE: u32 = 0x4080_0000;

/// Instructions from [`CODE`] on.
#[derive(Clone, Default)]
pub struct Program {
    words: Vec<u32>,
}

impl Program {
    pub fn new() -> Self {
        Self::default()
    }

    /// Address of the next instruction.
    pub fn here(&self) -> u32 {
        CODE + 4 * self.words.len() as u32
    }

    fn put(&mut self, word: u32) -> &mut Self {
        self.words.push(word);
        self
    }

    fn i(&mut self, opcode: u32, funct3: u32, rd: u8, rs1: u8, imm: i32) -> &mut Self {
        let registers = u32::from(rs1) << 15 | u32::from(rd) << 7;
        self.put((imm as u32) << 20 | registers | funct3 << 12 | opcode)
    }

    pub fn addi(&mut self, rd: u8, rs1: u8, imm: i32) -> &mut Self {
        self.i(0x13, 0, rd, rs1, imm)
    }

    /// Always two instructions, so that addresses do not depend on values.
    pub fn li(&mut self, rd: u8, value: u32) -> &mut Self {
        let low = (value as i32) << 20 >> 20;
        let high = value.wrapping_sub(low as u32);
        self.put(high | u32::from(rd) << 7 | 0x37);
        self.addi(rd, rd, low)
    }

    /// Any other instruction, for tests that share this file.
    #[allow(dead_code)]
    pub fn word(&mut self, word: u32) -> &mut Self {
        self.put(word)
    }

    pub fn lw(&mut self, rd: u8, rs1: u8, offset: i32) -> &mut Self {
        self.i(0x03, 2, rd, rs1, offset)
    }

    pub fn sw(&mut self, rs2: u8, rs1: u8, offset: i32) -> &mut Self {
        let (high, low) = (offset as u32 >> 5 & 0x7f, offset as u32 & 0x1f);
        let registers = u32::from(rs2) << 20 | u32::from(rs1) << 15;
        self.put(high << 25 | registers | 2 << 12 | low << 7 | 0x23)
    }

    pub fn csrr(&mut self, rd: u8, csr: u16) -> &mut Self {
        self.i(0x73, 2, rd, ZERO, i32::from(csr))
    }

    pub fn csrw(&mut self, csr: u16, rs1: u8) -> &mut Self {
        self.i(0x73, 1, ZERO, rs1, i32::from(csr))
    }

    pub fn jump(&mut self, target: u32) -> &mut Self {
        let offset = target.wrapping_sub(self.here());
        let imm = (offset >> 20 & 1) << 31
            | (offset >> 1 & 0x3ff) << 21
            | (offset >> 11 & 1) << 20
            | (offset >> 12 & 0xff) << 12;
        self.put(imm | 0x6f)
    }

    /// Calls any address.
    pub fn call(&mut self, target: u32) -> &mut Self {
        self.li(T1, target).i(0x67, 0, RA, T1, 0)
    }

    pub fn wfi(&mut self) -> &mut Self {
        self.put(0x1050_0073)
    }

    pub fn mret(&mut self) -> &mut Self {
        self.put(0x3020_0073)
    }

    pub fn nop(&mut self) -> &mut Self {
        self.addi(ZERO, ZERO, 0)
    }

    /// Loops forever.
    pub fn stay(&mut self) -> &mut Self {
        self.jump(self.here())
    }

    /// This program followed by `other`, which must jump only within its own code.
    pub fn then(&self, other: &Self) -> Self {
        Self {
            words: self.words.iter().chain(&other.words).copied().collect(),
        }
    }

    /// The program as an executable file, entered at its first instruction.
    pub fn elf_bytes(&self) -> Vec<u8> {
        let code: Vec<u8> = self
            .words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        let mut file = b"\x7fELF\x01\x01\x01".to_vec();
        file.resize(16, 0);
        for half in [2u16, 243] {
            file.extend(half.to_le_bytes());
        }
        // e_version, e_entry, e_phoff, e_shoff, e_flags.
        for word in [1, CODE, 52, 0, 0] {
            file.extend(word.to_le_bytes());
        }
        // e_ehsize, e_phentsize, e_phnum, e_shentsize, e_shnum, e_shstrndx.
        for half in [52u16, 32, 1, 40, 0, 0] {
            file.extend(half.to_le_bytes());
        }
        let size = code.len() as u32;
        // PT_LOAD, offset, vaddr, paddr, filesz, memsz, flags (read, write, execute), align.
        for word in [1, 84, CODE, CODE, size, size + 64, 7, 4] {
            file.extend(word.to_le_bytes());
        }
        file.extend(code);
        file
    }

    pub fn elf(&self) -> Elf {
        Elf::parse(&self.elf_bytes()).unwrap()
    }
}
