//! A test double of a device, with a console, at the end of a host's cable, in virtual time.

use std::collections::{BTreeMap, VecDeque};

use linerate_agent::Instant;
use linerate_agent::frame::{
    ETHERTYPE, Fill, FrameKind, MAX_LEN, Receiver, ReflectFilter, TestHeader, reflect,
};
use linerate_ether::frame::{EtherType, remove_tag};
use linerate_sim::peer::Station as _;
use linerate_sim::peer::generator::DEVICE;
use linerate_sim::peer::host::program::Programs;
use linerate_sim::peer::host::{self, Host};
use linerate_sim::time::{self, Span};

use crate::conformance::exchange::own;
use crate::machine::{Event, Identity, Machine, MachineError, RunArtifacts};

/// Frames that it buffers while it is idle.
const RING: usize = 8;
const MAX_TAGGED_LEN: usize = MAX_LEN + 4;

/// Its fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Nothing,
    /// Sometimes a buffer is delivered before the frame is in it: with its previous content.
    StaleBuffer,
    /// Sometimes the end of a buffer is its previous content.
    StaleEnd,
    /// A frame is skipped where the ring wraps.
    SkipsAtWrap,
    /// An overrun truncates the last frame in the ring.
    HalfAtOverrun,
    /// Overruns are not counted.
    SilentOverrun,
    /// The longest frame is truncated.
    CutsLongest,
    /// Odd lengths are rounded up.
    EvenLengths,
    /// Frames with a tag are rejected as too long.
    NoRoomForTag,
    /// Over-long frames are rejected without a count.
    SilentOverLong,
    /// A frame sent while the ring is full overtakes another.
    Overtakes,
    /// Frames for other stations are accepted.
    Promiscuous,
    /// Link changes are not detected.
    BlindToLink,
    /// After a restart an earlier frame is delivered again.
    Replays,
    /// It does not start again.
    StaysStopped,
}

/// Host and device.
pub struct Double {
    fault: Fault,
    host: Host,
    now: time::Instant,
    typed: String,
    console: Vec<String>,
    ring: VecDeque<Vec<u8>>,
    /// The previous content of the next buffer.
    before: Vec<u8>,
    received: u64,
    receiver: Receiver,
    counters: BTreeMap<&'static str, u64>,
    is_linked: bool,
    is_held: bool,
    is_stopped: bool,
}

impl Double {
    /// A device that is ready at once.
    pub fn new(fault: Fault) -> Self {
        let host = Host::new(host::Config {
            turnaround: Span::ZERO,
            http_server: None,
            ..host::Config::default()
        });
        Self {
            fault,
            host,
            now: time::Instant::ZERO,
            typed: String::new(),
            console: vec![
                format!("@ {{\"event\":\"boot\",\"burst\":{RING}}}"),
                "@ {\"event\":\"listening\"}".to_owned(),
            ],
            ring: VecDeque::new(),
            before: Vec::new(),
            received: 0,
            receiver: Receiver::new(DEVICE, 0),
            counters: BTreeMap::new(),
            is_linked: true,
            is_held: false,
            is_stopped: false,
        }
    }

    fn print(&mut self, event: &str, members: &str) {
        self.console
            .push(format!("@ {{\"event\":\"{event}\",{members}}}"));
    }

    fn count(&mut self, counter: &'static str) {
        *self.counters.entry(counter).or_default() += 1;
    }

