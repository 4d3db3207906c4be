//! More frames than a board can receive: the fate of each frame, and the board's remaining work.
//!
//! QEMU runs the board some hundred times slower than it could, and up to 64,000 frames of 64 octets a second are
//! offered to its cable. Frames that the cable does not take are lost there, as in the queue of a TAP device.
//! QEMU captures the frames passed to its network device (`filter-dump`), the driver's ledger counts from there
//! on, and the firmware counts rounds of its main loop. All frames are of one numbered stream, the last ones are
//! reflected: once the last is back, none is in transit.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use linerate_agent::frame::{Blast, Fill, FrameKind, MIN_LEN, Plan, TestHeader, renumber};
use linerate_capture::reader::Reader;
use linerate_ether::frame::MacAddress;
use linerate_ether::ledger::Counter;
use linerate_results::record::{Duplex, Flood, FloodMetrics, FloodParams, Ledger, Rounds, Setting};
use linerate_sim::peer::generator::{DEVICE, OWN};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value};

use super::emulator::Emulator;
use crate::board::Board;
use crate::endpoint::board::console::Console;

/// Slows down QEMU: it writes the processor's registers to /dev/null before each block of
/// instructions.
const SLOWLY: [&str; 4] = ["-d", "cpu,nochain", "-D", "/dev/null"];
/// The stream of the frames.
const STREAM: u8 = 1;
/// Frames offered in a batch, and the pause after it: QEMU needs processor time, too.
const BATCH: usize = 64;
const PAUSE: Duration = Duration::from_millis(1);
/// Timeout for an answer of the board.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Interval of the frames to be reflected after the flood.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// Floods `board` with its program `elf`, of `variant`, for `span`.
///
/// # Errors
/// QEMU cannot be started, or the board does not answer.
pub fn flood(board: &Board, variant: &str, elf: &[u8], span: Duration) -> Result<Flood, String> {
    let Some(qemu) = &board.qemu else {
        return Err(format!("QEMU does not have the board {}", board.name));
    };
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let file = folder.path().join("frames.pcap");
    let capture = format!("filter-dump,id=f0,netdev=n0,file={}", file.display());
    let mut further = SLOWLY.map(str::to_owned).to_vec();
    further.extend(["-object".to_owned(), capture]);
    let emulator = Emulator::start(qemu, elf, MacAddress(DEVICE), &further)?;
    let mut run = FloodRun::new(emulator);
    run.read_event::<IgnoredAny>("listening")?;
    run.emulator.type_in("burn spare\n");
    run.count_from_zero()?;
    run.run_for(span / 4)?;
    let idle = run.query("rounds", "rounds")?;
    let during = run.flood(span)?;
    let answered_after = run.until_answered()?;
    let after = match during {
        Some(_) => run.query("rounds", "rounds")?,
        None => run.read_event("rounds")?,
    };
    let frames: Frames = run.query("frames", "frames")?;
    let counters: Map<String, Value> = run.query("counters", "counters")?;
    Ok(Flood {
        params: FloodParams {
            setting: Setting {
                variant: variant.to_owned(),
                duplex: Duplex::Unknown,
                ..Setting::default()
            },
            board: board.name.clone(),
            span_ms: span.as_millis() as u64,
            may_lose_in_model: board.unsupported_cases.contains_key("overrun-count"),
        },
        metrics: FloodMetrics {
            sent_frames: run.sent,
            rejected_frames: run.refused,
            captured_frames: captured(&file)?,
            counted_frames: frames.frames,
            missing_frames: frames.lost,
            idle,
            during,
            after,
            answered_after_ns: answered_after.as_nanos() as u64,
        },
        ledger: received(&counters),
    })
}

/// The console's counts of the stream.
#[derive(Deserialize)]
struct Frames {
    frames: u64,
    lost: u64,
}

/// Frames to the board in QEMU's capture.
fn captured(file: &Path) -> Result<u64, String> {
    let file = File::open(file).map_err(|error| format!("QEMU's capture: {error}"))?;
    let mut reader = Reader::new(file).map_err(|error| format!("QEMU's capture: {error}"))?;
    let mut frames = 0;
    while let Some(packet) = reader.next() {
        frames += u64::from(packet.octets.starts_with(&DEVICE));
    }
    Ok(frames)
}

