//! The frames on the wire as a capture file, in chronological order.

use linerate_capture::reader::Reader;
use linerate_ether::frame::ADDRESSES_LEN;
use linerate_ether::ledger::DropCause;
use linerate_results::record::CaptureCounts;
use linerate_sim::board::{Event, Fate};
use linerate_sim::time::Instant;
use linerate_sim::trace::pcapng::{Direction, FrameErrors, Writer};

/// A capture in memory.
pub struct Capture {
    name: String,
    frames: Vec<Frame>,
    /// Source address of the device's frames, once one is received.
    device: Option<Vec<u8>>,
}

struct Frame {
    at: Instant,
    direction: Direction,
    octets: Vec<u8>,
    errors: FrameErrors,
    comment: Option<String>,
}

impl Capture {
    /// An empty capture of the run called `name`.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            frames: Vec::new(),
            device: None,
        }
    }

    /// Records a frame. A transmission that collided is omitted, as an adapter would omit it: the frame is
    /// sent again. So is one that had not ended when the run ended.
    pub fn record(&mut self, event: &Event) {
        match event {
            Event::Sent {
                record,
                octets,
                fate,
            } => {
                let lost = match fate {
                    Fate::Delivered => None,
                    Fate::Lost(cause) => Some(*cause),
                };
                if matches!(lost, Some(DropCause::Collision | DropCause::InFlight)) {
                    return;
                }
                let comment = lost.map(|cause| {
                    format!(
                        "lost: {} ({})",
                        cause.name().replace('_', " "),
                        cause.layer()
                    )
                });
                self.push(
                    record.start,
                    Direction::Inbound,
                    octets,
                    FrameErrors::default(),
                    comment,
                );
            }
            Event::Received { record, .. } if record.fault == Some(DropCause::Collision) => {}
            Event::Received { record, octets } => {
                if self.device.is_none() && record.fault.is_none() {
                    self.device = source(octets).map(<[u8]>::to_vec);
                }
                let comment = record.fault.map(|cause| {
                    format!("discarded by the peer: {}", cause.name().replace('_', " "))
                });
                self.push(
                    record.start,
                    Direction::Outbound,
                    octets,
                    frame_errors(record.fault),
                    comment,
                );
            }
            _ => {}
        }
    }

    fn push(
        &mut self,
        at: Instant,
        direction: Direction,
        octets: &[u8],
        errors: FrameErrors,
        comment: Option<String>,
    ) {
        self.frames.push(Frame {
            at,
            direction,
            octets: octets.to_vec(),
            errors,
            comment,
        });
    }

    /// The whole file, and the packets that a reader finds in it.
    pub fn finish(mut self) -> (Vec<u8>, CaptureCounts) {
        self.frames.sort_by_key(|frame| frame.at);
        // Writing to memory cannot fail.
        let file = self.write().unwrap_or_default();
        let counts = self.count(&file);
        (file, counts)
    }

    fn count(&self, file: &[u8]) -> CaptureCounts {
        let mut counts = CaptureCounts::default();
        let Ok(mut reader) = Reader::new(file) else {
            return counts;
        };
        while let Some(packet) = reader.next() {
            let source = source(packet.octets);
            let is_from_device = source.is_some() && source == self.device.as_deref();
            if is_from_device {
                counts.from_device += 1;
            } else {
                counts.to_device += 1;
            }
        }
        counts
    }

    fn write(&self) -> std::io::Result<Vec<u8>> {
        let mut writer = Writer::new(Vec::new(), "10BASE-T", &self.name)?;
        for frame in &self.frames {
            writer.frame(
                frame.at,
                frame.direction,
                &frame.octets,
                frame.errors,
                frame.comment.as_deref(),
            )?;
        }
        writer.finish()
    }
}

/// The source address of a frame.
fn source(octets: &[u8]) -> Option<&[u8]> {
    octets.get(ADDRESSES_LEN / 2..ADDRESSES_LEN)
}

fn frame_errors(fault: Option<DropCause>) -> FrameErrors {
    FrameErrors {
        fcs: matches!(fault, Some(DropCause::BadFcs | DropCause::Alignment)),
        short: fault == Some(DropCause::Runt),
        long: fault == Some(DropCause::Oversize),
        symbol: fault == Some(DropCause::SymbolError),
        delimiter: fault == Some(DropCause::BadSfd),
    }
}
