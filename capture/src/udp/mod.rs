//! UDP streams of iperf as a capture shows them: what arrived at the place of capture, and how.
//!
//! | module | what a person finds there |
//! |---|---|
//! | `header` | whose datagrams they are, their numbers and times |
//! | `stream` | what is counted of a stream |

mod header;
mod stream;
#[cfg(test)]
mod tests;

pub use header::Tool;
pub use stream::Stream;

use header::DatagramHeader;

/// So many datagrams have to fit before they are believed.
const MIN_DATAGRAMS: u64 = 8;
/// How often a flow may begin anew before it is taken for something else.
const MAX_TRIES: u8 = 64;

/// The datagrams from one port to another: a stream, or what may turn out to be one.
#[derive(Clone, Debug, Default)]
pub struct StreamDetector {
    streams: Vec<Stream>,
    tries: u8,
}

impl StreamDetector {
    /// Takes note of a datagram with a payload of `length`, of which `octets` were kept. Gives back the stream that
    /// is over, if this one begins another.
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
            let header = DatagramHeader::parse(stream.tool, octets)?;
            if !stream.is_restart(&header) {
                stream.add(&header, length, time_ns, packet);
                return None;
            }
            let restarted = Stream::new(stream.tool, &header, length, time_ns, packet);
            return Some(std::mem::replace(stream, restarted));
        }
        self.detect(octets, length, time_ns, packet);
        None
    }

    #[cold]
    fn detect(&mut self, octets: &[u8], length: u32, time_ns: u64, packet: u64) {
        if self.tries == MAX_TRIES {
            return;
        }
        // An end is rare: what seems to be one is something else.
        let header = |tool| DatagramHeader::parse(tool, octets).filter(|header| !header.is_end);
        self.streams.retain_mut(|stream| {
            let header = header(stream.tool).filter(|header| stream.can_continue(header));
            if let Some(header) = &header {
                stream.add(header, length, time_ns, packet);
            }
            header.is_some()
        });
        if self.streams.is_empty() {
            self.tries += 1;
            let begun = Tool::ALL.into_iter().filter_map(|tool| {
                let header = header(tool)?;
                Some(Stream::new(tool, &header, length, time_ns, packet))
            });
            self.streams.extend(begun);
        }
    }

    /// The stream, if it is one.
    pub fn stream(&self) -> Option<&Stream> {
        match self.streams.as_slice() {
            [stream] if stream.is_confirmed() => Some(stream),
            _ => None,
        }
    }
}
