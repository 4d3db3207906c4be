//! Results of operations from their sources, and conditions of branches.

/// The value of an operation whose sources hold `$a` and `$b`.
macro_rules! value {
    (Add, $a:expr, $b:expr, $op:expr) => {
        $a.wrapping_add($b)
    };
    (Sub, $a:expr, $b:expr, $op:expr) => {
        $a.wrapping_sub($b)
    };
    (Sll, $a:expr, $b:expr, $op:expr) => {
        $a << ($b & 31)
    };
    (Slt, $a:expr, $b:expr, $op:expr) => {
        u32::from(($a as i32) < $b as i32)
    };
    (Sltu, $a:expr, $b:expr, $op:expr) => {
        u32::from($a < $b)
    };
    (Xor, $a:expr, $b:expr, $op:expr) => {
        $a ^ $b
    };
    (Srl, $a:expr, $b:expr, $op:expr) => {
        $a >> ($b & 31)
    };
    (Sra, $a:expr, $b:expr, $op:expr) => {
        ($a as i32 >> ($b & 31)) as u32
    };
    (Or, $a:expr, $b:expr, $op:expr) => {
        $a | $b
    };
    (And, $a:expr, $b:expr, $op:expr) => {
        $a & $b
    };
    (Addi, $a:expr, $b:expr, $op:expr) => {
        $a.wrapping_add($op.imm)
    };
    (Slti, $a:expr, $b:expr, $op:expr) => {
        u32::from(($a as i32) < $op.imm as i32)
    };
    (Sltiu, $a:expr, $b:expr, $op:expr) => {
        u32::from($a < $op.imm)
    };
    (Xori, $a:expr, $b:expr, $op:expr) => {
        $a ^ $op.imm
    };
    (Ori, $a:expr, $b:expr, $op:expr) => {
        $a | $op.imm
    };
    (Andi, $a:expr, $b:expr, $op:expr) => {
        $a & $op.imm
    };
    (Slli, $a:expr, $b:expr, $op:expr) => {
        $a << ($op.imm & 31)
    };
    (Srli, $a:expr, $b:expr, $op:expr) => {
        $a >> ($op.imm & 31)
    };
    (Srai, $a:expr, $b:expr, $op:expr) => {
        ($a as i32 >> ($op.imm & 31)) as u32
    };
    (Const, $a:expr, $b:expr, $op:expr) => {
        $op.imm
    };
    (Copy, $a:expr, $b:expr, $op:expr) => {
        $a
    };
    (SlliAdd, $a:expr, $b:expr, $op:expr) => {
        ($a << ($op.imm & 31)).wrapping_add($b)
    };
    (SlliOr, $a:expr, $b:expr, $op:expr) => {
        $a << ($op.imm & 31) | $b
    };
    (SrliXor, $a:expr, $b:expr, $op:expr) => {
        $a >> ($op.imm & 31) ^ $b
    };
    (SrliAdd, $a:expr, $b:expr, $op:expr) => {
        ($a >> ($op.imm & 31)).wrapping_add($b)
    };
    (SlliSrli, $a:expr, $b:expr, $op:expr) => {
        $a << ($op.imm & 31) >> ($op.rs2 & 31)
    };
    (SrliAndi, $a:expr, $b:expr, $op:expr) => {
        $a >> ($op.rs2 & 31) & $op.imm
    };
    (XorAndi, $a:expr, $b:expr, $op:expr) => {
        ($a ^ $b) & $op.imm
    };
    (Mul, $a:expr, $b:expr, $op:expr) => {
        $a.wrapping_mul($b)
    };
    (Mulh, $a:expr, $b:expr, $op:expr) => {
        $crate::rv32::arith::mulh($a, $b)
    };
    (Mulhsu, $a:expr, $b:expr, $op:expr) => {
        $crate::rv32::arith::mulhsu($a, $b)
    };
    (Mulhu, $a:expr, $b:expr, $op:expr) => {
        $crate::rv32::arith::mulhu($a, $b)
    };
    (Div, $a:expr, $b:expr, $op:expr) => {
        $crate::rv32::arith::div($a, $b)
    };
    (Divu, $a:expr, $b:expr, $op:expr) => {
        $a.checked_div($b).unwrap_or(u32::MAX)
    };
    (Rem, $a:expr, $b:expr, $op:expr) => {
        $crate::rv32::arith::rem($a, $b)
    };
    (Remu, $a:expr, $b:expr, $op:expr) => {
        $a.checked_rem($b).unwrap_or($a)
    };
}
pub(super) use value;

/// True if a branch is taken whose sources hold `$a` and `$b`.
macro_rules! taken {
    (Beq, $a:expr, $b:expr) => {
        $a == $b
    };
    (Bne, $a:expr, $b:expr) => {
        $a != $b
    };
    (Blt, $a:expr, $b:expr) => {
        ($a as i32) < $b as i32
    };
    (Bge, $a:expr, $b:expr) => {
        $a as i32 >= $b as i32
    };
    (Bltu, $a:expr, $b:expr) => {
        $a < $b
    };
    (Bgeu, $a:expr, $b:expr) => {
        $a >= $b
    };
}
pub(super) use taken;
