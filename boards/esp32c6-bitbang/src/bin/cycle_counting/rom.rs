//! Cost of functions in the chip's ROM, called at their addresses in the linker scripts of esp-rom-sys 0.1.5,
//! `ld/esp32c6`.

use core::hint::black_box;

/// `additional.ld`.
const MEMCPY: usize = 0x4000_04ac;
/// `rom/esp32c6.rom.ld`.
const CRC32_LE: usize = 0x4000_0758;
/// `rom/esp32c6.rom.rvfp.ld`, as the next.
const UDIVDI3: usize = 0x4000_09cc;
const ADDSF3: usize = 0x4000_09f8;

/// Cycles of a call with these arguments, from reading the counter before the call to reading it after the
/// return.
///
/// # Safety
/// At `function` there is a function with the C calling convention that may be called with these arguments.
#[esp_hal::ram]
unsafe fn call(function: usize, arguments: [usize; 4]) -> i64 {
    let [a, b, c, d] = arguments;
    let cycles: u32;
    // SAFETY: the function may be called so; the other changed registers are declared.
    unsafe {
        core::arch::asm!(
            ".option push",
            ".option norvc",
            ".balign 4",
            "csrr s2, 0x7e2",
            "jalr ra, 0({function})",
            "csrr s3, 0x7e2",
            "sub a0, s3, s2",
            ".option pop",
            function = in(reg) function,
            inout("a0") a => cycles,
            inout("a1") b => _,
            inout("a2") c => _,
            inout("a3") d => _,
            out("s2") _,
            out("s3") _,
            clobber_abi("C"),
        );
    }
    i64::from(cycles)
}

/// Cycles of functions of the ROM.
pub struct Rom {
    /// `memcpy` of nothing.
    pub nothing: i64,
    /// `memcpy`, a thousand bytes more.
    pub copy_1000: i64,
    /// `__udivdi3`.
    pub divide: i64,
    /// `__addsf3`.
    pub add: i64,
    /// `crc32_le`, a thousand bytes more.
    pub checksum_1000: i64,
}

/// Measures them.
pub fn count() -> Rom {
    const FEW: usize = 400;
    let mut bytes = [0u8; FEW + 1000];
    let from = black_box(&mut bytes).as_mut_ptr() as usize;
    // SAFETY: `len` is at most the length of `bytes` in both; `memcpy` onto itself changes nothing.
    let copy = |len| unsafe { call(MEMCPY, [from, from, len, 0]) };
    // SAFETY: see above.
    let checksum = |len| unsafe { call(CRC32_LE, [0, from, len, 0]) };
    // SAFETY: these take numbers only, two words and one word each.
    let [divide, add] = unsafe {
        [
            // 2^62 by 2^32 + 1: both in two words.
            call(UDIVDI3, [0, 1 << 30, 1, 1]),
            call(
                ADDSF3,
                [1.5f32.to_bits() as usize, 2.25f32.to_bits() as usize, 0, 0],
            ),
        ]
    };
    Rom {
        nothing: copy(0),
        copy_1000: copy(FEW + 1000) - copy(FEW),
        divide,
        add,
        checksum_1000: checksum(FEW + 1000) - checksum(FEW),
    }
}
