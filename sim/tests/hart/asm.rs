//! An assembler for the few instructions used by the tests.

/// Appends instructions to an image and resolves labels.
#[derive(Default)]
pub struct Asm {
    bytes: Vec<u8>,
    labels: Vec<Option<usize>>,
    fixups: Vec<(usize, Label, Fixup)>,
}

/// A position in the program, possibly a later one.
#[derive(Clone, Copy)]
pub struct Label(usize);

#[derive(Clone, Copy)]
enum Fixup {
    /// `c.j`
    ShortJump,
    /// `jal`
    Jump,
    /// Conditional branches
    Branch,
}

#[allow(dead_code)]
impl Asm {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    pub fn here(&mut self) -> Label {
        let label = self.label();
        self.bind(label);
        label
    }

    pub fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(self.bytes.len());
    }

    /// Offset of the next instruction.
    pub fn offset(&self) -> usize {
        self.bytes.len()
    }

    pub fn half(&mut self, half: u32) {
        assert_ne!(half & 3, 3);
        self.bytes.extend_from_slice(&(half as u16).to_le_bytes());
    }

    pub fn word(&mut self, word: u32) {
        self.bytes.extend_from_slice(&word.to_le_bytes());
    }

    /// Pads with `c.nop` to a multiple of `to` bytes.
    pub fn align(&mut self, to: usize) {
        while !self.bytes.len().is_multiple_of(to) {
            self.c_nop();
        }
    }

    pub fn c_nop(&mut self) {
        self.half(0x0001);
    }

    pub fn c_addi(&mut self, rd: u32, imm: i32) {
        self.half(0x0001 | (imm as u32 >> 5 & 1) << 12 | rd << 7 | (imm as u32 & 31) << 2);
    }

    pub fn c_add(&mut self, rd: u32, rs2: u32) {
        self.half(0x9002 | rd << 7 | rs2 << 2);
    }

    pub fn c_j(&mut self, to: Label) {
        self.fixups.push((self.bytes.len(), to, Fixup::ShortJump));
        self.half(0xa001);
    }

    pub fn jal(&mut self, rd: u32, to: Label) {
        self.fixups.push((self.bytes.len(), to, Fixup::Jump));
        self.word(rd << 7 | 0x6f);
    }

    pub fn beq(&mut self, rs1: u32, rs2: u32, to: Label) {
        self.branch(0, rs1, rs2, to);
    }

    pub fn bne(&mut self, rs1: u32, rs2: u32, to: Label) {
        self.branch(1, rs1, rs2, to);
    }

    pub fn branch(&mut self, funct3: u32, rs1: u32, rs2: u32, to: Label) {
        self.fixups.push((self.bytes.len(), to, Fixup::Branch));
        self.word(rs2 << 20 | rs1 << 15 | funct3 << 12 | 0x63);
    }

    /// Any register-register instruction.
    pub fn r(&mut self, funct7: u32, funct3: u32, rd: u32, rs1: u32, rs2: u32) {
        self.word(funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | 0x33);
    }

    /// Any instruction with a 12-bit immediate operand.
    pub fn i(&mut self, opcode: u32, funct3: u32, rd: u32, rs1: u32, imm: i32) {
        self.word((imm as u32) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode);
    }

    pub fn addi(&mut self, rd: u32, rs1: u32, imm: i32) {
        self.i(0x13, 0, rd, rs1, imm);
    }

    pub fn xor(&mut self, rd: u32, rs1: u32, rs2: u32) {
        self.r(0, 4, rd, rs1, rs2);
    }

    pub fn lui(&mut self, rd: u32, imm: u32) {
        self.word(imm & 0xffff_f000 | rd << 7 | 0x37);
    }

    /// `lui` and `addi`.
    pub fn li(&mut self, rd: u32, value: u32) {
        self.lui(rd, value.wrapping_add(0x800));
        self.addi(rd, rd, (value << 20) as i32 >> 20);
    }

    /// `lb`, `lh`, `lw`, `lbu`, `lhu` by `funct3`.
    pub fn load(&mut self, funct3: u32, rd: u32, rs1: u32, imm: i32) {
        self.i(0x03, funct3, rd, rs1, imm);
    }

    pub fn lw(&mut self, rd: u32, rs1: u32, imm: i32) {
        self.load(2, rd, rs1, imm);
    }

    pub fn lbu(&mut self, rd: u32, rs1: u32, imm: i32) {
        self.load(4, rd, rs1, imm);
    }

    /// `sb`, `sh`, `sw` by `funct3`.
    pub fn store(&mut self, funct3: u32, rs2: u32, rs1: u32, imm: i32) {
        let imm = imm as u32;
        self.word((imm >> 5) << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | (imm & 31) << 7 | 0x23);
    }

    pub fn sb(&mut self, rs2: u32, rs1: u32, imm: i32) {
        self.store(0, rs2, rs1, imm);
    }

    pub fn sw(&mut self, rs2: u32, rs1: u32, imm: i32) {
        self.store(2, rs2, rs1, imm);
    }

    /// `csrrw` to `csrrci` by `funct3`; `source` is a register or an immediate operand.
    pub fn csr(&mut self, funct3: u32, rd: u32, csr: u32, source: u32) {
        self.word(csr << 20 | source << 15 | funct3 << 12 | rd << 7 | 0x73);
    }

    pub fn csrr(&mut self, rd: u32, csr: u32) {
        self.csr(2, rd, csr, 0);
    }

    pub fn csrw(&mut self, csr: u32, rs1: u32) {
        self.csr(1, 0, csr, rs1);
    }

    pub fn csrsi(&mut self, csr: u32, bits: u32) {
        self.csr(6, 0, csr, bits);
    }

    pub fn csrci(&mut self, csr: u32, bits: u32) {
        self.csr(7, 0, csr, bits);
    }

    pub fn jalr(&mut self, rd: u32, rs1: u32, imm: i32) {
        self.i(0x67, 0, rd, rs1, imm);
    }

    pub fn mret(&mut self) {
        self.word(0x3020_0073);
    }

    pub fn wfi(&mut self) {
        self.word(0x1050_0073);
    }

    pub fn ecall(&mut self) {
        self.word(0x0000_0073);
    }

    /// The image.
    pub fn finish(mut self) -> Vec<u8> {
        for (at, label, fixup) in self.fixups {
            let target = self.labels[label.0].expect("every label is bound");
            let offset = target as i32 - at as i32;
            let bits = |high: u32, low: u32, to: u32| {
                (offset as u32 >> low & ((1 << (high - low + 1)) - 1)) << to
            };
            let word = match fixup {
                Fixup::ShortJump => {
                    assert!((-2048..2048).contains(&offset));
                    bits(11, 11, 12)
                        | bits(4, 4, 11)
                        | bits(9, 8, 9)
                        | bits(10, 10, 8)
                        | bits(6, 6, 7)
                        | bits(7, 7, 6)
                        | bits(3, 1, 3)
                        | bits(5, 5, 2)
                }
                Fixup::Jump => {
                    bits(20, 20, 31) | bits(10, 1, 21) | bits(11, 11, 20) | bits(19, 12, 12)
                }
                Fixup::Branch => {
                    assert!((-4096..4096).contains(&offset));
                    bits(12, 12, 31) | bits(10, 5, 25) | bits(4, 1, 8) | bits(11, 11, 7)
                }
            };
            for (byte, new) in self.bytes[at..].iter_mut().zip(word.to_le_bytes()) {
                *byte |= new;
            }
        }
        self.bytes
    }
}
