//! The frames on the wire as a capture file, in chronological order.

use linerate_ether::ledger::DropCause;
use linerate_sim::board::{Event, Fate};
use linerate_sim::time::Instant;
use linerate_sim::trace::pcapng::{Direction, FrameErrors, Writer};

/// A capture in memory.
pub struct Capture {
    name: String,
    frames: Vec<Frame>,
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
        }
    }

    /// Records a frame. A collided transmission of the peer is omitted, as an adapter would omit
    /// it: the frame is sent again.
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
                if lost == Some(DropCause::Collision) {
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
            Event::Received { record, octets } => {
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

    /// The whole file.
    pub fn finish(mut self) -> Vec<u8> {
        self.frames.sort_by_key(|frame| frame.at);
        // Writing to memory cannot fail.
        self.write().unwrap_or_default()
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

fn frame_errors(fault: Option<DropCause>) -> FrameErrors {
    FrameErrors {
        fcs: matches!(fault, Some(DropCause::BadFcs | DropCause::Alignment)),
        short: fault == Some(DropCause::Runt),
        long: fault == Some(DropCause::Oversize),
        symbol: fault == Some(DropCause::SymbolError),
        delimiter: fault == Some(DropCause::BadSfd),
    }
}
