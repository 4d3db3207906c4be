//! Runs the parts of a trial on a link.

use std::time::{Duration, Instant};

use linerate_host::serial::LinkEnd;
use linerate_host::serial::end::{CHANNELS, CONTROL};
use linerate_link::measure::{Arrivals, Ask, Budget, Message, Outgoing, Report};
use linerate_results::distribution;
use linerate_results::record::{CountedAt, Datagrams as Counts, Flow};

use super::plan::{ECHO_OCTETS, Plan};
use crate::endpoint::client::IntervalSeries;
use crate::endpoint::{
    CANCELLED, Outcome, RoundTripReport, RoundTripSample, RoundTrips, TrialMonitor,
};

/// Longest wait for octets while a train is sent, so that it does not pause.
const SENDING_TURN: Duration = Duration::from_millis(1);
/// Longest wait for octets otherwise.
const WAITING_TURN: Duration = Duration::from_millis(20);
/// Time for the last answer to an echo.
const LAST_ANSWER: Duration = Duration::from_secs(1);
/// Channel of datagrams is the last one: its flows count losses.
const DATAGRAM: u8 = CHANNELS as u8 - 1;

/// A train to the device.
struct Forward {
    outgoing: Outgoing,
    is_sent: bool,
    /// When everything was acknowledged.
    done_ns: Option<u64>,
    is_asked: bool,
    report: Option<Report>,
    intervals: IntervalSeries,
}

/// A train from the device.
struct Backward {
    ask: Ask,
    is_asked: bool,
    arrivals: Arrivals,
    octets: u64,
    last: Option<Instant>,
    last_ns: u64,
    gaps_ns: Vec<u64>,
    /// Messages that the device sent.
    sent: Option<u32>,
    intervals: IntervalSeries,
}

/// Echoes.
struct Echoes {
    plan: RoundTrips,
    begin: Duration,
    /// Times of those that were sent.
    sent: Vec<Instant>,
    is_answered: Vec<bool>,
    report: RoundTripReport,
}

/// The parts of a trial in progress.
pub(super) struct Exchange<'a> {
    end: &'a mut LinkEnd,
    timeout: Duration,
    began: Instant,
    forward: Option<Forward>,
    backward: Option<Backward>,
    echoes: Option<Echoes>,
    budget: Budget,
    is_cancelled: bool,
}

impl<'a> Exchange<'a> {
    pub(super) fn new(end: &'a mut LinkEnd, plan: &Plan, timeout: Duration) -> Self {
        let now = end.now();
        Self {
            end,
            timeout,
            began: Instant::now(),
            forward: plan.to.map(|ask| Forward {
                outgoing: Outgoing::new(now, ask),
                is_sent: false,
                done_ns: None,
                is_asked: false,
                report: None,
                intervals: IntervalSeries::default(),
            }),
            backward: plan.from.map(|ask| Backward {
                ask,
                is_asked: false,
                arrivals: Arrivals::default(),
                octets: 0,
                last: None,
                last_ns: 0,
                gaps_ns: Vec::new(),
                sent: None,
                intervals: IntervalSeries::default(),
            }),
            echoes: plan.echoes.clone().map(|(plan, begin)| Echoes {
                plan,
                begin,
                sent: Vec::new(),
                is_answered: Vec::new(),
                report: RoundTripReport::default(),
            }),
            budget: Budget::new(0, 1000, 0),
            is_cancelled: false,
        }
    }

