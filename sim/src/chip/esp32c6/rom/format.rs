//! The ROM's `ets_printf`.

use crate::mem::Memory;

/// Maximum length of a string argument.
const MAX_LENGTH: u32 = 4096;

/// The variable arguments of the integer calling convention: `a1` to `a7`, then the stack.
struct Arguments<'a> {
    registers: [u32; 8],
    stack: u32,
    next: u32,
    memory: &'a Memory,
}

impl Arguments<'_> {
    fn word(&mut self) -> Option<u32> {
        let i = self.next;
        self.next += 1;
        match self.registers.get(i as usize) {
            Some(&word) => Some(word),
            None => self.memory.read_u32(self.stack.wrapping_add(4 * (i - 8))),
        }
    }

    fn double_word(&mut self) -> Option<u64> {
        // Aligned to an even register.
        self.next += self.next & 1;
        let low = self.word()?;
        Some(u64::from(self.word()?) << 32 | u64::from(low))
    }
}

fn string(memory: &Memory, addr: u32) -> Option<Vec<u8>> {
    let bytes = (0..MAX_LENGTH).map_while(|i| match memory.read_u8(addr.wrapping_add(i)) {
        Some(0) => None,
        byte => Some(byte),
    });
    bytes.collect()
}

/// Output of `ets_printf` for these registers; `None` if a pointer is bad.
pub(super) fn printf(registers: [u32; 8], stack: u32, memory: &Memory) -> Option<Vec<u8>> {
    let mut args = Arguments {
        registers,
        stack,
        next: 1,
        memory,
    };
    let format = string(memory, registers[0])?;
    let mut rest = format.iter().copied().peekable();
    let mut text = Vec::new();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            text.push(byte);
            continue;
        }
        let (mut left, mut zero, mut width, mut long) = (false, false, 0usize, 0);
        let conversion = loop {
            match rest.next() {
                Some(b'-') => left = true,
                Some(b'0') if width == 0 => zero = true,
                Some(digit @ b'0'..=b'9') => {
                    width = (width * 10 + usize::from(digit - b'0')).min(MAX_LENGTH as usize);
                }
                Some(b'l') => long += 1,
                Some(b'#' | b'+' | b' ' | b'h' | b'z' | b'.') => {}
                other => break other,
            }
        };
        let unsigned = |args: &mut Arguments<'_>| {
            if long > 1 {
                args.double_word()
            } else {
                args.word().map(u64::from)
            }
        };
        let field = match conversion {
            Some(b'd' | b'i') => {
                let value = unsigned(&mut args)?;
                let value = if long > 1 {
                    value as i64
                } else {
                    i64::from(value as u32 as i32)
                };
                value.to_string().into_bytes()
            }
            Some(b'u') => unsigned(&mut args)?.to_string().into_bytes(),
            Some(b'x') => format!("{:x}", unsigned(&mut args)?).into_bytes(),
            Some(b'X') => format!("{:X}", unsigned(&mut args)?).into_bytes(),
            Some(b'p') => format!("{:#x}", args.word()?).into_bytes(),
            Some(b'c') => vec![args.word()? as u8],
            Some(b's') => string(memory, args.word()?)?,
            Some(other) => vec![other],
            None => break,
        };
        let padding = width.saturating_sub(field.len());
        let pad = if zero && !left { b'0' } else { b' ' };
        if left {
            text.extend(&field);
        }
        text.extend(std::iter::repeat_n(pad, padding));
        if !left {
            text.extend(&field);
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mem::{CacheConfig, RegionConfig};

    #[test]
    fn arguments_come_from_registers_then_from_the_stack() {
        let mut memory = Memory::new(&[RegionConfig::ram(0x1000, 0x1000)], CacheConfig::default());
        memory
            .write(0x1100, b"%d %5u|%-4x|%08X %s %c %lld%%\n\0")
            .unwrap();
        memory.write(0x1200, b"str\0").unwrap();
        memory.write(0x1300, &(-5i64).to_le_bytes()).unwrap();
        let registers = [
            0x1100,
            -1i32 as u32,
            42,
            0xab,
            0xbeef,
            0x1200,
            u32::from(b'z'),
            0,
        ];
        let text = printf(registers, 0x1300, &memory).unwrap();
        assert_eq!(text, b"-1    42|ab  |0000BEEF str z -5%\n");
        assert_eq!(printf([0x3000, 0, 0, 0, 0, 0, 0, 0], 0, &memory), None);
    }
}
