//! Trials as trains of test messages.

use std::time::Duration;

use linerate_host::serial::end::{DATAGRAM, STREAM};
use linerate_link::measure::{Ask, TRAIN_HEAD};
use linerate_results::record::Direction;

use crate::endpoint::{Amount, Datagrams, RoundTrips, Stream, Trial};

/// Octets of a message of a stream, if the user names none: a fragment of most devices.
const STREAM_OCTETS: u32 = 256;
/// Octets of an echo: its type and number, and what a device sends back at most.
pub(super) const ECHO_OCTETS: [u16; 2] = [5, 512];

/// The parts of a trial, which run at the same time.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    /// Train to the device.
    pub(super) to: Option<Ask>,
    /// Train from the device.
    pub(super) from: Option<Ask>,
    /// Echoes, and time before the first.
    pub(super) echoes: Option<(RoundTrips, Duration)>,
}

/// Checks that links can do a trial.
pub(super) fn check(trial: &Trial) -> Result<(), &'static str> {
    match trial {
        Trial::Stream(Stream { streams: 2.., .. }) => Err("a link has one stream: omit -P"),
        Trial::Stream(Stream {
            window_octets: Some(_),
            ..
        }) => Err("a link has credits, no window: omit -w"),
        Trial::Stream(Stream { write_octets, .. }) if *write_octets > 16_000 => {
            Err("a message has at most 16000 octets: give -l, or --to to a sweep of sizes")
        }
        Trial::RoundTrips(trips) => match &trips.load {
            _ if trips.payload_octets > ECHO_OCTETS[1] => Err("an echo has at most 512 octets"),
            Some(load) => check(load),
            None => Ok(()),
        },
        Trial::Stream(_) | Trial::Datagrams(_) => Ok(()),
        Trial::Frames(_) => Err("a byte link has no Ethernet frames"),
    }
}

impl Plan {
    /// The parts of a trial that [`check`] has passed. Their messages have the number `train`.
    pub(super) fn of(trial: &Trial, train: u8) -> Self {
        match trial {
            Trial::Stream(stream) => {
                let octets = match stream.write_octets {
                    0 => STREAM_OCTETS,
                    octets => octets.max(TRAIN_HEAD as u32),
                };
                let ask = ask((train, STREAM), octets, stream.amount);
                Self::directed(stream.direction, ask)
            }
            Trial::Datagrams(datagrams) => {
                let octets = u32::from(datagrams.payload_octets).max(TRAIN_HEAD as u32);
                let ask = Ask {
                    interval_us: interval_us(datagrams),
                    ..ask((train, DATAGRAM), octets, datagrams.amount)
                };
                Self::directed(datagrams.direction, ask)
            }
            Trial::RoundTrips(trips) => {
                let load = trips.load.as_deref();
                let head_start = load.map_or(Duration::ZERO, |_| trips.head_start());
                Self {
                    echoes: Some((trips.clone(), head_start)),
                    ..load.map_or_else(Self::default, |load| Self::of(load, train))
                }
            }
            Trial::Frames(_) => Self::default(),
        }
    }

    fn directed(direction: Direction, ask: Ask) -> Self {
        Self {
            to: (direction != Direction::FromDevice).then_some(ask),
            from: (direction != Direction::ToDevice).then_some(ask),
            echoes: None,
        }
    }
}

fn ask((train, channel): (u8, usize), octets: u32, amount: Amount) -> Ask {
    let (count, limit_ms) = match amount {
        Amount::Span(span) => (
            u32::MAX,
            u32::try_from(span.as_millis()).unwrap_or(u32::MAX),
        ),
        Amount::Octets(all) => {
            let count = all.div_ceil(octets.into());
            (u32::try_from(count).unwrap_or(u32::MAX), 0)
        }
    };
    Ask {
        train,
        channel: channel as u8,
        octets: octets as u16,
        count,
        interval_us: 0,
        limit_ms,
    }
}

/// Time from datagram to datagram, microseconds; 0: as fast as they go.
fn interval_us(asked: &Datagrams) -> u32 {
    let bits = u64::from(asked.payload_octets) * 8_000_000;
    let us = bits.checked_div(asked.payload_bits_per_s).unwrap_or(0);
    u32::try_from(us).unwrap_or(u32::MAX)
}
