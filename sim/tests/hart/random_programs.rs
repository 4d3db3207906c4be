//! Programs of random instructions of every class that always terminate.

use super::asm::Asm;
use super::bench::{MMIO, PINS, POWER, RAM, UART};
use linerate_sim::rv32::csr_number;

/// Middle of the memory that loads and stores go to.
const SCRATCH: u32 = RAM + 0x8_0000;
/// Number of reachable bytes before and after it.
pub const REACH: u32 = 2048 + 64;

/// Registers that programs do not write: stack pointer, the chip, and the two that compressed loads
/// and loops use.
const SP: u32 = 2;
const CHIP: u32 = 4;
const BASE: u32 = 8;
const COUNTER: u32 = 9;
/// A CSR that only stores: the instruction count at the start of a program.
const START: u32 = csr_number::MTVAL as u32;
/// An address that was just computed.
const ADDRESS: u32 = 15;

/// A reproducible source of numbers.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32
    }

    pub fn below(&mut self, bound: u32) -> u32 {
        self.next() % bound
    }

    /// A corner case of arithmetic, or any number.
    fn operand(&mut self) -> u32 {
        match self.below(8) {
            0 => 0,
            1 => u32::MAX,
            2 => 1 << 31,
            3 => self.below(64),
            _ => self.next(),
        }
    }
}

struct Generator {
    asm: Asm,
    random: Random,
    chip: bool,
}

/// Assembles `programs` random programs of `length` steps that run in sequence. Each writes its
/// registers and its instruction count to the UART, the last one also the scratch memory. With
/// `chip`, they also use pins and registers of the chip.
pub fn image(seed: u64, programs: u32, length: u32, chip: bool) -> Vec<u8> {
    let mut g = Generator {
        asm: Asm::new(),
        random: Random::new(seed),
        chip,
    };
    let (dump, trapped) = (g.asm.label(), g.asm.label());
    // The trap handler's address is not known yet, but its position is: after one jump.
    let start = g.asm.label();
    g.asm.jal(0, start);
    g.asm.bind(trapped);
    g.asm.li(1, POWER);
    g.asm.li(5, 0x3333);
    g.asm.sw(5, 1, 0);
    g.asm.jal(0, trapped);
    g.asm.bind(dump);
    g.dump_loop();
    g.asm.bind(start);
    // auipc x5, 0: then the handler is 4 bytes after the image's start.
    let here = g.asm.offset();
    g.asm.word(5 << 7 | 0x17);
    g.asm.addi(5, 5, 4 - here as i32);
    g.asm.csrw(u32::from(csr_number::MTVEC), 5);
    for _ in 0..programs {
        g.program(length);
        // All registers in sequence.
        for x in 1..32 {
            g.asm.sw(x, BASE, -2048 - 4 + 4 * x as i32);
        }
        g.asm.csrr(5, u32::from(csr_number::MINSTRET));
        g.asm.csrr(6, START);
        g.asm.r(0x20, 0, 5, 5, 6);
        g.asm.sw(5, BASE, -2048 + 4 * 31);
        g.asm.addi(5, BASE, -2048);
        g.asm.addi(6, 5, 4 * 32);
        g.asm.jal(1, dump);
    }
    g.asm.li(5, SCRATCH - REACH);
    g.asm.li(6, SCRATCH + REACH);
    g.asm.jal(1, dump);
    g.asm.li(1, POWER);
    g.asm.li(5, 0x5555);
    g.asm.sw(5, 1, 0);
    let end = g.asm.here();
    g.asm.jal(0, end);
    g.asm.finish()
}

impl Generator {
    /// Writes the bytes from `x5` to `x6` to the UART, returns to `x1`.
    fn dump_loop(&mut self) {
        self.asm.li(7, UART);
        let top = self.asm.here();
        self.asm.lbu(10, 5, 0);
        self.asm.sb(10, 7, 0);
        self.asm.addi(5, 5, 1);
        self.asm.bne(5, 6, top);
        self.asm.jalr(0, 1, 0);
    }