/// The fate of received frames, by the device's `counters`.
fn received(counters: &Map<String, Value>) -> Ledger {
    let counted = counters
        .iter()
        .filter_map(|(name, count)| Some((name.clone(), count.as_u64()?)));
    let mut ledger = Ledger {
        counters: counted.filter(|(_, count)| *count > 0).collect(),
        ..Ledger::default()
    };
    let count = |it: Counter| counters.get(it.name()).and_then(Value::as_u64).unwrap_or(0);
    ledger.delivered_frames = count(Counter::RxDelivered);
    let received = Counter::ALL
        .into_iter()
        .filter(|it| it.name().starts_with("Rx"));
    for counter in received {
        if let Some(cause) = counter.drop_cause() {
            ledger.lose(cause, count(counter));
        }
    }
    ledger.sent_frames = ledger.delivered_frames + ledger.lost();
    ledger
}

/// A board that is being flooded.
struct FloodRun {
    emulator: Emulator,
    console: Console,
    /// A frame that is counted, and one that is reflected.
    frames: [[u8; MIN_LEN]; 2],
    sent: u64,
    refused: u64,
}

impl FloodRun {
    fn new(emulator: Emulator) -> Self {
        let frames = [false, true].map(|reflect| {
            let plan = Plan {
                to: DEVICE,
                from: OWN,
                stream: STREAM,
                sizes: &[MIN_LEN as u16],
                fill: Fill::Octet(0),
                reflect,
                count: 1,
                rate_bits_per_s: 0,
            };
            let start = linerate_agent::Instant::from_ns(0);
            let mut frame = [0; MIN_LEN];
            Blast::new(plan, start).next(&mut frame, start);
            frame
        });
        Self {
            emulator,
            console: Console::default(),
            frames,
            sent: 0,
            refused: 0,
        }
    }

    /// Resets the board's counts of the stream and of its rounds.
    fn count_from_zero(&mut self) -> Result<(), String> {
        self.emulator.type_in(&format!("frames {STREAM}\n"));
        self.query::<Rounds>("rounds", "rounds").map(drop)
    }

    /// Offers frames for `span`. Returns the main loop's report on the first half.
    fn flood(&mut self, span: Duration) -> Result<Option<Rounds>, String> {
        let began = Instant::now();
        let mut is_asked = false;
        while began.elapsed() < span {
            for _ in 0..BATCH {
                self.send(false)?;
            }
            if !is_asked && began.elapsed() >= span / 2 {
                self.emulator.type_in("rounds\n");
                is_asked = true;
            }
            self.run_for(PAUSE)?;
        }
        self.console.take_event("rounds")
    }

    /// Sends frames to be reflected until the last one is back. Returns the time that took.
    fn until_answered(&mut self) -> Result<Duration, String> {
        let began = Instant::now();
        while began.elapsed() < TIMEOUT {
            self.send(true)?;
            let (last, asked) = (self.sent - 1, Instant::now());
            while asked.elapsed() < RETRY_INTERVAL {
                let mut is_back = false;
                let look = |frame: &[u8]| {
                    let head = TestHeader::parse(frame);
                    is_back =
                        head.is_some_and(|it| it.kind == FrameKind::Reflected && it.number == last);
                };
                if !self.emulator.receive(look)? {
                    self.emulator
                        .wait(RETRY_INTERVAL.saturating_sub(asked.elapsed()), false);
                }
                if is_back {
                    return Ok(began.elapsed());
                }
            }
        }
        Err(self.timeout_message("an answer"))
    }

    /// Sends the next frame, and counts it if it is refused.
    fn send(&mut self, is_reflected: bool) -> Result<(), String> {
        let frame = &mut self.frames[usize::from(is_reflected)];
        renumber(frame, self.sent, 0);
        self.sent += 1;
        self.refused += u64::from(!self.emulator.send(frame)?);
        Ok(())
    }

    /// Waits for `span`.
    fn run_for(&mut self, span: Duration) -> Result<(), String> {
        let began = Instant::now();
        while began.elapsed() < span {
            self.emulator
                .wait(span.saturating_sub(began.elapsed()), false);
        }
        self.emulator.read(&mut self.console.0)
    }

    /// Types `command` on the console and reads the answer `event`.
    fn query<T: DeserializeOwned>(&mut self, command: &str, event: &str) -> Result<T, String> {
        self.emulator.type_in(&format!("{command}\n"));
        self.read_event(event)
    }

    /// The console's next `event`.
    fn read_event<T: DeserializeOwned>(&mut self, event: &str) -> Result<T, String> {
        let began = Instant::now();
        while began.elapsed() < TIMEOUT {
            self.run_for(Duration::from_millis(1))?;
            if let Some(data) = self.console.take_event(event)? {
                return Ok(data);
            }
        }
        Err(self.timeout_message(event))
    }

    fn timeout_message(&self, what: &str) -> String {
        format!(
            "the board did not send {what} within {} s; its console's last line is {:?}",
            TIMEOUT.as_secs(),
            self.console.last()
        )
    }
}
