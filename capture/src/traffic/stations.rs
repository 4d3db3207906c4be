//! Frames by sending station.

use serde::Serialize;

/// Further stations are counted together: in a storm each frame may have a new address.
const MAX_STATIONS: usize = 64;

/// A station on Ethernet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Station {
    /// Its address, or `others`.
    pub address: String,
    /// Frames sent.
    pub frames: u64,
    /// Their octets.
    pub bytes: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Stations {
    seen: Vec<([u8; 6], u64, u64)>,
    last: usize,
    others: (u64, u64),
}

impl Stations {
    #[inline]
    pub(super) fn record(&mut self, source: [u8; 6], length: u32) {
        match self.seen.get_mut(self.last) {
            Some((address, frames, bytes)) if *address == source => {
                *frames += 1;
                *bytes += u64::from(length);
            }
            _ => self.record_other(source, length),
        }
    }

    fn record_other(&mut self, source: [u8; 6], length: u32) {
        let found = self
            .seen
            .iter()
            .position(|(address, ..)| *address == source);
        let (frames, bytes) = match found {
            Some(at) => {
                self.last = at;
                let (_, frames, bytes) = &mut self.seen[at];
                (frames, bytes)
            }
            None if self.seen.len() < MAX_STATIONS => {
                self.seen.push((source, 0, 0));
                let (_, frames, bytes) = self.seen.last_mut().expect("just pushed");
                (frames, bytes)
            }
            None => (&mut self.others.0, &mut self.others.1),
        };
        *frames += 1;
        *bytes += u64::from(length);
    }

    /// All stations, the one with the most frames first.
    pub(super) fn report(&self) -> Vec<Station> {
        let mut stations: Vec<Station> = self
            .seen
            .iter()
            .map(|(address, frames, bytes)| {
                let octets: Vec<String> =
                    address.iter().map(|octet| format!("{octet:02x}")).collect();
                Station {
                    address: octets.join(":"),
                    frames: *frames,
                    bytes: *bytes,
                }
            })
            .collect();
        stations.sort_by_key(|station| std::cmp::Reverse(station.frames));
        if self.others.0 > 0 {
            stations.push(Station {
                address: "others".to_owned(),
                frames: self.others.0,
                bytes: self.others.1,
            });
        }
        stations
    }
}
