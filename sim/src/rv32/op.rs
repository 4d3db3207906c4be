//! What instructions become when they are translated.

use super::csr::Csrs;
use super::instr::{Instr, Kind};

/// What an operation does: [`Kind`] without what needs no work, and with operations that do the
/// work of two instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Code {
    Add,
    Sub,
    Sll,
    Slt,
    Sltu,
    Xor,
    Srl,
    Sra,
    Or,
    And,
    Addi,
    Slti,
    Sltiu,
    Xori,
    Ori,
    Andi,
    Slli,
    Srli,
    Srai,
    /// `lui`, `auipc`, `li`, and `lui` or `auipc` with `addi`.
    Const,
    /// `mv`.
    Copy,
    /// `mv`, and another whose registers are in `imm`: destination, then source shifted by 8.
    CopyCopy,
    /// `slli`, `add` of `rs2`.
    SlliAdd,
    /// `slli`, `or` with `rs2`.
    SlliOr,
    /// `srli`, `xor` with `rs2`.
    SrliXor,
    /// `srli`, `add` of `rs2`.
    SrliAdd,
    /// `slli`, `srli` by `rs2`.
    SlliSrli,
    /// `srli` by `rs2`, `andi`.
    SrliAndi,
    /// `xor`, `andi`.
    XorAndi,
    Mul,
    Mulh,
    Mulhsu,
    Mulhu,
    Div,
    Divu,
    Rem,
    Remu,
    Lb,
    Lh,
    Lw,
    Lbu,
    Lhu,
    Sb,
    Sh,
    Sw,
    /// A CSR of the chip, only read.
    ChipRead,
    /// A CSR of the chip, written: its number, and the instruction's funct3 shifted by 12.
    ChipCsr,
    /// Everything that is rare: executed from the whole instruction, number `imm` of the side
    /// table.
    Rare,
    /// What follows lies in cache line `imm`.
    Line,
    /// A branch predicted not taken: leaves the block by edge `imm`.
    SideBeq,
    SideBne,
    SideBlt,
    SideBge,
    SideBltu,
    SideBgeu,
    /// `andi` by `imm` into `rd`, then a branch by the comparison with 0: edge `rs2`.
    AndiSideBeqz,
    AndiSideBnez,
    // From here on: the end of a block, by its first two edges.
    Beq,
    Bne,
    Blt,
    Bge,
    Bltu,
    Bgeu,
    /// `addi` of `rd` by `imm`, then the branch.
    AddiBeq,
    AddiBne,
    AddiBltu,
    AddiBgeu,
    /// `andi` by `imm` into `rd`, then a branch by the comparison with 0.
    AndiBeqz,
    AndiBnez,
    Jal,
    Jalr,
    /// `ecall` and its like.
    System,
}

/// Where results go that the program does not want: a register behind `x31`.
pub(super) const SINK: u8 = 32;

/// One operation, eight to a cache line of the host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub(super) code: Code,
    /// [`SINK`] instead of `x0`.
    pub(super) rd: u8,
    pub(super) rs1: u8,
    pub(super) rs2: u8,
    pub(super) imm: u32,
}

const _: () = assert!(size_of::<Op>() == 8);

/// Where an operation lies: needed only when the hart leaves the fast path there. Relative to its
/// block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Bytes from the block's first instruction.
    pub(super) offset: u16,
    /// Bytes to the next instruction, if it is a single one.
    pub(super) len: u16,
    /// Instructions before this one.
    pub(super) index: u32,
    /// Cycles before this one, without stalls.
    pub(super) cycles: u32,
    /// Cycles of the operation, if it is a single instruction.
    pub(super) cost: u32,
}

