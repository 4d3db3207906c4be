//! The four software interrupts: `CPU_INTR_FROM_CPU_n`.
//!
//! ESP32-C6 Technical Reference Manual, chapter "Interrupt Matrix" (block INTPRI).

use super::Device;
use crate::time::Instant;

const FROM_CPU: u32 = 0x90;

/// Interrupt output `n` is the level of `CPU_INTR_FROM_CPU_n`.
#[derive(Clone, Debug, Default)]
pub struct IntPri {
    from_cpu: u32,
}

impl Device for IntPri {
    fn read(&mut self, offset: u32, _: Instant) -> Option<u32> {
        let n = offset.checked_sub(FROM_CPU)? / 4;
        (n < 4).then(|| self.from_cpu >> n & 1)
    }

    fn write(&mut self, offset: u32, value: u32, _: Instant) -> bool {
        let Some(n @ 0..4) = offset.checked_sub(FROM_CPU).map(|o| o / 4) else {
            return false;
        };
        self.from_cpu = self.from_cpu & !(1 << n) | (value & 1) << n;
        true
    }

    fn interrupts(&self) -> u32 {
        self.from_cpu
    }
}
