//! Accuracy of the relay on this machine: sets delays and rates, measures them with datagrams and kernel
//! receive timestamps, and prints Markdown tables. Requires root and half a minute:
//! `cargo run --release -p linerate-host --example relay_accuracy`.
#![forbid(unsafe_code)]

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("the relay is supported on Linux only");
}

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    linux::main()
}

#[cfg(target_os = "linux")]
mod linux {
    use linerate_host::relay::rig::{LEFT, RIGHT};
    use linerate_host::relay::{RelayConfig, Rig, occupancy_ns};
    use linerate_results::record::RelayMetrics;
    use nix::cmsg_space;
    use nix::sys::socket::{
        ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt::ReceiveTimestampns,
    };
    use nix::sys::time::TimeSpec;
    use std::error::Error;
    use std::io::IoSliceMut;
    use std::net::UdpSocket;
    use std::os::fd::AsRawFd;
    use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

    const PORT: u16 = 9000;
    /// Headers of Ethernet, IP and UDP, without FCS.
    const HEADERS: usize = 14 + 20 + 8;
    /// Longer waits sleep.
    const SPIN: Duration = Duration::from_micros(200);
    /// Time to wait for datagrams in flight.
    const TIMEOUT: Duration = Duration::from_millis(200);

    pub fn main() -> Result<(), Box<dyn Error>> {
        println!(
            "| settings | frames/s | mode | excess over the delay, p50 | p99 | max | late | discarded |"
        );
        println!("|---|---:|---|---:|---:|---:|---:|---:|");
        for (settings, gap_us) in [
            ("", 1_000),
            ("delay=1ms", 1_000),
            ("delay=5ms", 1_000),
            ("delay=50ms", 1_000),
            ("delay=5ms", 100),
        ] {
            for busy in [false, true] {
                let gap = Duration::from_micros(gap_us);
                let trial = Trial::run(settings, busy, 60 - HEADERS, gap)?;
                trial.print_delay(settings, busy, gap);
            }
        }
        println!("\n| rate | octets of a frame | measured | of the rate | late | discarded |");
        println!("|---|---:|---:|---:|---:|---:|");
        for (settings, rate) in [
            ("rate=1M,queue=100", 1_000_000),
            ("rate=10M,queue=100", 10_000_000),
            ("rate=100M,queue=100", 100_000_000),
            ("rate=500M,queue=100", 500_000_000),
        ] {
            for octets in [60, 1514] {
                let occupancy_ns = occupancy_ns(octets, rate);
                if occupancy_ns < 5_000 {
                    // More frames than one thread can send and receive.
                    continue;
                }
                // A fifth above the link rate.
                let gap = Duration::from_nanos(occupancy_ns * 5 / 6);
                let trial = Trial::run(settings, false, octets - HEADERS, gap)?;
                trial.print_rate(octets, rate);
            }
        }
        Ok(())
    }

    /// A second of datagrams through a relay.
    struct Trial {
        /// Send and receive time of each datagram, nanoseconds.
        times: Vec<(u64, u64)>,
        delay_ns: u64,
        report: RelayMetrics,
    }

    impl Trial {
        fn run(
            settings: &str,
            busy: bool,
            octets: usize,
            gap: Duration,
        ) -> Result<Self, Box<dyn Error>> {
            let config = RelayConfig {
                forward: settings.parse()?,
                busy,
                ..RelayConfig::default()
            };
            let delay_ns = config.forward.delay_ns;
            let rig = Rig::start(config, ())?;
            let receiver = rig.right().enter(|| UdpSocket::bind((RIGHT, PORT)))??;
            let sender = rig.left().enter(|| UdpSocket::bind((LEFT, 0)))??;
            setsockopt(&receiver, ReceiveTimestampns, &true)?;
            receiver.set_nonblocking(true)?;
            let mut times = Vec::new();
            let mut payload = vec![0; octets];
            let begin = Instant::now();
            let count = (1_000_000_000 / gap.as_nanos()) as u32;
            for number in 0..count {
                wait(begin + gap * number, || receive(&receiver, &mut times))?;
                payload[..8].copy_from_slice(&now_ns().to_be_bytes());
                sender.send_to(&payload, (RIGHT, PORT))?;
            }
            let timeout = TIMEOUT + Duration::from_nanos(delay_ns);
            wait(Instant::now() + timeout, || receive(&receiver, &mut times))?;
            let (report, ()) = rig.finish()?;
            Ok(Self {
                times,
                delay_ns,
                report,
            })
        }

        fn print_delay(&self, settings: &str, busy: bool, gap: Duration) {
            let excess = |(sent, came): &(u64, u64)| came.saturating_sub(*sent + self.delay_ns);
            let mut errors: Vec<u64> = self.times.iter().map(excess).collect();
            errors.sort_unstable();
            let at = |share: f64| {
                let index = (errors.len().saturating_sub(1)) as f64 * share;
                errors
                    .get(index as usize)
                    .map_or(f64::NAN, |ns| *ns as f64 / 1e3)
            };
            println!(
                "| `{settings}` | {:.0} | {} | {:.0} µs | {:.0} µs | {:.0} µs | {} | {} |",
                1.0 / gap.as_secs_f64(),
                if busy { "`--busy`" } else { "" },
                at(0.5),
                at(0.99),
                at(1.0),
                self.report.forward.late_frames,
                self.report.forward.discarded_frames.unwrap_or(0),
            );
        }

        fn print_rate(&self, octets: usize, rate: u64) {
            let came = self.times.iter().map(|(_, came)| *came);
            let span_ns = came.clone().max().unwrap_or(0) - came.min().unwrap_or(0);
            let carried_ns = (self.times.len() as u64 - 1) * occupancy_ns(octets, rate);
            let share = carried_ns as f64 / span_ns as f64;
            println!(
                "| {} Mbit/s | {octets} | {:.3} Mbit/s | {:.2}% | {} | {} |",
                rate / 1_000_000,
                share * rate as f64 / 1e6,
                share * 100.0,
                self.report.forward.late_frames,
                self.report.forward.discarded_frames.unwrap_or(0),
            );
        }
    }

    /// Repeats `work` until the given time.
    fn wait(
        until: Instant,
        mut work: impl FnMut() -> Result<(), Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        loop {
            work()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            if let Some(asleep) = left.checked_sub(SPIN) {
                std::thread::sleep(asleep.min(SPIN));
            }
        }
    }

    fn now_ns() -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.map_or(0, |now| now.as_nanos() as u64)
    }

    /// Receives all available datagrams with their kernel timestamps.
    fn receive(socket: &UdpSocket, times: &mut Vec<(u64, u64)>) -> Result<(), Box<dyn Error>> {
        let mut payload = [0; 2000];
        let mut control = cmsg_space!(TimeSpec);
        loop {
            let mut parts = [IoSliceMut::new(&mut payload)];
            let flags = MsgFlags::MSG_DONTWAIT;
            let message =
                match recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut control), flags) {
                    Ok(message) => message,
                    Err(nix::errno::Errno::EAGAIN) => return Ok(()),
                    Err(error) => return Err(error.into()),
                };
            let came = message.cmsgs()?.find_map(|control| match control {
                ControlMessageOwned::ScmTimestampns(time) => {
                    Some(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
                }
                _ => None,
            });
            let mut sent = [0; 8];
            sent.copy_from_slice(&payload[..8]);
            let came = came.ok_or("the system has no timestamps")?;
            times.push((u64::from_be_bytes(sent), came));
        }
    }
}
