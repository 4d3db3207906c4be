//! Decoding of 32-bit instructions: RV32IMA, Zicsr, Zifencei, and the machine-mode instructions.
//!
//! Source: RISC-V ISA manual, volume I (20191213), chapters 2, 3, 7, 8, 9 and the listings of
//! chapter 24; volume II (20211203) for `mret` and `wfi`.

use super::compressed;
use super::instr::{Instr, Kind};

/// Bytes of the instruction that begins with this halfword.
pub const fn length(first_half: u16) -> u32 {
    if first_half & 3 == 3 { 4 } else { 2 }
}

/// Decodes the instruction at the start of `word`; returns it and its length in bytes. The upper
/// half is ignored if the lower is a compressed instruction.
pub fn decode(word: u32) -> (Instr, u32) {
    let half = word as u16;
    if length(half) == 4 {
        return (decode_word(word), 4);
    }
    match compressed::expand(half) {
        Some(word) => (decode_word(word), 2),
        None => (illegal(u32::from(half)), 2),
    }
}

/// The decoded form of an undefined instruction.
const fn illegal(word: u32) -> Instr {
    Instr {
        kind: Kind::Illegal,
        rd: 0,
        rs1: 0,
        rs2: 0,
        imm: word as i32,
    }
}

const fn imm_i(word: u32) -> i32 {
    word as i32 >> 20
}

const fn imm_s(word: u32) -> i32 {
    (word as i32 >> 25) << 5 | (word >> 7 & 0x1f) as i32
}

const fn imm_b(word: u32) -> i32 {
    (word as i32 >> 31) << 12
        | ((word >> 7 & 1) << 11 | (word >> 25 & 0x3f) << 5 | (word >> 8 & 0xf) << 1) as i32
}

const fn imm_u(word: u32) -> i32 {
    (word & 0xffff_f000) as i32
}

const fn imm_j(word: u32) -> i32 {
    (word as i32 >> 31) << 20
        | (word & 0xf_f000 | (word >> 20 & 1) << 11 | (word >> 21 & 0x3ff) << 1) as i32
}

/// Decodes a 32-bit instruction.
pub(crate) fn decode_word(word: u32) -> Instr {
    let rd = (word >> 7 & 31) as u8;
    let rs1 = (word >> 15 & 31) as u8;
    let rs2 = (word >> 20 & 31) as u8;
    let funct3 = word >> 12 & 7;
    let funct7 = word >> 25;
    let new = |kind, rd, rs1, rs2, imm| Instr {
        kind,
        rd,
        rs1,
        rs2,
        imm,
    };
    let undefined = illegal(word);
    match word & 0x7f {
        0x37 => new(Kind::Lui, rd, 0, 0, imm_u(word)),
        0x17 => new(Kind::Auipc, rd, 0, 0, imm_u(word)),
        0x6f => new(Kind::Jal, rd, 0, 0, imm_j(word)),
        0x67 if funct3 == 0 => new(Kind::Jalr, rd, rs1, 0, imm_i(word)),
        0x63 => {
            let kind = match funct3 {
                0 => Kind::Beq,
                1 => Kind::Bne,
                4 => Kind::Blt,
                5 => Kind::Bge,
                6 => Kind::Bltu,
                7 => Kind::Bgeu,
                _ => return undefined,
            };
            new(kind, 0, rs1, rs2, imm_b(word))
        }
        0x03 => {
            let kind = match funct3 {
                0 => Kind::Lb,
                1 => Kind::Lh,
                2 => Kind::Lw,
                4 => Kind::Lbu,
                5 => Kind::Lhu,
                _ => return undefined,
            };
            new(kind, rd, rs1, 0, imm_i(word))
        }
        0x23 => {
            let kind = match funct3 {
                0 => Kind::Sb,
                1 => Kind::Sh,
                2 => Kind::Sw,
                _ => return undefined,
            };
            new(kind, 0, rs1, rs2, imm_s(word))
        }
        0x13 => {
            let (kind, imm) = match (funct3, funct7) {
                (0, _) => (Kind::Addi, imm_i(word)),
                (2, _) => (Kind::Slti, imm_i(word)),
                (3, _) => (Kind::Sltiu, imm_i(word)),
                (4, _) => (Kind::Xori, imm_i(word)),
                (6, _) => (Kind::Ori, imm_i(word)),
                (7, _) => (Kind::Andi, imm_i(word)),
                (1, 0) => (Kind::Slli, i32::from(rs2)),
                (5, 0) => (Kind::Srli, i32::from(rs2)),
                (5, 0x20) => (Kind::Srai, i32::from(rs2)),
                _ => return undefined,
            };
            new(kind, rd, rs1, 0, imm)
        }
        0x33 => {
            let kind = match (funct7, funct3) {
                (0, 0) => Kind::Add,
                (0x20, 0) => Kind::Sub,
                (0, 1) => Kind::Sll,
                (0, 2) => Kind::Slt,
                (0, 3) => Kind::Sltu,
                (0, 4) => Kind::Xor,
                (0, 5) => Kind::Srl,
                (0x20, 5) => Kind::Sra,
                (0, 6) => Kind::Or,
                (0, 7) => Kind::And,
                (1, 0) => Kind::Mul,
                (1, 1) => Kind::Mulh,
                (1, 2) => Kind::Mulhsu,
                (1, 3) => Kind::Mulhu,
                (1, 4) => Kind::Div,
                (1, 5) => Kind::Divu,
                (1, 6) => Kind::Rem,
                (1, 7) => Kind::Remu,
                _ => return undefined,
            };
            new(kind, rd, rs1, rs2, 0)
        }
        // The fields of a fence are hints to a hart with one memory port (volume I, 2.7 and 3.1).
        0x0f => match funct3 {
            0 => new(Kind::Fence, 0, 0, 0, 0),
            1 => new(Kind::FenceI, 0, 0, 0, 0),
            _ => undefined,
        },
        0x2f if funct3 == 2 => {
            let kind = match funct7 >> 2 {
                0x02 if rs2 == 0 => Kind::LrW,
                0x03 => Kind::ScW,
                0x01 => Kind::AmoswapW,
                0x00 => Kind::AmoaddW,
                0x04 => Kind::AmoxorW,
                0x0c => Kind::AmoandW,
                0x08 => Kind::AmoorW,
                0x10 => Kind::AmominW,
                0x14 => Kind::AmomaxW,
                0x18 => Kind::AmominuW,
                0x1c => Kind::AmomaxuW,
                _ => return undefined,
            };
            new(kind, rd, rs1, rs2, 0)
        }
        0x73 => match (funct3, word) {
            (0, 0x0000_0073) => new(Kind::Ecall, 0, 0, 0, 0),
            (0, 0x0010_0073) => new(Kind::Ebreak, 0, 0, 0, 0),
            (0, 0x3020_0073) => new(Kind::Mret, 0, 0, 0, 0),
            (0, 0x1050_0073) => new(Kind::Wfi, 0, 0, 0, 0),
            (1..=3 | 5..=7, _) => {
                let kind = match funct3 {
                    1 => Kind::Csrrw,
                    2 => Kind::Csrrs,
                    3 => Kind::Csrrc,
                    5 => Kind::Csrrwi,
                    6 => Kind::Csrrsi,
                    _ => Kind::Csrrci,
                };
                new(kind, rd, rs1, 0, (word >> 20) as i32)
            }
            _ => undefined,
        },
        _ => undefined,
    }
}
