//! The fast path: runs translated blocks in sequence.
//!
//! The cost of a block was added up when it was translated, except for the parts that depend on
//! history: the branch-target buffer, the cache, and the chip. Only an operation that accesses the
//! chip needs its own cycle, which follows from its position.
//!
//! Rare work leaves the inner loop with a [`LoopExit`] and is done outside of it, so that the loop
//! keeps its state in registers.

use super::block::{NO_SITE, OP_CAPACITY, UNCACHED};
use super::csr::MSTATUS_MIE;
use super::dispatch::fetch;
use super::hart::{Exit, Hart};
use super::op::{Code, DISCARD, EDGE_MASK};
use super::platform::{IllegalCsr, Platform};
use super::sequence::sequences;
use super::trap::Cause;
use super::value::{taken, value};
use crate::mem::{Memory, StoreOutcome};

/// Reason that the inner loop ended.
enum LoopExit {
    /// An edge leads to an address where the loop cannot continue.
    Enter(u32),
    /// The edge of this number is not linked yet.
    Link(usize),
    /// An indirect jump to this address.
    Jump(u32),
    /// The operation at this index is not done yet.
    Slow(usize),
    /// The operation at this index is done, with this many extra cycles, or accessed the chip.
    After(usize, u32),
    /// The operation at this index raises an exception.
    Trap(usize, Cause),
    /// The cache line that begins at this index took this many cycles.
    Line(usize, u32),
    /// The operation at this index is for [`Hart::system`].
    System(usize),
}