impl Op {
    /// The operation of the instruction at `pc`; `None` if there is nothing to do. A rare one and a
    /// forward branch still have to get their number.
    pub(super) fn new(instr: Instr, pc: u32) -> Option<Self> {
        let Instr {
            kind,
            rd,
            rs1,
            rs2,
            imm,
        } = instr;
        if rd == 0 && kind as u8 <= Kind::Remu as u8 {
            return None;
        }
        let code = match kind {
            Kind::Fence => return None,
            Kind::Addi if rs1 == 0 => Code::Const,
            Kind::Addi if imm == 0 => Code::Copy,
            Kind::Add if rs1 == 0 || rs2 == 0 => Code::Copy,
            Kind::Add => Code::Add,
            Kind::Sub => Code::Sub,
            Kind::Sll => Code::Sll,
            Kind::Slt => Code::Slt,
            Kind::Sltu => Code::Sltu,
            Kind::Xor => Code::Xor,
            Kind::Srl => Code::Srl,
            Kind::Sra => Code::Sra,
            Kind::Or => Code::Or,
            Kind::And => Code::And,
            Kind::Addi => Code::Addi,
            Kind::Slti => Code::Slti,
            Kind::Sltiu => Code::Sltiu,
            Kind::Xori => Code::Xori,
            Kind::Ori => Code::Ori,
            Kind::Andi => Code::Andi,
            Kind::Slli => Code::Slli,
            Kind::Srli => Code::Srli,
            Kind::Srai => Code::Srai,
            Kind::Lui | Kind::Auipc => Code::Const,
            Kind::Mul => Code::Mul,
            Kind::Mulh => Code::Mulh,
            Kind::Mulhsu => Code::Mulhsu,
            Kind::Mulhu => Code::Mulhu,
            Kind::Div => Code::Div,
            Kind::Divu => Code::Divu,
            Kind::Rem => Code::Rem,
            Kind::Remu => Code::Remu,
            Kind::Lb => Code::Lb,
            Kind::Lh => Code::Lh,
            Kind::Lw => Code::Lw,
            Kind::Lbu => Code::Lbu,
            Kind::Lhu => Code::Lhu,
            Kind::Sb => Code::Sb,
            Kind::Sh => Code::Sh,
            Kind::Sw => Code::Sw,
            Kind::Csrrs | Kind::Csrrc | Kind::Csrrsi | Kind::Csrrci
                if rs1 == 0 && !Csrs::owns(imm as u16) =>
            {
                Code::ChipRead
            }
            // The top two bits of the number say "read-only" (volume II, 2.1).
            _ if kind.is_csr() && !Csrs::owns(imm as u16) && imm >> 10 != 3 => Code::ChipCsr,
            Kind::Beq if instr.is_forward() => Code::SideBeq,
            Kind::Bne if instr.is_forward() => Code::SideBne,
            Kind::Blt if instr.is_forward() => Code::SideBlt,
            Kind::Bge if instr.is_forward() => Code::SideBge,
            Kind::Bltu if instr.is_forward() => Code::SideBltu,
            Kind::Bgeu if instr.is_forward() => Code::SideBgeu,
            Kind::Beq => Code::Beq,
            Kind::Bne => Code::Bne,
            Kind::Blt => Code::Blt,
            Kind::Bge => Code::Bge,
            Kind::Bltu => Code::Bltu,
            Kind::Bgeu => Code::Bgeu,
            Kind::Jal => Code::Jal,
            Kind::Jalr => Code::Jalr,
            Kind::FenceI | Kind::Ecall | Kind::Ebreak | Kind::Mret | Kind::Wfi | Kind::Illegal => {
                Code::System
            }
            _ => Code::Rare,
        };
        let imm = match (kind, code) {
            (Kind::Auipc, _) => pc.wrapping_add(imm as u32),
            (_, Code::ChipCsr) => imm as u32 | kind.csr_funct3() << 12,
            _ => imm as u32,
        };
        let rd = if rd == 0 { SINK } else { rd };
        // `mv` is `addi rd, rs, 0` or, compressed, `add rd, x0, rs`.
        let rs1 = if kind == Kind::Add && rs1 == 0 {
            rs2
        } else {
            rs1
        };
        Some(Self {
            code,
            rd,
            rs1,
            rs2,
            imm,
        })
    }

    /// One operation that does the work of `self` and then of `next`, if there is one. Only
    /// operations that cannot leave the block in between have one, so nobody can tell.
    pub(super) fn fused_with(self, next: Self) -> Option<Self> {
        // What comes second reads the first one's result and replaces it.
        let replaces = next.rs1 == self.rd && next.rd == self.rd;
        let replaced_by_second = next.rs2 == self.rd && next.rd == self.rd;
        let both_ways = |code, op: Self| {
            if replaces && next.rs2 != self.rd {
                Some(Self {
                    code,
                    rs2: next.rs2,
                    ..op
                })
            } else if replaced_by_second && next.rs1 != self.rd {
                Some(Self {
                    code,
                    rs2: next.rs1,
                    ..op
                })
            } else {
                None
            }
        };
        match (self.code, next.code) {
            (Code::Const, Code::Addi) if replaces => Some(Self {
                imm: self.imm.wrapping_add(next.imm),
                ..self
            }),
            (Code::Copy, Code::Copy) => Some(Self {
                code: Code::CopyCopy,
                imm: u32::from(next.rd) | u32::from(next.rs1) << 8,
                ..self
            }),
            (Code::Slli, Code::Add) => both_ways(Code::SlliAdd, self),
            (Code::Slli, Code::Or) => both_ways(Code::SlliOr, self),
            (Code::Srli, Code::Xor) => both_ways(Code::SrliXor, self),
            (Code::Srli, Code::Add) => both_ways(Code::SrliAdd, self),
            (Code::Slli, Code::Srli) if replaces => Some(Self {
                code: Code::SlliSrli,
                rs2: next.imm as u8,
                ..self
            }),
            (Code::Srli, Code::Andi) if replaces => Some(Self {
                code: Code::SrliAndi,
                rs2: self.imm as u8,
                imm: next.imm,
                ..self
            }),
            (Code::Xor, Code::Andi) if replaces => Some(Self {
                code: Code::XorAndi,
                imm: next.imm,
                ..self
            }),
            (Code::Addi, branch) if self.rd == self.rs1 => {
                let code = match branch {
                    Code::Beq => Code::AddiBeq,
                    Code::Bne => Code::AddiBne,
                    Code::Bltu => Code::AddiBltu,
                    Code::Bgeu => Code::AddiBgeu,
                    _ => return None,
                };
                Some(Self {
                    code,
                    rd: self.rd,
                    imm: self.imm,
                    ..next
                })
            }
            (Code::Andi, branch) if next.rs1 == self.rd && next.rs2 == 0 => {
                let (code, rs2) = match branch {
                    Code::Beq => (Code::AndiBeqz, 0),
                    Code::Bne => (Code::AndiBnez, 0),
                    Code::SideBeq => (Code::AndiSideBeqz, u8::try_from(next.imm).ok()?),
                    Code::SideBne => (Code::AndiSideBnez, u8::try_from(next.imm).ok()?),
                    _ => return None,
                };
                Some(Self { code, rs2, ..self })
            }
            _ => None,
        }
    }
}
