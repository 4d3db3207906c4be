//! ROM functions on memory: copying, comparing, strings, checksums.

use crate::mem::Memory;

/// The result in `a0`, and the number of bytes processed; `None` for a bad pointer.
type MemResult = Option<(u32, u32)>;

fn string(memory: &Memory, addr: u32) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        match memory.read_u8(addr.wrapping_add(bytes.len() as u32))? {
            0 => return Some(bytes),
            byte => bytes.push(byte),
        }
    }
}

fn copy(memory: &mut Memory, to: u32, from: u32, len: u32) -> MemResult {
    let bytes = memory.slice(from, len as usize)?.to_vec();
    memory.write(to, &bytes).ok()?;
    Some((to, len))
}

/// The difference of the first bytes that differ, as `memcmp` and `strcmp` give it.
fn compare(a: &[u8], b: &[u8]) -> (u32, u32) {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let at = |bytes: &[u8]| i32::from(bytes.get(same).copied().unwrap_or(0));
    ((at(a) - at(b)) as u32, same as u32 + 1)
}

fn fill(memory: &mut Memory, to: u32, byte: u8, len: u32) -> MemResult {
    memory.slice(to, len as usize)?;
    memory.write(to, &vec![byte; len as usize]).ok()?;
    Some((to, len))
}

fn compare_memory(memory: &Memory, a: u32, b: u32, len: u32) -> MemResult {
    Some(compare(
        memory.slice(a, len as usize)?,
        memory.slice(b, len as usize)?,
    ))
}

fn compare_strings(memory: &Memory, a: u32, b: u32, max_len: u32) -> MemResult {
    let (mut a, mut b) = (string(memory, a)?, string(memory, b)?);
    a.truncate(max_len as usize);
    b.truncate(max_len as usize);
    Some(compare(&a, &b))
}

/// The C library's memory and string functions; the outer `None`: not one of them.
pub(super) fn call(name: &str, args: [u32; 8], memory: &mut Memory) -> Option<MemResult> {
    let [a, b, c, ..] = args;
    Some(match name {
        // Rust passes dangling pointers to no octets.
        "memcpy" | "memmove" | "memset" if c == 0 => Some((a, 0)),
        "memcmp" | "__gcc_bcmp" if c == 0 => Some((0, 0)),
        "memcpy" | "memmove" => copy(memory, a, b, c),
        "memset" => fill(memory, a, b as u8, c),
        "memcmp" | "__gcc_bcmp" => compare_memory(memory, a, b, c),
        "strcmp" => compare_strings(memory, a, b, u32::MAX),
        "strncmp" => compare_strings(memory, a, b, c),
        "strcpy" => {
            string(memory, b).and_then(|string| copy(memory, a, b, string.len() as u32 + 1))
        }
        _ => return None,
    })
}

/// Reflected CRC of `width` bits, as the ROM's `crcN_le` compute it: complemented before and after.
fn crc_le(crc: u32, bytes: &[u8], polynomial: u32, width: u32) -> u32 {
    let mask = u32::MAX >> (32 - width);
    let mut crc = !crc & mask;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 != 0 { polynomial } else { 0 };
        }
    }
    !crc & mask
}

/// The same, most significant bit first: `crcN_be`.
fn crc_be(crc: u32, bytes: &[u8], polynomial: u32, width: u32) -> u32 {
    let mask = u32::MAX >> (32 - width);
    let mut crc = !crc & mask;
    for &byte in bytes {
        crc ^= u32::from(byte) << (width - 8);
        for _ in 0..8 {
            let top = crc >> (width - 1) & 1 != 0;
            crc = (crc << 1 ^ if top { polynomial } else { 0 }) & mask;
        }
    }
    !crc & mask
}

/// The ROM's checksums; the outer `None`: not one of them.
pub(super) fn checksum(name: &str, args: [u32; 8], memory: &Memory) -> Option<MemResult> {
    let [crc, buffer, len, ..] = args;
    let compute: fn(u32, &[u8]) -> u32 = match name {
        "crc32_le" => |crc, bytes| crc_le(crc, bytes, 0xedb8_8320, 32),
        "crc16_le" => |crc, bytes| crc_le(crc, bytes, 0x8408, 16),
        "crc8_le" => |crc, bytes| crc_le(crc, bytes, 0xe0, 8),
        "crc32_be" => |crc, bytes| crc_be(crc, bytes, 0x04c1_1db7, 32),
        "crc16_be" => |crc, bytes| crc_be(crc, bytes, 0x1021, 16),
        "crc8_be" => |crc, bytes| crc_be(crc, bytes, 0x07, 8),
        "esp_crc8" => {
            // CRC-8/MAXIM of (buffer, length), without complements.
            let bytes = memory.slice(crc, buffer as usize);
            return Some(bytes.map(|bytes| (!crc_le(0xff, bytes, 0x8c, 8) & 0xff, buffer)));
        }
        _ => return None,
    };
    Some(
        memory
            .slice(buffer, len as usize)
            .map(|bytes| (compute(crc, bytes), len)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mem::{CacheConfig, RegionConfig};

    const TEXT: &[u8] = b"123456789";

    fn memory() -> Memory {
        let mut memory = Memory::new(&[RegionConfig::ram(0x100, 0x100)], CacheConfig::default());
        memory.write(0x110, TEXT).unwrap();
        memory
    }

    fn args(a: u32, b: u32, c: u32) -> [u32; 8] {
        [a, b, c, 0, 0, 0, 0, 0]
    }

    /// Check values of the catalogue of parametrised CRC algorithms (CRC-32/ISO-HDLC,
    /// CRC-16/IBM-SDLC, CRC-32/BZIP2, CRC-16/GENIBUS, CRC-8/MAXIM-DOW).
    #[test]
    fn checksums_have_their_published_check_values() {
        let memory = memory();
        let sum = |name| {
            checksum(name, args(0, 0x110, 9), &memory)
                .unwrap()
                .unwrap()
                .0
        };
        assert_eq!(sum("crc32_le"), 0xcbf4_3926);
        assert_eq!(sum("crc16_le"), 0x906e);
        assert_eq!(sum("crc32_be"), 0xfc89_1918);
        assert_eq!(sum("crc16_be"), 0xd64e);
        let esp = checksum("esp_crc8", args(0x110, 9, 0), &memory)
            .unwrap()
            .unwrap();
        assert_eq!(esp.0, 0xa1);
    }

    #[test]
    fn pointers_to_no_octets_may_be_dangling() {
        let mut memory = memory();
        for name in ["memcpy", "memmove", "memset", "memcmp"] {
            let result = call(name, args(0, 1, 0), &mut memory);
            assert_eq!(result, Some(Some((0, 0))), "{name}");
        }
    }

    #[test]
    fn copies_and_comparisons() {
        let mut memory = memory();
        assert_eq!(
            call("memmove", args(0x112, 0x110, 9), &mut memory),
            Some(Some((0x112, 9)))
        );
        assert_eq!(memory.slice(0x110, 11), Some(&b"12123456789"[..]));
        assert_eq!(
            call("memcmp", args(0x110, 0x112, 3), &mut memory),
            Some(Some((-2i32 as u32, 3)))
        );
        assert_eq!(
            call("memcpy", args(0x1ff, 0x110, 9), &mut memory),
            Some(None)
        );
        assert_eq!(
            call("memset", args(0x110, 7, u32::MAX), &mut memory),
            Some(None)
        );
        assert_eq!(call("no_such", args(0, 0, 0), &mut memory), None);
    }
}
