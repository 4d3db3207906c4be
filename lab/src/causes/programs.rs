//! Programs at the ends that behave like slow applications: `cargo xtask causes-end send bytes=100000`.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Port of all programs.
pub(super) const PORT: u16 = 5001;
/// Timeout for the other end.
pub(super) const TIMEOUT: Duration = Duration::from_secs(15);

/// Arguments of a program, such as `bytes=100000`.
pub(super) struct Words(BTreeMap<String, String>);

impl Words {
    fn new(words: &[String]) -> Self {
        let pair = |word: &String| match word.split_once('=') {
            Some((key, value)) => (key.to_owned(), value.to_owned()),
            None => (word.clone(), "1".to_owned()),
        };
        Self(words.iter().map(pair).collect())
    }

    /// A number; 0 if absent.
    pub(super) fn number(&self, key: &str) -> Result<u64> {
        let Some(text) = self.0.get(key) else {
            return Ok(0);
        };
        text.parse().with_context(|| format!("{key}={text}"))
    }

    pub(super) fn number_or(&self, key: &str, usual: u64) -> Result<u64> {
        Ok(match self.number(key)? {
            0 => usual,
            number => number,
        })
    }

    /// Creates the file that signals that this end listens.
    pub(super) fn ready(&self) -> Result<()> {
        let file = self.0.get("ready").context("ready=FILE")?;
        Ok(std::fs::write(file, "")?)
    }

    pub(super) fn pause_us(&self, key: &str) -> Result<Duration> {
        Ok(Duration::from_micros(self.number(key)?))
    }
}

/// Runs a program: `send`, `receive`, `shout` or `device`, with its arguments.
///
/// # Errors
/// Network errors and invalid arguments.
pub fn run(words: &[String]) -> Result<()> {
    let (what, words) = words
        .split_first()
        .context("send, receive, shout or device")?;
    let words = Words::new(words);
    match what.as_str() {
        "send" => send(&words),
        "receive" => receive(&words),
        "shout" => broadcast(&words),
        "device" => super::device::run(&words),
        _ => bail!("unknown program `{what}`: use send, receive, shout or device"),
    }
}

/// Writes `bytes` bytes in pieces of `write`, one every `pace` microseconds. After every `ask` pieces it reads
/// `reply` bytes and waits `pause` microseconds.
fn send(words: &Words) -> Result<()> {
    let to: Ipv4Addr = words.0.get("to").context("to=ADDRESS")?.parse()?;
    let piece = vec![0x55; words.number_or("write", 65_536)? as usize];
    let pace = words.pause_us("pace")?;
    let (ask, reply) = (words.number("ask")?, words.number("reply")?);
    let pause = words.pause_us("pause")?;
    // Whole messages only: a partial one is not answered.
    let message = piece.len() as u64 * ask.max(1);
    let bytes = match words.number("bytes")? {
        bytes if ask > 0 => bytes / message * message,
        bytes => bytes,
    };
    let mut stream = TcpStream::connect((to, PORT))?;
    stream.set_nodelay(words.number("nodelay")? > 0)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let mut answer = vec![0; reply as usize];
    let (mut sent, mut pieces) = (0, 0);
    let mut due = Instant::now();
    while sent < bytes {
        let length = piece.len().min((bytes - sent) as usize);
        stream.write_all(&piece[..length])?;
        sent += length as u64;
        pieces += 1;
        if ask > 0 && pieces % ask == 0 {
            stream.read_exact(&mut answer)?;
            sleep(pause);
        }
        due += pace;
        sleep(due.saturating_duration_since(Instant::now()));
    }
    stream.shutdown(std::net::Shutdown::Write)?;
    stream.read_to_end(&mut answer)?;
    Ok(())
}

/// Accepts one connection and reads up to `read` bytes at a time, with `pause` microseconds between reads. For
/// every `ask` bytes it answers with `reply` bytes.
fn receive(words: &Words) -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
    words.ready()?;
    let (mut stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    let mut piece = vec![0; words.number_or("read", 65_536)? as usize];
    let pause = words.pause_us("pause")?;
    let (ask, reply) = (words.number("ask")?, words.number("reply")?);
    let answer = vec![0xAA; reply as usize];
    let mut unanswered = 0;
    loop {
        let read = stream.read(&mut piece)? as u64;
        if read == 0 {
            return Ok(());
        }
        unanswered += read;
        while ask > 0 && unanswered >= ask {
            unanswered -= ask;
            stream.write_all(&answer)?;
        }
        sleep(pause);
    }
}

/// Broadcasts datagrams of `octets` octets, `rate` per second, until it is terminated.
fn broadcast(words: &Words) -> Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.set_broadcast(true)?;
    let message = vec![0; words.number_or("octets", 18)? as usize];
    let rate = words.number_or("rate", 1_000)?;
    let began = Instant::now();
    let mut sent: u64 = 0;
    while began.elapsed() < TIMEOUT {
        let due = (began.elapsed().as_secs_f64() * rate as f64) as u64;
        while sent < due {
            // A datagram that does not fit into a full queue is skipped.
            match socket.send_to(&message, (Ipv4Addr::new(10, 0, 0, 255), 9)) {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error.into()),
                _ => sent += 1,
            }
        }
        sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Removes this share of the packets from a capture (pcap in this machine's byte order), as if the capture program
/// were too slow.
///
/// # Errors
/// The file is not such a capture.
pub fn thin_out(file: &Path, share: f64, seed: u64) -> Result<()> {
    const HEAD: usize = 24;
    const PACKET_HEAD: usize = 16;
    let capture = std::fs::read(file)?;
    let mut kept = capture.get(..HEAD).context("not a pcap file")?.to_vec();
    let mut rest = &capture[HEAD..];
    let mut random = seed;
    while let Some(length) = rest.get(8..12) {
        let length = u32::from_ne_bytes(length.try_into()?) as usize + PACKET_HEAD;
        let (packet, behind) = rest.split_at(length.min(rest.len()));
        // Knuth's MMIX.
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        if (random >> 11) as f64 / (1_u64 << 53) as f64 >= share {
            kept.extend_from_slice(packet);
        }
        rest = behind;
    }
    Ok(std::fs::write(file, kept)?)
}
