//! `cargo xtask tap`: stock Linux programs against the firmware, over a TAP device.
//!
//! Everything happens in a network namespace made for it, which goes when the test ends, with the
//! processes that this test started and no others.

use crate::steps::Outcome;
use crate::{board, demo, firmware, sh, tools};
use anyhow::{Context, Result, bail};
use linerate_ether::pattern;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const DEVICE: &str = "169.254.10.2";
const HOST: &str = "169.254.10.1";
const TAP: &str = "linerate0";
const VARIANT: &str = "windowed";
/// What `curl` fetches from the firmware.
const BYTES: usize = 3_000_000;
/// What the firmware fetches from Python's HTTP server.
const FETCHED: [usize; 4] = [10_000, 100_000, 1_000_000, 3_000_000];
/// How long the firmware may take to boot, and to fetch everything.
const BOOT: Duration = Duration::from_secs(30);
const FETCH: Duration = Duration::from_mins(4);

/// The command and the test's step.
///
/// # Errors
/// Where a ping is lost, a file arrives changed, or something cannot be started.
pub fn run(log: Option<&Path>) -> Result<Outcome> {
    if !cfg!(target_os = "linux") || !tools::is_root() {
        return Ok(Outcome::Skipped(
            "stock Linux over TAP needs root for a network namespace: sudo -E cargo xtask tap"
                .into(),
        ));
    }
    for (tool, package) in [
        ("ip", "iproute2"),
        ("ping", "iputils-ping"),
        ("curl", "curl"),
        ("python3", "python3"),
    ] {
        if !sh::has(tool) {
            return Ok(Outcome::Skipped(format!(
                "stock Linux over TAP needs {tool}: apt-get install {package} or cargo xtask setup"
            )));
        }
    }
    let board = board::read(board::DEFAULT)?;
    let programs = ["http_server", "http_get"].map(str::to_owned);
    let elfs = firmware::build(&board, &programs, &[VARIANT.to_owned()], log)?;
    let linerate = demo::linerate(log)?;
    let namespace = match Namespace::create() {
        Ok(namespace) => namespace,
        Err(error) => {
            return Ok(Outcome::Skipped(format!(
                "this machine lets no namespace or TAP device be made: {error:#}"
            )));
        }
    };
    let pinged = as_server(&namespace, &linerate, &elfs[0])?;
    let fetched = as_client(&namespace, &linerate, &elfs[1])?;
    Ok(Outcome::Done(format!("{pinged}; {fetched}")))
}

/// Pings the firmware and downloads from it.
fn as_server(namespace: &Namespace, linerate: &Path, elf: &Path) -> Result<String> {
    let mut device = Device::start(namespace, linerate, elf)?;
    device.wait_for(BOOT, |line| line.contains("\"event\":\"boot\""))?;
    let mut ping = namespace.exec("ping");
    ping.args(["-q", "-c", "1000", "-i", "0.02", "-w", "90", DEVICE]);
    let text = sh::read(&mut ping).with_context(|| device.last_words())?;
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
    let speed = sh::read(&mut curl).with_context(|| device.last_words())?;
    let got = fs::read(&file)?;
    if got.len() != BYTES || pattern::first_difference(0, &got).is_some() {
        bail!("curl got {} bytes, not the {BYTES} expected", got.len());
    }
    Ok(format!(
        "1000 of 1000 pings ({}), curl {BYTES} bytes at {} B/s",
        rtt.trim_start_matches("rtt "),
        speed.trim()
    ))
}

/// Lets the firmware download from Python's HTTP server.
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
    let _server = Owned(server.spawn().context("cannot start python3")?);
    // The firmware does not ask twice where nobody listens yet.
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
    let mut device = Device::start(namespace, linerate, elf)?;
    device.wait_for(FETCH, |line| line.contains("\"event\":\"done\""))?;
    let gets: Vec<serde_json::Value> = device
        .lines
        .iter()
        .filter_map(|l| serde_json::from_str(l.split_once("@ ")?.1).ok())
        .filter(|e: &serde_json::Value| e["event"] == "get")
        .collect();
    for bytes in FETCHED {
        let crc = pattern::crc32(bytes as u64);
        let of_size: Vec<_> = gets.iter().filter(|g| g["body_bytes"] == bytes).collect();
        if of_size.is_empty() || of_size.iter().any(|g| g["crc32"] != crc) {
            bail!(
                "{bytes} bytes did not arrive as served: {of_size:?}\n{}",
                device.last_words()
            );
        }
    }
    Ok(format!("{} files from python3 -m http.server", gets.len()))
}

/// A network namespace with one TAP device in it.
struct Namespace(String);

impl Namespace {
    fn create() -> Result<Self> {
        let name = format!("linerate-{}", std::process::id());
        sh::read(sh::cmd("ip").args(["netns", "add", &name]))?;
        // From here on, dropping it removes it.
        let namespace = Self(name);
        namespace.ip(&["link", "set", "lo", "up"])?;
        namespace.ip(&["tuntap", "add", "dev", TAP, "mode", "tap"])?;
        namespace.ip(&["address", "add", &format!("{HOST}/16"), "dev", TAP])?;
        namespace.ip(&["link", "set", TAP, "up"])?;
        Ok(namespace)
    }

    fn ip(&self, args: &[&str]) -> Result<String> {
        sh::read(sh::cmd("ip").args(["-n", &self.0]).args(args))
    }

    /// A program that runs inside.
    fn exec(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = sh::cmd("ip");
        command.args(["netns", "exec", &self.0]).arg(program);
        command
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = sh::read(sh::cmd("ip").args(["netns", "delete", &self.0]));
    }
}

/// A process that ends with this value.
struct Owned(Child);

impl Drop for Owned {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The simulated board on the TAP device, and what its console printed.
struct Device {
    _process: Owned,
    console: Receiver<String>,
    lines: Vec<String>,
    errors: PathBuf,
}

impl Device {
    fn start(namespace: &Namespace, linerate: &Path, elf: &Path) -> Result<Self> {
        let folder = sh::out("tap");
        fs::create_dir_all(&folder)?;
        let errors = folder.join("linerate.log");
        let mut command = namespace.exec(linerate);
        command
            .args(["sim", board::DEFAULT, "--tap", TAP, "--elf"])
            .arg(elf)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&errors)?);
        let mut process = Owned(command.spawn().context("cannot start linerate")?);
        let stdout = process.0.stdout.take().context("no console")?;
        let (send, console) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            _process: process,
            console,
            lines: Vec::new(),
            errors,
        })
    }

    /// Reads the console until a line is `wanted`.
    fn wait_for(&mut self, limit: Duration, wanted: impl Fn(&str) -> bool) -> Result<()> {
        let started = Instant::now();
        loop {
            let left = limit.saturating_sub(started.elapsed());
            let Ok(line) = self.console.recv_timeout(left) else {
                bail!(
                    "the firmware did not get as far as it should within {} s\n{}",
                    limit.as_secs(),
                    self.last_words()
                );
            };
            let found = wanted(&line);
            self.lines.push(line);
            if found {
                return Ok(());
            }
        }
    }

    /// The end of the console and of the simulator's messages, for an error.
    fn last_words(&self) -> String {
        let tail = |lines: Vec<&str>| lines[lines.len().saturating_sub(10)..].join("\n");
        let console = tail(self.lines.iter().map(String::as_str).collect());
        let errors = fs::read_to_string(&self.errors).unwrap_or_default();
        format!(
            "console:\n{console}\nlinerate:\n{}",
            tail(errors.lines().collect())
        )
    }
}
