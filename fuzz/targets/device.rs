//! Any accesses to the device models of soft SoCs, with any memory, frames and streams around them.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Unstructured};
use linerate_sim::chip::soft_soc::{Model, models};
use linerate_sim::device::{Device, Fragment, LineFrame, Partner};
use linerate_sim::time::{Instant, Span};

/// Memory from address 0; elsewhere is nothing.
const MEMORY: usize = 0x8000;
/// No burst of any model is longer.
const MAX_BURST: u32 = 4096;
/// Events without any progress of time.
const MAX_EVENTS_AT_ONCE: u32 = 10_000;
/// Longest time between two steps: a DMA that finds no descriptor reads it again all the time.
const MAX_PAUSE_NS: u64 = 250_000;
/// Steps of an input.
const MAX_STEPS: usize = 400;

/// A device, and what is around it.
struct Bench {
    model: &'static Model,
    device: Box<dyn Device>,
    memory: Vec<u8>,
    now: Instant,
    /// The line is busy until then, in each direction.
    receiving: Instant,
    sending: Instant,
}

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    let mut input = Unstructured::new(octets);
    // An input that ends early is a short one.
    let _ = run(&mut input);
});

fn run(input: &mut Unstructured) -> arbitrary::Result<()> {
    let model = input.choose_iter(models())?;
    let numbers = model.parameters.iter().map(|parameter| {
        let number = input.int_in_range(parameter.valid.clone())?;
        if parameter.is_power_of_two {
            let highest = 1 << number.ilog2();
            return Ok(highest.max(*parameter.valid.start()));
        }
        Ok(number)
    });
    let numbers = numbers.collect::<arbitrary::Result<Vec<u64>>>()?;
    let mut bench = Bench {
        model,
        device: model.create(&numbers),
        memory: vec![0; MEMORY],
        now: Instant::ZERO,
        receiving: Instant::ZERO,
        sending: Instant::ZERO,
    };
    for _ in 0..MAX_STEPS {
        bench.step(input)?;
        bench.check();
    }
    Ok(())
}

impl Bench {
    fn step(&mut self, input: &mut Unstructured) -> arbitrary::Result<()> {
        match input.int_in_range(0..=9_u8)? {
            0 => drop(self.read(input)?),
            1..=3 => self.write(input)?,
            4 => self.store(input)?,
            5 => self.serve(usize::from(input.arbitrary::<u8>()?)),
            6 => self.pass(Span::from_ns(input.int_in_range(0..=MAX_PAUSE_NS)?)),
            7 => self.arrive(input)?,
            8 => self.connect(input)?,
            _ => self.stream(input)?,
        }
        Ok(())
    }

    fn read(&mut self, input: &mut Unstructured) -> arbitrary::Result<Option<u32>> {
        let (offset, enables) = self.place(input)?;
        Ok(self.device.read_bytes(offset, enables, self.now))
    }

    fn write(&mut self, input: &mut Unstructured) -> arbitrary::Result<()> {
        let (offset, enables) = self.place(input)?;
        let value = value(input)?;
        self.device.write_bytes(offset, value, enables, self.now);
        Ok(())
    }

    /// Offset of a register, and byte enables.
    fn place(&self, input: &mut Unstructured) -> arbitrary::Result<(u32, u8)> {
        let offset = input.int_in_range(0..=self.model.size - 1)? & !3;
        let enables = *input.choose(&[0xf, 0x3, 0xc, 0x1, 0x2, 0x4, 0x8])?;
        Ok((offset, enables))
    }

    /// The program writes a word to the memory, such as one of a descriptor.
    fn store(&mut self, input: &mut Unstructured) -> arbitrary::Result<()> {
        let at = input.int_in_range(0..=MEMORY / 4 - 1)? * 4;
        let word = value(input)?.to_le_bytes();
        self.memory[at..at + 4].copy_from_slice(&word);
        Ok(())
    }