    fn program(&mut self, length: u32) {
        for x in 1..32 {
            let value = self.random.operand();
            self.asm.li(x, value);
        }
        self.asm.li(SP, SCRATCH);
        self.asm.li(CHIP, MMIO);
        self.asm.li(BASE, SCRATCH);
        self.asm.csrr(5, u32::from(csr_number::MINSTRET));
        self.asm.csrw(START, 5);
        self.asm.addi(5, 0, 0);
        let mut left = length;
        while left > 0 {
            if self.random.below(12) == 0 {
                // A loop.
                let body = (1 + self.random.below(12)).min(left);
                let rounds = 1 + self.random.below(9) as i32;
                self.asm.addi(COUNTER, 0, rounds);
                let top = self.asm.here();
                for _ in 0..body {
                    self.step();
                }
                self.asm.addi(COUNTER, COUNTER, -1);
                self.asm.bne(COUNTER, 0, top);
                left -= body;
            } else {
                self.step();
                left -= 1;
            }
        }
    }

    /// A register that may be written.
    fn rd(&mut self) -> u32 {
        loop {
            let x = self.random.below(32);
            if ![SP, CHIP, BASE, COUNTER].contains(&x) {
                return x;
            }
        }
    }

    fn rs(&mut self) -> u32 {
        self.random.below(32)
    }

    /// `x10` to `x15`: the registers that compressed instructions may write here.
    fn short(&mut self) -> u32 {
        10 + self.random.below(6)
    }

    fn imm(&mut self) -> i32 {
        (self.random.next() << 20) as i32 >> 20
    }

    /// One instruction, or a few that belong together.
    fn step(&mut self) {
        let (rd, rs1, rs2) = (self.rd(), self.rs(), self.rs());
        let imm = self.imm();
        match self.random.below(if self.chip { 23 } else { 20 }) {
            0..=2 => {
                let funct3 = self.random.below(8);
                let other = matches!(funct3, 0 | 5) && self.random.below(2) == 0;
                self.asm
                    .r(if other { 0x20 } else { 0 }, funct3, rd, rs1, rs2);
            }
            3..=4 => match self.random.below(8) {
                1 => self.asm.i(0x13, 1, rd, rs1, imm & 31),
                5 => self.asm.i(0x13, 5, rd, rs1, imm & 0x41f),
                funct3 => self.asm.i(0x13, funct3, rd, rs1, imm),
            },
            5..=6 => {
                let funct3 = self.random.below(8);
                self.asm.r(1, funct3, rd, rs1, rs2);
            }
            7 => {
                let opcode = if imm < 0 { 0x37 } else { 0x17 };
                let upper = self.random.next() & 0xffff_f000;
                self.asm.word(upper | rd << 7 | opcode);
            }
            8..=9 => {
                let funct3 = [0, 1, 2, 4, 5][self.random.below(5) as usize];
                self.asm.load(funct3, rd, BASE, imm);
            }
            10..=11 => {
                let funct3 = self.random.below(3);
                self.asm.store(funct3, rs2, BASE, imm);
            }
            12 => self.atomic(rd, rs1, rs2),
            13 => self.forward_branch(),
            14 => self.forward_jump(rd),
            15..=17 => self.compressed(),
            18 => {
                let funct3 = [1, 2, 3, 5, 6, 7][self.random.below(6) as usize];
                self.asm
                    .csr(funct3, rd, u32::from(csr_number::MSCRATCH), rs1);
            }
            19 => match self.random.below(3) {
                0 => self.asm.word(0x0ff0_000f),
                1 => self.asm.word(0x0000_100f),
                _ => {
                    self.asm.csrr(ADDRESS, u32::from(csr_number::MINSTRET));
                    self.asm.csrr(rd, START);
                    self.asm.r(0x20, 0, rd, ADDRESS, rd);
                    // The start value of the count must not be visible.
                    self.asm.addi(ADDRESS, 0, 0);
                }
            },
            20 => {
                let funct3 = [1, 2, 3, 5, 6, 7][self.random.below(6) as usize];
                self.asm.csr(funct3, rd, PINS, rs1);
            }
            21 => self.asm.lw(rd, CHIP, imm & 0x7fc | 4),
            _ => self.asm.sw(rs2, CHIP, imm & 0x7fc | 4),
        }
    }

    /// `ADDRESS`: a word of the scratch memory.
    fn address(&mut self, from: u32) {
        self.asm.i(0x13, 7, ADDRESS, from, 0x7c);
        self.asm.r(0, 0, ADDRESS, ADDRESS, BASE);
    }

