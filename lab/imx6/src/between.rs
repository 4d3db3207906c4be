//! Tests between board and host beside the published ones: TCP, ping, both directions at once (`transfers.toml`).

use anyhow::{Context as _, Result};
use linerate_sim::elf::Elf;
use linerate_sim::time::Span;
use serde::{Deserialize, Serialize};

use crate::curves::{Curves, Sourced, Values};
use crate::point::{Setup, in_parallel};
use crate::transfer::{Direction, Outcome, Transfer, pings, run};

const SETTINGS: &str = include_str!("../transfers.toml");
/// Payload of UDP to the board, in Mbit/s.
const BOTH_MBIT_PER_S: [u64; 5] = [100, 200, 300, 400, 600];
/// The erratum's total of both directions, in Mbit/s.
pub const ERRATUM_MBIT_PER_S: f64 = 470.0;

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    lasts_ms: u64,
    pings: u16,
    ping_interval_us: u64,
    /// TCP to the board is repeated with so many seeds of the host's random reaction time, up to `jitter_us` more.
    seeds: u64,
    jitter_us: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wait {
    wfi_ignores: Sourced,
    wfi_exit_ns: Sourced,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Test {
    name: String,
    /// Kernel and WAIT mode in the published data.
    kernel: Option<String>,
    wait_mode: Option<String>,
    /// The board sleeps when idle.
    waits: bool,
    /// The MAC's interrupt ends the sleep.
    #[serde(default)]
    wakes: bool,
    boot: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    run: Run,
    wait: Wait,
    test: Vec<Test>,
}

/// A row of the table of TCP: rates in Mbit/s.
#[derive(Clone, Debug, Serialize)]
pub struct TcpRow {
    /// The test.
    pub name: String,
    /// Published rates of the board as sender.
    pub published_sent_mbit_per_s: Vec<f64>,
    /// Published rates of the board as receiver.
    pub published_received_mbit_per_s: Vec<f64>,
    /// The board sends.
    pub sends: Outcome,
    /// The board receives.
    pub receives: Outcome,
    /// The same again with a host whose reaction time is random; the slowest first.
    pub receives_again: Vec<Outcome>,
    /// Round trips of ping in ms: least, median, 90th percentile, greatest.
    pub ping_ms: [f64; 4],
    /// Echo requests with a reply.
    pub ping_replies: usize,
}

/// Both directions at once: UDP to the board, TCP from it.
#[derive(Clone, Debug, Serialize)]
pub struct BothRow {
    /// Payload that the host is to send by UDP, in Mbit/s.
    pub target_mbit_per_s: u64,
    /// Pause frames are negotiated.
    pub with_pause: bool,
    /// Results.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Octets of frames (without preamble and gap) in both directions, in Mbit/s.
    pub total_mbit_per_s: f64,
}

/// Results of this file.
#[derive(Clone, Debug, Serialize)]
pub struct Tests {
    /// TCP and ping.
    pub tcp: Vec<TcpRow>,
    /// Both directions at once.
    pub both: Vec<BothRow>,
}

/// Simulates all.
///
/// # Errors
/// A simulation fails, or the published data lack a test.
pub fn simulate(curves: &Curves, values: &Values, elf: &Elf) -> Result<Tests> {
    let file: File = toml::from_str(SETTINGS)?;
    let lasts = Span::from_ms(file.run.lasts_ms);
    let setup = |test: &Test| -> Result<Setup> {
        let mut setup = curves.setup(&test.boot, 1, values)?;
        let figure = |name: &str, common: &Sourced| {
            let of_revision = values.get(name);
            of_revision.copied().unwrap_or(common.value)
        };
        if test.waits {
            let exit = figure("wfi_exit_ns", &file.wait.wfi_exit_ns);
            setup.set("wfi_exit_ns", exit)?;
        }
        if test.waits && !test.wakes {
            let ignores = figure("wfi_ignores", &file.wait.wfi_ignores);
            setup.set("wfi_ignores", ignores)?;
        } else {
            setup.set("wfi_ignores", 0.0)?;
        }
        Ok(setup)
    };
    let tcp = in_parallel(&file.test, |test| {
        let setup = setup(test)?;
        let of = |direction, setup: &Setup, jitter| {
            let transfer = Transfer {
                direction,
                udp_bits_per_s: None,
                lasts,
                jitter,
            };
            run(setup, elf, &transfer).with_context(|| test.name.clone())
        };
        let mut again = Vec::new();
        for seed in 1..=file.run.seeds {
            let mut setup = setup.clone();
            setup.seed = seed;
            let jitter = Span::from_us(file.run.jitter_us);
            again.push(of(Direction::Receive, &setup, jitter)?);
        }
        again.sort_by(|a, b| a.received_mbit_per_s.total_cmp(&b.received_mbit_per_s));
        let interval = Span::from_us(file.run.ping_interval_us);
        let mut times = pings(&setup, elf, file.run.pings, interval)?;
        times.sort_by(f64::total_cmp);
        let [sent, received] = curves.tcp(test.kernel.as_deref(), test.wait_mode.as_deref());
        Ok(TcpRow {
            name: test.name.clone(),
            published_sent_mbit_per_s: sent,
            published_received_mbit_per_s: received,
            sends: of(Direction::Send, &setup, Span::ZERO)?,
            receives: of(Direction::Receive, &setup, Span::ZERO)?,
            receives_again: again,
            ping_ms: [0.0, 0.5, 0.9, 1.0].map(|part| quantile(&times, part)),
            ping_replies: times.len(),
        })
    })?;
    Ok(Tests {
        tcp,
        both: both(curves, values, elf)?,
    })
}

fn quantile(sorted: &[f64], part: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let at = (part * last as f64).round() as usize;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

/// UDP to the board and TCP from it, without the cycles of a kernel: what is left is the MAC.
fn both(curves: &Curves, values: &Values, elf: &Elf) -> Result<Vec<BothRow>> {
    let thresholds = "rsfl=16 rsem=0x84 raem=8 rafl=8 opd=0xfff0 ftrl=1524";
    let settings = [false, true].map(|pause| BOTH_MBIT_PER_S.map(|target| (pause, target)));
    let mut values = values.clone();
    values.insert("kernel_scale".to_owned(), 0.0);
    in_parallel(settings.as_flattened(), |&(with_pause, target)| {
        let pause = if with_pause { "on" } else { "off" };
        let boot = format!("wait=off errors=drop receive=poll pause={pause} {thresholds}");
        let setup = curves.setup(&boot, 1, &values)?;
        let transfer = Transfer {
            direction: Direction::Both,
            udp_bits_per_s: Some(target * 1_000_000),
            lasts: Span::from_ms(60),
            jitter: Span::ZERO,
        };
        let outcome = run(&setup, elf, &transfer)?;
        let sum = outcome.received_mbit_per_s + outcome.sent_mbit_per_s;
        Ok(BothRow {
            target_mbit_per_s: target,
            with_pause,
            // 46 octets of headers and FCS with each datagram of 1470.
            total_mbit_per_s: sum * 1516.0 / 1470.0,
            outcome,
        })
    })
}

/// Prints the tables.
pub fn print(tests: &Tests) {
    println!(
        "\nTCP and ping, Mbit/s and ms: board sends, published; board receives, published; overruns/s, asleep; ping: least, median, 90%, greatest, replies"
    );
    for row in &tests.tcp {
        let [least, median, most, greatest] = row.ping_ms;
        println!(
            "{:46} {:6.1} {:?} {:6.1} {:?} {:6.0} {:4.0}% ({:4.0}% sending); {least:.2} {median:.2} {most:.2} {greatest:.2} {}",
            row.name,
            row.sends.sent_mbit_per_s,
            row.published_sent_mbit_per_s,
            row.receives.received_mbit_per_s,
            row.published_received_mbit_per_s,
            row.receives.overruns as f64 / row.receives.seconds,
            100.0 * row.receives.asleep,
            100.0 * row.sends.asleep,
            row.ping_replies,
        );
        for it in &row.receives_again {
            println!(
                "    random reaction: receives {:6.1}, {} sent again, {} timeouts, {} overruns",
                it.received_mbit_per_s, it.retransmissions, it.timeouts, it.overruns
            );
        }
    }
    println!(
        "\nBoth directions at once, UDP to the board and TCP from it, no kernel cycles, Mbit/s: target, pause, received, sent, sum of frames (erratum: {ERRATUM_MBIT_PER_S}), overruns/s, seconds"
    );
    for it in &tests.both {
        println!(
            "{:6} {:5} {:6.1} {:6.1} {:6.1} {:6.0} {:.3}",
            it.target_mbit_per_s,
            it.with_pause,
            it.outcome.received_mbit_per_s,
            it.outcome.sent_mbit_per_s,
            it.total_mbit_per_s,
            it.outcome.overruns as f64 / it.outcome.seconds,
            it.outcome.seconds,
        );
    }
}
