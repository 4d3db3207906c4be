//! `linerate explain` on noise: it ends with a sentence and takes little memory, however much there is.
//!
//! With `LINERATE_LONG` set (`cargo xtask test --long`) a gigabyte of each kind, else some megabytes.
#![cfg(unix)]

use std::io::{self, Write};
use std::process::{Command, Output, Stdio};

/// Memory that the system gives the command, kibibytes: who asks for more is refused, and ends.
const MOST_KIB: u32 = 64 * 1024;
/// The magic numbers of gzip and Zstandard, with what follows in any file.
const GZIP: [u8; 10] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3];
const ZSTD: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
const ETHERNET: u32 = 1;
const RAW_IP: u32 = 101;
/// Octets of a packet.
const PACKET: u16 = 96;

/// How much noise there is.
fn octets() -> u64 {
    if std::env::var_os("LINERATE_LONG").is_some() {
        1_000_000_000
    } else {
        4_000_000
    }
}

/// Octets that look like chance and are the same each time (Marsaglia's xorshift).
struct Noise(u64);

impl Noise {
    fn fill(&mut self, buffer: &mut [u8]) {
        for word in buffer.chunks_mut(8) {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            word.copy_from_slice(&self.0.to_le_bytes()[..word.len()]);
        }
    }

    /// Writes `start` and noise behind it.
    fn behind(mut self, start: &[u8], to: &mut dyn Write) -> io::Result<()> {
        to.write_all(start)?;
        let mut piece = vec![0; 64 * 1024];
        let mut left = octets();
        while left > 0 {
            self.fill(&mut piece);
            let len = left.min(piece.len() as u64);
            to.write_all(&piece[..len as usize])?;
            left -= len;
        }
        Ok(())
    }

    /// Writes a capture on `link`: what `make` makes of noise in each of its packets.
    fn within(mut self, link: u32, make: fn(&mut [u8]), to: &mut dyn Write) -> io::Result<()> {
        let mut to = io::BufWriter::new(to);
        to.write_all(&words(&pcap(link)))?;
        let mut packet = [0; PACKET as usize];
        for number in 0..octets() / u64::from(PACKET) {
            self.fill(&mut packet);
            make(&mut packet);
            let [second, micros] = [number / 1_000_000, number % 1_000_000].map(|it| it as u32);
            to.write_all(&words(&[second, micros, PACKET.into(), PACKET.into()]))?;
            to.write_all(&packet)?;
        }
        to.flush()
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The header of a file.
fn pcap(link: u32) -> [u32; 6] {
    [0xA1B2_C3D4, 0x0004_0002, 0, 0, 65_535, link]
}

/// A section of pcapng begins.
fn section() -> Vec<u8> {
    words(&[0x0A0D_0D0A, 28, 0x1A2B_3C4D, 1, u32::MAX, u32::MAX, 28])
}

/// Runs it on what `write` writes, in so much memory.
fn explain(kib: u32, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Output {
    let mut child = Command::new("sh")
        .args(["-c", "ulimit -d $1 && shift && exec \"$@\"", "sh"])
        .args([&kib.to_string(), env!("CARGO_BIN_EXE_linerate")])
        .args(["explain", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    // It may have seen enough before the end.
    let _ = write(&mut stdin);
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

fn text(octets: &[u8]) -> &str {
    std::str::from_utf8(octets).expect("text")
}

#[test]
fn noise_is_refused_with_a_sentence_whatever_it_begins_with() {
    let block_of_4_gb = [section(), words(&[0x0BAD, 0xFFFF_FFFC])].concat();
    let starts: [(&[u8], &str); 6] = [
        (&[], "not a pcap or pcapng capture: it begins with "),
        (&GZIP, "cannot read it: "),
        (&ZSTD, "cannot read it: "),
        (&words(&pcap(ETHERNET)), "the capture is damaged: "),
        (&section(), "the capture is damaged: "),
        (&block_of_4_gb, "the capture ends within a block "),
    ];
    for (start, sentence) in starts {
        let output = explain(MOST_KIB, |to| Noise(1).behind(start, to));
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{start:02x?}: {error}");
        assert!(output.stdout.is_empty(), "{start:02x?}");
        assert!(
            error.starts_with(&format!("error: stdin: {sentence}")) && error.lines().count() == 1,
            "{start:02x?}: {error}"
        );
    }
}

#[test]
fn noise_in_packets_is_counted_and_no_more() {
    let segment: fn(&mut [u8]) = |octets| {
        let [high, low] = PACKET.to_be_bytes();
        octets[..10].copy_from_slice(&[0x45, 0, high, low, 0, 0, 0, 0, 64, 6]);
    };
    for (link, is_tcp) in [(ETHERNET, false), (RAW_IP, true)] {
        let make = if is_tcp { segment } else { |_: &mut [u8]| {} };
        let output = explain(MOST_KIB, |to| Noise(1).within(link, make, to));
        assert!(output.status.success(), "{}", text(&output.stderr));
        let told = text(&output.stdout);
        let packets = octets() / u64::from(PACKET);
        let seen = told
            .lines()
            .find_map(|line| line.split_once(" packets in "));
        let seen = seen.map(|(count, _)| count.replace(',', ""));
        assert_eq!(seen, Some(packets.to_string()), "{told}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn who_takes_more_memory_is_refused() {
    let output = explain(100, |to| Noise(1).within(ETHERNET, |_| {}, to));
    assert!(!output.status.success(), "{}", text(&output.stdout));
}
