//! Operations: the translated form of instructions.

use super::csr::Csrs;
use super::instr::{Instr, Kind};
use super::sequence::sequences;

/// Declares [`Code`]: the codes shared with [`Kind`], its own, and the sequences.
macro_rules! codes {
    (
        same { $($same:ident)* }
        own { $($(#[$doc:meta])* $own:ident,)* }
        $($name:ident [$first:ident $($link:tt $next:ident)+])*
    ) => {
        /// Code of an operation: [`Kind`] without those that need no work, operations that do the
        /// work of two instructions, and sequences.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum Code { $($same,)* $($(#[$doc])* $own,)* $($name,)* }

        impl Code {
            /// The operation that does exactly what `kind` does.
            const fn same(kind: Kind) -> Option<Self> {
                match kind {
                    $(Kind::$same => Some(Self::$same),)*
                    _ => None,
                }
            }

            /// The first part of a sequence; any other code itself.
            pub(super) const fn first(self) -> Self {
                match self {
                    $(Self::$name => Self::$first,)*
                    other => other,
                }
            }
        }
    };
}

macro_rules! declare {
    ($($sequences:tt)*) => {
        codes! {
            same {
                Add Sub Sll Slt Sltu Xor Srl Sra Or And
                Addi Slti Sltiu Xori Ori Andi Slli Srli Srai
                Mul Mulh Mulhsu Mulhu Div Divu Rem Remu
                Lb Lh Lw Lbu Lhu Sb Sh Sw
                // The end of a block: to edge `imm`, or the next one if taken.
                Beq Bne Blt Bge Bltu Bgeu
                // To edge `imm`.
                Jal
                // To edge `imm & EDGE_MASK` plus 1; the offset is above it.
                Jalr
            }
            own {
                /// `lui`, `auipc`, `li`, a jump's link, and `lui` or `auipc` with `addi`.
                Const,
                /// `mv`.
                Copy,
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
                /// A CSR of the chip, only read: see [`Op::csr`].
                ChipRead,
                /// A CSR of the chip, written: `rs2` is the instruction's funct3.
                ChipCsr,
                /// A rare instruction: executed from its decoded form, number `imm` of the side
                /// table.
                Rare,
                /// The next operation is in cache line `imm`.
                Line,
                /// A branch predicted not taken: leaves the block by edge `imm`.
                SideBeq,
                SideBne,
                SideBlt,
                SideBge,
                SideBltu,
                SideBgeu,
                /// The end of a block that is no jump: to edge `imm`.
                FallThrough,
                /// `ecall` and similar, number `imm` of the side table.
                System,
            }
            $($sequences)*
        }
    };
}
sequences!(declare);

/// Destination of discarded results: a register after `x31`.
pub(super) const DISCARD: u8 = 32;
/// The edge in the `imm` of [`Code::Jalr`]; the offset has the 12 bits above.
pub(super) const EDGE_MASK: u32 = 0xf_ffff;

/// One operation, eight to a cache line of the host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub(super) code: Code,
    /// [`DISCARD`] instead of `x0`.
    pub(super) rd: u8,
    pub(super) rs1: u8,
    pub(super) rs2: u8,
    pub(super) imm: u32,
}

const _: () = assert!(size_of::<Op>() == 8);

/// Position and cost of an operation: needed only when the hart leaves the fast path there.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpInfo {
    /// Its instruction.
    pub(super) pc: u32,
    /// The next instruction.
    pub(super) next: u32,
    /// The block.
    pub(super) block: u32,
    /// Instructions of the block before this one.
    pub(super) index: u32,
    /// Cycles of the block before this one, without stalls.
    pub(super) cycles: u32,
    /// Cycles of the operation, if it is a single instruction.
    pub(super) cost: u32,
}

impl Op {
    /// Filler after the last block.
    pub(super) const FILLER: Self = Self::with_imm(Code::FallThrough, u32::MAX);

    /// An operation with an immediate operand only.
    pub(super) const fn with_imm(code: Code, imm: u32) -> Self {
        Self {
            code,
            rd: DISCARD,
            rs1: 0,
            rs2: 0,
            imm,
        }
    }

    /// The operation of the instruction at `pc`, which begins `cycles` after its block, in a hart
    /// whose main RAM begins at `ram`: offsets of loads and stores are relative to it. `None` if
    /// there is nothing to do. The caller assigns the number to rare ones, branches and jumps.
    pub(super) fn new(instr: Instr, pc: u32, cycles: u32, ram: u32) -> Option<Self> {
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
            Kind::Lui | Kind::Auipc => Code::Const,
            _ if kind.is_csr() => Self::csr_code(instr, cycles),
            Kind::Beq if instr.is_forward() => Code::SideBeq,
            Kind::Bne if instr.is_forward() => Code::SideBne,
            Kind::Blt if instr.is_forward() => Code::SideBlt,
            Kind::Bge if instr.is_forward() => Code::SideBge,
            Kind::Bltu if instr.is_forward() => Code::SideBltu,
            Kind::Bgeu if instr.is_forward() => Code::SideBgeu,
            Kind::FenceI | Kind::Ecall | Kind::Ebreak | Kind::Mret | Kind::Wfi | Kind::Illegal => {
                Code::System
            }
            _ => Code::same(kind).unwrap_or(Code::Rare),
        };
        let imm = match code {
            Code::Const if kind == Kind::Auipc => pc.wrapping_add(imm as u32),
            Code::Lb
            | Code::Lh
            | Code::Lw
            | Code::Lbu
            | Code::Lhu
            | Code::Sb
            | Code::Sh
            | Code::Sw => (imm as u32).wrapping_sub(ram),
            Code::ChipRead | Code::ChipCsr => imm as u32 & 0xfff | cycles << 12,
            _ => imm as u32,
        };
        Some(Self {
            code,
            rd: if rd == 0 { DISCARD } else { rd },
            // `mv` is `addi rd, rs, 0` or, compressed, `add rd, x0, rs`.
            rs1: if kind == Kind::Add && rs1 == 0 {
                rs2
            } else {
                rs1
            },
            rs2: if code == Code::ChipCsr {
                kind.csr_funct3() as u8
            } else {
                rs2
            },
            imm,
        })
    }

    /// The operation for an access to a CSR.
    fn csr_code(instr: Instr, cycles: u32) -> Code {
        let number = instr.imm as u16;
        let swaps = matches!(instr.kind, Kind::Csrrw | Kind::Csrrwi);
        if Csrs::owns(number) || cycles >> 20 != 0 {
            Code::Rare
        } else if !swaps && instr.rs1 == 0 {
            Code::ChipRead
        } else if number >> 10 != 3 {
            Code::ChipCsr
        } else {
            // The top two bits of the number mark it read-only (volume II, 2.1).
            Code::Rare
        }
    }

    /// Number of the CSR of [`Code::ChipRead`] and [`Code::ChipCsr`], and the cycles of the block
    /// before the access.
    #[inline]
    pub(super) fn csr(self) -> (u16, u64) {
        (self.imm as u16 & 0xfff, u64::from(self.imm >> 12))
    }

    /// One operation that does the work of `self` and then of `next`, if there is one. Only
    /// operations that cannot leave the block in between have one, so the result is the same.
    pub(super) fn fused_with(self, next: Self) -> Option<Self> {
        // The second operation reads the first one's result and replaces it.
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
            _ => None,
        }
    }
}