    fn atomic(&mut self, rd: u32, rs1: u32, rs2: u32) {
        self.address(rs1);
        let word = |funct5: u32, rd: u32, rs2: u32| {
            funct5 << 27 | rs2 << 20 | ADDRESS << 15 | 2 << 12 | rd << 7 | 0x2f
        };
        match self.random.below(4) {
            0 => {
                // The result must not change the address before the store.
                let loaded = if rd == ADDRESS { 0 } else { rd };
                self.asm.word(word(2, loaded, 0));
                if self.random.below(3) == 0 {
                    self.address(rs2);
                }
                self.asm.word(word(3, rd, rs2));
            }
            1 => self.asm.word(word(3, rd, rs2)),
            _ => {
                let funct5 = [0, 1, 4, 8, 12, 16, 20, 24, 28][self.random.below(9) as usize];
                self.asm.word(word(funct5, rd, rs2));
            }
        }
    }

    /// Steps that may be jumped over.
    fn skipped(&mut self) {
        for _ in 0..self.random.below(4) {
            let (rd, rs1, imm) = (self.rd(), self.rs(), self.imm());
            match self.random.below(3) {
                0 => self.asm.addi(rd, rs1, imm),
                1 => self.compressed(),
                _ => self.asm.lw(rd, BASE, imm),
            }
        }
    }

    fn forward_branch(&mut self) {
        let over = self.asm.label();
        let (rs1, rs2) = (self.rs(), self.rs());
        let funct3 = [0, 1, 4, 5, 6, 7][self.random.below(6) as usize];
        self.asm.branch(funct3, rs1, rs2, over);
        self.skipped();
        self.asm.bind(over);
    }

    fn forward_jump(&mut self, rd: u32) {
        let over = self.asm.label();
        match self.random.below(3) {
            0 => self.asm.jal(rd, over),
            1 => self.asm.c_j(over),
            _ => {
                // auipc, then to the end of the two instructions that are jumped over.
                self.asm.word(ADDRESS << 7 | 0x17);
                self.asm.jalr(rd, ADDRESS, 4 + 4 + 4 + 2);
                let imm = self.imm();
                self.asm.addi(10, 11, imm);
                self.asm.c_nop();
                return self.asm.bind(over);
            }
        }
        self.skipped();
        self.asm.bind(over);
    }

    fn compressed(&mut self) {
        let (rd, short, other) = (self.rd(), self.short(), self.short());
        let imm = self.random.next();
        let imm6 = (imm >> 5 & 1) << 12 | (imm & 31) << 2;
        let (rd_short, other_short) = ((short - 8) << 7, (other - 8) << 2);
        let half = match self.random.below(14) {
            // c.addi, c.li, c.lui
            0 => 0x0001 | rd << 7 | imm6,
            1 => 0x4001 | rd << 7 | imm6,
            2 if imm6 != 0 => 0x6001 | rd << 7 | imm6,
            // c.mv, c.add
            3 => 0x8002 | rd << 7 | short << 2,
            4 => 0x9002 | rd << 7 | short << 2,
            // c.sub, c.xor, c.or, c.and
            5 => 0x8c01 | rd_short | (imm & 3) << 5 | other_short,
            // c.andi
            6 => 0x8801 | rd_short | imm6,
            // c.srli, c.srai
            7 => 0x8001 | (imm >> 8 & 1) << 10 | rd_short | (imm & 31) << 2,
            // c.slli
            8 => 0x0002 | rd << 7 | (imm & 31) << 2,
            // c.lw, c.sw with x8 as base
            9 => 0x4000 | (imm & 7) << 10 | (imm >> 3 & 3) << 5 | other_short,
            10 => 0xc000 | (imm & 7) << 10 | (imm >> 3 & 3) << 5 | other_short,
            // c.lwsp, c.swsp
            11 if rd != 0 => 0x4002 | rd << 7 | imm6,
            12 => 0xc002 | (imm & 0x3f) << 7 | short << 2,
            // c.addi4spn
            13 if imm & 0xff != 0 => (imm & 0xff) << 5 | other_short,
            _ => 0x0001,
        };
        self.asm.half(half);
    }
}
