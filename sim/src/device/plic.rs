//! The CPU's interrupt controller in machine mode (`PLIC_MX`): enable, trigger type, priority and
//! threshold of 32 lines.
//!
//! ESP32-C6 Technical Reference Manual, chapter "High-Performance CPU", section "Interrupt
//! Controller".

use super::Device;
use crate::time::Instant;

const ENABLE: u32 = 0x00;
const TYPE: u32 = 0x04;
const CLEAR: u32 = 0x08;
const EMIP_STATUS: u32 = 0x0c;
const PRIORITY: u32 = 0x10;
const THRESHOLD: u32 = 0x90;

/// Input: line levels; output: the line to take.
#[derive(Clone, Debug, Default)]
pub struct Plic {
    enable: u32,
    /// 1: the line is edge-triggered.
    edge: u32,
    clear: u32,
    priority: [u8; 32],
    threshold: u8,
    levels: u32,
    /// Rising edges of edge-triggered lines that were not cleared yet.
    latched: u32,
}

impl Plic {
    /// Sets the levels of all lines.
    pub fn set_lines(&mut self, levels: u32) {
        self.latched |= levels & !self.levels & self.edge;
        self.levels = levels;
    }

    fn pending_lines(&self) -> u32 {
        self.levels & !self.edge | self.latched & self.edge
    }

    /// The enabled pending line of the highest priority that reaches the threshold, and of those
    /// the lowest number. Line 0 and priority 0 never interrupt.
    pub fn pending(&self) -> Option<u8> {
        let mut best: Option<(u8, u8)> = None;
        let mut left = self.pending_lines() & self.enable & !1;
        while left != 0 {
            let line = left.trailing_zeros() as u8;
            left &= left - 1;
            let priority = self.priority[usize::from(line)];
            if priority > 0
                && priority >= self.threshold
                && best.is_none_or(|(highest, _)| priority > highest)
            {
                best = Some((priority, line));
            }
        }
        best.map(|(_, line)| line)
    }
}

impl Device for Plic {
    fn read(&mut self, offset: u32, _: Instant) -> Option<u32> {
        Some(match offset {
            ENABLE => self.enable,
            TYPE => self.edge,
            CLEAR => self.clear,
            EMIP_STATUS => self.pending_lines(),
            PRIORITY..THRESHOLD => u32::from(self.priority[(offset - PRIORITY) as usize / 4]),
            THRESHOLD => u32::from(self.threshold),
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: Instant) -> bool {
        match offset {
            ENABLE => self.enable = value,
            TYPE => self.edge = value,
            CLEAR => {
                self.clear = value;
                self.latched &= !value;
            }
            EMIP_STATUS => {}
            PRIORITY..THRESHOLD => {
                self.priority[(offset - PRIORITY) as usize / 4] = value as u8 & 15;
            }
            THRESHOLD => self.threshold = value as u8,
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_priorities(lines: &[(u8, u8)]) -> Plic {
        let mut plic = Plic::default();
        for &(line, priority) in lines {
            plic.write(
                PRIORITY + 4 * u32::from(line),
                u32::from(priority),
                Instant::ZERO,
            );
            plic.write(ENABLE, plic.enable | 1 << line, Instant::ZERO);
        }
        plic
    }

    #[test]
    fn the_highest_priority_wins_then_the_lowest_line() {
        let mut plic = with_priorities(&[(3, 1), (9, 5), (7, 5)]);
        plic.set_lines(1 << 3 | 1 << 9 | 1 << 7);
        assert_eq!(plic.pending(), Some(7));
        plic.set_lines(1 << 3);
        assert_eq!(plic.pending(), Some(3));
    }

    #[test]
    fn the_threshold_lets_its_own_priority_pass() {
        let mut plic = with_priorities(&[(3, 4)]);
        plic.set_lines(1 << 3);
        plic.write(THRESHOLD, 4, Instant::ZERO);
        assert_eq!(plic.pending(), Some(3));
        plic.write(THRESHOLD, 5, Instant::ZERO);
        assert_eq!(plic.pending(), None);
    }

    #[test]
    fn an_edge_stays_until_it_is_cleared() {
        let mut plic = with_priorities(&[(3, 4)]);
        plic.write(TYPE, 1 << 3, Instant::ZERO);
        plic.set_lines(1 << 3);
        plic.set_lines(0);
        assert_eq!(plic.pending(), Some(3));
        plic.write(CLEAR, 1 << 3, Instant::ZERO);
        assert_eq!(plic.pending(), None);
    }
}
