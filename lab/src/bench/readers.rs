//! Cost of a message for the readers of a link in Rust and in Python.

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
/// Measurements of each, of which the fastest counts.
const REPEATED: usize = 3;

/// Measures; returns the section of the document.
pub fn measure() -> Result<String> {
    let mut table = String::from(
        "| octets of a message | Rust, µs | Python, µs | ratio | Python's limit, Mbit/s |\n|---:|---:|---:|---:|---:|\n",
    );
    for octets in SIZES {
        let fastest = |times: [Result<f64>; REPEATED]| -> Result<f64> {
            let times: Vec<f64> = times.into_iter().collect::<Result<_>>()?;
            Ok(times.into_iter().fold(f64::INFINITY, f64::min))
        };
        let rust = fastest([(); REPEATED].map(|()| Ok(in_rust(octets))))?;
        let python = fastest([(); REPEATED].map(|()| in_python(octets)))?;
        let limit = octets as f64 * 8e3 / python;
        writeln!(
            table,
            "| {octets} | {:.2} | {:.1} | {:.0} | {limit:.1} |",
            rust / 1e3,
            python / 1e3,
            python / rust,
        )?;
    }
    print!("{table}");
    Ok(format!(
        "{TITLE}\n\
         Time of a processor for one message (`cargo xtask bench --readers`; the fastest of {REPEATED} runs): octets to \
         messages, with the acknowledgments, eight messages together, without the port. The Python reader is \
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
