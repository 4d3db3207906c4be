//! Cost of a message for the readers of a link in Rust and in Python.

use super::history::{cell, spread};
use anyhow::{Context, Result, ensure};
use linerate_link::{Channel, Config, Instant, Link};
use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant as Clock};
use xtask::sh;

/// Title of the document's section.
pub const TITLE: &str = "\n## Readers of a link in Rust and in Python\n";

/// Octets of a message: the sizes of the article on link layers, and a large one.
const SIZES: [usize; 4] = [32, 64, 256, 512];
/// Messages that are sent together, as a port returns them.
const TOGETHER: usize = 8;
/// Messages of a measurement in Rust and in Python.
const MESSAGES: [u32; 2] = [1_000_000, 50_000];
/// Measurements of each: their median counts.
const REPEATED: usize = 5;

/// Measures; returns the section of the document.
pub fn measure() -> Result<String> {
    let mut table = String::from(
        "| octets of a message | Rust, µs | Python, µs | ratio | Python's limit, Mbit/s |\n|---:|---:|---:|---:|---:|\n",
    );
    for octets in SIZES {
        let rust: Vec<f64> = (0..REPEATED).map(|_| in_rust(octets) / 1e3).collect();
        let python = (0..REPEATED).map(|_| Ok(in_python(octets)? / 1e3));
        let python: Vec<f64> = python.collect::<Result<_>>()?;
        let median = |times: &[f64]| spread(times).map_or(f64::NAN, |[median, ..]| median);
        let ratio = median(&python) / median(&rust);
        let limit = octets as f64 * 8.0 / median(&python);
        let (rust, python) = (cell(&rust), cell(&python));
        writeln!(
            table,
            "| {octets} | {rust} | {python} | {ratio:.0} | {limit:.1} |"
        )?;
    }
    print!("{table}");
    Ok(format!(
        "{TITLE}\n\
         Time of a processor for one message (`cargo xtask bench --readers`; median, minimum and maximum of {REPEATED} \
         runs): octets to messages, with the acknowledgments, eight messages together, without the port. The Python reader is \
         `link/python/linerate_link.py`, pure Python. Its limit is the rate at which one core does nothing else.\n\n{table}"
    ))
}

fn end(session: u32) -> Link<Vec<u8>, 1> {
    let memory = || vec![0; 16_384];
    Link::new(
        Config::new(session),
        [Channel::reliable(memory(), memory())],
    )
}

/// Everything that an end sends now.
fn drain(end: &mut Link<Vec<u8>, 1>, octets: &mut Vec<u8>) {
    octets.resize(32_768, 0);
    let count = end.transmit(Instant::from_us(0), octets);
    octets.truncate(count);
}

/// Nanoseconds for each message of so many octets.
fn in_rust(octets: usize) -> f64 {
    let now = Instant::from_us(0);
    let (mut sender, mut reader) = (end(1), end(2));
    let (mut wire, mut answer, mut message) = (Vec::new(), Vec::new(), vec![0; octets]);
    while !(sender.is_up() && reader.is_up()) {
        drain(&mut sender, &mut wire);
        reader.receive(now, &wire);
        drain(&mut reader, &mut answer);
        sender.receive(now, &answer);
    }
    for (at, octet) in message.iter_mut().enumerate() {
        *octet = (at % 255 + 1) as u8;
    }
    let mut spent = Duration::ZERO;
    let mut received = 0;
    while received < MESSAGES[0] {
        for _ in 0..TOGETHER {
            sender
                .send(0, &message)
                .expect("acknowledged messages make room");
        }
        drain(&mut sender, &mut wire);
        let begin = Clock::now();
        reader.receive(now, &wire);
        while reader.read(0, &mut message).is_some() {
            received += 1;
        }
        drain(&mut reader, &mut answer);
        spent += begin.elapsed();
        sender.receive(now, &answer);
    }
    spent.as_nanos() as f64 / f64::from(received)
}

/// The same in Python.
fn in_python(octets: usize) -> Result<f64> {
    let script = sh::root().join("link/python/reader_cost.py");
    let output = Command::new("python3")
        .arg(script)
        .args([octets.to_string(), MESSAGES[1].to_string()])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .context("python3 is needed: apt-get install python3")?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text.trim().parse().context("the script prints a number")
}
