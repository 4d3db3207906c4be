//! Peer of any measurement: servers of iperf 2, iperf 3 and HTTP, a STAMP reflector, echo, a counter and
//! reflector of raw frames, and a load for the CPU. The README lists ports and commands.

#![no_std]
#![no_main]

use core::time::Duration;

use esp32c6_bitbang::{
    agent::{self, Frames},
    config::HTTP_PORT,
    console::{Commands, Console},
    event, info,
    net::{self, Network},
};
use linerate_agent::{Limits, Service, burner::Burner, echo, http, iperf2, iperf3, stamp};
use linerate_agent_firmware::{console::Command, load, report};
use linerate_agent_smoltcp::MAX_DATAGRAM;
use static_cell::ConstStaticCell;

/// Concurrent iperf 2 tests in each direction, iperf 3 streams in both directions together, HTTP requests,
/// STAMP senders.
const TESTS: usize = 2;
const STREAMS: usize = 4;
const REQUESTS: usize = 3;
const SENDERS: usize = 4;
/// Octets of a STAMP packet.
const STAMP_OCTETS: usize = 256;
/// Datagrams of a round that can wait for their answer.
const WAITING: usize = agent::FRAMES_A_ROUND;
/// Timeout in the middle of a request.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Clock error over a round trip: its resolution.
const CLOCK_RESOLUTION: Duration = Duration::from_micros(1);
/// If work is due earlier than this, sleeping until the next interrupt may be too long.
const SLEEP_FOR: Duration = Duration::from_millis(17);
/// Fill level of the receive queue below which there is time to check a whole raw frame: while one is being
/// received, the processor has nothing to spare.
const FULL_CHECK_BELOW_BYTES: usize = 1024;
/// A device under test does what is requested, no faster than its line.
const LIMITS: Limits = Limits {
    fastest_bits_per_s: 10_000_000,
    ..Limits::own_network()
};

#[esp_hal::main]
fn main() -> ! {
    static IPERF2: ConstStaticCell<iperf2::Server<TESTS>> =
        ConstStaticCell::new(iperf2::Server::new(5001, LIMITS));
    static IPERF3: ConstStaticCell<iperf3::Server<STREAMS>> =
        ConstStaticCell::new(iperf3::Server::new(iperf3::PORT, LIMITS));
    static HTTP: ConstStaticCell<http::Server<REQUESTS>> =
        ConstStaticCell::new(http::Server::new(HTTP_PORT, TIMEOUT));
    static ECHO: ConstStaticCell<echo::Echo<WAITING, MAX_DATAGRAM>> =
        ConstStaticCell::new(echo::Echo::new(echo::PORT));
    let (iperf2, iperf3, http) = (IPERF2.take(), IPERF3.take(), HTTP.take());
    let echo = ECHO.take();
    let clock = stamp::Clock::free(CLOCK_RESOLUTION);
    let mut stamp = stamp::Reflector::<SENDERS, WAITING, STAMP_OCTETS>::new(stamp::PORT, clock);

    let mut network = Network::start("bench_agent");
    let mut sockets = agent::open(&mut network);
    let mut frames = Frames::of(0);
    let mut burner = load::calibrated_burner(agent::now);
    let mut commands = Commands::new();
    event!(
        "listening",
        "\"iperf2\":5001,\"iperf3\":{},\"http\":{HTTP_PORT},\"stamp\":{},\"echo\":{}",
        iperf3::PORT,
        stamp::PORT,
        echo::PORT,
    );
    info!("Ready to be measured");

    // Time of the next work without a frame.
    let mut due = agent::now();
    loop {
        let queue = network.device.0.rx.queue();
        let received = network.take_at_most(agent::FRAMES_A_ROUND, |frame, sender| {
            let has_time = queue.used_bytes() < FULL_CHECK_BELOW_BYTES;
            frames.take(frame, sender, has_time, agent::now())
        });
        if received || agent::now() >= due {
            let services: &mut [&mut dyn Service] = &mut [
                &mut *iperf2,
                &mut *iperf3,
                &mut stamp,
                &mut *echo,
                &mut *http,
            ];
            let (iface, all) = (&mut network.iface, &mut network.sockets);
            sockets.turn(services, iface, all, agent::now);
            let idle_for = sockets.idle_for(services, agent::now());
            network.give();
            while let Some(finished) = iperf2.take_finished() {
                report::iperf2(&mut Console, &finished);
            }
            if let Some(finished) = iperf3.take_finished() {
                report::iperf3(&mut Console, &finished);
            }
            while let Some(finished) = http.take_finished() {
                report::http(&mut Console, &finished);
            }
            let quiet_for = network.quiet_for().map(Duration::from);
            let pause = idle_for.into_iter().chain(quiet_for).min();
            due = agent::now().after(pause.unwrap_or(Duration::MAX));
        }
        if let Some(line) = commands.next() {
            match Command::parse(line) {
                Some(command) => execute(command, &mut frames, &mut burner),
                None => report::unknown(&mut Console, line),
            }
        }
        if queue.used_bytes() > 0 || agent::now() >= due || burner.burn(agent::now()) {
            continue;
        }
        let next = burner.wake_at().map_or(due, |at| at.min(due));
        if next.since(agent::now()) >= SLEEP_FOR {
            network.idle();
        }
    }
}

fn execute(command: Command, frames: &mut Frames, burner: &mut Burner) {
    match command {
        Command::Counters => net::report_counters(),
        Command::ReportFrames => frames.report(),
        Command::CountFrames(stream) => *frames = Frames::of(stream),
        Command::Burn(load) => burner.set(load, agent::now()),
        Command::Burned => report::burned(&mut Console, burner, agent::now()),
        Command::Blast(_) => event!("error", "\"what\":\"this board sends no raw frames\""),
        Command::Hold(_) | Command::Stop(_) => {
            event!(
                "error",
                "\"what\":\"this board's device cannot be stopped\""
            );
        }
        Command::Rounds => event!("error", "\"what\":\"this board counts no rounds\""),
    }
}
