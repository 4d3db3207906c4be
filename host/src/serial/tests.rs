//! Two ends over pseudo-terminals, TCP and a loop of wire for SPI.

use super::address::Address;
use super::end::{CONTROL, LinkEnd, STREAM};
use super::peer;
use super::port::{self, Port, PortError};
use super::spi::{Bus, SpiPort};
use linerate_link::measure::Message;
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Exchanges an identification, an echo and a message with the peer on another port.
fn exchange(near: Box<dyn Port>, far: Box<dyn Port>) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let served = scope.spawn(|| {
            let mut end = LinkEnd::new(far, 2);
            let is_over = || stop.load(Ordering::Relaxed);
            peer::serve(&mut end, "test peer", &is_over, &mut |_| {})
        });
        let mut end = LinkEnd::new(near, 1);
        let mut echo = [7; 300];
        let mut identity = None;
        let mut answer = Vec::new();
        let mut is_asked = false;
        while identity.is_none() || answer.is_empty() {
            end.turn(Duration::from_millis(20)).expect("a turn");
            if !std::mem::replace(&mut is_asked, end.link.is_up()) && end.link.is_up() {
                let mut octets = [0; Message::MAX];
                let len = Message::Identify.emit(&mut octets);
                end.link.send(CONTROL, &octets[..len]).expect("room");
                Message::Echo.emit(&mut echo);
                end.link.send(STREAM, &echo).expect("room");
            }
            let mut octets = [0; 512];
            while let Some(len) = end.link.read(CONTROL, &mut octets) {
                if let Some(Message::Identity(it)) = Message::parse(&octets[..len]) {
                    identity = Some(it);
                }
            }
            if let Some(len) = end.link.read(STREAM, &mut octets) {
                answer = octets[..len].to_vec();
            }
        }
        assert!(identity.expect("known").name.starts_with(b"test peer\0"));
        Message::Answer.emit(&mut echo);
        assert_eq!(answer, echo);
        stop.store(true, Ordering::Relaxed);
        // The near end of a connection closes, or the far one stops.
        let _ = served.join().expect("no panic");
    });
}

#[test]
fn ends_talk_over_a_pseudo_terminal() {
    let (far, path) = port::open(&Address::Pty { path: None }).expect("a pseudo-terminal");
    let (near, _) = port::open(&Address::Pty { path }).expect("its other end");
    exchange(near, far);
}

#[test]
fn a_serial_port_opens_with_its_rate() {
    let (far, path) = port::open(&Address::Pty { path: None }).expect("a pseudo-terminal");
    // A pseudo-terminal takes any rate; the program that made it has it open, so this one counts as its own.
    let serial = Address::Serial {
        path: path.expect("a path"),
        baud: 3_000_000,
        rts_cts: true,
    };
    let (near, _) = port::open(&serial).expect("a port");
    exchange(near, far);
}

#[test]
fn ends_talk_over_tcp() {
    // A free port, given back for the listener.
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let number = listener.local_addr().expect("an address").port();
    drop(listener);
    let waiting = Address::Tcp {
        host: String::new(),
        port: number,
    };
    let connecting = Address::Tcp {
        host: "127.0.0.1".to_owned(),
        port: number,
    };
    std::thread::scope(|scope| {
        let far = scope.spawn(move || port::open(&waiting).expect("a connection").0);
        let near = loop {
            if let Ok((near, _)) = port::open(&connecting) {
                break near;
            }
            std::thread::yield_now();
        };
        exchange(near, far.join().expect("no panic"));
    });
}

/// A bus whose other end is one, too: what the other one sent in its last transfer comes back in this one.
struct Loop {
    out: Sender<u8>,
    into: Receiver<u8>,
}

impl Bus for Loop {
    fn transfer(&mut self, out: &[u8], into: &mut [u8]) -> io::Result<()> {
        for octet in out {
            // The other end may be gone at the end of the test.
            let _ = self.out.send(*octet);
        }
        into.fill_with(|| self.into.try_recv().unwrap_or(0));
        Ok(())
    }
}

#[test]
fn ends_talk_over_spi_transfers() {
    let (to_far, from_near) = channel();
    let (to_near, from_far) = channel();
    let near = SpiPort::new(Loop {
        out: to_far,
        into: from_far,
    });
    let far = SpiPort::new(Loop {
        out: to_near,
        into: from_near,
    });
    exchange(Box::new(near), Box::new(far));
}

#[test]
fn only_the_octets_that_count_are_read_from_a_transfer() {
    let (to_port, from_device) = channel();
    let (to_device, at_device) = channel();
    let mut port = SpiPort::new(Loop {
        out: to_device,
        into: from_device,
    });
    let answer = |count: u16, octets: &[u8]| {
        let count = count.to_le_bytes();
        let rest = std::iter::repeat_n(0x55, 254 - octets.len());
        for octet in count.into_iter().chain(octets.iter().copied()).chain(rest) {
            to_port.send(octet).expect("the port is there");
        }
    };
    let mut read = [0; 512];
    // 300 octets do not fit into a transfer. The device is not ready for the first one: it sends ones.
    answer(0xffff, &[0xff; 254]);
    answer(3, &[1, 0, 2]);
    assert_eq!(port.write(&[7; 300]).expect("written"), 254);
    assert_eq!(port.read(&mut read).expect("read"), 0);
    assert_eq!(port.write(&[7; 46]).expect("written"), 46);
    assert_eq!(port.read(&mut read).expect("read"), 3);
    assert_eq!(read[..3], [1, 0, 2]);
    let sent: Vec<u8> = at_device.try_iter().collect();
    assert_eq!((sent.len(), &sent[..3]), (512, &[254, 0, 7][..]));
    assert_eq!(sent[256..][..4], [46, 0, 7, 7]);
    assert_eq!(sent[256 + 48], 0);
}

/// A port that has received these octets.
struct Given(VecDeque<u8>);

impl Port for Given {
    fn wait(&mut self, _: bool, _: Duration) -> io::Result<()> {
        Ok(())
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = into.len().min(self.0.len());
        into.iter_mut()
            .zip(self.0.drain(..count))
            .for_each(|(to, from)| *to = from);
        Ok(count)
    }

    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        Ok(octets.len())
    }
}

#[test]
fn a_console_is_heard_before_the_link_comes_up() {
    let text = b"\r\nESP-ROM:esp32c6-20220919\r\n";
    let mut end = LinkEnd::new(Box::new(Given(text.iter().copied().collect())), 1);
    end.turn(Duration::ZERO).expect("a turn");
    let other = end.heard.other_end(1, end.link.counters().frames);
    assert!(
        other.advice().contains("ESP-ROM:esp32c6-20220919"),
        "{}",
        other.advice()
    );
}

#[test]
fn a_missing_port_is_named_with_those_that_exist() {
    let path = PathBuf::from("/dev/ttyLINERATE9");
    let missing = Address::Serial {
        path,
        baud: 9_600,
        rts_cts: false,
    };
    let Err(error) = port::open(&missing) else {
        panic!("it exists");
    };
    assert!(matches!(error, PortError::Missing { .. }), "{error}");
    assert!(
        error
            .to_string()
            .starts_with("/dev/ttyLINERATE9 does not exist; there is"),
        "{error}"
    );
}
