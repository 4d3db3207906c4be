//! Sequences of operations that are executed as one step.

use super::op::{Code, Op};

/// Sequences of operations that are frequent enough to fuse: name and parts. `>` means that an
/// operation's first source is the previous result, `>>` the same for the second source: the result
/// is forwarded without the register file. Longer ones come first. They were chosen from the hot
/// loops of the firmware and of `sim/tests/kernels`.
macro_rules! sequences {
    ($then:ident) => {
        $then! {
            ChipReadToAndiToOrXorToOrToSideBeq [ChipRead > Andi > Or, Xor > Or > SideBeq]
            SlliToXorSrliToXorSlliToXor [Slli > Xor, Srli > Xor, Slli > Xor]
            SbSbAddiAddiBne [Sb, Sb, Addi, Addi, Bne]
            ChipReadToAndiXorToOrToSideBeq [ChipRead > Andi, Xor > Or > SideBeq]
            LbuToXorAndiToSlliAddToLw [Lbu > XorAndi > SlliAdd > Lw]
            SrliAddiXorToBne [Srli, Addi, Xor > Bne]
            SrliAddiXorBne [Srli, Addi, Xor, Bne]
            LwSrlAddiSll [Lw, Srl, Addi, Sll]
            CopyLwSrlAddi [Copy, Lw, Srl, Addi]
            SllToOrAddiSw [Sll > Or, Addi, Sw]
            LbuLbuLbuLbu [Lbu, Lbu, Lbu, Lbu]
            LwLwLwLw [Lw, Lw, Lw, Lw]
            SwSwSwSw [Sw, Sw, Sw, Sw]
            AddSltuAddiAdd [Add, Sltu, Addi, Add]
            SlliToXorToSrliXor [Slli > Xor > SrliXor]
            XorAndiToSlliAddToLw [XorAndi > SlliAdd > Lw]
            ChipReadToAndiToOr [ChipRead > Andi > Or]
            XorToOrToSideBeq [Xor > Or > SideBeq]
            AddiAddiBne [Addi, Addi, Bne]
            AddiAddiToBne [Addi, Addi > Bne]
            SbAddiBne [Sb, Addi, Bne]
            SbAddiToBne [Sb, Addi > Bne]
            SwAddiToBltu [Sw, Addi > Bltu]
            SwAddiToBne [Sw, Addi > Bne]
            SwAddiBne [Sw, Addi, Bne]
            SbAddiToBltu [Sb, Addi > Bltu]
            AddAddiBne [Add, Addi, Bne]
            SlliSlliOr [Slli, Slli, Or]
            AddiAddiAddi [Addi, Addi, Addi]
            SrliToAddi [Srli > Addi]
            ChipReadToXor [ChipRead > Xor]
            ChipReadToAndi [ChipRead > Andi]
            ChipReadToSideBeq [ChipRead > SideBeq]
            ChipReadToSideBne [ChipRead > SideBne]
            ChipCsrChipCsr [ChipCsr, ChipCsr]
            LbuIntoBgeu [Lbu >> Bgeu]
            LbuToBgeu [Lbu > Bgeu]
            SbSb [Sb, Sb]
            SbAddi [Sb, Addi]
            AddiToBeq [Addi > Beq]
            AddiToBne [Addi > Bne]
            AddiBne [Addi, Bne]
            AddiToBltu [Addi > Bltu]
            AddiBltu [Addi, Bltu]
            AddiToBgeu [Addi > Bgeu]
            AndiToBeq [Andi > Beq]
            AndiToBne [Andi > Bne]
            AndiToSideBeq [Andi > SideBeq]
            AndiToSideBne [Andi > SideBne]
            XorToBne [Xor > Bne]
            AddBne [Add, Bne]
            AddiToSideBeq [Addi > SideBeq]
            AddiToSideBne [Addi > SideBne]
            AddiSideBeq [Addi, SideBeq]
            ConstToSideBne [Const > SideBne]
            ConstToSideBeq [Const > SideBeq]
            ConstToSideBlt [Const > SideBlt]
            ConstIntoSideBgeu [Const >> SideBgeu]
            SideBltSideBne [SideBlt, SideBne]
            LwToSideBeq [Lw > SideBeq]
            LwToSideBne [Lw > SideBne]
            LwIntoSideBlt [Lw >> SideBlt]
            SideBeqLw [SideBeq, Lw]
            SideBneAndi [SideBne, Andi]
            ConstJalr [Const, Jalr]
            ConstJal [Const, Jal]
            LwJalr [Lw, Jalr]
            SwJalr [Sw, Jalr]
            LbuToXorAndi [Lbu > XorAndi]
            SlliAddToLw [SlliAdd > Lw]
            SrliAddi [Srli, Addi]
            XorToAndi [Xor > Andi]
            SlliToXor [Slli > Xor]
            XorToXor [Xor > Xor]
            XorXor [Xor, Xor]
            XorIntoSb [Xor >> Sb]
            SrliSrli [Srli, Srli]
            SlliSlli [Slli, Slli]
            SlliOrUnfused [Slli, Or]
            OrToOr [Or > Or]
            OrToAdd [Or > Add]
            AddToAdd [Add > Add]
            AddToSltu [Add > Sltu]
            AddSw [Add, Sw]
            AddToLbu [Add > Lbu]
            AddiAdd [Addi, Add]
            AddiToAndi [Addi > Andi]
            AddiAddi [Addi, Addi]
            AddiXor [Addi, Xor]
            AddiToSll [Addi > Sll]
            AddiIntoSll [Addi >> Sll]
            AddiSw [Addi, Sw]
            AddiConst [Addi, Const]
            AndiIntoSll [Andi >> Sll]
            AndiToAdd [Andi > Add]
            SllToOr [Sll > Or]
            SllToXor [Sll > Xor]
            SrlToAddi [Srl > Addi]
            SrlAddi [Srl, Addi]
            SrliToSlliOr [Srli > SlliOr]
            SlliOrAddi [SlliOr, Addi]
            LbuSlliOr [Lbu, SlliOr]
            CopyCopy [Copy, Copy]
            CopyLw [Copy, Lw]
            CopyToLbu [Copy > Lbu]
            ConstToAdd [Const > Add]
            ConstConst [Const, Const]
            ConstSw [Const, Sw]
            LwConst [Lw, Const]
            LwLw [Lw, Lw]
            LwIntoSw [Lw >> Sw]
            LwToAddi [Lw > Addi]
            LwToAndi [Lw > Andi]
            LwToXor [Lw > Xor]
            LwToSrl [Lw > Srl]
            LwToSrli [Lw > Srli]
            LbuLbu [Lbu, Lbu]
            LbuToAddi [Lbu > Addi]
            LbuSw [Lbu, Sw]
            LbuToSrli [Lbu > Srli]
            SwAddi [Sw, Addi]
            SwConst [Sw, Const]
            SwSw [Sw, Sw]
        }
    };
}
pub(super) use sequences;

