//! `cargo xtask tap`: stock Linux programs against the firmware, over a TAP device.
//!
//! The test runs in its own network namespace. At its end it removes the namespace and ends only the processes
//! that it started.

mod agent;
pub mod board;
pub mod emulated;
mod partners;

use self::agent::Bench;
use self::board::{ChildGuard, DEVICE, Device, HOST, Namespace, check_downloaded};
use crate::steps::Outcome;
use crate::{concurrent, demo, firmware, sh, tools};
use anyhow::{Context, Result, bail};
use linerate_ether::pattern;
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

const VARIANT: &str = "line-rate";
/// Size of the file that `curl` fetches from the firmware, bytes.
const BYTES: usize = 3_000_000;
/// Octets that each test of iperf, iperf3 and curl transfers: few, because the simulation is slower than real time on a
/// busy machine.
const COUNTED: u64 = 400_000;
/// Sizes of the files that the firmware fetches from Python's HTTP server, bytes.
const FETCHED: [usize; 4] = [10_000, 100_000, 1_000_000, 3_000_000];
/// Timeouts for the boot of the firmware, and for fetching all files.
const BOOT: Duration = Duration::from_secs(30);
const FETCH: Duration = Duration::from_mins(4);

/// Runs the command, which is also a step of the checks.
///
/// # Errors
/// A ping is lost, a file arrives changed, or a program cannot be started.
pub fn run(log: Option<&Path>) -> Result<Outcome> {
    if let Some(missing) = missing() {
        return Ok(Outcome::Skipped(missing));
    }
    let board = crate::board::read(crate::board::DEFAULT)?;
    let programs = ["http_server", "http_get", "bench_agent"].map(str::to_owned);
    let elfs = firmware::build(&board, &programs, &[VARIANT.to_owned()], log)?;
    let linerate = demo::checked(log)?;
    let (web, agent) = match (Namespace::create("-web"), Namespace::create("-agent")) {
        (Ok(web), Ok(agent)) => (web, agent),
        (Err(error), _) | (_, Err(error)) => {
            return Ok(Outcome::Skipped(format!(
                "cannot create a network namespace with a TAP device: {error:#}"
            )));
        }
    };
    // A simulated board in real time keeps one core busy.
    let (served, measured) = concurrent::both(
        || {
            let pinged = as_server(&web, &linerate, &elfs[0])?;
            anyhow::Ok(format!(
                "{pinged}; {}",
                as_client(&web, &linerate, &elfs[1])?
            ))
        },
        || {
            let mut device = Device::start(&agent, &linerate, &elfs[2], &[])?;
            device.wait_for(BOOT, |line| line.contains("\"event\":\"listening\""))?;
            Bench::new(&agent, &mut device, DEVICE, COUNTED).all()
        },
    );
    let served = served?;
    measured?;
    let negotiated = partners::check_all(&linerate, &elfs[0])?;
    Ok(Outcome::Done(format!(
        "{served}; iperf, iperf3 and curl agree with the counts of bench_agent; {negotiated}"
    )))
}

/// The first missing requirement of the test, as a message.
fn missing() -> Option<String> {
    if !cfg!(target_os = "linux") || !tools::is_root() {
        return Some(
            "stock Linux over TAP needs root for a network namespace: sudo -E cargo xtask tap"
                .into(),
        );
    }
    let needed = [
        ("ip", "iproute2"),
        ("ping", "iputils-ping"),
        ("curl", "curl"),
        ("python3", "python3"),
        ("iperf", "iperf"),
        ("iperf3", "iperf3"),
    ];
    let (tool, package) = needed.into_iter().find(|(tool, _)| !sh::has(tool))?;
    Some(format!(
        "stock Linux over TAP needs {tool}: apt-get install {package} or cargo xtask setup"
    ))
}

/// Pings the firmware and downloads a file from it.
fn as_server(namespace: &Namespace, linerate: &Path, elf: &Path) -> Result<String> {
    let mut device = Device::start(namespace, linerate, elf, &[])?;
    device.wait_for(BOOT, |line| line.contains("\"event\":\"boot\""))?;
    let mut ping = namespace.exec("ping");
    ping.args(["-q", "-c", "1000", "-i", "0.02", "-w", "90", DEVICE]);
    let text = sh::read(&mut ping).with_context(|| device.recent_output())?;
    if !text.contains(" 1000 received") {
        bail!("pings were lost:\n{text}");
    }
    let rtt = text.lines().find(|l| l.starts_with("rtt")).unwrap_or("");
    let file = sh::out("tap").join("downloaded");
    let mut curl = namespace.exec("curl");
    curl.args(["--silent", "--show-error", "--fail", "--max-time", "120"])
        .args(["--write-out", "%{speed_download}", "--output"])
        .arg(&file)
        .arg(format!("http://{DEVICE}/{BYTES}"));
    let speed = sh::read(&mut curl).with_context(|| device.recent_output())?;
    check_downloaded(&file, BYTES as u64)?;
    Ok(format!(
        "1000 of 1000 pings ({}), curl {BYTES} bytes at {} B/s",
        rtt.trim_start_matches("rtt "),
        speed.trim()
    ))
}

/// Runs the firmware as a client of Python's HTTP server.
fn as_client(namespace: &Namespace, linerate: &Path, elf: &Path) -> Result<String> {
    let folder = sh::out("tap").join("served");
    fs::create_dir_all(&folder)?;
    for bytes in FETCHED {
        let mut content = vec![0; bytes];
        pattern::fill(0, &mut content);
        fs::write(folder.join(bytes.to_string()), content)?;
    }
    let mut server = namespace.exec("python3");
    server
        .args(["-m", "http.server", "--bind", HOST, "80", "--directory"])
        .arg(&folder)
        .stdout(Stdio::null())
        .stderr(File::create(sh::out("tap").join("http-server.log"))?);
    let _server = ChildGuard(server.spawn().context("cannot start python3")?);
    // The firmware does not repeat a refused connection: wait until the server listens.
    let mut probe = namespace.exec("curl");
    probe
        .args([
            "--silent",
            "--show-error",
            "--fail",
            "--output",
            "/dev/null",
        ])
        .args(["--retry", "30", "--retry-connrefused", "--retry-delay", "1"])
        .arg(format!("http://{HOST}/{}", FETCHED[0]));
    sh::read(&mut probe).context("python3 -m http.server does not answer")?;
    let mut device = Device::start(namespace, linerate, elf, &[])?;
    device.wait_for(FETCH, |line| line.contains("\"event\":\"done\""))?;
    let gets = device.events("get");
    for bytes in FETCHED {
        let crc = pattern::crc32(bytes as u64);
        let of_size: Vec<_> = gets.iter().filter(|g| g["body_bytes"] == bytes).collect();
        if of_size.is_empty() || of_size.iter().any(|g| g["crc32"] != crc) {
            bail!(
                "a file of {bytes} bytes arrived changed or not at all: {of_size:?}\n{}",
                device.recent_output()
            );
        }
    }
    Ok(format!("{} files from python3 -m http.server", gets.len()))
}
