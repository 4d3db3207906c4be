//! Expansion of compressed instructions into the 32-bit ones that they abbreviate.
//!
//! Source: RISC-V ISA manual, volume I (20191213), chapter 16 and its tables 16.5 to 16.7.

/// Bits `high..=low` of `half`, moved to bit `to`.
const fn bits(half: u16, high: u32, low: u32, to: u32) -> u32 {
    ((half as u32 >> low) & ((1 << (high - low + 1)) - 1)) << to
}

/// A three-bit register field at bit `low`: `x8` to `x15`.
const fn short_reg(half: u16, low: u32) -> u32 {
    bits(half, low + 2, low, 0) + 8
}

/// Sign-extends the lowest `width` bits of `value`.
const fn sign_extend(value: u32, width: u32) -> u32 {
    (((value << (32 - width)) as i32) >> (32 - width)) as u32
}

const fn i_type(opcode: u32, funct3: u32, rd: u32, rs1: u32, imm: u32) -> u32 {
    imm << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

const fn r_type(funct7: u32, funct3: u32, rd: u32, rs1: u32, rs2: u32) -> u32 {
    funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | 0x33
}

const fn store_word(rs1: u32, rs2: u32, imm: u32) -> u32 {
    (imm >> 5) << 25 | rs2 << 20 | rs1 << 15 | 2 << 12 | (imm & 0x1f) << 7 | 0x23
}

const fn branch(funct3: u32, rs1: u32, imm: u32) -> u32 {
    (imm >> 12 & 1) << 31
        | (imm >> 5 & 0x3f) << 25
        | rs1 << 15
        | funct3 << 12
        | (imm >> 1 & 0xf) << 8
        | (imm >> 11 & 1) << 7
        | 0x63
}

const fn jal(rd: u32, imm: u32) -> u32 {
    (imm >> 20 & 1) << 31
        | (imm >> 1 & 0x3ff) << 21
        | (imm >> 11 & 1) << 20
        | (imm >> 12 & 0xff) << 12
        | rd << 7
        | 0x6f
}

/// The 32-bit form of a compressed RV32C instruction (without the floating-point ones); `None` if
/// the pattern is reserved or belongs to an extension that this hart does not have.
pub const fn expand(half: u16) -> Option<u32> {
    let rd = bits(half, 11, 7, 0);
    let rs2 = bits(half, 6, 2, 0);
    let rd_short = short_reg(half, 2);
    let rs1_short = short_reg(half, 7);
    let imm6 = sign_extend(bits(half, 12, 12, 5) | bits(half, 6, 2, 0), 6);
    let word_offset = bits(half, 12, 10, 3) | bits(half, 6, 6, 2) | bits(half, 5, 5, 6);
    let jump_offset = sign_extend(
        bits(half, 12, 12, 11)
            | bits(half, 11, 11, 4)
            | bits(half, 10, 9, 8)
            | bits(half, 8, 8, 10)
            | bits(half, 7, 7, 6)
            | bits(half, 6, 6, 7)
            | bits(half, 5, 3, 1)
            | bits(half, 2, 2, 5),
        12,
    );
    let branch_offset = sign_extend(
        bits(half, 12, 12, 8)
            | bits(half, 11, 10, 3)
            | bits(half, 6, 5, 6)
            | bits(half, 4, 3, 1)
            | bits(half, 2, 2, 5),
        9,
    );
    Some(match (half & 3, half >> 13) {
        // c.addi4spn
        (0, 0) => {
            let imm = bits(half, 12, 11, 4)
                | bits(half, 10, 7, 6)
                | bits(half, 6, 6, 2)
                | bits(half, 5, 5, 3);
            if imm == 0 {
                return None;
            }
            i_type(0x13, 0, rd_short, 2, imm)
        }
        // c.lw, c.sw
        (0, 2) => i_type(0x03, 2, rd_short, rs1_short, word_offset),
        (0, 6) => store_word(rs1_short, rd_short, word_offset),
        // c.addi, c.nop
        (1, 0) => i_type(0x13, 0, rd, rd, imm6),
        // c.jal, c.j
        (1, 1) => jal(1, jump_offset),
        (1, 5) => jal(0, jump_offset),
        // c.li
        (1, 2) => i_type(0x13, 0, rd, 0, imm6),
        (1, 3) => {
            if rd == 2 {
                // c.addi16sp
                let imm = sign_extend(
                    bits(half, 12, 12, 9)
                        | bits(half, 6, 6, 4)
                        | bits(half, 5, 5, 6)
                        | bits(half, 4, 3, 7)
                        | bits(half, 2, 2, 5),
                    10,
                );
                if imm == 0 {
                    return None;
                }
                i_type(0x13, 0, 2, 2, imm)
            } else {
                // c.lui
                if imm6 == 0 {
                    return None;
                }
                imm6 << 12 | rd << 7 | 0x37
            }
        }
        (1, 4) => match bits(half, 11, 10, 0) {
            // c.srli, c.srai: a shift amount of 32 or more is reserved for custom use in RV32C.
            0 | 1 if bits(half, 12, 12, 0) != 0 => return None,
            0 => i_type(0x13, 5, rs1_short, rs1_short, rs2),
            1 => i_type(0x13, 5, rs1_short, rs1_short, 0x400 | rs2),
            // c.andi
            2 => i_type(0x13, 7, rs1_short, rs1_short, imm6),
            // c.sub, c.xor, c.or, c.and
            _ => match bits(half, 12, 12, 2) | bits(half, 6, 5, 0) {
                0 => r_type(0x20, 0, rs1_short, rs1_short, rd_short),
                1 => r_type(0, 4, rs1_short, rs1_short, rd_short),
                2 => r_type(0, 6, rs1_short, rs1_short, rd_short),
                3 => r_type(0, 7, rs1_short, rs1_short, rd_short),
                _ => return None,
            },
        },
        // c.beqz, c.bnez
        (1, 6) => branch(0, rs1_short, branch_offset),
        (1, 7) => branch(1, rs1_short, branch_offset),
        // c.slli
        (2, 0) if bits(half, 12, 12, 0) == 0 => i_type(0x13, 1, rd, rd, rs2),
        // c.lwsp
        (2, 2) if rd != 0 => {
            let imm = bits(half, 12, 12, 5) | bits(half, 6, 4, 2) | bits(half, 3, 2, 6);
            i_type(0x03, 2, rd, 2, imm)
        }
        (2, 4) => match (bits(half, 12, 12, 0), rd, rs2) {
            (0, 0, 0) => return None,
            // c.jr, c.mv
            (0, _, 0) => i_type(0x67, 0, 0, rd, 0),
            (0, _, _) => r_type(0, 0, rd, 0, rs2),
            // c.ebreak, c.jalr, c.add
            (_, 0, 0) => 0x0010_0073,
            (_, _, 0) => i_type(0x67, 0, 1, rd, 0),
            (_, _, _) => r_type(0, 0, rd, rd, rs2),
        },
        // c.swsp
        (2, 6) => store_word(2, rs2, bits(half, 12, 9, 2) | bits(half, 8, 7, 6)),
        _ => return None,
    })
}
