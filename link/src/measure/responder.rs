//! The end that is measured: takes trains and reports, sends trains on request, answers echoes.

use super::arrivals::Arrivals;
use super::budget::Budget;
use super::message::{Ask, Identity, Message, TRAIN_HEAD, filler};
use super::outgoing::Outgoing;
use crate::link::Link;
use crate::time::Instant;
use crate::wire::{MAX_FRAGMENT, frame_octets};
use core::ops::Range;

/// Settings of a [`Responder`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ResponderConfig {
    /// Channels that carry test messages and nothing else.
    pub channels: Range<usize>,
    /// Share of the line that its trains may take.
    pub budget: Budget,
    /// Octets of the longest message that it sends in a train, whatever the peer asks for: a message of the user waits
    /// for one of them.
    pub longest: u16,
    /// Description of this end for the peer.
    pub identity: Identity,
}

/// The end that is measured. The caller passes it the time often: its resolution is that of the figures.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Responder {
    config: ResponderConfig,
    arrivals: Arrivals,
    /// A train that is being sent, and true if the peer asked for it.
    outgoing: Option<(Outgoing, bool)>,
    asked: Option<Ask>,
    /// Answers that wait for room, by their channel.
    reply: Option<(u8, Message)>,
    line_octets: u32,
    fullest: u16,
    high_water: u16,
}

impl Responder {
    /// An end that has counted nothing.
    #[must_use]
    pub const fn new(config: ResponderConfig) -> Self {
        Self {
            config,
            arrivals: Arrivals::EMPTY,
            outgoing: None,
            asked: None,
            reply: None,
            line_octets: 0,
            fullest: 0,
            high_water: 0,
        }
    }

    /// Forgets the trains of a session that is over: to be called for [`Event::Up`](crate::Event::Up).
    pub fn restart(&mut self) {
        self.outgoing = None;
        self.asked = None;
        self.reply = None;
    }

    /// Counts octets that the program has just taken from the line, or from the hardware's FIFO: the fuller it is, the
    /// less time the interrupt handler had left.
    pub fn on_service(&mut self, octets: usize) {
        self.line_octets = self.line_octets.wrapping_add(octets as u32);
        self.fullest = self.fullest.max(octets.min(0xFFFF) as u16);
    }

    /// What came of the peer's last train.
    pub fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// True while a train is being sent.
    #[must_use]
    pub const fn is_sending(&self) -> bool {
        self.outgoing.is_some() || self.asked.is_some()
    }

    /// Sends a train of its own, and a query behind it.
    pub fn send_train(&mut self, now: Instant, ask: Ask) {
        self.outgoing = Some((Outgoing::new(now, ask), false));
    }

    /// Queues a message to the peer; false if there is no room. Its octets count for the budget.
    pub fn send<B: AsRef<[u8]> + AsMut<[u8]>, const N: usize>(
        &mut self,
        link: &mut Link<B, N>,
        channel: usize,
        message: &Message,
    ) -> bool {
        let mut octets = [0; Message::MAX];
        let len = message.emit(&mut octets);
        let is_sent = link
            .send(channel, octets.get(..len).unwrap_or_default())
            .is_ok();
        if is_sent {
            self.config.budget.spend(frame_octets(len) as u32);
        }
        is_sent
    }

    /// Counts octets that something else sent for the tests.
    pub fn spend(&mut self, octets: usize) {
        self.config.budget.spend(octets as u32);
    }

    /// True if `octets` may be sent now.
    pub fn allows(&mut self, now: Instant, octets: usize) -> bool {
        self.config.budget.allows(now, octets as u32)
    }

    /// Handles what has arrived and sends what is due. Messages that are not for a responder are passed on.
    pub fn poll<B: AsRef<[u8]> + AsMut<[u8]>, const N: usize>(
        &mut self,
        now: Instant,
        link: &mut Link<B, N>,
        mut pass_on: impl FnMut(Instant, &Self, &Message),
    ) {
        for channel in 0..N {
            self.high_water = self.high_water.max(link.unread(channel) as u16);
        }
        for channel in self.config.channels.clone() {
            while self.reply.is_none()
                && let Some((one, two)) = link.message(channel)
            {
                let octets = || one.iter().chain(two).copied();
                let len = one.len() + two.len();
                let mut head = [0; Message::MAX];
                head.iter_mut()
                    .zip(octets())
                    .for_each(|(to, from)| *to = from);
                let message = Message::parse(head.get(..len).unwrap_or(&head));
                match message {
                    Some(Message::Train { train, index }) => {
                        let filled = octets().enumerate().skip(TRAIN_HEAD);
                        let wrong = filled.filter(|(at, octet)| *octet != filler(index, *at));
                        let wrong = wrong.count() as u32;
                        let at = (now, self.line_octets);
                        self.arrivals.add(at, (train, index), len as u32, wrong);
                    }
                    Some(Message::Echo) if !self.echo(link, channel) => break,
                    Some(Message::Echo) | None => {}
                    Some(message) => self.on_message(now, link, channel, &message, &mut pass_on),
                }
                link.remove(channel);
            }
        }
        self.advance(now, link);
    }

