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

use header::Numbered;

/// So many datagrams have to fit before they are believed.
const ENOUGH: u64 = 8;
/// How often a flow may begin anew before it is taken for something else.
const MOST_TRIES: u8 = 64;

/// The datagrams from one port to another: a stream, or what may turn out to be one.
#[derive(Clone, Debug, Default)]
pub struct Guess {
    streams: Vec<Stream>,
    tries: u8,
}

impl Guess {
    /// Takes note of a datagram with a payload of `length`, of which `octets` were kept. Gives back the stream that
    /// is over, if this one begins another.
    #[inline]
    pub fn take(
        &mut self,
        octets: &[u8],
        length: u32,
        time_ns: u64,
        packet: u64,
    ) -> Option<Stream> {
        if let [stream] = self.streams.as_mut_slice()
            && stream.is_sure()
        {
            let said = Numbered::parse(stream.tool, octets)?;
            if !stream.begins_anew(&said) {
                stream.add(&said, length, time_ns, packet);
                return None;
            }
            let anew = Stream::new(stream.tool, &said, length, time_ns, packet);
            return Some(std::mem::replace(stream, anew));
        }
        self.guess(octets, length, time_ns, packet);
        None
    }

    #[cold]
    fn guess(&mut self, octets: &[u8], length: u32, time_ns: u64, packet: u64) {
        if self.tries == MOST_TRIES {
            return;
        }
        // An end is rare: what seems to be one is something else.
        let said = |tool| Numbered::parse(tool, octets).filter(|said| !said.ends);
        self.streams.retain_mut(|stream| {
            let said = said(stream.tool).filter(|said| stream.may_go_on(said));
            if let Some(said) = &said {
                stream.add(said, length, time_ns, packet);
            }
            said.is_some()
        });
        if self.streams.is_empty() {
            self.tries += 1;
            let begun = Tool::ALL.into_iter().filter_map(|tool| {
                let said = said(tool)?;
                Some(Stream::new(tool, &said, length, time_ns, packet))
            });
            self.streams.extend(begun);
        }
    }

    /// The stream, if it is one.
    pub fn stream(&self) -> Option<&Stream> {
        match self.streams.as_slice() {
            [stream] if stream.is_sure() => Some(stream),
            _ => None,
        }
    }
}
