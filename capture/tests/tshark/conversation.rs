//! Captures of TCP connections that randomly lose, repeat, reorder, probe, close and reopen.

/// A capture of `connections` with `packets` in each.
pub fn capture(seed: u64, connections: u16, packets: usize) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xA1B2_3C4D_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend(word.to_le_bytes());
    }
    for port in 0..connections {
        Conversation::new(seed * 1000 + u64::from(port), 1024 + port).write(packets, &mut file);
    }
    file
}

struct Conversation {
    dice: u64,
    port: u16,
    now_ns: u64,
    ends: [End; 2],
}

#[derive(Clone, Copy, Default)]
struct End {
    /// After the highest octet sent, and after the highest that the other end acknowledged.
    high: u32,
    acked: u32,
    window: u16,
    shift: Option<u8>,
}

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const PSH: u8 = 8;
const ACK: u8 = 16;

impl Conversation {
    fn new(seed: u64, port: u16) -> Self {
        let mut own = Self {
            dice: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            port,
            now_ns: 1_700_000_000_000_000_000,
            ends: [End::default(); 2],
        };
        for _ in 0..8 {
            own.roll(2);
        }
        own.reset_sequence();
        own
    }

    /// Sequence numbers that wrap in some connections.
    fn reset_sequence(&mut self) {
        for end in 0..2 {
            let high = [1_000, 0xFFFF_F000, 5_000_000][self.roll(3)] + self.roll(1000) as u32;
            let shift = [None, Some(0), Some(3)][self.roll(3)];
            self.ends[end] = End {
                high,
                acked: high,
                window: 10_000,
                shift,
            };
        }
    }

    /// 0 to `sides` - 1.
    fn roll(&mut self, sides: usize) -> usize {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        (self.dice >> 33) as usize % sides
    }

    fn write(&mut self, packets: usize, file: &mut Vec<u8>) {
        if self.roll(4) > 0 {
            self.open(file);
        }
        for _ in 0..packets {
            self.advance_time();
            let end = usize::from(self.roll(3) == 0);
            match self.roll(60) {
                0..20 => self.data(end, file),
                20..24 => self.retransmit(end, file),
                24..27 => self.skip_segment(end, file),
                27..45 => self.acknowledge(end, file),
                45..51 => self.repeat_ack(end, file),
                51 => self.send_keep_alive(end, file),
                52..54 => self.update_window(end, file),
                54..56 => self.probe_window(end, file),
                56 => self.ack_unseen(end, file),
                57 => self.close(end, file),
                58 if self.roll(8) == 0 => {
                    let End { high, .. } = self.ends[end];
                    let flags = if self.roll(2) == 0 { RST } else { RST | ACK };
                    self.packet(end, high, flags, 0, file);
                }
                59 if self.roll(8) == 0 => {
                    self.reset_sequence();
                    self.open(file);
                }
                _ => self.acknowledge(1 - end, file),
            }
        }
    }

    fn advance_time(&mut self) {
        let most_ns = [50_000, 2_000_000, 15_000_000, 300_000_000][self.roll(4)];
        self.now_ns += 1 + self.roll(most_ns) as u64;
    }

    fn open(&mut self, file: &mut Vec<u8>) {
        for end in [0, 1] {
            let flags = if end == 0 { SYN } else { SYN | ACK };
            for _ in 0..=usize::from(self.roll(5) == 0) {
                let seq = self.ends[end].high;
                self.packet(end, seq, flags, 0, file);
                self.advance_time();
            }
            self.ends[end].high = self.ends[end].high.wrapping_add(1);
            self.ends[end].acked = self.ends[end].high;
        }
        self.acknowledge(0, file);
    }

    fn data(&mut self, end: usize, file: &mut Vec<u8>) {
        let mut len = [1, 100, 1000, 1460][self.roll(4)];
        let to = &self.ends[1 - end];
        let left = to
            .acked_edge(self.ends[end].acked)
            .wrapping_sub(self.ends[end].high);
        // Sometimes up to the right edge of the window.
        if left > 0 && left < 1460 {
            len = left;
        }
        let seq = self.ends[end].high;
        self.ends[end].high = seq.wrapping_add(len);
        self.packet(
            end,
            seq,
            ACK | if len < 1000 { PSH } else { 0 },
            len as u16,
            file,
        );
    }

    fn retransmit(&mut self, end: usize, file: &mut Vec<u8>) {
        let End { high, acked, .. } = self.ends[end];
        let out = high.wrapping_sub(acked);
        let seq = match self.roll(4) {
            0 => acked.wrapping_sub(1460),
            1 if out > 0 => acked.wrapping_add(self.roll(out as usize) as u32),
            _ => acked,
        };
        let len = [1, 500, 1460, 3000][self.roll(4)].min(high.wrapping_sub(seq));
        if len > 0 && len < 10_000 {
            self.packet(end, seq, ACK, len as u16, file);
        }
    }

