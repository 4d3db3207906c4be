//! The part of QEMU's plugin interface that is used (QEMU's document "QEMU TCG Plugins"; the names are
//! QEMU's).

use std::ffi::{c_int, c_uint, c_void};

/// Identifier of the plugin.
pub type PluginId = u64;
/// Description of a memory access.
pub type MemoryInfo = u32;

/// A block of translated code.
#[repr(C)]
pub struct Block([u8; 0]);
/// One of its instructions.
#[repr(C)]
pub struct Instruction([u8; 0]);
/// Physical address of an access.
#[repr(C)]
pub struct HwAddr([u8; 0]);

/// `QEMU_PLUGIN_CB_NO_REGS`.
pub const NO_REGISTERS: c_int = 0;
/// `QEMU_PLUGIN_MEM_RW`.
pub const READS_AND_WRITES: c_int = 3;
/// `QEMU_PLUGIN_INLINE_ADD_U64`.
pub const ADD_U64: c_int = 0;

/// A callback with the number registered for it.
pub type Callback = extern "C" fn(cpu: c_uint, data: *mut c_void);

unsafe extern "C" {
    pub fn qemu_plugin_register_vcpu_tb_trans_cb(
        plugin: PluginId,
        callback: extern "C" fn(PluginId, *mut Block),
    );
    pub fn qemu_plugin_tb_n_insns(block: *const Block) -> usize;
    pub fn qemu_plugin_tb_get_insn(block: *const Block, index: usize) -> *mut Instruction;
    pub fn qemu_plugin_insn_vaddr(instruction: *const Instruction) -> u64;
    pub fn qemu_plugin_register_vcpu_tb_exec_cb(
        block: *mut Block,
        callback: Callback,
        flags: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_insn_exec_cb(
        instruction: *mut Instruction,
        callback: Callback,
        flags: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_insn_exec_inline(
        instruction: *mut Instruction,
        operation: c_int,
        word: *mut c_void,
        amount: u64,
    );
    pub fn qemu_plugin_register_vcpu_mem_cb(
        instruction: *mut Instruction,
        callback: extern "C" fn(c_uint, MemoryInfo, u64, *mut c_void),
        flags: c_int,
        kinds: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_mem_is_store(info: MemoryInfo) -> bool;
    pub fn qemu_plugin_get_hwaddr(info: MemoryInfo, address: u64) -> *mut HwAddr;
    pub fn qemu_plugin_hwaddr_is_io(place: *const HwAddr) -> bool;
}
