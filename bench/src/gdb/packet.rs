//! Packets of the remote protocol: `$` body `#` checksum, `+` and `-` for an intact or a corrupted
//! packet.

/// More than any reply to the requests made here.
const LONGEST: usize = 16 * 1024;

/// A message of the other end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Acknowledges a packet of ours.
    Ack,
    /// A packet of ours arrived corrupted.
    Nak,
    /// A packet.
    Packet(Vec<u8>),
    /// A packet that is corrupted, or longer than any valid one.
    Corrupted,
}

/// Finds packets in a stream of octets.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    state: State,
    body: Vec<u8>,
    sum: u8,
    is_too_long: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Between,
    Body,
    /// After `}`: an escaped octet.
    Escaped,
    /// After `*`: the repeat count of the last octet.
    Repeated,
    /// After `#`, and after its first digit.
    Sum,
    Digit(u8),
    /// A notification, which is not requested and not acknowledged; the number of remaining digits of its
    /// sum.
    Notification,
    NotificationSum(u8),
}

impl Reader {
    /// Processes an octet.
    pub fn feed(&mut self, octet: u8) -> Option<Message> {
        match (self.state, octet) {
            (State::Between, b'+') => return Some(Message::Ack),
            (State::Between, b'-') => return Some(Message::Nak),
            // A packet never contains a bare `$`: the end of the previous one was lost.
            (State::Between | State::Body | State::Escaped | State::Repeated, b'$') => self.begin(),
            (State::Between, b'%') => self.state = State::Notification,
            (State::Notification, b'#') => self.state = State::NotificationSum(2),
            (State::Between | State::Notification, _) => {}
            (State::NotificationSum(2), _) => self.state = State::NotificationSum(1),
            (State::NotificationSum(_), _) => self.state = State::Between,
            (State::Body | State::Escaped | State::Repeated, b'#') => self.state = State::Sum,
            (State::Body, _) => {
                self.sum = self.sum.wrapping_add(octet);
                match octet {
                    b'}' => self.state = State::Escaped,
                    b'*' => self.state = State::Repeated,
                    _ => self.push(octet, 1),
                }
            }
            (State::Escaped, _) => {
                self.sum = self.sum.wrapping_add(octet);
                self.push(octet ^ 0x20, 1);
                self.state = State::Body;
            }
            (State::Repeated, _) => {
                self.sum = self.sum.wrapping_add(octet);
                // Counts are printable: a space is 3.
                let times = octet.saturating_sub(29);
                match self.body.last().copied() {
                    Some(last) if times >= 3 => self.push(last, times.into()),
                    _ => self.is_too_long = true,
                }
                self.state = State::Body;
            }
            (State::Sum, _) => self.state = State::Digit(octet),
            (State::Digit(first), _) => {
                self.state = State::Between;
                let sum = digit(first).zip(digit(octet));
                let is_right = sum.is_some_and(|(high, low)| high << 4 | low == self.sum);
                let body = std::mem::take(&mut self.body);
                return Some(if is_right && !self.is_too_long {
                    Message::Packet(body)
                } else {
                    Message::Corrupted
                });
            }
        }
        None
    }

    fn begin(&mut self) {
        *self = Self {
            state: State::Body,
            ..Self::default()
        };
    }

    fn push(&mut self, octet: u8, times: usize) {
        if self.body.len() + times > LONGEST {
            self.is_too_long = true;
            return;
        }
        self.body.extend(std::iter::repeat_n(octet, times));
    }
}

/// A packet with this text, which must not contain any special octet.
pub fn packet(body: &str) -> Vec<u8> {
    let sum = body.bytes().fold(0_u8, u8::wrapping_add);
    format!("${body}#{sum:02x}").into_bytes()
}

