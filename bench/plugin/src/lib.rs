//! A plugin of QEMU that counts, by address, how often each instruction is executed and how often it reads
//! or writes a register of a device, into a file that the bench reads while the machine runs.
//!
//! ```text
//! qemu-system-... -plugin FILE,map=COUNTS,base=ADDRESS,octets=LENGTH
//! ```
//!
//! `COUNTS` is a file of 64-bit words in host byte order: six tables of `LENGTH / 2 + 1` words, one for each
//! half word of the code from `ADDRESS` on, the last for all other code:
//!
//! 0. executions,
//! 1. reads of a device,
//! 2. writes to a device,
//! 3. library instructions executed on its behalf,
//! 4. separately, those that copied on its behalf,
//! 5. written by the bench: 1 for library code, 2 for code that copies (`memcpy`), else 0.
//!
//! One processor is counted. `bench/src/profile` is the other side.

#![cfg(target_os = "linux")]

mod api;
mod tables;

use api::{Block, Callback, Instruction, MemoryInfo, PluginId};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use tables::{CodeKind, Table, Tables};

/// The version of the interface (QEMU 4.2 to 8.2).
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = 1;

static TABLES: OnceLock<Tables> = OnceLock::new();
/// Slot of the last instruction of the last block executed outside of libraries: the caller of library code.
static CALLER: AtomicUsize = AtomicUsize::new(0);

/// Called by QEMU after loading the plugin. A nonzero result ends QEMU.
///
/// # Safety
/// `arguments` are `count` strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    plugin: PluginId,
    _: *const c_void,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    let arguments = (0..count.max(0) as usize).filter_map(|index| {
        // SAFETY: as the caller promises.
        let argument = unsafe { CStr::from_ptr(*arguments.add(index)) };
        argument.to_str().ok()
    });
    match Tables::open(arguments) {
        Ok(tables) => {
            TABLES.get_or_init(|| tables);
            // SAFETY: a function of QEMU, with its identifier of this plugin.
            unsafe { api::qemu_plugin_register_vcpu_tb_trans_cb(plugin, block_translated) };
            0
        }
        Err(what) => {
            eprintln!("linerate's plugin: {what}");
            1
        }
    }
}

/// Called by QEMU after translating a block: registers the counting of its instructions.
extern "C" fn block_translated(_: PluginId, block: *mut Block) {
    let Some(tables) = TABLES.get() else { return };
    // SAFETY: here and below: a block that QEMU passes for this call, and its instructions.
    let count = unsafe { api::qemu_plugin_tb_n_insns(block) };
    let (mut kind, mut slot) = (CodeKind::Own, 0);
    for index in 0..count {
        // SAFETY: the index is below the count.
        let instruction = unsafe { api::qemu_plugin_tb_get_insn(block, index) };
        // SAFETY: as above.
        slot = tables.slot(unsafe { api::qemu_plugin_insn_vaddr(instruction) });
        kind = tables.kind(slot);
        count_one(tables, instruction, slot, kind);
    }
    if count > 0 && kind == CodeKind::Own {
        let slot = std::ptr::without_provenance_mut(slot);
        // SAFETY: as above; the slot is a number.
        unsafe {
            api::qemu_plugin_register_vcpu_tb_exec_cb(
                block,
                block_executed,
                api::NO_REGISTERS,
                slot,
            );
        };
    }
}

fn count_one(tables: &Tables, instruction: *mut Instruction, slot: usize, kind: CodeKind) {
    let executed = tables.word(Table::Executed, slot).as_ptr().cast();
    let for_caller = match kind {
        CodeKind::Own => None,
        CodeKind::Library => Some(library_executed as Callback),
        CodeKind::Copies => Some(copy_executed as Callback),
    };
    let slot = std::ptr::without_provenance_mut(slot);
    // SAFETY: an instruction passed by QEMU, a word that stays mapped, and a number.
    unsafe {
        api::qemu_plugin_register_vcpu_insn_exec_inline(instruction, api::ADD_U64, executed, 1);
        api::qemu_plugin_register_vcpu_mem_cb(
            instruction,
            memory_accessed,
            api::NO_REGISTERS,
            api::READS_AND_WRITES,
            slot,
        );
        if let Some(callback) = for_caller {
            let flags = api::NO_REGISTERS;
            api::qemu_plugin_register_vcpu_insn_exec_cb(instruction, callback, flags, slot);
        }
    }
}

/// A block of code outside of libraries is executed.
extern "C" fn block_executed(_: c_uint, slot: *mut c_void) {
    CALLER.store(slot.addr(), Ordering::Relaxed);
}

/// A library instruction is executed.
extern "C" fn library_executed(_: c_uint, _: *mut c_void) {
    count_for_caller(Table::Library);
}

/// A copying instruction is executed.
extern "C" fn copy_executed(_: c_uint, _: *mut c_void) {
    count_for_caller(Table::Copied);
}

fn count_for_caller(table: Table) {
    if let Some(tables) = TABLES.get() {
        tables.add(table, CALLER.load(Ordering::Relaxed));
    }
}

/// An instruction reads or writes memory, or a device.
extern "C" fn memory_accessed(_: c_uint, info: MemoryInfo, address: u64, slot: *mut c_void) {
    // SAFETY: within the callback for this access.
    let is_device = unsafe {
        let place = api::qemu_plugin_get_hwaddr(info, address);
        !place.is_null() && api::qemu_plugin_hwaddr_is_io(place)
    };
    if !is_device {
        return;
    }
    // SAFETY: a description created by QEMU.
    let is_write = unsafe { api::qemu_plugin_mem_is_store(info) };
    let table = if is_write {
        Table::Writes
    } else {
        Table::Reads
    };
    if let Some(tables) = TABLES.get() {
        tables.add(table, slot.addr());
    }
}
