//! The events of a simulated board, as those of a machine.

use linerate_capture::wire::{Frame, Packet, Side};
use linerate_results::record::{CaptureCounts, Pulse};
use linerate_sim::board::{Event as BoardEvent, Fate};
use linerate_sim::peer::Peer;

use super::capture::Capture;
use crate::machine::{Event, MachineConfig, Uploaded};

/// Converts events, and keeps what the artifacts of a run need of them.
pub(super) struct Events {
    capture: Option<Capture>,
    /// For each upload to the peer, true if its completion was reported.
    uploads_reported: Vec<bool>,
    /// Frames that the device's stack accepted.
    pub accepted: u64,
    /// Warnings for a person.
    pub warnings: Vec<String>,
}

impl Events {
    /// No events yet, of the board of `config`.
    pub fn new(config: &MachineConfig) -> Self {
        Self {
            capture: config.record.pcapng.then(|| Capture::new(&config.name)),
            uploads_reported: Vec::new(),
            accepted: 0,
            warnings: Vec::new(),
        }
    }

    /// The capture, if one was requested: its file and counts.
    pub fn finish_capture(&mut self) -> Option<(Vec<u8>, CaptureCounts)> {
        self.capture.take().map(Capture::finish)
    }

    /// Reports completed uploads, before the device can report them.
    pub fn report_uploads(&mut self, peer: &dyn Peer, sink: &mut dyn FnMut(Event)) {
        let uploads = peer.uploads();
        self.uploads_reported.resize(uploads.len(), false);
        for (upload, reported) in uploads.iter().zip(&mut self.uploads_reported) {
            if let Some(at) = upload.finished_at
                && !std::mem::replace(reported, true)
            {
                sink(Event::Uploaded(Uploaded {
                    at_ns: at.as_ns(),
                    port: upload.port,
                    path: upload.path.clone(),
                    octets: upload.octets,
                    crc32: upload.crc32,
                }));
            }
        }
    }

    /// Passes an event of the board to `sink`.
    pub fn pass(&mut self, event: BoardEvent, sink: &mut dyn FnMut(Event)) {
        if let Some(capture) = &mut self.capture {
            capture.record(&event);
        }
        match event {
            BoardEvent::Line { at, text, .. } => sink(Event::Console {
                at_ns: at.as_ns(),
                line: text,
            }),
            BoardEvent::Pulse { start, end } => sink(Event::Debug(Pulse {
                start_ns: start.as_ns(),
                end_ns: end.as_ns(),
            })),
            BoardEvent::Sent {
                record,
                octets,
                fate,
            } => {
                let lost = match fate {
                    Fate::Delivered => None,
                    Fate::Lost(cause) => Some(cause),
                };
                self.accepted += u64::from(lost.is_none());
                sink(Event::Frame(Frame {
                    start_ns: record.start.as_ns(),
                    end_ns: record.end.as_ns(),
                    from: Side::Peer,
                    octets: record.octets as u64,
                    packet: Packet::parse(&octets),
                    lost,
                    tag: record.tag,
                }));
            }
            BoardEvent::Received { record, octets } => sink(Event::Frame(Frame {
                start_ns: record.start.as_ns(),
                end_ns: record.end.as_ns(),
                from: Side::Device,
                octets: record.octets as u64,
                packet: Packet::parse(&octets),
                lost: record.fault,
                tag: 0,
            })),
            BoardEvent::Reset { at, cause } => self.warnings.push(format!(
                "the chip was reset after {:.6} s: {cause:?}",
                at.as_secs_f64()
            )),
        }
    }
}