    fn execute(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["frames", stream] => {
                self.receiver = Receiver::new(DEVICE, stream.parse().expect(line));
            }
            ["frames"] => {
                let Receiver {
                    sink,
                    altered,
                    for_others,
                    ..
                } = &self.receiver;
                let frames = sink.sequence.received();
                let members = format!(
                    "\"frames\":{frames},\"altered\":{altered},\"for_others\":{for_others}"
                );
                self.print("frames", &members);
            }
            ["counters"] => {
                let all: Vec<String> = self
                    .counters
                    .iter()
                    .map(|(name, count)| format!("\"{name}\":{count}"))
                    .chain(["\"LinkPulses\":0".to_owned()])
                    .collect();
                self.print("counters", &all.join(","));
            }
            ["hold", state] => {
                self.is_held = state == "on";
                self.print("hold", &format!("\"on\":{}", self.is_held));
            }
            ["device", state] => {
                self.is_stopped = state == "stop" || self.fault == Fault::StaysStopped;
                if self.is_stopped {
                    self.ring.clear();
                } else if self.fault == Fault::Replays {
                    self.ring.push_back(self.before.clone());
                }
                self.print("device", &format!("\"stopped\":{}", self.is_stopped));
            }
            ["blast", frames, octets, _] => {
                self.blast(frames.parse().expect(line), octets.parse().expect(line));
                self.print("blasted", &format!("\"frames\":{frames}"));
            }
            _ => panic!("{line}"),
        }
    }

    fn blast(&mut self, frames: u64, octets: usize) {
        let mut numbers: Vec<u64> = (0..frames).collect();
        if self.fault == Fault::Overtakes {
            numbers.swap(RING, RING + 1);
        }
        for number in numbers {
            let head = TestHeader {
                kind: FrameKind::OneWay,
                fill: Fill::Octet(0x55),
                stream: 0,
                number,
                sent_ns: 0,
            };
            let mut frame = vec![0; octets];
            head.emit(own(), DEVICE, &mut frame);
            self.send(&frame);
        }
    }

    fn send(&mut self, frame: &[u8]) {
        if self.is_linked {
            self.host.receive(frame, self.now);
        }
    }

    /// Receives a frame.
    fn arrive(&mut self, mut frame: Vec<u8>) {
        let is_ours = frame[..6] == DEVICE || frame[..6] == [0xff; 6];
        if !self.is_linked
            || self.is_stopped
            || !(is_ours || self.fault == Fault::Promiscuous)
            || frame[12..14] == [8, 6]
        {
            return;
        }
        let is_tagged = frame[12..14] == EtherType::VLAN.0.to_be_bytes();
        let longest = if is_tagged && self.fault != Fault::NoRoomForTag {
            MAX_TAGGED_LEN
        } else {
            MAX_LEN
        };
        if frame.len() > longest {
            if self.fault != Fault::SilentOverLong {
                self.count("RxOversize");
            }
            return;
        }
        if self.ring.len() >= RING {
            if self.fault == Fault::HalfAtOverrun
                && let Some(last) = self.ring.back_mut()
            {
                let half = last.len() / 2;
                last.truncate(half.max(60));
            }
            if self.fault != Fault::SilentOverrun {
                self.count("RxRingFull");
            }
            return;
        }
        self.received += 1;
        let odd_one = self.received.is_multiple_of(61);
        match self.fault {
            Fault::StaleBuffer if odd_one => frame.clone_from(&self.before),
            Fault::StaleEnd if odd_one => {
                let shared = frame.len().min(self.before.len());
                frame[shared - 4..shared].copy_from_slice(&self.before[shared - 4..shared]);
            }
            Fault::SkipsAtWrap if self.received.is_multiple_of(3 * RING as u64) => return,
            Fault::CutsLongest if frame.len() == MAX_LEN => frame.truncate(MAX_LEN - 1),
            Fault::EvenLengths if frame.len() % 2 == 1 => frame.push(0),
            _ => {}
        }
        self.before.clone_from(&frame);
        self.ring.push_back(frame);
    }

    /// Processes the received frames.
    fn serve(&mut self) {
        while !self.is_held
            && let Some(mut frame) = self.ring.pop_front()
        {
            if remove_tag(&mut frame).is_some() {
                frame.truncate(frame.len() - 4);
            }
            if frame[12..14] != ETHERTYPE.to_be_bytes() {
                continue;
            }
            let now = Instant::from_ns(self.now.as_ns());
            let came = self.receiver.received(&frame, now);
            if came.is_some() && reflect(&mut frame, DEVICE, ReflectFilter::Marked) {
                frame.resize(frame.len().max(60), 0);
                self.send(&frame);
            }
        }
    }
}

impl Machine for Double {
    fn identity(&self) -> Identity {
        Identity::default()
    }

    fn now_ns(&self) -> u64 {
        self.now.as_ns()
    }

    fn advance(&mut self, until_ns: u64, sink: &mut dyn FnMut(Event)) -> Result<(), MachineError> {
        self.now = time::Instant::from_ns(until_ns);
        while let Some((line, rest)) = self.typed.split_once('\n') {
            let (line, rest) = (line.to_owned(), rest.to_owned());
            self.typed = rest;
            self.execute(&line);
        }
        // As many frames as fit into a step.
        for _ in 0..4 * RING {
            let Some(frame) = self.host.poll_transmit(self.now) else {
                break;
            };
            self.arrive(frame);
            self.serve();
        }
        self.serve();
        for line in self.console.drain(..) {
            sink(Event::Console {
                at_ns: until_ns,
                line,
            });
        }
        Ok(())
    }

    fn type_line(&mut self, line: &str) {
        self.typed.push_str(line);
        self.typed.push('\n');
    }

    fn with_programs(&mut self, with: &mut dyn FnMut(&mut Programs)) {
        use linerate_sim::peer::Peer as _;
        self.host.programs().map(with);
    }

    fn set_link(&mut self, is_up: bool) -> Result<(), MachineError> {
        self.is_linked = is_up;
        if self.fault != Fault::BlindToLink {
            let (state, counter) = if is_up {
                ("up", "LinkUps")
            } else {
                ("down", "LinkDowns")
            };
            self.count(counter);
            self.print("link", &format!("\"state\":\"{state}\""));
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _: &mut dyn FnMut(Event)) -> RunArtifacts {
        RunArtifacts::default()
    }
}
