//! The measurements.

use super::Programs;
use super::machine::Busy;
use super::pair::{FAR, FAR_ADDRESS, NEAR, Offload, Pair, Server, json, number};
use super::table::{Row, Rows};
use crate::bench::history::Figure;
use anyhow::{Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use xtask::sh;

/// Rounds of each comparison.
pub const ROUNDS: usize = 5;
/// Port of our receivers.
const PORT: u16 = 9183;
/// Duration of a round of datagrams, seconds.
const SECONDS: &str = "1";
/// Round trips of the limit: about as many as ours in a second.
const ROUND_TRIPS: &str = "100000";
/// Maximum number of frames that trafgen sends, in case it is not stopped.
const TRAFGEN_FRAMES: &str = "8000000";
/// Delay before the packets of an interface are counted, and duration of the count.
const SETTLE: Duration = Duration::from_millis(400);
const WINDOW: Duration = Duration::from_secs(1);

/// Measures everything for which the programs are installed.
pub fn all(pair: &Pair, programs: &Programs, busy: &mut Busy) -> Result<Rows> {
    let mut bench = Bench {
        pair,
        programs,
        busy,
        rows: Rows::default(),
    };
    bench.round_trips()?;
    if sh::has("trafgen") {
        bench.raw()?;
    } else {
        bench.skip("raw frames compared with trafgen (apt-get install netsniff-ng)");
    }
    if sh::has("iperf3") {
        bench.peak(64, [4.5, 2.5])?;
        bench.peak(1472, [4.0, 2.5])?;
        for per_s in [10_000, 50_000] {
            bench.gaps(per_s)?;
        }
        bench.tcp()?;
    } else {
        bench.skip("UDP, gaps and TCP compared with iperf3 (apt-get install iperf3)");
    }
    Ok(bench.rows)
}

struct Bench<'a> {
    pair: &'a Pair,
    programs: &'a Programs,
    busy: &'a mut Busy,
    rows: Rows,
}

