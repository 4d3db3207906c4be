//! Cycle counts of the pipeline.

/// The cycles of the hart's pipeline. A chip fills it from its timing table, where each entry has
/// its source; [`Timing::ideal`] is one cycle per instruction.
///
/// The rules that use these figures are in [`crate::rv32`]'s documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Extra cycles of a load if the next instruction uses its result.
    pub load_use: u32,
    /// Cycles of a conditional branch that went the other way than predicted.
    pub mispredicted: u32,
    /// Cycles of a direct jump or a branch predicted taken, whose target is in the branch-target
    /// buffer.
    pub jump_hit: u32,
    /// The same if its target is not in the buffer.
    pub jump_miss: u32,
    /// Extra cycles if a jump that the buffer predicted lands on a direct jump.
    pub jump_to_jump: u32,
    /// Extra cycles if a mispredicted branch continues at a 32-bit instruction that straddles a
    /// word.
    pub straddled_after_branch: u32,
    /// The same for direct jumps that are not in the buffer and for indirect jumps.
    pub straddled_after_jump: u32,
    /// Entries of the branch-target buffer, replaced first in, first out.
    pub target_buffer_entries: u32,
    /// Cycles of `jalr`.
    pub indirect_jump: u32,
    /// Cycles of `mul`.
    pub mul: u32,
    /// Cycles of `mulh`, `mulhsu` and `mulhu`.
    pub mulh: u32,
    /// Cycles of `div`, `divu`, `rem` and `remu`.
    pub div: u32,
    /// Cycles of a CSR access.
    pub csr: u32,
    /// Cycles of `lr.w`, `sc.w` and the `amo` instructions.
    pub amo: u32,
    /// Cycles of `fence` and `fence.i`.
    pub fence: u32,
    /// Extra cycles for each load or store in memory that is not naturally aligned.
    pub misaligned: u32,
    /// Extra cycles for a load outside of memory.
    pub mmio_load: u32,
    /// Extra cycles for a store outside of memory.
    pub mmio_store: u32,
    /// Cycles from the last instruction before an exception to the first of its handler.
    pub exception_entry: u32,
    /// Cycles from the last instruction before an interrupt to the first at its vector.
    pub interrupt_entry: u32,
    /// Cycles of `mret`.
    pub mret: u32,
}

impl Timing {
    /// One cycle for each instruction, no hazards, traps for free.
    pub const fn ideal() -> Self {
        Self {
            load_use: 0,
            mispredicted: 1,
            jump_hit: 1,
            jump_miss: 1,
            jump_to_jump: 0,
            straddled_after_branch: 0,
            straddled_after_jump: 0,
            target_buffer_entries: 1,
            indirect_jump: 1,
            mul: 1,
            mulh: 1,
            div: 1,
            csr: 1,
            amo: 1,
            fence: 1,
            misaligned: 0,
            mmio_load: 0,
            mmio_store: 0,
            exception_entry: 0,
            interrupt_entry: 0,
            mret: 1,
        }
    }

    /// The entry called `name` in a timing table's CPU section, to be read or set; `None` if there
    /// is no such entry.
    pub fn entry(&mut self, name: &str) -> Option<&mut u32> {
        Some(match name {
            "load_use" => &mut self.load_use,
            "mispredicted" => &mut self.mispredicted,
            "jump_hit" => &mut self.jump_hit,
            "jump_miss" => &mut self.jump_miss,
            "jump_to_jump" => &mut self.jump_to_jump,
            "straddled_after_branch" => &mut self.straddled_after_branch,
            "straddled_after_jump" => &mut self.straddled_after_jump,
            "target_buffer_entries" => &mut self.target_buffer_entries,
            "indirect_jump" => &mut self.indirect_jump,
            "mul" => &mut self.mul,
            "mulh" => &mut self.mulh,
            "div" => &mut self.div,
            "csr" => &mut self.csr,
            "amo" => &mut self.amo,
            "fence" => &mut self.fence,
            "misaligned" => &mut self.misaligned,
            "mmio_load" => &mut self.mmio_load,
            "mmio_store" => &mut self.mmio_store,
            "exception_entry" => &mut self.exception_entry,
            "interrupt_entry" => &mut self.interrupt_entry,
            "mret" => &mut self.mret,
            _ => return None,
        })
    }

    /// The names that [`Self::entry`] accepts, in the order of the fields.
    pub const NAMES: [&'static str; 21] = [
        "load_use",
        "mispredicted",
        "jump_hit",
        "jump_miss",
        "jump_to_jump",
        "straddled_after_branch",
        "straddled_after_jump",
        "target_buffer_entries",
        "indirect_jump",
        "mul",
        "mulh",
        "div",
        "csr",
        "amo",
        "fence",
        "misaligned",
        "mmio_load",
        "mmio_store",
        "exception_entry",
        "interrupt_entry",
        "mret",
    ];
}
