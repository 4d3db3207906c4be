//! Any accesses to the registers of the `DesignWare` MAC, any descriptors and frames: its time goes on, and no transfer is
//! empty or longer than a burst. The bench refuses transfers outside the memory, as the board's buses do.
#![no_main]

use linerate_ether::fcs;
use linerate_sim::device::dwmac::{Dwmac, Parameters, SIZE};
use linerate_sim::device::{Device, Line, LineFrame, LinkMode, Partner, Transfer};
use linerate_sim::time::{Instant, Span};

/// Memory from address 0, with lists of descriptors at the start of either half.
const MEMORY: usize = 0x2000;
/// Longest burst.
const BURST: u32 = 256;
/// Steps that any input may take, so that a loop without end is found.
const STEPS: u32 = 200_000;

struct Bench {
    mac: Dwmac,
    memory: Vec<u8>,
    steps: u32,
}

impl Bench {
    fn run(&mut self, until: Instant) {
        loop {
            let transfer = self.mac.transfer(0);
            let at = transfer.map_or(Instant::NEVER, |it| it.from);
            let at = at.min(self.mac.next_event());
            if at > until {
                return;
            }
            self.steps += 1;
            assert!(self.steps < STEPS, "no progress");
            self.mac.advance(at);
            if let Some(transfer) = self.mac.transfer(0).filter(|it| it.from <= at) {
                self.perform(&transfer);
            }
        }
    }

    fn perform(&mut self, transfer: &Transfer) {
        assert!((1..=BURST).contains(&transfer.bytes), "{transfer:?}");
        let start = transfer.addr as usize;
        let mut read = Vec::new();
        if let Some(place) = self.memory.get_mut(start..start + transfer.bytes as usize) {
            match &transfer.data {
                Some(data) => place.copy_from_slice(data),
                None => read = place.to_vec(),
            }
        }
        let done = transfer.from + Span::from_ns(100);
        self.mac.transferred(0, &read, done);
    }
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((&first, data)) = data.split_first() else {
        return;
    };
    let mut bench = Bench {
        mac: Dwmac::new(Parameters {
            receive_fifo: 512 << (first & 3),
            transmit_fifo: 512 << (first >> 2 & 3),
            dma_first: first & 16 != 0,
            has_checksums: first & 32 == 0,
            ..Parameters::default()
        }),
        memory: vec![0; MEMORY],
        steps: 0,
    };
    let partner = Partner {
        mbit_per_s: 100,
        pause: true,
    };
    bench.mac.connect(Some(partner), Instant::ZERO);
    let mut now = Instant::from_ns(1000);
    let mut line = now;
    for step in data.as_chunks::<7>().0.iter().take(500) {
        let [kind, low, high, value @ ..] = *step;
        let at = u32::from(u16::from_le_bytes([low, high]));
        let value = u32::from_le_bytes(value);
        match kind % 5 {
            0 => {
                bench.mac.write(at % SIZE & !3, value, now);
            }
            1 => {
                bench.mac.read(at % SIZE & !3, now);
            }
            2 => {
                let place = at as usize % (MEMORY - 4);
                bench.memory[place..place + 4].copy_from_slice(&value.to_le_bytes());
            }
            3 => {
                let mut octets = vec![value as u8; 14 + at as usize % 2200];
                octets[..6].fill(0xff);
                octets[12..14].copy_from_slice(&value.to_be_bytes()[..2]);
                octets.extend(fcs::crc32(&octets).to_le_bytes());
                let mode = LinkMode { mbit_per_s: 100 };
                let frame = LineFrame::new(octets, line.max(now), mode);
                line = frame.next_start();
                bench.mac.receive_frame(frame);
            }
            _ => now += Span::from_us(u64::from(at % 300)),
        }
        bench.run(now);
        assert!(bench.mac.next_event() > now);
        while bench.mac.take_frame().is_some() {}
    }
});