impl Bench<'_> {
    fn skip(&mut self, what: &str) {
        println!("skipped: {what}");
        self.rows.skipped.push(what.to_owned());
    }

    /// Runs ours and theirs alternately.
    fn rounds(
        &mut self,
        row: Row,
        ours: impl Fn(&Self) -> Result<f64>,
        theirs: impl Fn(&Self) -> Result<f64>,
    ) -> Result<()> {
        self.rounds_with_limit(row, ours, theirs, |_, _| Ok(None))
    }

    /// Runs ours, theirs and the limit alternately; the limit's program is passed if it could be built.
    fn rounds_with_limit(
        &mut self,
        mut row: Row,
        ours: impl Fn(&Self) -> Result<f64>,
        theirs: impl Fn(&Self) -> Result<f64>,
        limit: impl Fn(&Self, &Path) -> Result<Option<f64>>,
    ) -> Result<()> {
        let figure = &mut row.figure;
        let programs = self.programs;
        for round in 1..=ROUNDS {
            self.busy.sample();
            figure.ours.push(ours(self)?);
            self.busy.sample();
            figure.theirs.push(theirs(self)?);
            if let Some(program) = &programs.limit {
                self.busy.sample();
                figure.limit.extend(limit(self, program)?);
            }
            let last = |figures: &[f64]| {
                figures
                    .last()
                    .map_or_else(String::new, |it| format!("{it:.1}"))
            };
            println!(
                "{}, {}: round {round}: {}, {} {}, limit {}",
                figure.what,
                figure.unit,
                last(&figure.ours),
                figure.rival,
                last(&figure.theirs),
                last(&figure.limit)
            );
        }
        self.rows.rows.push(row);
        Ok(())
    }

    /// The limit's program on the sender's or the receiver's core.
    fn pinned(command: &mut Command, core: &str, program: &Path) {
        command.args(["-c", core]).arg(program);
    }

    /// Starts `load` at the receiver's end and waits until it listens.
    fn receiver(&self, args: &[&str]) -> Result<Server> {
        let mut command = self.pair.far(&self.programs.load);
        Server::start(command.args(["--core", "1"]).args(args))
    }

    fn sender(&self, seconds: &str, args: &[&str]) -> Result<serde_json::Value> {
        let mut command = self.pair.near(&self.programs.load);
        json(
            command
                .args(["--core", "0", "--seconds", seconds])
                .args(args),
        )
    }

    /// Received datagrams per second.
    fn peak(&mut self, payload: usize, [target, floor]: [f64; 2]) -> Result<()> {
        let row = Row {
            figure: Figure {
                what: format!("UDP of {payload} octets, received"),
                unit: "datagrams/s".to_owned(),
                less_is_better: false,
                rival: "iperf3 -b 0 -w 4M -A 0,1".to_owned(),
                ..Figure::default()
            },
            target,
            floor,
        };
        let payload = payload.to_string();
        let to = format!("{FAR_ADDRESS}:{PORT}");
        self.rounds(
            row,
            |it| {
                let receiver = it.receiver(&["--seconds", "10", "receive", &to])?;
                let sent = it.sender(SECONDS, &["send", &to, "--payload", &payload])?;
                let received = receiver.json()?;
                if number(&sent, "/interface/tx_packets")? < 0.9 * number(&sent, "/packets")? {
                    bail!("super-packets crossed the link whole, so the packet rate is invalid: {sent}");
                }
                number(&received, "/packets_per_s")
            },
            |it| {
                let flags = ["-u", "-b", "0", "-w", "4M", "-l", &payload];
                let end = it.iperf3(&flags, SECONDS)?;
                let received = "/end/sum_received";
                let lost = number(&end, &format!("{received}/lost_packets"))?;
                let packets = number(&end, &format!("{received}/packets"))?;
                Ok((packets - lost) / number(&end, &format!("{received}/seconds"))?)
            },
        )
    }

    fn iperf3_server(&self) -> Result<Server> {
        let mut server = self.pair.far("iperf3");
        Server::start(server.args(["-s", "-1", "--forceflush"]))
    }

    /// Runs a client; returns the end of its report.
    fn iperf3(&self, flags: &[&str], seconds: &str) -> Result<serde_json::Value> {
        let _server = self.iperf3_server()?;
        let mut client = self.pair.near("iperf3");
        client.args(["-c", FAR_ADDRESS, "-A", "0,1", "-J", "-t", seconds]);
        json(client.args(flags))
    }

    /// Deviation of the gaps at a constant rate, from a capture at the receiver's interface.
    fn gaps(&mut self, per_s: u64) -> Result<()> {
        let wanted = [
            ("iperf3", &[][..], 100.0, 20.0),
            (
                "iperf3 --pacing-timer 10",
                &["--pacing-timer", "10"],
                10.0,
                3.0,
            ),
        ];
        for (rival, flags, target, floor) in wanted {
            let row = Row {
                figure: Figure {
                    what: format!("gaps at {per_s} datagrams/s, deviation from the ideal (p99)"),
                    unit: "us".to_owned(),
                    less_is_better: true,
                    rival: rival.to_owned(),
                    ..Figure::default()
                },
                target,
                floor,
            };
            let rate = per_s.to_string();
            let bits = (per_s * 1472 * 8).to_string();
            let to = format!("{FAR_ADDRESS}:{PORT}");
            self.rounds(
                row,
                |it| {
                    let port = PORT.to_string();
                    let capture = it.capture(&port, &rate)?;
                    // Without a receiver, ICMP errors would disturb the sender.
                    let receiver = it.receiver(&["--seconds", "4", "receive", &to, "--plain"])?;
                    it.sender("2", &["send", &to, "--payload", "1472", "--rate", &rate])?;
                    drop(receiver.json()?);
                    deviation(capture)
                },
                |it| {
                    let capture = it.capture("5201", &rate)?;
                    let mut all = vec!["-u", "-b", &bits, "-l", "1472", "-w", "4M"];
                    all.extend(flags);
                    it.iperf3(&all, "2")?;
                    deviation(capture)
                },
            )?;
        }
        Ok(())
    }

    fn capture(&self, port: &str, per_s: &str) -> Result<Server> {
        let of = ["--port", port, "--payload", "1472", "--per-s", per_s];
        let mut args = vec!["--seconds", "4", "gaps", FAR];
        args.extend(of);
        self.receiver(&args)
    }

    /// Raw frames per second counted by the receiver's interface.
    fn raw(&mut self) -> Result<()> {
        let file = sh::read(
            self.pair
                .far("cat")
                .arg(format!("/sys/class/net/{FAR}/address")),
        )?;
        let mac = file.trim().to_owned();
        let config = trafgen_config(&mac)?;
        let row = Row {
            figure: Figure {
                what: "raw frames of 60 octets, counted by the interface".to_owned(),
                unit: "frames/s".to_owned(),
                less_is_better: false,
                rival: "trafgen".to_owned(),
                ..Figure::default()
            },
            target: 1.3,
            floor: 0.9,
        };
        self.rounds_with_limit(
            row,
            |it| {
                let mut blast = it.pair.near(&it.programs.linerate);
                blast.args([
                    "blast",
                    NEAR,
                    "--mac",
                    &mac,
                    "--core",
                    "0",
                    "--seconds",
                    "2",
                ]);
                it.counted(&mut blast)
            },
            |it| {
                // One process, as with ours; several would also survive the signal that stops them.
                let mut trafgen = it.pair.near("taskset");
                trafgen.args(["-c", "0", "trafgen", "-P", "1", "-n", TRAFGEN_FRAMES]);
                it.counted(trafgen.args(["-o", NEAR, "-i"]).arg(&config))
            },
            |it, limit| {
                let mut blast = it.pair.near("taskset");
                Self::pinned(&mut blast, "0", limit);
                it.counted(blast.args(["blast", NEAR, &mac, "2"])).map(Some)
            },
        )
    }

    /// Packets per second that the receiver's interface counts while a program runs.
    fn counted(&self, command: &mut Command) -> Result<f64> {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let running = Server::running(child)?;
        thread::sleep(SETTLE);
        let (started, before) = (Instant::now(), self.pair.packets_received()?);
        thread::sleep(WINDOW);
        let after = self.pair.packets_received()?;
        let seconds = started.elapsed().as_secs_f64();
        drop(running);
        Ok((after - before) as f64 / seconds)
    }

    fn round_trips(&mut self) -> Result<()> {
        let row = Row {
            figure: Figure {
                what: "round trip of 64 octets, p50".to_owned(),
                unit: "us".to_owned(),
                less_is_better: true,
                rival: "sockets that sleep".to_owned(),
                ..Figure::default()
            },
            target: 15.0,
            floor: 8.0,
        };
        let to = format!("{FAR_ADDRESS}:{PORT}");
        let trips = |it: &Self, wait: &str| {
            let reflector = it.receiver(&["--seconds", "3", "reflect", &to, "--wait", wait])?;
            let trips = it.sender("1", &["ping", &to, "--wait", wait])?;
            drop(reflector);
            Ok(number(&trips, "/times/p50_ns")? / 1e3)
        };
        self.rounds_with_limit(
            row,
            |it| trips(it, "spin"),
            |it| trips(it, "block"),
            |it, limit| {
                let port = PORT.to_string();
                let mut reflector = it.pair.far("taskset");
                Self::pinned(&mut reflector, "1", limit);
                let reflector =
                    Server::start(reflector.args(["reflect", FAR_ADDRESS, &port, "3"]))?;
                let mut sender = it.pair.near("taskset");
                Self::pinned(&mut sender, "0", limit);
                let trips = json(sender.args(["ping", FAR_ADDRESS, &port, ROUND_TRIPS]))?;
                drop(reflector);
                Ok(Some(number(&trips, "/p50_ns")? / 1e3))
            },
        )
    }

    /// TCP with our server and client, and with the faster stock pair.
    fn tcp(&mut self) -> Result<()> {
        self.pair.offload(Offload::Whole)?;
        // A pacing algorithm would measure timer latency. If cubic is unavailable, the setting is unchanged.
        let cubic = "net.ipv4.tcp_congestion_control=cubic";
        let _ = sh::read(self.pair.near("sysctl").args(["-q", "-w", cubic]));
        let _ = sh::read(self.pair.far("sysctl").args(["-q", "-w", cubic]));
        let row = Row {
            figure: Figure {
                what: "TCP, received".to_owned(),
                unit: "Mbit/s".to_owned(),
                less_is_better: false,
                rival: if sh::has("iperf") {
                    "the faster of iperf and iperf3"
                } else {
                    "iperf3"
                }
                .to_owned(),
                ..Figure::default()
            },
            target: 1.0,
            floor: 0.9,
        };
        let outcome = self.rounds_with_limit(
            row,
            |it| {
                let mut serve = it.pair.far("taskset");
                serve.args(["-c", "1"]).arg(&it.programs.linerate);
                let serve = serve.args(["serve", "iperf3", "--bind", FAR_ADDRESS]);
                let _server = Server::start(serve)?;
                let sent = it.sender("2", &["tcp", &format!("{FAR_ADDRESS}:5201")])?;
                Ok(number(&sent, "/bits_per_s")? / 1e6)
            },
            |it| {
                let end = it.iperf3(&[], "2")?;
                let iperf3 = number(&end, "/end/sum_received/bits_per_second")? / 1e6;
                Ok(iperf3.max(it.iperf()?.unwrap_or(0.0)))
            },
            |it, limit| {
                let port = PORT.to_string();
                let mut sink = it.pair.far("taskset");
                Self::pinned(&mut sink, "1", limit);
                let sink = Server::start(sink.args(["sink", FAR_ADDRESS, &port]))?;
                let mut pour = it.pair.near("taskset");
                Self::pinned(&mut pour, "0", limit);
                sh::read(pour.args(["pour", FAR_ADDRESS, &port, "2"]))?;
                Ok(Some(number(&sink.json()?, "/bits_per_s")? / 1e6))
            },
        );
        self.pair.offload(Offload::Packets)?;
        outcome
    }

    /// TCP with stock iperf, Mbit/s, if it is installed.
    fn iperf(&self) -> Result<Option<f64>> {
        if !sh::has("iperf") {
            return Ok(None);
        }
        let mut server = self.pair.far("taskset");
        let _server = Server::start(server.args(["-c", "1", "iperf", "-s"]))?;
        let mut client = self.pair.near("taskset");
        client.args(["-c", "0", "iperf", "-c", FAR_ADDRESS, "-t", "2", "-y", "C"]);
        let line = sh::read(&mut client)?;
        let last = line.trim().rsplit(',').next().unwrap_or_default();
        match last.parse::<f64>() {
            Ok(bits_per_s) => Ok(Some(bits_per_s / 1e6)),
            Err(_) => bail!("iperf printed no rate: {line}"),
        }
    }
}

/// p99 of the deviation, us.
fn deviation(capture: Server) -> Result<f64> {
    Ok(number(&capture.json()?, "/gaps/deviation/p99_ns")? / 1e3)
}

/// Configuration of trafgen with a frame like ours.
fn trafgen_config(mac: &str) -> Result<PathBuf> {
    let octets: Vec<String> = mac.split(':').map(|octet| format!("0x{octet}")).collect();
    let frame = format!(
        "{{ {}, 0x02, 0, 0, 0, 0, 1, 0x88, 0xb5, fill(0x00, 46) }}\n",
        octets.join(", ")
    );
    let file = sh::out("bench").join("trafgen.cfg");
    fs::create_dir_all(sh::out("bench"))?;
    fs::write(&file, frame)?;
    Ok(file)
}
