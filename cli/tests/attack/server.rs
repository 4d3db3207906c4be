//! `linerate serve` as a process whose stdout nobody reads.

use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Ports of a server.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ports {
    pub iperf2: u16,
    pub iperf3: u16,
    pub http: u16,
    pub stamp: u16,
    pub echo: u16,
}

impl Ports {
    /// Free ones, below those of clients: STAMP and echo answer clients with a higher port only.
    fn free() -> Self {
        let first = 10_000 + (std::process::id() % 1_000) as u16 * 16;
        let mut free = (first..30_000).filter(|port| {
            let address = (Ipv4Addr::LOCALHOST, *port);
            TcpListener::bind(address).is_ok() && UdpSocket::bind(address).is_ok()
        });
        let mut next = || free.next().expect("a free port");
        Self {
            iperf2: next(),
            iperf3: next(),
            http: next(),
            stamp: next(),
            echo: next(),
        }
    }

    pub fn tcp(&self) -> [u16; 3] {
        [self.iperf2, self.iperf3, self.http]
    }

    pub fn udp(&self) -> [u16; 4] {
        [self.iperf2, self.iperf3, self.stamp, self.echo]
    }
}

pub struct Server {
    child: Child,
    pub ports: Ports,
}

impl Server {
    pub fn start() -> Self {
        let ports = Ports::free();
        let protocols = [
            format!("iperf2:{}", ports.iperf2),
            format!("iperf3:{}", ports.iperf3),
            format!("http:{}", ports.http),
            format!("stamp:{}", ports.stamp),
            format!("echo:{}", ports.echo),
        ];
        let mut child = Command::new(env!("CARGO_BIN_EXE_linerate"))
            .arg("serve")
            .args(&protocols)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let stderr = child.stderr.take().expect("piped");
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        let listening = lines
            .by_ref()
            .filter(|line| line.contains(" on 127.0.0.1:"));
        assert_eq!(listening.take(protocols.len()).count(), protocols.len());
        // Lines that it prints later belong to a failure.
        std::thread::spawn(move || lines.for_each(|line| eprintln!("{line}")));
        Self { child, ports }
    }

    /// Datagrams that found no room in its sockets.
    pub fn dropped_datagrams(&self) -> u64 {
        let table = std::fs::read_to_string("/proc/net/udp").unwrap_or_default();
        let of = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let port = u16::from_str_radix(words.get(1)?.split_once(':')?.1, 16).ok()?;
            let is_its = self.ports.udp().contains(&port);
            is_its.then(|| words.last()?.parse::<u64>().ok())?
        };
        table.lines().filter_map(of).sum()
    }

    /// Time for which its threads could run and had no processor, all of them together.
    pub fn waited(&self) -> Duration {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let waited_ns = |task: std::fs::DirEntry| -> Option<u64> {
            // The second field, by Documentation/scheduler/sched-stats.rst of Linux.
            let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split_whitespace().nth(1)?.parse().ok()
        };
        let all = tasks.into_iter().flatten().filter_map(Result::ok);
        Duration::from_nanos(all.filter_map(waited_ns).sum())
    }

    /// Resident memory.
    pub fn memory_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next());
        kib.and_then(|kib| kib.parse().ok()).expect("its memory")
    }

    /// Interrupts it as Ctrl-C does; returns the time until it ended, and its exit code.
    pub fn interrupt(mut self) -> (Duration, Option<i32>) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &pid]).status();
        assert!(sent.expect("kill runs").success());
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(30) {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return (began.elapsed(), status.code());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it does not end");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