    /// Skips a segment, which may follow a little later.
    fn skip_segment(&mut self, end: usize, file: &mut Vec<u8>) {
        let seq = self.ends[end].high;
        self.ends[end].high = seq.wrapping_add(1000);
        self.data(end, file);
        if self.roll(2) == 0 {
            self.now_ns += [10_000, 2_500_000, 9_000_000][self.roll(3)];
            self.packet(end, seq, ACK, 1000, file);
        }
    }

    fn acknowledge(&mut self, end: usize, file: &mut Vec<u8>) {
        let End { high, acked, .. } = self.ends[1 - end];
        let out = high.wrapping_sub(acked);
        self.ends[1 - end].acked = match self.roll(3) {
            0 if out > 1 => acked.wrapping_add(self.roll(out as usize) as u32),
            _ => high,
        };
        let seq = self.ends[end].high;
        self.packet(end, seq, ACK, 0, file);
    }

    fn repeat_ack(&mut self, end: usize, file: &mut Vec<u8>) {
        let seq = self.ends[end].high;
        for _ in 0..=self.roll(4) {
            self.now_ns += self.roll(3_000_000) as u64;
            self.packet(end, seq, ACK, 0, file);
        }
    }

    fn send_keep_alive(&mut self, end: usize, file: &mut Vec<u8>) {
        let seq = self.ends[end].high.wrapping_sub(1);
        let len = self.roll(2) as u16;
        self.packet(end, seq, ACK, len, file);
        self.advance_time();
        let back = self.ends[1 - end].high;
        self.packet(1 - end, back, ACK, 0, file);
    }

    fn update_window(&mut self, end: usize, file: &mut Vec<u8>) {
        self.ends[end].window = [0, 500, 3000, 10_000, 65_535][self.roll(5)];
        let seq = self.ends[end].high;
        self.packet(end, seq, ACK, 0, file);
    }

    /// One octet into a window that may be closed, and the answer.
    fn probe_window(&mut self, end: usize, file: &mut Vec<u8>) {
        let seq = self.ends[end].high;
        self.packet(end, seq, ACK, 1, file);
        self.advance_time();
        let taken = self.roll(2) as u32;
        self.ends[end].high = seq.wrapping_add(taken);
        self.ends[end].acked = self.ends[end].high;
        let back = self.ends[1 - end].high;
        self.packet(1 - end, back, ACK, 0, file);
    }

    fn ack_unseen(&mut self, end: usize, file: &mut Vec<u8>) {
        let other = &mut self.ends[1 - end];
        other.high = other.high.wrapping_add(1460);
        other.acked = other.high;
        let seq = self.ends[end].high;
        self.packet(end, seq, ACK, 0, file);
    }

    fn close(&mut self, end: usize, file: &mut Vec<u8>) {
        let seq = self.ends[end].high;
        let len = [0, 100][self.roll(2)];
        self.ends[end].high = seq.wrapping_add(len + 1);
        self.packet(end, seq, FIN | ACK, len as u16, file);
    }

    fn packet(&mut self, end: usize, seq: u32, flags: u8, len: u16, file: &mut Vec<u8>) {
        let own = self.ends[end];
        let options = match (flags & SYN, own.shift) {
            (SYN, Some(shift)) => vec![2, 4, 5, 0xB4, 3, 3, shift, 1],
            (SYN, None) => vec![2, 4, 5, 0xB4],
            _ => vec![],
        };
        let header = 40 + options.len() as u16;
        let mut octets = vec![0x45, 0];
        octets.extend((header + len).to_be_bytes());
        octets.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
        let addresses = [[192, 0, 2, 1], [192, 0, 2, 2]];
        octets.extend([addresses[end], addresses[1 - end]].concat());
        let ports = [self.port, 5001];
        octets.extend(ports[end].to_be_bytes());
        octets.extend(ports[1 - end].to_be_bytes());
        octets.extend(seq.to_be_bytes());
        let ack = if flags & ACK == 0 {
            0
        } else {
            self.ends[1 - end].acked
        };
        octets.extend(ack.to_be_bytes());
        octets.extend([(((header - 20) / 4) << 4) as u8, flags]);
        octets.extend(own.window.to_be_bytes());
        octets.extend([0; 4]);
        octets.extend(options);
        let captured = octets.len() as u32;
        for word in [
            (self.now_ns / 1_000_000_000) as u32,
            (self.now_ns % 1_000_000_000) as u32,
            captured,
            captured + u32::from(len),
        ] {
            file.extend(word.to_le_bytes());
        }
        file.extend(octets);
    }
}

impl End {
    /// Right edge of the window granted with `acked`.
    fn acked_edge(&self, acked: u32) -> u32 {
        acked.wrapping_add(u32::from(self.window) << self.shift.unwrap_or(0))
    }
}
