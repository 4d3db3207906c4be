//! Two ends whose octets the test passes by hand.

use linerate_link::{Channel, Config, Instant, Link};

/// An end with two channels.
pub type End = Link<Vec<u8>, 2>;

/// The time at which everything happens that a test gives no other.
pub const NOW: Instant = Instant::from_us(0);

/// An end with two reliable channels of 2,000 octets in each direction.
pub fn end(session: u32, max_fragment: u16) -> End {
    let config = Config {
        max_fragment,
        ..Config::new(session)
    };
    let memory = || vec![0; 2000];
    Link::new(
        config,
        [0, 1].map(|_| Channel::reliable(memory(), memory())),
    )
}

/// Everything that an end sends now.
pub fn octets_of<const N: usize>(end: &mut Link<Vec<u8>, N>) -> Vec<u8> {
    let mut octets = vec![0; 5000];
    let count = end.transmit(NOW, &mut octets);
    octets.truncate(count);
    octets
}

/// Two ends with a session and nothing to send.
pub fn pair(max_fragment: u16) -> [End; 2] {
    connected([
        end(0x1111_1111, max_fragment),
        end(0x2222_2222, max_fragment),
    ])
}

/// Two ends after everything that they have to send.
pub fn connected<const N: usize>(mut ends: [Link<Vec<u8>, N>; 2]) -> [Link<Vec<u8>, N>; 2] {
    loop {
        let octets = ends.each_mut().map(octets_of);
        if octets.iter().all(Vec::is_empty) {
            return ends;
        }
        ends[1].receive(NOW, &octets[0]);
        ends[0].receive(NOW, &octets[1]);
    }
}
