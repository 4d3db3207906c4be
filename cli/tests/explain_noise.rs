//! `linerate explain` on random input: it ends with one sentence and little memory, for any size.
//!
//! With `LINERATE_LONG` set (`cargo xtask test --long`) a gigabyte of each kind, otherwise some megabytes.
#![cfg(unix)]

use std::io::{self, Write};
use std::process::{Command, Output, Stdio};

/// Memory limit of the command, KiB.
const MAX_KIB: u32 = 64 * 1024;
/// Magic numbers of gzip and Zstandard, with the start of a valid header.
const GZIP: [u8; 10] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3];
const ZSTD: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
const ETHERNET: u32 = 1;
const RAW_IP: u32 = 101;
/// Packet size, octets.
const PACKET: u16 = 96;

/// Amount of noise, octets.
fn octets() -> u64 {
    if std::env::var_os("LINERATE_LONG").is_some() {
        1_000_000_000
    } else {
        4_000_000
    }
}

/// Reproducible pseudo-random octets (Marsaglia's xorshift).
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

    /// Writes `start` followed by noise.
    fn after(mut self, start: &[u8], to: &mut dyn Write) -> io::Result<()> {
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

    /// Writes a capture of `link` with packets of noise, each modified by `make`.
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

/// Header of a pcap file.
fn pcap(link: u32) -> [u32; 6] {
    [0xA1B2_C3D4, 0x0004_0002, 0, 0, 65_535, link]
}

/// Section header block of pcapng.
fn section() -> Vec<u8> {
    words(&[0x0A0D_0D0A, 28, 0x1A2B_3C4D, 1, u32::MAX, u32::MAX, 28])
}

/// Runs `linerate explain` on the output of `write`, with a memory limit of `kib`.
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
    // It may stop reading before the end.
    let _ = write(&mut stdin);
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

fn text(octets: &[u8]) -> &str {
    std::str::from_utf8(octets).expect("text")
}

#[test]
fn noise_is_rejected_with_one_sentence_for_every_file_header() {
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
        let output = explain(MAX_KIB, |to| Noise(1).after(start, to));
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
fn packets_of_noise_are_only_counted() {
    let segment: fn(&mut [u8]) = |octets| {
        let [high, low] = PACKET.to_be_bytes();
        octets[..10].copy_from_slice(&[0x45, 0, high, low, 0, 0, 0, 0, 64, 6]);
    };
    for (link, is_tcp) in [(ETHERNET, false), (RAW_IP, true)] {
        let make = if is_tcp { segment } else { |_: &mut [u8]| {} };
        let output = explain(MAX_KIB, |to| Noise(1).within(link, make, to));
        assert!(output.status.success(), "{}", text(&output.stderr));
        let printed = text(&output.stdout);
        let packets = octets() / u64::from(PACKET);
        let seen = printed
            .lines()
            .find_map(|line| line.split_once(" packets in "));
        let seen = seen.map(|(count, _)| count.replace(',', ""));
        assert_eq!(seen, Some(packets.to_string()), "{printed}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_lower_memory_limit_makes_the_command_fail() {
    let output = explain(100, |to| Noise(1).within(ETHERNET, |_| {}, to));
    assert!(!output.status.success(), "{}", text(&output.stdout));
}