impl Hart {
    /// Runs blocks until `deadline` or the next thing that only [`Hart::run`] can do. The next
    /// instruction begins before the deadline, and no interrupt is to be taken before it.
    #[expect(
        clippy::cognitive_complexity,
        reason = "one big match, flat on purpose"
    )]
    pub(super) fn execute<P: Platform>(
        &mut self,
        memory: &mut Memory,
        platform: &mut P,
        mut deadline: u64,
    ) -> Exit {
        if self.code.is_stale(memory) {
            self.code.flush(memory);
        }
        let mut ip = match self.enter(memory, platform, deadline) {
            Ok(ip) => ip,
            Err(exit) => return exit,
        };
        let (mut cycle, mut instret) = (self.cycle, self.instret);
        loop {
            if P::TIMES_MEMORY {
                // Other masters may have acted.
                deadline = platform.deadline();
            }
            let ram_base = memory.main_base();
            let (mut ram, mut others) = memory.split();
            let ops = &*self.code.ops;
            let x = &mut self.x;

            /// The operation this far after the current one.
            macro_rules! op {
                ($ahead:expr) => {
                    ops[(ip + $ahead) % OP_CAPACITY]
                };
            }
            let loop_exit = 'run: loop {
                // The result of the previous operation in a sequence.
                let mut last: u32;
                /// The sources of an operation.
                macro_rules! rs1 {
                    ($op:ident, >) => {
                        last
                    };
                    ($op:ident, $link:tt) => {
                        x[$op.rs1]
                    };
                }
                macro_rules! rs2 {
                    ($op:ident, >>) => {
                        last
                    };
                    ($op:ident, $link:tt) => {
                        x[$op.rs2]
                    };
                }
                /// One operation, `ahead` after the current one, with its forwarding.
                macro_rules! step {
                    (Lb, $ahead:literal, $link:tt) => {
                        load!($ahead, $link, |[b]: [u8; 1]| b as i8 as u32)
                    };
                    (Lbu, $ahead:literal, $link:tt) => {
                        load!($ahead, $link, |[b]: [u8; 1]| u32::from(b))
                    };
                    (Lh, $ahead:literal, $link:tt) => {
                        load!($ahead, $link, |b| i16::from_le_bytes(b) as u32)
                    };
                    (Lhu, $ahead:literal, $link:tt) => {
                        load!($ahead, $link, |b| u32::from(u16::from_le_bytes(b)))
                    };
                    (Lw, $ahead:literal, $link:tt) => {
                        load!($ahead, $link, u32::from_le_bytes)
                    };
                    (Sb, $ahead:literal, $link:tt) => {
                        store!($ahead, $link, u8)
                    };
                    (Sh, $ahead:literal, $link:tt) => {
                        store!($ahead, $link, u16)
                    };
                    (Sw, $ahead:literal, $link:tt) => {
                        store!($ahead, $link, u32)
                    };
                    (SideBeq, $ahead:literal, $link:tt) => {
                        side!(Beq, $ahead, $link)
                    };
                    (Beq, $ahead:literal, $link:tt) => {
                        end!(Beq, $ahead, $link)
                    };
                    (SideBne, $ahead:literal, $link:tt) => {
                        side!(Bne, $ahead, $link)
                    };
                    (Bne, $ahead:literal, $link:tt) => {
                        end!(Bne, $ahead, $link)
                    };
                    (SideBlt, $ahead:literal, $link:tt) => {
                        side!(Blt, $ahead, $link)
                    };
                    (Blt, $ahead:literal, $link:tt) => {
                        end!(Blt, $ahead, $link)
                    };
                    (SideBge, $ahead:literal, $link:tt) => {
                        side!(Bge, $ahead, $link)
                    };
                    (Bge, $ahead:literal, $link:tt) => {
                        end!(Bge, $ahead, $link)
                    };
                    (SideBltu, $ahead:literal, $link:tt) => {
                        side!(Bltu, $ahead, $link)
                    };
                    (Bltu, $ahead:literal, $link:tt) => {
                        end!(Bltu, $ahead, $link)
                    };
                    (SideBgeu, $ahead:literal, $link:tt) => {
                        side!(Bgeu, $ahead, $link)
                    };
                    (Bgeu, $ahead:literal, $link:tt) => {
                        end!(Bgeu, $ahead, $link)
                    };
                    (Jal, $ahead:literal, $link:tt) => {
                        break op!($ahead).imm
                    };
                    (FallThrough, $ahead:literal, $link:tt) => {
                        break op!($ahead).imm
                    };
                    (Jalr, $ahead:literal, $link:tt) => {{
                        let op = op!($ahead);
                        let target = x[op.rs1].wrapping_add((op.imm as i32 >> 20) as u32) & !1;
                        let edge = (op.imm & EDGE_MASK) as usize;
                        let Some(&[ref link, ref jump]) =
                            self.code.edges.get(edge..).and_then(<[_]>::first_chunk)
                        else {
                            break u32::MAX;
                        };
                        x[op.rd] = link.pc;
                        cycle += u64::from(jump.cycles);
                        instret += u64::from(jump.instructions);
                        let known = self.code.long.get(target);
                        if let Some(block) = known.and_then(|id| self.code.blocks.get(id as usize))
                            && (block.lines[1] == UNCACHED
                                || P::TIMES_MEMORY
                                    && block.lines[0] == block.lines[1]
                                    && platform.hits_fetch(block.lines[1]))
                        {
                            let late = if block.straddled {
                                self.timing.straddled_after_jump
                            } else {
                                0
                            };
                            let begins = cycle + u64::from(late);
                            if begins + u64::from(block.last_begins) < deadline {
                                if P::TIMES_MEMORY && block.lines[1] != UNCACHED {
                                    self.fetch_line = block.lines[1];
                                }
                                cycle = begins;
                                ip = block.first as usize;
                                continue;
                            }
                        }
                        break 'run LoopExit::Jump(target);
                    }};
                    (ChipRead, $ahead:literal, $link:tt) => {{
                        let op = op!($ahead);
                        let (number, before) = op.csr();
                        let Ok(value) = platform.csr_read(number, cycle + before) else {
                            break 'run LoopExit::Trap(ip + $ahead, Cause::IllegalInstruction);
                        };
                        last = value;
                        x[op.rd] = last;
                        chip!($ahead);
                    }};
                    (ChipCsr, $ahead:literal, $link:tt) => {{
                        let op = op!($ahead);
                        let (number, before) = op.csr();
                        let at = cycle + before;
                        let operand = if op.rs2 & 4 != 0 {
                            u32::from(op.rs1)
                        } else {
                            x[op.rs1]
                        };
                        let done = (|| {
                            let mut old = 0;
                            if op.rs2 & 3 != 1 || op.rd != DISCARD {
                                old = platform.csr_read(number, at)?;
                            }
                            let new = match op.rs2 & 3 {
                                1 => operand,
                                2 => old | operand,
                                _ => old & !operand,
                            };
                            platform.csr_write(number, new, at)?;
                            Ok::<_, IllegalCsr>(old)
                        })();
                        let Ok(old) = done else {
                            break 'run LoopExit::Trap(ip + $ahead, Cause::IllegalInstruction);
                        };
                        x[op.rd] = old;
                        chip!($ahead);
                    }};
                    (Rare, $ahead:literal, $link:tt) => {
                        break 'run LoopExit::Slow(ip + $ahead)
                    };
                    (System, $ahead:literal, $link:tt) => {
                        break 'run LoopExit::System(ip + $ahead)
                    };
                    (Line, $ahead:literal, $link:tt) => {{
                        let line = op!($ahead).imm;
                        if P::TIMES_MEMORY {
                            if line != self.fetch_line {
                                if !platform.hits_fetch(line) {
                                    break 'run LoopExit::Line(ip + $ahead, 0);
                                }
                                self.fetch_line = line;
                            }
                        } else if line != self.fetch_line {
                            self.fetch_line = line;
                            let stall = others.cache.access(line);
                            if stall != 0 {
                                break 'run LoopExit::Line(ip + $ahead, stall);
                            }
                        }
                    }};
                    // All others only compute a value from their sources.
                    ($code:ident, $ahead:literal, $link:tt) => {{
                        let op = op!($ahead);
                        last = value!($code, rs1!(op, $link), rs2!(op, $link), op);
                        x[op.rd] = last;
                    }};
                }
                macro_rules! load {
                    ($ahead:literal, $link:tt, $extend:expr) => {{
                        let op = op!($ahead);
                        let offset = rs1!(op, $link).wrapping_add(op.imm);
                        if P::TIMES_MEMORY && !platform.hits_load(offset.wrapping_add(ram_base)) {
                            break 'run LoopExit::Slow(ip + $ahead);
                        }
                        last = if let Some(bytes) = ram.load(offset) {
                            $extend(bytes)
                        } else if let Some((bytes, stall)) = others.load(offset) {
                            x[op.rd] = $extend(bytes);
                            if stall != 0 {
                                break 'run LoopExit::After(ip + $ahead, stall);
                            }
                            x[op.rd]
                        } else {
                            break 'run LoopExit::Slow(ip + $ahead);
                        };
                        x[op.rd] = last;
                    }};
                }
                macro_rules! store {
                    ($ahead:literal, $link:tt, $ty:ty) => {{
                        let op = op!($ahead);
                        let offset = rs1!(op, $link).wrapping_add(op.imm);
                        let value = rs2!(op, $link) as $ty;
                        if P::TIMES_MEMORY && !platform.hits_store(offset.wrapping_add(ram_base)) {
                            break 'run LoopExit::Slow(ip + $ahead);
                        }
                        // The slow path may store again; that does no harm.
                        if ram.store(offset, value.to_le_bytes()) != StoreOutcome::Plain {
                            break 'run LoopExit::Slow(ip + $ahead);
                        }
                    }};
                }
                macro_rules! side {
                    ($branch:ident, $ahead:literal, $link:tt) => {{
                        let op = op!($ahead);
                        if taken!($branch, rs1!(op, $link), rs2!(op, $link)) {
                            break op.imm;
                        }
                    }};
                }
                macro_rules! end {
                    ($branch:ident, $ahead:literal, $link:tt) => {{
                        let op = op!($ahead);
                        let taken = taken!($branch, rs1!(op, $link), rs2!(op, $link));
                        break op.imm + u32::from(taken);
                    }};
                }
                /// After an access to the chip: a new deadline or interrupt is handled outside.
                macro_rules! chip {
                    ($ahead:literal) => {
                        if platform.deadline() != deadline
                            || self.csrs.mstatus & MSTATUS_MIE != 0
                                && platform.interrupt().is_some_and(|line| {
                                    self.csrs.unmasked_lines >> (line & 31) & 1 != 0
                                })
                        {
                            break 'run LoopExit::After(ip + $ahead, 0);
                        }
                    };
                }
                macro_rules! dispatch {
                    ($($sequences:tt)*) => {
                        single! {
                            {
                                Add Sub Sll Slt Sltu Xor Srl Sra Or And
                                Addi Slti Sltiu Xori Ori Andi Slli Srli Srai
                                Mul Mulh Mulhsu Mulhu Div Divu Rem Remu
                                Lb Lh Lw Lbu Lhu Sb Sh Sw
                                Beq Bne Blt Bge Bltu Bgeu Jal Jalr
                                Const Copy
                                SlliAdd SlliOr SrliXor SrliAdd SlliSrli SrliAndi XorAndi
                                ChipRead ChipCsr Rare Line
                                SideBeq SideBne SideBlt SideBge SideBltu SideBgeu
                                FallThrough System
                            }
                            $($sequences)*
                        }
                    };
                }
                macro_rules! single {
                    (
                        { $($single:ident)* }
                        $($name:ident [$first:ident $($link:tt $next:ident)+])*
                    ) => {
                        match op!(0).code {
                            $(Code::$single => {
                                step!($single, 0, ,);
                                ip += 1;
                            })*
                            $(Code::$name => {
                                step!($first, 0, ,);
                                rest!($($link $next)+);
                            })*
                        }
                    };
                }
                /// The other operations of a sequence.
                macro_rules! rest {
                    ($l1:tt $o1:ident) => {
                        step!($o1, 1, $l1);
                        ip += 2;
                    };
                    ($l1:tt $o1:ident $l2:tt $o2:ident) => {
                        step!($o1, 1, $l1);
                        step!($o2, 2, $l2);
                        ip += 3;
                    };
                    ($l1:tt $o1:ident $l2:tt $o2:ident $l3:tt $o3:ident) => {
                        step!($o1, 1, $l1);
                        step!($o2, 2, $l2);
                        step!($o3, 3, $l3);
                        ip += 4;
                    };
                    (
                        $l1:tt $o1:ident $l2:tt $o2:ident $l3:tt $o3:ident
                        $l4:tt $o4:ident $($l5:tt $o5:ident)?
                    ) => {
                        step!($o1, 1, $l1);
                        step!($o2, 2, $l2);
                        step!($o3, 3, $l3);
                        step!($o4, 4, $l4);
                        $(step!($o5, 5, $l5);)?
                        ip += 5 $(+ [stringify!($o5)].len())?;
                    };
                }

                // The edge by which the block exits.
                #[allow(unreachable_code, reason = "some operations always leave")]
                let edge_index: u32 = loop {
                    sequences!(dispatch);
                };

                let Some(edge) = self.code.edges.get_mut(edge_index as usize) else {
                    break LoopExit::Enter(self.pc);
                };
                if self.predictor.allocations() < edge.expires {
                    cycle += u64::from(edge.cycles);
                    instret += u64::from(edge.instructions);
                    if cycle + u64::from(edge.last_begins) >= deadline {
                        break LoopExit::Enter(edge.pc);
                    }
                    ip = edge.next as usize;
                    continue;
                }
                let Some(details) = self.code.edge_details.get(edge_index as usize) else {
                    break LoopExit::Enter(self.pc);
                };
                let mut cycles = edge.cycles;
                if details.site != NO_SITE {
                    if !self.predictor.contains(details.site) {
                        self.predictor.allocate(details.site);
                        cycles = details.cycles_if_missed;
                    }
                    edge.expires = details.expires(self.predictor.resident_until(details.site));
                }
                if details.decoded_site != NO_SITE {
                    self.predictor.decode(details.decoded_site);
                }
                cycle += u64::from(cycles);
                instret += u64::from(edge.instructions);
                if !details.linked {
                    break LoopExit::Link(edge_index as usize);
                }
                if cycle + u64::from(edge.last_begins) >= deadline {
                    break LoopExit::Enter(edge.pc);
                }
                if P::TIMES_MEMORY {
                    let [first, line] = details.lines;
                    if line != UNCACHED && line != self.fetch_line {
                        let hits = platform.hits_fetch(line)
                            && (first == line || platform.hits_fetch(first));
                        if !hits {
                            break LoopExit::Enter(edge.pc);
                        }
                        self.fetch_line = line;
                    }
                    ip = edge.next as usize;
                    continue;
                }
                let stall = fetch(details.lines, &mut self.fetch_line, others.cache);
                if stall != 0 {
                    // Fetched; check again that it begins before the deadline.
                    cycle += u64::from(stall);
                    if cycle + u64::from(edge.last_begins) >= deadline {
                        break LoopExit::Enter(edge.pc);
                    }
                }
                ip = edge.next as usize;
            };

            (self.cycle, self.instret) = (cycle, instret);
            let next = match loop_exit {
                LoopExit::Enter(pc) => {
                    self.pc = pc;
                    self.enter(memory, platform, deadline)
                }
                LoopExit::Link(edge) => self.link_and_enter(edge, memory, platform, deadline),
                LoopExit::Jump(target) => self.jump(target, memory, platform, deadline),
                LoopExit::Slow(ip) => match self.run_slow_op(ip, memory, platform) {
                    Ok(stall) => {
                        deadline = platform.deadline();
                        self.finish_op(ip, stall, memory, platform)
                    }
                    Err((cause, value)) => Err(self.trap_at(ip, cause, value)),
                },
                LoopExit::After(ip, stall) => {
                    deadline = platform.deadline();
                    self.finish_op(ip, stall, memory, platform)
                }
                LoopExit::Trap(ip, cause) => Err(self.trap_at(ip, cause, 0)),
                LoopExit::Line(ip, _) if P::TIMES_MEMORY => {
                    let stall = self.fetch_line_timed(ip, memory, platform);
                    self.finish_line_fetch(ip, stall, memory, platform.deadline())
                }
                LoopExit::Line(ip, stall) => self.finish_line_fetch(ip, stall, memory, deadline),
                LoopExit::System(ip) => Err(self.system_at(ip)),
            };
            match next {
                Ok(next) => ip = next,
                Err(exit) => return exit,
            }
            (cycle, instret) = (self.cycle, self.instret);
        }
    }
}