    /// The bus accepts the transfer that a port offers.
    fn serve(&mut self, port: usize) {
        let Some(port) = port.checked_rem(self.model.masters) else {
            return;
        };
        let Some(transfer) = self.device.transfer(port) else {
            return;
        };
        assert!((1..=MAX_BURST).contains(&transfer.bytes), "{transfer:?}");
        let range = transfer.addr as usize..transfer.addr as usize + transfer.bytes as usize;
        let place = self.memory.get_mut(range);
        let read = match (&transfer.data, place) {
            (None, Some(place)) => place.to_vec(),
            (Some(data), place) => {
                assert_eq!(data.len(), transfer.bytes as usize, "{transfer:?}");
                if let Some(place) = place {
                    place.copy_from_slice(data);
                }
                Vec::new()
            }
            (None, None) => Vec::new(),
        };
        self.now = self.now.max(transfer.from);
        let done = self.now + Span::from_ns(100);
        self.device.transferred(port, &read, done);
    }

    /// Time passes; all events of it happen.
    fn pass(&mut self, span: Span) {
        let end = self.now + span;
        let mut at_once = 0;
        while self.device.next_event() <= end {
            let event = self.device.next_event().max(self.now);
            at_once = if event > self.now { 0 } else { at_once + 1 };
            assert!(at_once < MAX_EVENTS_AT_ONCE, "{}", self.model.name);
            self.now = event;
            self.device.advance(self.now);
            // A bus that is never late.
            for port in 0..self.model.masters {
                self.serve(port);
            }
        }
        self.now = end;
        self.device.advance(self.now);
    }

    fn arrive(&mut self, input: &mut Unstructured) -> arbitrary::Result<()> {
        let len = input.int_in_range(0..=2100_usize)?;
        let mut octets: Vec<u8> = input.bytes(len.min(input.len()))?.to_vec();
        octets.resize(len.max(1), 0);
        let start = self.now.max(self.receiving);
        let Some(line) = self.device.line() else {
            return Ok(());
        };
        let Some(mode) = line.mode() else {
            return Ok(());
        };
        let frame = LineFrame::new(octets, start, mode);
        self.receiving = frame.next_start();
        line.receive_frame(frame);
        Ok(())
    }

    fn connect(&mut self, input: &mut Unstructured) -> arbitrary::Result<()> {
        let partner = Partner {
            mbit_per_s: *input.choose(&[10, 100, 1000])?,
            pause: input.arbitrary()?,
        };
        let partner = input.arbitrary::<bool>()?.then_some(partner);
        if let Some(line) = self.device.line() {
            line.connect(partner, self.now);
        }
        Ok(())
    }

    fn stream(&mut self, input: &mut Unstructured) -> arbitrary::Result<()> {
        let room = input.int_in_range(1..=64_usize)?;
        if self.model.streams.output
            && let Some(fragment) = self.device.stream_output(room, self.now)
        {
            assert!(fragment.octets.len() <= room, "{}", self.model.name);
        }
        if self.model.streams.input {
            let room = self.device.stream_room(self.now).min(input.len());
            let len = input.int_in_range(0..=room.min(64))?;
            let end = input.ratio(1_u8, 4)?.then_some(input.arbitrary()?);
            if len > 0 {
                let octets = input.bytes(len.min(input.len()))?.to_vec();
                self.device.stream_input(Fragment { octets, end }, self.now);
            }
        }
        Ok(())
    }

    /// Frames that are sent do not overlap.
    fn check(&mut self) {
        let Some(line) = self.device.line() else {
            return;
        };
        while let Some(frame) = line.take_frame() {
            let begun = frame.start;
            assert!(
                begun >= self.sending,
                "{}: {begun:?} before {:?}",
                self.model.name,
                self.sending
            );
            assert!(frame.end > frame.start, "{}", self.model.name);
            self.sending = frame.end;
        }
        self.device.interrupts();
    }
}

/// A value: any, a small one, or an address in the memory.
fn value(input: &mut Unstructured) -> arbitrary::Result<u32> {
    match input.int_in_range(0..=2_u8)? {
        0 => input.arbitrary(),
        1 => input.int_in_range(0..=0xff),
        _ => Ok(input.int_in_range(0..=MEMORY as u32 - 1)? & !3),
    }
}
