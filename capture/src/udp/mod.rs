//! Numbered UDP streams in a capture, such as those of iperf and RTP: the datagrams that arrived at the capture point.
//!
//! | module | contents |
//! |---|---|
//! | `header` | tool, numbers and times of datagrams |
//! | `stream` | counters of a stream |
//! | `regularity` | how regularly datagrams are lost |

mod header;
mod regularity;
mod stream;
#[cfg(test)]
mod tests;

pub use header::Tool;
pub use stream::Stream;

use header::DatagramHeader;
use stream::Place;

/// Number of matching datagrams that confirm a stream.
const MIN_DATAGRAMS: u64 = 8;
/// Number of restarts after which a flow is not treated as a stream any more.
const MAX_TRIES: u8 = 64;

/// Detects a stream in the datagrams from one port to another.
#[derive(Clone, Debug)]
pub struct StreamDetector {
    tools: &'static [Tool],
    streams: Vec<Stream>,
    tries: u8,
}

impl Default for StreamDetector {
    fn default() -> Self {
        Self::of_tools(&Tool::ALL)
    }
}

impl StreamDetector {
    const fn of_tools(tools: &'static [Tool]) -> Self {
        Self {
            tools,
            streams: Vec::new(),
            tries: 0,
        }
    }

    /// Of datagrams without numbers, from the identifications of their IPv4 packets, which are recorded in the place of their octets.
    pub const fn of_identifications() -> Self {
        Self::of_tools(&Tool::UNNUMBERED)
    }

    /// Records a datagram with a payload of `length`, of which `octets` were captured. Returns the previous stream if
    /// this datagram starts another one.
    #[inline]
    pub fn record(
        &mut self,
        octets: &[u8],
        length: u32,
        time_ns: u64,
        packet: u64,
    ) -> Option<Stream> {
        if let [stream] = self.streams.as_mut_slice()
            && stream.is_confirmed()
        {
            let expected = Some(stream.expected());
            let header = DatagramHeader::parse(stream.tool, octets, expected)?;
            return match stream.place(&header, time_ns) {
                Place::Within => {
                    stream.add(&header, length, time_ns, packet);
                    None
                }
                Place::Elsewhere => None,
                Place::Restart => {
                    let restarted = Stream::new(stream.tool, &header, length, time_ns, packet);
                    Some(std::mem::replace(stream, restarted))
                }
            };
        }
        self.detect(octets, length, time_ns, packet);
        None
    }

    #[cold]
    fn detect(&mut self, octets: &[u8], length: u32, time_ns: u64, packet: u64) {
        if self.tries == MAX_TRIES {
            return;
        }
        // An end marker is rare: before confirmation it is probably something else.
        let header = |tool, expected| {
            DatagramHeader::parse(tool, octets, expected).filter(|header| !header.is_end)
        };
        self.streams.retain_mut(|stream| {
            let header = header(stream.tool, Some(stream.expected()));
            let header = header.filter(|header| stream.can_continue(header));
            if let Some(header) = &header {
                stream.add(header, length, time_ns, packet);
            }
            header.is_some()
        });
        if self.streams.is_empty() {
            self.tries += 1;
            let begun = self.tools.iter().filter_map(|&tool| {
                let header = header(tool, None)?;
                Some(Stream::new(tool, &header, length, time_ns, packet))
            });
            self.streams.extend(begun);
        }
        // The most specific explanation of the numbers.
        let mut confirmed = self.streams.iter().filter(|it| it.is_confirmed());
        if confirmed.any(|it| it.tool.is_iperf()) {
            self.streams.retain(|it| it.tool.is_iperf());
        } else if let Some(at) = self.streams.iter().position(Stream::is_confirmed) {
            let mut stream = self.streams.swap_remove(at);
            stream.confirm();
            self.streams = vec![stream];
        }
    }

    /// The stream, if it is confirmed.
    pub fn stream(&self) -> Option<&Stream> {
        match self.streams.as_slice() {
            [stream] if stream.is_confirmed() => Some(stream),
            _ => None,
        }
    }
}