/// Operations in the longest sequence.
const MAX_SEQUENCE: usize = 6;

/// Operand forwarding from the previous operation of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Forwarding {
    /// It reads its sources from the register file.
    None,
    /// The previous result is its first source.
    Rs1,
    /// The previous result is its second source.
    Rs2,
}

macro_rules! link {
    (,) => {
        Forwarding::None
    };
    (>) => {
        Forwarding::Rs1
    };
    (>>) => {
        Forwarding::Rs2
    };
}

macro_rules! declare {
    ($($name:ident [$first:ident $($link:tt $next:ident)+])*) => {
        /// Name, first part, and the other parts with their forwarding.
        const SEQUENCES: &[(Code, Code, &[(Forwarding, Code)])] =
            &[$((Code::$name, Code::$first, &[$((link!($link), Code::$next)),+])),*];
    };
}
sequences!(declare);

/// `op` with its sources in the order that `forwarding` requires, if it can follow `last` that way.
fn with_forwarding(last: Op, forwarding: Forwarding, op: Op) -> Option<Op> {
    let commutes = matches!(
        op.code,
        Code::Add
            | Code::Xor
            | Code::Or
            | Code::And
            | Code::XorAndi
            | Code::Beq
            | Code::Bne
            | Code::SideBeq
            | Code::SideBne
    );
    match forwarding {
        Forwarding::None => Some(op),
        Forwarding::Rs1 if op.rs1 == last.rd => Some(op),
        Forwarding::Rs1 if commutes && op.rs2 == last.rd => Some(Op {
            rs1: op.rs2,
            rs2: op.rs1,
            ..op
        }),
        Forwarding::Rs2 if op.rs2 == last.rd => Some(op),
        _ => None,
    }
}

/// The start of `ops` as the sequence `name`, if it matches: the operations with their sources in
/// the order that the sequence requires.
fn match_sequence(
    &(name, code, parts): &(Code, Code, &[(Forwarding, Code)]),
    ops: &[Op],
) -> Option<([Op; MAX_SEQUENCE], usize)> {
    let first = *ops.first().filter(|op| op.code == code)?;
    let mut sequence = [Op {
        code: name,
        ..first
    }; MAX_SEQUENCE];
    let mut last = first;
    for (i, &(forwarding, code)) in (1..).zip(parts) {
        let op = *ops.get(i).filter(|op| op.code == code)?;
        last = with_forwarding(last, forwarding, op)?;
        *sequence.get_mut(i)? = last;
    }
    Some((sequence, parts.len() + 1))
}

/// Replaces the code of the first operation of each known sequence. The others keep theirs, so that
/// the hart can resume in between.
pub(super) fn fuse_sequences(ops: &mut [Op]) {
    let mut rest = ops;
    while !rest.is_empty() {
        let known = SEQUENCES
            .iter()
            .find_map(|sequence| match_sequence(sequence, rest));
        let len = known.map_or(1, |(_, len)| len);
        let (done, left) = rest.split_at_mut(len);
        if let Some((sequence, len)) = known {
            done.copy_from_slice(&sequence[..len]);
        }
        rest = left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(code: Code, rd: u8, rs1: u8, rs2: u8) -> Op {
        Op {
            code,
            rd,
            rs1,
            rs2,
            imm: 0,
        }
    }

    fn codes(ops: &[Op]) -> Vec<Code> {
        ops.iter().map(|op| op.code).collect()
    }

    #[test]
    fn sources_are_swapped_into_the_order_of_the_sequence() {
        let mut ops = [op(Code::Slli, 5, 6, 0), op(Code::Xor, 6, 6, 5)];
        fuse_sequences(&mut ops);
        assert_eq!(codes(&ops), [Code::SlliToXor, Code::Xor]);
        assert_eq!((ops[1].rs1, ops[1].rs2), (5, 6));
    }

    #[test]
    fn operations_without_forwarding_are_not_that_sequence() {
        let apart = [op(Code::Slli, 5, 6, 0), op(Code::Xor, 6, 6, 7)];
        let mut ops = apart;
        fuse_sequences(&mut ops);
        assert_eq!(codes(&ops), codes(&apart));
    }

    #[test]
    fn every_sequence_fits_and_none_hides_a_longer_one() {
        let lengths = SEQUENCES.iter().map(|(_, _, parts)| parts.len() + 1);
        assert!(lengths.clone().is_sorted_by(|a, b| a >= b));
        assert_eq!(lengths.max(), Some(MAX_SEQUENCE));
    }
}