/// A little-endian number of `octets` in hexadecimal digits.
pub fn number(digits: &[u8], octets: usize) -> Option<u32> {
    if digits.len() != 2 * octets || octets > 4 {
        return None;
    }
    let octet = |pair: &[u8]| Some(u32::from(digit(pair[0])?) << 4 | u32::from(digit(pair[1])?));
    let pairs = digits.chunks_exact(2).rev();
    pairs
        .map(octet)
        .try_fold(0, |sum, octet| Some(sum << 8 | octet?))
}

/// The inverse.
pub fn digits(value: u32, octets: usize) -> String {
    let all = format!("{:08x}", value.swap_bytes());
    all[..2 * octets.min(4)].to_owned()
}

fn digit(octet: u8) -> Option<u8> {
    char::from(octet).to_digit(16).map(|digit| digit as u8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn messages(octets: &[u8]) -> Vec<Message> {
        let mut reader = Reader::default();
        octets.iter().filter_map(|it| reader.feed(*it)).collect()
    }

    fn packet_of(body: &[u8]) -> Message {
        Message::Packet(body.to_vec())
    }

    #[test]
    fn packets_and_acknowledgements_are_found() {
        assert_eq!(
            messages(b"+$OK#9a-"),
            [Message::Ack, packet_of(b"OK"), Message::Nak]
        );
        assert_eq!(packet("OK"), b"$OK#9a");
        assert_eq!(
            messages(b"$OK#9b$#00"),
            [Message::Corrupted, packet_of(b"")]
        );
        assert_eq!(messages(b"$OK#zz"), [Message::Corrupted]);
        // The end of the first is lost.
        assert_eq!(messages(b"$78563$OK#9a"), [packet_of(b"OK")]);
        assert_eq!(messages(b"%Stop:T05#7f+"), [Message::Ack]);
    }

    #[test]
    fn repeated_and_escaped_octets_are_as_they_were() {
        // "0" and three more; an escaped `*` after `}`.
        assert_eq!(messages(b"$0* #7a"), [packet_of(b"0000")]);
        assert_eq!(messages(b"$}\n#87"), [packet_of(b"*")]);
        // Nothing to repeat.
        assert_eq!(messages(b"$* #4a"), [Message::Corrupted]);
    }

    #[test]
    fn numbers_have_the_lowest_octet_first() {
        assert_eq!(number(b"6402ee05", 4), Some(0x05ee_0264));
        assert_eq!(number(b"fF", 1), Some(0xff));
        assert_eq!(digits(0x05ee_0264, 4), "6402ee05");
        assert_eq!(digits(0x3302, 2), "0233");
        for (text, octets) in [(&b"6402"[..], 4), (b"E14", 2), (b"6x", 1), (b"", 5)] {
            assert_eq!(number(text, octets), None);
        }
    }

    proptest! {
        #[test]
        fn any_octets_are_accepted_and_memory_is_bounded(
            octets in proptest::collection::vec(any::<u8>(), 0..4096)
        ) {
            let mut reader = Reader::default();
            for octet in octets {
                if let Some(Message::Packet(body)) = reader.feed(octet) {
                    prop_assert!(body.len() <= LONGEST);
                }
            }
            // A whole packet is found after any input, at the second attempt if necessary.
            let twice: Vec<Message> = b"#00$OK#9a$OK#9a".iter().filter_map(|it| reader.feed(*it)).collect();
            prop_assert!(twice.contains(&packet_of(b"OK")));
        }

        #[test]
        fn an_endless_packet_is_rejected(times in 200_usize..400) {
            let mut flood = b"$0".to_vec();
            flood.extend(b"*~".repeat(times));
            flood.extend(b"#00");
            prop_assert_eq!(messages(&flood), [Message::Corrupted]);
        }

        #[test]
        fn values_read_back(value: u32, octets in 1_usize..=4) {
            let kept = (u64::from(value) & ((1 << (8 * octets)) - 1)) as u32;
            prop_assert_eq!(number(digits(value, octets).as_bytes(), octets), Some(kept));
        }
    }
}