    /// Runs to the end, at most for `limit`.
    pub(super) fn run(
        mut self,
        limit: Duration,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Outcome, String> {
        self.check_sizes()?;
        let damaged = self.end.link.counters().damaged;
        while !self.is_done() {
            if !self.end.link.is_up() {
                return Err("the device restarted or was unplugged".to_owned());
            }
            self.send();
            let is_sending = self.forward.as_ref().is_some_and(|it| !it.is_sent);
            let mut turn = if is_sending {
                SENDING_TURN
            } else {
                WAITING_TURN
            };
            if let Some(due) = self.echoes.as_ref().and_then(Echoes::next_due) {
                turn = turn.min(due.saturating_sub(self.began.elapsed()));
            }
            self.end.turn(turn).map_err(|error| match error.kind() {
                std::io::ErrorKind::UnexpectedEof => "the other end was closed".to_owned(),
                _ => error.to_string(),
            })?;
            self.receive();
            self.progress(monitor);
            if self.began.elapsed() >= limit {
                let secs = limit.as_secs();
                return Err(format!("the transfer does not end: stopped after {secs} s"));
            }
        }
        Ok(self.outcome(damaged))
    }

    /// Messages must fit the device's memory.
    fn check_sizes(&self) -> Result<(), String> {
        let trains = [
            self.forward.as_ref().map(|it| *it.outgoing.ask()),
            self.backward.as_ref().map(|it| it.ask),
        ];
        for ask in trains.into_iter().flatten() {
            let longest = self.end.link.max_message(ask.channel.into());
            match longest {
                Some(longest) if usize::from(ask.octets) <= longest => {}
                Some(longest) if longest > 0 => {
                    return Err(format!(
                        "it takes messages of at most {longest} octets: give -l {longest}"
                    ));
                }
                _ => return Err(format!("it has no channel {}", ask.channel)),
            }
        }
        Ok(())
    }

    fn elapsed_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    fn send(&mut self) {
        let elapsed = self.began.elapsed();
        let elapsed_ns = self.elapsed_ns();
        let now = self.end.now();
        if let Some(it) = &mut self.forward {
            let channel = usize::from(it.outgoing.ask().channel);
            if !it.is_sent {
                it.is_sent = it
                    .outgoing
                    .advance(now, &mut self.end.link, &mut self.budget);
            }
            if it.is_sent && it.done_ns.is_none() && self.end.link.pending(channel) == 0 {
                it.done_ns = Some(elapsed_ns);
            }
            if it.done_ns.is_some() && !it.is_asked {
                let query = Message::Query {
                    train: it.outgoing.ask().train,
                    sent: it.outgoing.sent(),
                };
                it.is_asked = send(self.end, channel, &query);
            }
        }
        if let Some(it) = &mut self.backward
            && !it.is_asked
        {
            it.is_asked = send(self.end, CONTROL, &Message::Ask(it.ask));
        }
        if let Some(it) = &mut self.echoes
            && it.next_due().is_some_and(|due| due <= elapsed)
        {
            it.send(self.end);
        }
    }

    fn receive(&mut self) {
        let now = Instant::now();
        let stamp = self.end.now();
        let elapsed_ns = self.elapsed_ns();
        let mut octets = vec![0; 32_768];
        for channel in 0..CHANNELS {
            while let Some(len) = self.end.link.read(channel, &mut octets) {
                let message = octets.get(..len).unwrap_or_default();
                match Message::parse(message) {
                    Some(Message::Train { train, index }) => {
                        if let Some(it) = &mut self.backward
                            && it.ask.train == train
                        {
                            it.arrivals.add((stamp, 0), (train, index), len as u32, 0);
                            it.octets += len as u64;
                            let last = it.last.replace(now);
                            it.gaps_ns
                                .extend(last.map(|last| (now - last).as_nanos() as u64));
                            it.last_ns = elapsed_ns;
                        }
                    }
                    Some(Message::Done { sent, .. }) => {
                        if let Some(it) = &mut self.backward {
                            it.sent = Some(sent);
                        }
                    }
                    Some(Message::Report(report)) => {
                        if let Some(it) = &mut self.forward {
                            it.report = Some(report);
                        }
                    }
                    Some(Message::Answer) => {
                        if let Some(it) = &mut self.echoes {
                            it.on_answer(now, self.began, message);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    fn progress(&mut self, monitor: &mut dyn TrialMonitor) {
        let elapsed = self.began.elapsed();
        let stamp = linerate_agent::Instant::from_ns(elapsed.as_nanos() as u64);
        let mut all = 0;
        if let Some(it) = &mut self.forward {
            let ask = it.outgoing.ask();
            let queued = self.end.link.pending(ask.channel.into()) as u64;
            let sent = u64::from(it.outgoing.sent()) * u64::from(ask.octets);
            let octets = sent.saturating_sub(queued);
            it.intervals.record(stamp, octets);
            all += octets;
        }
        if let Some(it) = &mut self.backward {
            it.intervals.record(stamp, it.octets);
            all += it.octets;
        }
        monitor.update(elapsed, all);
        if !self.is_cancelled && monitor.is_cancelled() {
            self.is_cancelled = true;
            if let Some(it) = &mut self.forward {
                it.outgoing.stop();
            }
            if self.backward.is_some() {
                send(self.end, CONTROL, &Message::Stop);
            }
            if let Some(it) = &mut self.echoes {
                it.plan.count = it.sent.len() as u32;
            }
        }
    }

    fn is_done(&self) -> bool {
        let elapsed = self.began.elapsed();
        let trains = self.forward.as_ref().is_none_or(|it| it.report.is_some())
            && self.backward.as_ref().is_none_or(|it| it.sent.is_some());
        let echoes = self
            .echoes
            .as_ref()
            .is_none_or(|it| it.is_done(elapsed, self.timeout));
        trains && echoes
    }

    fn outcome(self, damaged_before: u32) -> Outcome {
        let damaged = self
            .end
            .link
            .counters()
            .damaged
            .wrapping_sub(damaged_before);
        let mut outcome = Outcome::default();
        if damaged > 0 {
            let what = format!(
                "{damaged} damaged frames from the device, repeated where the channel is reliable"
            );
            outcome.notes.push(what);
        }
        if self.is_cancelled {
            outcome.notes.push(CANCELLED.to_owned());
        }
        let is_cut = self.is_cancelled;
        outcome.to_device = self.forward.map(|it| Flow {
            is_cut,
            ..it.flow()
        });
        outcome.from_device = self.backward.map(|it| Flow {
            is_cut,
            ..it.flow()
        });
        outcome.round_trips = self.echoes.map(|mut it| {
            it.report.sent = it.sent.len() as u64;
            it.report.lost_unknown = it.report.sent - it.report.samples.len() as u64;
            it.report
        });
        outcome
    }
}

/// Queues a message; false if there is no room now.
fn send(end: &mut LinkEnd, channel: usize, message: &Message) -> bool {
    let mut octets = [0; Message::MAX];
    let len = message.emit(&mut octets);
    let octets = octets.get(..len).unwrap_or_default();
    end.link.send(channel, octets).is_ok()
}

/// Counts of datagrams.
fn datagrams(sent: u32, received: u32) -> Counts {
    Counts {
        sent: sent.into(),
        received: received.into(),
        lost: sent.saturating_sub(received).into(),
        // A link keeps the order and drops what comes twice.
        out_of_order: Some(0),
        duplicates: Some(0),
        jitter_ns: None,
        lost_by_host: None,
    }
}

impl Forward {
    fn flow(self) -> Flow {
        let report = self.report.unwrap_or_default();
        let octets = u64::from(report.octets);
        let flow = if self.outgoing.ask().channel == DATAGRAM {
            let span_ns = u64::from(report.span_us) * 1000;
            let counts = datagrams(self.outgoing.sent(), report.received);
            Flow::datagrams(octets, span_ns, CountedAt::Device, counts)
        } else {
            Flow::stream(octets, self.done_ns.unwrap_or_default(), CountedAt::Device)
        };
        Flow {
            intervals: self.intervals.intervals,
            ..flow
        }
    }
}

impl Backward {
    fn flow(self) -> Flow {
        let report = self
            .arrivals
            .report(self.ask.train, self.sent.unwrap_or_default());
        let flow = if self.ask.channel == DATAGRAM {
            let span_ns = u64::from(report.span_us) * 1000;
            let counts = datagrams(self.sent.unwrap_or_default(), report.received);
            Flow::datagrams(self.octets, span_ns, CountedAt::Host, counts)
        } else {
            Flow::stream(self.octets, self.last_ns, CountedAt::Host)
        };
        Flow {
            intervals: self.intervals.intervals,
            gaps: distribution::of(self.gaps_ns),
            ..flow
        }
    }
}

impl Echoes {
    /// Time of the next echo since the trial began; `None` behind the last one.
    fn next_due(&self) -> Option<Duration> {
        let number = self.sent.len() as u32;
        (number < self.plan.count).then(|| self.begin + self.plan.interval * number)
    }

    fn send(&mut self, end: &mut LinkEnd) {
        let len = self
            .plan
            .payload_octets
            .clamp(ECHO_OCTETS[0], ECHO_OCTETS[1]);
        let mut octets = vec![0; usize::from(len)];
        Message::Echo.emit(&mut octets);
        let number = self.sent.len() as u32;
        if let Some(place) = octets.get_mut(1..5) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        if end.link.send(CONTROL, &octets).is_ok() {
            self.sent.push(Instant::now());
            self.is_answered.push(false);
        }
    }

    fn on_answer(&mut self, now: Instant, began: Instant, message: &[u8]) {
        let number = message.get(1..).and_then(<[u8]>::first_chunk);
        let Some(number) = number.map(|octets| u32::from_le_bytes(*octets) as usize) else {
            return;
        };
        let Some(sent) = self.sent.get(number) else {
            return;
        };
        if !std::mem::replace(&mut self.is_answered[number], true) {
            self.report.samples.push(RoundTripSample {
                sent_ns: (*sent - began).as_nanos() as u64,
                round_trip_ns: (now - *sent).as_nanos() as u64,
            });
        }
    }

    /// True if all are answered, or the last one should be.
    fn is_done(&self, elapsed: Duration, timeout: Duration) -> bool {
        let all = self.sent.len() as u32 >= self.plan.count;
        let is_answered = self.report.samples.len() == self.sent.len();
        let last = self.begin + self.plan.interval * self.plan.count;
        all && (is_answered || elapsed >= last + LAST_ANSWER.min(timeout))
    }
}
