//! Test messages: `docs/link-self-test.md`. Numbers are little-endian.

use super::arrivals::{GAP_BINS, Pace};
use super::octets::{Reader, Writer};

/// Version of the test messages, in an [`Identity`].
pub const VERSION: u8 = 1;
/// Octets in front of the filler of a train's message.
pub const TRAIN_HEAD: usize = 6;
/// Most octets of a name.
pub const MAX_NAME: usize = 32;

/// Octet `at` of the message with number `index` of a train.
#[must_use]
pub const fn filler(index: u32, at: usize) -> u8 {
    (index as u8)
        .wrapping_mul(31)
        .wrapping_add((at as u8).wrapping_mul(7))
}

/// A request for a train.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Ask {
    /// Number that its messages carry.
    pub train: u8,
    /// Channel on which it is to be sent.
    pub channel: u8,
    /// Octets of each message, at least [`TRAIN_HEAD`].
    pub octets: u16,
    /// Messages.
    pub count: u32,
    /// Microseconds from message to message; 0: as fast as they go.
    pub interval_us: u32,
    /// Longest time, milliseconds; 0: no limit.
    pub limit_ms: u32,
}

/// What a receiver counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Report {
    /// Number of the train.
    pub train: u8,
    /// Messages received.
    pub received: u32,
    /// Their octets.
    pub octets: u32,
    /// Messages that did not arrive, before the last one that did; with the number of messages sent, of all.
    pub missing: u32,
    /// Octets with another value than the one that was sent: the link's check did not detect them.
    pub wrong: u32,
    /// Time from the first message to the last, microseconds.
    pub span_us: u32,
    /// Duration of an octet of the line, by the receiver's clock.
    pub pace: Pace,
    /// Shortest gap between adjacent messages, microseconds; the greatest number without one.
    pub shortest_us: u32,
    /// Gaps between adjacent messages: number in each bin.
    pub bins: [u16; GAP_BINS],
    /// Good frames that this end has received, of all kinds and channels, modulo 2^32.
    pub frames: u32,
    /// Damaged frames, modulo 2^32.
    pub damaged: u32,
    /// Most octets that the program took from the hardware's FIFO at a time since the last report; 0 if unknown.
    pub fullest: u16,
    /// Most octets of unread messages on a channel since the last report.
    pub high_water: u16,
}

/// What sits at an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Identity {
    /// Version of the test messages.
    pub version: u8,
    /// Nominal rate of the line, octets a second; 0 if unknown.
    pub octets_per_s: u32,
    /// Octets of the hardware's receive FIFO; 0 if unknown.
    pub hardware_fifo: u16,
    /// Name, padded with zeros.
    pub name: [u8; MAX_NAME],
}

/// A message between test ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Message {
    /// Part of a train; filler follows.
    Train {
        /// Number of the train.
        train: u8,
        /// Number of the message, from 0.
        index: u32,
    },
    /// The train is over: please report. Sent on the train's channel.
    Query {
        /// Number of the train.
        train: u8,
        /// Messages that were sent.
        sent: u32,
    },
    /// Answer to a query.
    Report(Report),
    /// Please send a train.
    Ask(Ask),
    /// The train that was asked for is over. Sent on its channel.
    Done {
        /// Number of the train.
        train: u8,
        /// Messages that were sent.
        sent: u32,
    },
    /// Stop the train that was asked for.
    Stop,
    /// Please answer with the same octets.
    Echo,
    /// Answer to an echo.
    Answer,
    /// Who is there?
    Identify,
    /// Answer to that.
    Identity(Identity),
    /// Please try this rate for a while.
    Trial {
        /// Number of the trial.
        number: u8,
        /// Bits a second.
        rate: u32,
        /// Time in which a message goes out and arrives, microseconds.
        guard_us: u32,
        /// Time for which both send at that rate, microseconds.
        window_us: u32,
    },
    /// Answer to that.
    Agreed {
        /// Number of the trial.
        number: u8,
        /// False if this end does not have the rate.
        is_accepted: bool,
    },
    /// What came of the trial?
    TrialQuery {
        /// Number of the trial.
        number: u8,
    },
    /// Answer to that.
    TrialReport {
        /// Number of the trial.
        number: u8,
        /// Octets that this end sent.
        sent: u32,
        /// Octets that it received in sequence.
        good: u32,
        /// Octets that were not the next of the sequence.
        bad: u32,
    },
}

impl Message {
    /// Most octets of a message, but for trains and echoes.
    pub const MAX: usize = 76;

