//! Replay of a recorded host: its connections again, with the simulated host in its place.
//!
//! The device's segments of a capture are given to the simulated TCP ([`linerate_sim::peer::tcp`]) at their recorded
//! times, so the device's losses and acknowledgments are those of the recording. Each segment of the recorded host is
//! then looked for among those of the simulated one: the same range of octets, sent at about the same time. The
//! simulated host is not corrected on the way: where it decides otherwise, the rest of the connection shows it. Only
//! an effect does not precede its cause: a segment of the device waits while the simulated host may yet send, within
//! the tolerance, what the recorded one had sent before ([`score::Matcher`]).
//!
//! | file | subject |
//! |---|---|
//! | [`flow`] | the connections of a capture that a host served |
//! | [`score`] | comparison segment by segment |

pub mod flow;
pub mod score;

pub use flow::{Flow, FlowError, SentRange, flows};
pub use score::{MIN_TOLERANCE, Matcher, Pairing, Score, TOLERANCE_SHARE};

use linerate_sim::peer::tcp::{Config, Connection, Control, State};
use linerate_sim::time::{Instant, Span};

/// A kernel's timers of up to 16 s are rounded up to multiples of parts of this.
const TIMER_ROUND: Span = Span::from_ms(2048);
/// Time after the last recorded packet until which segments are still compared.
const TAIL: Span = Span::from_ms(1);

/// What is known about the recording host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recording {
    /// A time from the first packet at which its kernel's count of ticks was a multiple of 512: its timers run at
    /// multiples of 1, 8, 64, ... ticks. Where it is unknown, timers are off by up to one eighth of their wait, and an
    /// acknowledgment may overtake a timer that it did not overtake on the recorded host.
    pub tick: Span,
    /// Time from the capture of a segment to the capture of what the host sends in answer.
    pub turnaround: Span,
}

/// Compares what the recorded host sent in `flow` with what the simulated one sends: every segment with data or FIN.
///
/// The host's program is the recorded one as far as the capture shows it: what it had written ends where a short
/// segment ends that the window did not cut. The first two writes (the head of an HTTP response and its body) are made
/// when the recorded host sent their first segment, later ones as soon as everything before them is sent.
#[must_use]
pub fn replay(flow: &Flow, config: Config, recording: Recording) -> Score {
    // The simulated kernel's timers count from zero.
    let round = TIMER_ROUND.ticks();
    let shift = Span::from_ticks(round - recording.tick.ticks() % round);
    let flow = &flow.later(shift, recording.turnaround);
    let mut program = Program::new(flow);
    let (opened, syn) = &flow.from_device[0];
    let mut host = Connection::from_syn(config, flow.device, syn, flow.initial_sequence, *opened);
    let mut matcher = Matcher::new(&flow.sent);
    let mut arrivals = flow.from_device[1..].iter().peekable();
    let mut now = *opened;
    let end = flow.end + TAIL;
    loop {
        host.read(usize::MAX);
        program.run(&mut host, now);
        while let Some(segment) = host.poll(now) {
            let range = SentRange::of(&segment, flow.initial_sequence, now);
            if let Some(range) = range.filter(|_| segment.control != Control::Syn) {
                matcher.simulated(range);
            }
            program.run(&mut host, now);
        }
        let arrival = arrivals
            .peek()
            .map_or(Instant::NEVER, |&&(at, _)| matcher.arrival(at));
        let next = arrival.min(host.deadline()).min(program.due(now));
        if next > end || host.state() == State::Closed {
            return matcher.finish().earlier(shift);
        }
        now = now.max(next);
        if host.deadline() <= now {
            host.on_timer(now);
        } else if arrival <= now
            && let Some((_, segment)) = arrivals.next()
        {
            host.receive(segment, now);
        }
    }
}

/// The writes of the recorded host's program.
struct Program {
    /// The next write last: its earliest time, its octets, and whether the stream ends with it.
    writes: Vec<(Instant, usize, bool)>,
    /// The send buffer took a part of it.
    begun: bool,
}

impl Program {
    fn new(flow: &Flow) -> Self {
        let total = flow.stream_octets;
        let mut ends = flow.written.clone();
        ends.push(total);
        ends.dedup();
        let mut times = flow.sent.iter().filter(|sent| sent.first).map(|it| it.at);
        let (mut at, mut start) = (Instant::ZERO, 0);
        let mut writes = Vec::new();
        for end in ends {
            // Later writes follow as soon as everything before them is sent.
            at = times
                .by_ref()
                .next()
                .filter(|_| writes.len() < 2)
                .unwrap_or(at);
            writes.push((at, (end - start) as usize, end == total && flow.finished));
            start = end;
        }
        writes.reverse();
        Self {
            writes,
            begun: false,
        }
    }

    /// Time of the next write. One that waits for something else has none.
    fn due(&self, now: Instant) -> Instant {
        let at = self.writes.last().map(|(at, ..)| *at);
        at.filter(|&at| at > now).unwrap_or(Instant::NEVER)
    }

    fn run(&mut self, host: &mut Connection, now: Instant) {
        while let Some((at, octets, ends)) = self.writes.last_mut() {
            let waits = !self.begun && !host.sender().has_sent_all();
            if *at > now || host.is_opening() || waits {
                return;
            }
            // The octets' values do not matter.
            let taken = host.write(&vec![0; *octets], false);
            *octets -= taken;
            self.begun = *octets > 0;
            if self.begun {
                return;
            }
            host.push();
            if *ends {
                host.close();
            }
            self.writes.pop();
        }
    }
}