    /// Handles a message that is neither part of a train nor an echo.
    fn on_message<B: AsRef<[u8]> + AsMut<[u8]>, const N: usize>(
        &mut self,
        now: Instant,
        link: &Link<B, N>,
        channel: usize,
        message: &Message,
        pass_on: &mut impl FnMut(Instant, &Self, &Message),
    ) {
        let answer = match *message {
            Message::Query { train, sent } => {
                let mut report = self.arrivals.report(train, sent);
                report.frames = link.counters().frames;
                report.damaged = link.counters().damaged;
                report.fullest = core::mem::take(&mut self.fullest);
                report.high_water = core::mem::take(&mut self.high_water);
                Message::Report(report)
            }
            Message::Identify => Message::Identity(self.config.identity),
            Message::Ask(ask) => {
                if self.config.channels.contains(&ask.channel.into()) {
                    let octets = ask.octets.min(self.config.longest);
                    self.asked = Some(Ask { octets, ..ask });
                }
                return;
            }
            Message::Stop => {
                self.asked = None;
                if let Some((outgoing, true)) = &mut self.outgoing {
                    outgoing.stop();
                }
                return;
            }
            _ => return pass_on(now, self, message),
        };
        self.reply = Some((channel as u8, answer));
    }

    /// Sends the octets of an echo back; false if there is no room yet.
    fn echo<B: AsRef<[u8]> + AsMut<[u8]>, const N: usize>(
        &mut self,
        link: &mut Link<B, N>,
        channel: usize,
    ) -> bool {
        let mut octets = [0; MAX_FRAGMENT as usize];
        let Some((one, two)) = link.message(channel) else {
            return true;
        };
        let len = (one.len() + two.len()).min(octets.len());
        let from = one.iter().chain(two);
        octets
            .iter_mut()
            .zip(from)
            .for_each(|(to, from)| *to = *from);
        Message::Answer.emit(&mut octets);
        let is_sent = match link.send(channel, octets.get(..len).unwrap_or_default()) {
            Err(crate::SendError::Full) => false,
            Ok(()) | Err(_) => true,
        };
        if is_sent {
            self.config.budget.spend(frame_octets(len) as u32);
        }
        is_sent
    }

    /// Sends what waits for room, and trains.
    fn advance<B: AsRef<[u8]> + AsMut<[u8]>, const N: usize>(
        &mut self,
        now: Instant,
        link: &mut Link<B, N>,
    ) {
        if let Some((channel, message)) = self.reply
            && (self.send(link, channel.into(), &message) || !link.is_up())
        {
            self.reply = None;
        }
        if self.outgoing.is_none()
            && let Some(ask) = self.asked.take()
        {
            self.outgoing = Some((Outgoing::new(now, ask), true));
        }
        let Some((mut outgoing, is_asked)) = self.outgoing else {
            return;
        };
        let is_over = outgoing.advance(now, link, &mut self.config.budget);
        self.outgoing = Some((outgoing, is_asked));
        if is_over {
            let (ask, sent) = (outgoing.ask(), outgoing.sent());
            let end = if is_asked {
                Message::Done {
                    train: ask.train,
                    sent,
                }
            } else {
                Message::Query {
                    train: ask.train,
                    sent,
                }
            };
            if self.send(link, ask.channel.into(), &end) || !link.is_up() {
                self.outgoing = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Ask, Budget, Identity, Instant, Link, Message, Responder, ResponderConfig};
    use crate::link::{Channel, Config};
    use std::{vec, vec::Vec};

    const LONGEST: u16 = 100;

    /// Lengths of the train's messages that `ask` brings within a second of microseconds in steps of 1000.
    fn lengths(ask: Ask) -> Vec<usize> {
        let end = |session| {
            let memory = || vec![0_u8; 1000];
            Link::new(
                Config::new(session),
                [Channel::unreliable(memory(), memory())],
            )
        };
        let (mut device, mut peer): (Link<Vec<u8>, 1>, Link<Vec<u8>, 1>) = (end(1), end(2));
        let mut responder = Responder::new(ResponderConfig {
            channels: 0..1,
            budget: Budget::new(0, 1000, 0),
            longest: LONGEST,
            identity: Identity::default(),
        });
        let (mut line, mut found, mut is_asked) = ([0; 2000], Vec::new(), false);
        for ms in 0..1000 {
            let now = Instant::from_us(ms * 1000);
            responder.poll(now, &mut device, |_, _, _| {});
            let forth = device.transmit(now, &mut line);
            peer.receive(now, &line[..forth]);
            let mut octets = [0; 1000];
            while let Some(len) = peer.read(0, &mut octets) {
                if let Some(Message::Train { .. }) = Message::parse(&octets[..len]) {
                    found.push(len);
                }
            }
            if peer.is_up() && !is_asked {
                let len = Message::Ask(ask).emit(&mut octets);
                is_asked = peer.send(0, &octets[..len]).is_ok();
            }
            let back = peer.transmit(now, &mut line);
            device.receive(now, &line[..back]);
        }
        found
    }

    #[test]
    fn no_request_makes_test_messages_longer_than_the_delay_permits() {
        let ask = Ask {
            octets: 900,
            count: 20,
            ..Ask::default()
        };
        assert_eq!(lengths(ask), vec![usize::from(LONGEST); 20]);
    }

    /// The time is a number of 32 bits that wraps around: an interval of more than half its range would be in the past.
    #[test]
    fn an_interval_of_more_than_half_an_hour_makes_no_train_faster() {
        let ask = Ask {
            octets: 20,
            count: 20,
            interval_us: u32::MAX - 200,
            ..Ask::default()
        };
        assert_eq!(lengths(ask).len(), 1);
    }
}