    /// Reads the head of a message; `None` if it is none.
    #[must_use]
    pub fn parse(octets: &[u8]) -> Option<Self> {
        let (tag, rest) = octets.split_first()?;
        let mut from = Reader(rest);
        Some(match tag {
            1 => Self::Train {
                train: from.u8()?,
                index: from.u32()?,
            },
            2 => Self::Query {
                train: from.u8()?,
                sent: from.u32()?,
            },
            3 => Self::Report(from.report()?),
            4 => Self::Ask(Ask {
                train: from.u8()?,
                channel: from.u8()?,
                octets: from.u16()?,
                count: from.u32()?,
                interval_us: from.u32()?,
                limit_ms: from.u32()?,
            }),
            5 => Self::Done {
                train: from.u8()?,
                sent: from.u32()?,
            },
            6 => Self::Stop,
            7 => Self::Echo,
            8 => Self::Answer,
            9 => Self::Identify,
            10 => Self::Identity(from.identity()?),
            11 => Self::Trial {
                number: from.u8()?,
                rate: from.u32()?,
                guard_us: from.u32()?,
                window_us: from.u32()?,
            },
            12 => Self::Agreed {
                number: from.u8()?,
                is_accepted: from.u8()? != 0,
            },
            13 => Self::TrialQuery { number: from.u8()? },
            14 => Self::TrialReport {
                number: from.u8()?,
                sent: from.u32()?,
                good: from.u32()?,
                bad: from.u32()?,
            },
            _ => return None,
        })
    }

    /// Writes a message, or the head of one with filler; returns its length. `out` has at least [`Self::MAX`] octets.
    pub fn emit(&self, out: &mut [u8]) -> usize {
        let mut to = Writer { out, at: 0 };
        match *self {
            Self::Train { train, index } => to.u8(1).u8(train).u32(index),
            Self::Query { train, sent } => to.u8(2).u8(train).u32(sent),
            Self::Report(report) => to.u8(3).report(&report),
            Self::Ask(ask) => to
                .u8(4)
                .u8(ask.train)
                .u8(ask.channel)
                .u16(ask.octets)
                .u32(ask.count)
                .u32(ask.interval_us)
                .u32(ask.limit_ms),
            Self::Done { train, sent } => to.u8(5).u8(train).u32(sent),
            Self::Stop => to.u8(6),
            Self::Echo => to.u8(7),
            Self::Answer => to.u8(8),
            Self::Identify => to.u8(9),
            Self::Identity(identity) => to.u8(10).identity(&identity),
            Self::Trial {
                number,
                rate,
                guard_us,
                window_us,
            } => to.u8(11).u8(number).u32(rate).u32(guard_us).u32(window_us),
            Self::Agreed {
                number,
                is_accepted,
            } => to.u8(12).u8(number).u8(is_accepted.into()),
            Self::TrialQuery { number } => to.u8(13).u8(number),
            Self::TrialReport {
                number,
                sent,
                good,
                bad,
            } => to.u8(14).u8(number).u32(sent).u32(good).u32(bad),
        };
        to.at
    }
}

#[cfg(test)]
mod tests {
    use super::{Ask, Identity, Message, Pace, Report};
    use std::vec::Vec;

    fn messages() -> Vec<Message> {
        let mut name = [0; super::MAX_NAME];
        name[..4].copy_from_slice(b"peer");
        Vec::from([
            Message::Train {
                train: 3,
                index: 70_000,
            },
            Message::Query {
                train: 3,
                sent: 80_000,
            },
            Message::Report(Report {
                train: 1,
                received: 2,
                octets: 3,
                missing: 4,
                wrong: 5,
                span_us: 6,
                pace: Pace {
                    fastest_ns: 7,
                    us: 26,
                    octets: 27,
                    count: 28,
                },
                shortest_us: 8,
                bins: [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21],
                frames: 22,
                damaged: 23,
                fullest: 24,
                high_water: 25,
            }),
            Message::Ask(Ask {
                train: 1,
                channel: 2,
                octets: 300,
                count: 4,
                interval_us: 5,
                limit_ms: 6,
            }),
            Message::Done { train: 1, sent: 2 },
            Message::Stop,
            Message::Echo,
            Message::Answer,
            Message::Identify,
            Message::Identity(Identity {
                version: 1,
                octets_per_s: 300_000,
                hardware_fifo: 128,
                name,
            }),
            Message::Trial {
                number: 1,
                rate: 3_000_000,
                guard_us: 3,
                window_us: 4,
            },
            Message::Agreed {
                number: 1,
                is_accepted: true,
            },
            Message::TrialQuery { number: 9 },
            Message::TrialReport {
                number: 1,
                sent: 2,
                good: 3,
                bad: 4,
            },
        ])
    }

    #[test]
    fn messages_are_read_as_written_and_not_if_cut_off() {
        for message in messages() {
            let mut octets = [0; Message::MAX];
            let len = message.emit(&mut octets);
            assert_eq!(Message::parse(&octets[..len]), Some(message));
            // A name may be shorter.
            let least = if matches!(message, Message::Identity(_)) {
                8
            } else {
                len
            };
            for cut in 0..least {
                assert_eq!(Message::parse(&octets[..cut]), None, "{message:?} {cut}");
            }
        }
    }
}
