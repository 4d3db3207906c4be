//! What sits at the other end of a port if the link does not come up, by the octets that come from it.

/// Octets that are kept.
const KEPT: usize = 4_096;
/// Share of printable octets from which on it is a console, per cent.
const CONSOLE_PERCENT: usize = 90;

/// Octets that came while the link was not up.
#[derive(Debug, Default, Clone)]
pub struct Heard {
    octets: Vec<u8>,
}

/// What sits at the other end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OtherEnd {
    /// It sends nothing.
    Silent,
    /// What is sent comes back: a short circuit, or a terminal that echoes.
    Loop,
    /// It sends text: its first line.
    Console(String),
    /// It sends frames of the link layer, but does not answer: the other direction is broken.
    Deaf,
    /// It sends octets that are no frames, most likely at another bit rate.
    Noise,
}

impl Heard {
    /// Adds octets.
    pub fn add(&mut self, octets: &[u8]) {
        let room = KEPT.saturating_sub(self.octets.len());
        self.octets.extend(octets.iter().take(room));
    }

    /// Judges the octets. `session` is this end's number, which its hellos contain.
    #[must_use]
    pub fn other_end(&self, session: u32, good_frames: u32) -> OtherEnd {
        if self.octets.is_empty() {
            return OtherEnd::Silent;
        }
        // The number has no zero in most cases, so COBS leaves it as it is.
        let own = session.to_le_bytes();
        let is_own = |window: &[u8]| window == own;
        let hellos = self
            .octets
            .split(|octet| *octet == 0)
            .filter(|frame| frame.len() > 12);
        // An answer to a hello has the number behind the sender's own; a loop has it in front.
        if hellos.clone().any(|frame| {
            frame
                .get(5..13)
                .is_some_and(|it| it.windows(4).take(2).any(is_own))
        }) {
            return OtherEnd::Loop;
        }
        if good_frames > 0 {
            return OtherEnd::Deaf;
        }
        let is_text = |octet: &&u8| octet.is_ascii_graphic() || b" \t\r\n\x1b".contains(octet);
        let text = self.octets.iter().filter(is_text).count();
        if text * 100 >= self.octets.len() * CONSOLE_PERCENT {
            let text = String::from_utf8_lossy(&self.octets).into_owned();
            let line = text.lines().find(|line| !line.trim().is_empty());
            return OtherEnd::Console(line.unwrap_or_default().trim().chars().take(60).collect());
        }
        OtherEnd::Noise
    }
}

impl OtherEnd {
    /// A sentence about it, with what to do.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Silent => "nothing comes from the other end: is the firmware with linerate-link running, is this its \
                             port, and are TX and RX crossed?"
                .to_owned(),
            Self::Loop => "what is sent comes back: TX and RX are connected, or a terminal echoes".to_owned(),
            Self::Console(line) => format!(
                "the other end is a console, no link (`{line}`): is this the right port, and does the firmware start a link?"
            ),
            Self::Deaf => "the other end sends frames, but receives none: check this end's TX line".to_owned(),
            Self::Noise => "what comes from the other end is neither frames nor text: most likely it has another bit rate"
                .to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Heard, OtherEnd};
    use linerate_link::{Channel, Config, Instant, Link};

    fn heard(octets: &[u8]) -> Heard {
        let mut heard = Heard::default();
        heard.add(octets);
        heard
    }

    #[test]
    fn the_other_end_is_known_by_its_octets() {
        let session = 0x1234_5678;
        let channels = [Channel::reliable(vec![0; 64], vec![0; 64])];
        let mut link = Link::new(Config::new(session), channels);
        let mut hello = [0; 64];
        let len = link.transmit(Instant::from_us(0), &mut hello);
        let judged = |octets: &[u8], frames| heard(octets).other_end(session, frames);
        assert_eq!(judged(&[], 0), OtherEnd::Silent);
        assert_eq!(judged(&hello[..len], 1), OtherEnd::Loop);
        let console = OtherEnd::Console("ESP-ROM:esp32c6-20220919".to_owned());
        assert_eq!(
            judged(b"\r\nESP-ROM:esp32c6-20220919\r\nBuild:Sep 19 2022\r\n", 0),
            console
        );
        assert_eq!(
            judged(&[0xF8, 0x80, 0xE0, 0xFE, 0x9C, 0, 0x86], 0),
            OtherEnd::Noise
        );
        let mut other = Link::new(
            Config::new(0x1111),
            [Channel::reliable(vec![0; 64], vec![0; 64])],
        );
        let len = other.transmit(Instant::from_us(0), &mut hello);
        assert_eq!(judged(&hello[..len], 1), OtherEnd::Deaf);
    }
}
