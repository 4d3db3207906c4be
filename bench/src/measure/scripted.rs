//! A scripted machine, for tests.

use linerate_capture::wire::{Frame, Packet, Segment, Side};
use linerate_results::line;
use linerate_results::record::{Duplex, FrameCounts, SourceKind, TimingEntry};

use crate::machine::{Event, Identity, Machine, MachineError, RunArtifacts};

/// Plays events at their times.
pub struct Script {
    events: Vec<(u64, Event)>,
    now_ns: u64,
    duplex: Option<Duplex>,
    frames: Option<FrameCounts>,
}

impl Script {
    /// A machine with these `events`.
    pub fn new(events: impl IntoIterator<Item = Event>) -> Self {
        let mut events: Vec<(u64, Event)> = events
            .into_iter()
            .map(|event| (time_of(&event), event))
            .collect();
        events.sort_by_key(|(at_ns, _)| *at_ns);
        Self {
            events,
            now_ns: 0,
            duplex: None,
            frames: None,
        }
    }

    /// The same with these counts of its frames.
    pub fn with_counts(self, frames: FrameCounts) -> Self {
        Self {
            frames: Some(frames),
            ..self
        }
    }

    /// The same with a link of this `duplex`.
    pub fn with_duplex(self, duplex: Duplex) -> Self {
        Self {
            duplex: Some(duplex),
            ..self
        }
    }
}

fn time_of(event: &Event) -> u64 {
    match event {
        Event::Console { at_ns, .. } => *at_ns,
        Event::Frame(frame) => frame.end_ns,
        Event::Debug(pulse) => pulse.end_ns,
        Event::Uploaded(upload) => upload.at_ns,
    }
}

impl Machine for Script {
    fn identity(&self) -> Identity {
        Identity {
            board: "script".into(),
            timing_table: "scripted".into(),
            timing: [SourceKind::Datasheet, SourceKind::Guess]
                .map(|kind| TimingEntry {
                    name: format!("{kind:?}").to_lowercase(),
                    value: 1.0,
                    kind,
                    source: "a test".into(),
                    fitted: None,
                })
                .into(),
            ..Identity::default()
        }
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn advance(&mut self, until_ns: u64, sink: &mut dyn FnMut(Event)) -> Result<(), MachineError> {
        let due = self.events.partition_point(|(at_ns, _)| *at_ns <= until_ns);
        self.events.drain(..due).for_each(|(_, event)| sink(event));
        self.now_ns = until_ns;
        Ok(())
    }

    fn duplex(&self) -> Option<Duplex> {
        self.duplex
    }

    fn finish(self: Box<Self>, sink: &mut dyn FnMut(Event)) -> RunArtifacts {
        self.events.into_iter().for_each(|(_, event)| sink(event));
        RunArtifacts {
            profile: None,
            trace_hash: "00".into(),
            frames: self.frames,
            ..RunArtifacts::default()
        }
    }
}

/// A line on the console.
pub fn line(at_ns: u64, text: &str) -> Event {
    Event::Console {
        at_ns,
        line: text.to_owned(),
    }
}

/// A frame with a TCP segment of `len` octets.
pub fn segment(start_ns: u64, from: Side, seq: u32, len: u32, flags: u8) -> Frame {
    let (source, destination) = if from == Side::Peer {
        (80, 4000)
    } else {
        (4000, 80)
    };
    let payload = line::IP_TCP_HEADER_OCTETS + u64::from(len);
    Frame {
        start_ns,
        end_ns: start_ns + line::frame_ns(payload),
        from,
        octets: (payload + 18).max(64),
        packet: Packet::Tcp(Segment {
            source,
            destination,
            seq,
            ack: 1,
            len,
            flags,
            window: 9000,
            ..Segment::default()
        }),
        lost: None,
        tag: 0,
    }
}
