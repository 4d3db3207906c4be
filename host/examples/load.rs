//! Load generator and receivers as separate processes that can run in a network namespace, for
//! `cargo xtask bench --load`. Prints one line of JSON on stdout; receivers print `listening` on stderr once
//! they are ready.
//!
//! `cargo run --release -p linerate-host --example load -- receive 0.0.0.0:9000`

use clap::{Parser, Subcommand, ValueEnum};
use linerate_agent::Progress;
use linerate_agent::iperf3::{Amount, Client, Plan, Test};
use linerate_host::load::udp::{Receiver, ReceiverConfig, Sender, StopCondition, WaitMode};
use linerate_host::load::{Rate, noise_floor, raw, round_trip, udp};
use linerate_host::sockets::{Driver, DriverConfig};
use serde_json::json;
use std::error::Error;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

#[derive(Parser)]
struct Cli {
    /// CPU core to run on.
    #[arg(long, global = true)]
    core: Option<usize>,
    /// Maximum duration.
    #[arg(long, global = true, default_value_t = 1.0)]
    seconds: f64,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Send datagrams.
    Send {
        target: SocketAddr,
        #[arg(long, default_value_t = 64)]
        payload: usize,
        #[arg(long, default_value = "max")]
        rate: Rate,
        /// Disable segmentation.
        #[arg(long)]
        plain: bool,
    },
    /// Receive datagrams.
    Receive {
        address: SocketAddr,
        #[arg(long, value_enum, default_value_t = WaitArg::Block)]
        wait: WaitArg,
        /// Disable coalescing.
        #[arg(long)]
        plain: bool,
        /// Measure gaps by kernel timestamps, against this rate in packets per second.
        #[arg(long)]
        gaps: Option<u64>,
    },
    /// Measure the gaps of UDP datagrams to a port on an interface.
    Gaps {
        interface: String,
        #[arg(long)]
        port: u16,
        /// Minimum payload.
        #[arg(long, default_value_t = 1000)]
        payload: usize,
        #[arg(long)]
        per_s: u64,
    },
    /// Measure round trips.
    Ping {
        target: SocketAddr,
        #[arg(long, value_enum, default_value_t = WaitArg::Spin)]
        wait: WaitArg,
        #[arg(long, default_value_t = 64)]
        payload: usize,
        #[arg(long, default_value_t = 20_000)]
        count: u64,
    },
    /// Send datagrams back.
    Reflect {
        address: SocketAddr,
        #[arg(long, value_enum, default_value_t = WaitArg::Spin)]
        wait: WaitArg,
    },
    /// Send a TCP stream by the iperf 3 protocol, in whole seconds.
    Tcp { target: SocketAddr },
    /// Measure the noise floor of this machine.
    Noise,
}

#[derive(Clone, Copy, ValueEnum)]
enum WaitArg {
    Spin,
    Block,
}

impl From<WaitArg> for WaitMode {
    fn from(waits: WaitArg) -> Self {
        match waits {
            WaitArg::Spin => Self::Spin,
            WaitArg::Block => Self::Block,
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let cli = Cli::parse();
    let span = Duration::from_secs_f64(cli.seconds.clamp(0.01, 600.0));
    let core = cli.core;
    let line = match cli.command {
        Command::Send {
            target,
            payload,
            rate,
            plain,
        } => serde_json::to_string(&Sender::run(&udp::SenderConfig {
            rate,
            duration: span,
            core,
            segment: !plain,
            ..udp::SenderConfig::new(target, payload)
        })?)?,
        Command::Receive {
            address,
            wait,
            plain,
            gaps,
        } => {
            let options = ReceiverConfig {
                wait: wait.into(),
                coalesce: !plain,
                gaps,
                core,
                ..ReceiverConfig::default()
            };
            let receiver = Receiver::bind(address, options)?;
            eprintln!("listening at {}", receiver.local_addr());
            let until = StopCondition {
                max_duration: span,
                quiet: Duration::from_millis(300),
            };
            serde_json::to_string(&receiver.run(until, &|| false)?)?
        }
        Command::Gaps {
            interface,
            port,
            payload,
            per_s,
        } => {
            let matches = |frame: &[u8]| is_datagram(frame, port, payload);
            let ready = || eprintln!("listening on {interface}");
            let captured = raw::capture(&interface, Some(per_s), span, matches, ready, &|| false)?;
            json!({
                "frames": captured.frames,
                "host_drops": captured.host_drops,
                "gaps": captured.gaps.summary(),
            })
            .to_string()
        }
        Command::Ping {
            target,
            wait,
            payload,
            count,
        } => serde_json::to_string(&round_trip::ping(&round_trip::PingConfig {
            target,
            payload_octets: payload,
            count,
            max_duration: span,
            wait: wait.into(),
            core,
        })?)?,
        Command::Reflect { address, wait } => {
            let until = Instant::now() + span;
            let bound = |at| eprintln!("listening at {at}");
            let stop = || Instant::now() >= until;
            let reflected = round_trip::reflect(address, wait.into(), core, bound, &stop)?;
            json!({ "reflected": reflected }).to_string()
        }
        Command::Tcp { target } => {
            let _pin = linerate_host::load::cpu::pin(core);
            tcp(target, span)?
        }
        Command::Noise => {
            let noise = noise_floor(span, [Some(0), Some(1)])?;
            eprintln!("{noise}");
            serde_json::to_string(&noise)?
        }
    };
    println!("{line}");
    Ok(())
}

/// Result of a TCP stream as received by the server.
fn tcp(target: SocketAddr, span: Duration) -> Result<String, Box<dyn Error>> {
    let plan = Plan {
        to: target,
        test: Test {
            amount: Amount::Span(span),
            ..Test::default()
        },
        seed: u64::from(std::process::id()),
        timeout: Duration::from_secs(5),
    };
    let mut driver = Driver::new(Client::<2>::new(plan), DriverConfig::default())?;
    loop {
        driver.turn(Duration::from_millis(50))?;
        let now = driver.now();
        match driver.service().progress(now) {
            Progress::Running => {}
            Progress::Failed(failure) => return Err(format!("{target}: {failure:?}").into()),
            Progress::Done => {
                let outcome = driver.service().outcome(now);
                let count = outcome.reported.ok_or("the server sent no results")?;
                let bits_per_s = count.octets as f64 * 8.0 / count.span.as_secs_f64();
                return Ok(json!({ "octets": count.octets, "bits_per_s": bits_per_s }).to_string());
            }
        }
    }
}

/// True if an Ethernet frame is a UDP datagram over IPv4, without options, to this port.
fn is_datagram(frame: &[u8], port: u16, payload: usize) -> bool {
    frame.len() >= 42 + payload
        && frame[12..15] == [0x08, 0x00, 0x45]
        && frame[23] == 17
        && frame[36..38] == port.to_be_bytes()
}
