//! Instructions after decoding.

/// Operation of an instruction. Names are the mnemonics of the ISA manual; pseudo-forms whose
/// decoding saves work at run time have names of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(
    missing_docs,
    reason = "the mnemonics of the RISC-V ISA manual, volume I"
)]
pub enum Kind {
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
    Lui,
    Auipc,
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
    LrW,
    ScW,
    AmoswapW,
    AmoaddW,
    AmoxorW,
    AmoandW,
    AmoorW,
    AmominW,
    AmomaxW,
    AmominuW,
    AmomaxuW,
    Fence,
    Csrrw,
    Csrrs,
    Csrrc,
    Csrrwi,
    Csrrsi,
    Csrrci,
    // From here on: the end of a block.
    Beq,
    Bne,
    Blt,
    Bge,
    Bltu,
    Bgeu,
    Jal,
    Jalr,
    FenceI,
    Ecall,
    Ebreak,
    Mret,
    Wfi,
    Illegal,
}

impl Kind {
    /// True if the next instruction in memory does not necessarily follow.
    pub const fn ends_block(self) -> bool {
        self as u8 >= Kind::Beq as u8
    }

    /// `beq` to `bgeu`.
    pub const fn is_branch(self) -> bool {
        matches!(
            self,
            Kind::Beq | Kind::Bne | Kind::Blt | Kind::Bge | Kind::Bltu | Kind::Bgeu
        )
    }

    /// `lb` to `lhu`: loads whose result may arrive late.
    pub const fn is_load(self) -> bool {
        matches!(self, Kind::Lb | Kind::Lh | Kind::Lw | Kind::Lbu | Kind::Lhu)
    }
}

impl Kind {
    /// `csrrw` to `csrrci`.
    pub const fn is_csr(self) -> bool {
        self as u8 >= Kind::Csrrw as u8 && self as u8 <= Kind::Csrrci as u8
    }

    /// The function bits of a CSR instruction: 1 to 3 write, set and clear, 4 more for an immediate
    /// operand.
    pub(super) const fn csr_funct3(self) -> u32 {
        match self {
            Kind::Csrrw => 1,
            Kind::Csrrs => 2,
            Kind::Csrrc => 3,
            Kind::Csrrwi => 5,
            Kind::Csrrsi => 6,
            _ => 7,
        }
    }

    /// `lr.w` to `amomaxu.w`.
    pub const fn is_atomic(self) -> bool {
        self as u8 >= Kind::LrW as u8 && self as u8 <= Kind::AmomaxuW as u8
    }
}

/// A decoded instruction, compact enough that eight fit in a cache line of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instr {
    /// Its operation.
    pub kind: Kind,
    /// Destination register, 0 if it has none.
    pub rd: u8,
    /// First source register, or the immediate operand of `csrrwi`, `csrrsi` and `csrrci`; 0 if it
    /// has none.
    pub rs1: u8,
    /// Second source register, 0 if it has none.
    pub rs2: u8,
    /// Sign-extended immediate operand, shift amount, CSR number, or the whole illegal
    /// instruction.
    pub imm: i32,
}

impl Instr {
    /// True if it reads register `reg` (never true for `x0`).
    pub const fn uses(&self, reg: u8) -> bool {
        let immediate = matches!(self.kind, Kind::Csrrwi | Kind::Csrrsi | Kind::Csrrci);
        reg != 0 && ((self.rs1 == reg && !immediate) || self.rs2 == reg)
    }

    /// True for a forward branch, which is predicted not taken. A branch to itself goes backward.
    pub(super) const fn is_forward(self) -> bool {
        self.kind.is_branch() && self.imm > 0
    }
}
