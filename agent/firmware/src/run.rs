//! The main loop.

use crate::blaster::Blaster;
use crate::console::{self, Command, Line, event, info};
use crate::frames::TestFrames;
use crate::load::calibrated_burner;
use crate::machine::Machine;
use crate::memory::{HTTP_PORT, Memory, Services, Sockets, WAITING};
use crate::report;
use crate::rounds::Rounds;
use core::time::Duration;
use linerate_agent::burner::Burner;
use linerate_agent::{Instant, Service, iperf3, stamp};
use linerate_ether::ledger::Counter;
use linerate_nic::adapter::checksum::SoftwareChecksums;
use linerate_nic::adapter::smoltcp::{Adapter, SingleFrame};
use linerate_nic::device::{Device, InterruptDriven as _, LinkState, Managed, RxToken as _};
use linerate_nic::ledger::Ledger;
use smoltcp::iface::{Config, Interface, PollResult, SocketSet};
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpCidr, Ipv4Address, Ipv4Cidr};

/// Configuration of the device.
#[derive(Clone, Copy)]
pub struct Setup {
    /// The board's name.
    pub board: &'static str,
    /// The driver's name.
    pub driver: &'static str,
    /// IPv4 address and network.
    pub address: Ipv4Cidr,
    /// Default gateway.
    pub gateway: Ipv4Address,
    /// Clock error over a round trip.
    pub clock_error: Duration,
    /// Offset of the TCP/IPv4 payload in a transmit frame, modulo a word: the socket buffers begin at the
    /// same offset, so data are copied by whole words.
    pub skew: usize,
    /// The driver's counters.
    pub ledger: &'static Ledger,
}

/// `TestFrames` received before the services run: the capacity of each socket, so a burst waits in the ring and is
/// not lost. Also the frames sent before more are received.
const BUDGET: usize = WAITING;
/// Maximum sleep, as a console may have no interrupt.
const LONGEST_SLEEP: Duration = Duration::from_millis(10);
/// Polling interval of the link.
const LINK: Duration = Duration::from_millis(100);
/// Maximum time between two octets of a command, as a serial port may buffer only one.
const TYPING: Duration = Duration::from_millis(5);

/// Concurrent STAMP senders, and octets of a packet.
const SENDERS: usize = 4;
const STAMP: usize = 256;

/// Runs the services forever.
pub fn run<D: Managed, M: Machine>(
    device: D,
    mut machine: M,
    memory: &'static mut Memory,
    setup: &Setup,
) -> ! {
    let mut station = Station::new(device, &mut machine, memory, setup);
    // Listen before announcing it.
    station.serve(&mut machine);
    announce(&mut machine, &station.device.0, setup);
    loop {
        if !station.round(&mut machine) {
            station.rest(&mut machine);
        }
    }
}

/// A device and everything that runs on it.
struct Station<D: Managed> {
    device: Adapter<SoftwareChecksums<D>>,
    iface: Interface,
    sockets: SocketSet<'static>,
    driver: Sockets,
    services: &'static mut Services,
    stamp: stamp::Reflector<SENDERS, WAITING, STAMP>,
    frames: TestFrames,
    /// Transmission of raw frames in progress.
    blaster: Option<Blaster>,
    burner: Burner,
    line: Line,
    ledger: &'static Ledger,
    /// Last reported link state, and time of the next check.
    link: Option<LinkState>,
    link_due: Instant,
    /// No frame is received.
    is_held: bool,
    is_stopped: bool,
    rounds: Rounds,
    /// Time of the next work without a frame.
    due: Instant,
    /// Until then the rest of a command is expected.
    awake_until: Instant,
}

impl<D: Managed> Station<D> {
    fn new(
        device: D,
        machine: &mut impl Machine,
        memory: &'static mut Memory,
        setup: &Setup,
    ) -> Self {
        let own = device.mac_address();
        let mut device = Adapter(SoftwareChecksums(device));
        let seed = machine.seed();
        let mut config = Config::new(HardwareAddress::Ethernet(EthernetAddress(own.0)));
        config.random_seed = seed;
        let mut iface = Interface::new(config, &mut device, stack_time(machine.now()));
        iface.update_ip_addrs(|addresses| {
            // The list has capacity for one.
            let _ = addresses.push(IpCidr::Ipv4(setup.address));
        });
        let _ = iface.routes_mut().add_default_ipv4_route(setup.gateway);
        let (sockets, driver, services) = memory.open(seed as u32, setup.skew);
        Self {
            device,
            iface,
            sockets,
            driver,
            services,
            stamp: stamp::Reflector::new(stamp::PORT, stamp::Clock::free(setup.clock_error)),
            frames: TestFrames::new(own, 0),
            blaster: None,
            burner: calibrated_burner(|| machine.now()),
            line: Line::new(),
            ledger: setup.ledger,
            link: None,
            link_due: machine.now(),
            is_held: false,
            is_stopped: false,
            rounds: Rounds::new(machine.now(), setup.ledger.get(Counter::RxFrames)),
            due: machine.now(),
            awake_until: machine.now(),
        }
    }

    /// One round of the main loop. `false`: nothing is left to do.
    fn round(&mut self, machine: &mut impl Machine) -> bool {
        let has_received = !self.is_held && self.receive(machine);
        if has_received || machine.now() >= self.due {
            self.serve(machine);
        }
        self.blast(machine);
        while let Some(octet) = machine.read_console() {
            self.awake_until = machine.now().after(TYPING);
            if let Some(line) = self.line.push(octet) {
                // Complete: no more octets are expected.
                self.awake_until = machine.now();
                match Command::parse(line) {
                    Some(command) => self.execute(command, machine),
                    None => report::unknown(machine, line),
                }
            }
        }
        let now = machine.now();
        self.rounds.count_round(now, self.received());
        if now >= self.link_due {
            self.link_due = now.after(LINK);
            self.follow_link(machine);
        }
        has_received
            || now >= self.due
            || now < self.awake_until
            || self.blaster.is_some()
            || self.burner.burn(now)
    }

    /// Receives frames within the budget. `true`: there were some.
    fn receive(&mut self, machine: &impl Machine) -> bool {
        let capabilities = self.device.0.capabilities();
        let now = stack_time(machine.now());
        self.iface.poll_maintenance(now);
        for taken in 0..BUDGET {
            let Some((mut frame, slot)) = self.device.0.receive() else {
                return taken > 0;
            };
            if TestFrames::is_test_frame(frame.peek()) {
                self.frames.handle(frame, slot, machine.now());
                continue;
            }
            let mut one = SingleFrame::<SoftwareChecksums<D>>::new(frame, slot, capabilities);
            self.iface
                .poll_ingress_single(now, &mut one, &mut self.sockets);
        }
        true
    }

    /// Runs the services, and sends their data.
    fn serve(&mut self, machine: &mut impl Machine) {
        let Services {
            iperf2,
            iperf3,
            http,
            echo,
        } = &mut *self.services;
        let services: &mut [&mut dyn Service] = &mut [iperf2, iperf3, &mut self.stamp, echo, http];
        self.driver
            .turn(services, &mut self.iface, &mut self.sockets, || {
                machine.now()
            });
        let now = machine.now();
        let idle_for = self.driver.idle_for(services, now);
        let stack_now = stack_time(now);
        for _ in 0..BUDGET {
            let sent = self
                .iface
                .poll_egress(stack_now, &mut self.device, &mut self.sockets);
            if sent == PollResult::None {
                break;
            }
        }
        while let Some(finished) = iperf2.take_finished() {
            report::iperf2(machine, &finished);
        }
        if let Some(finished) = iperf3.take_finished() {
            report::iperf3(machine, &finished);
        }
        while let Some(finished) = http.take_finished() {
            report::http(machine, &finished);
        }
        let quiet_for = self.iface.poll_delay(stack_now, &self.sockets);
        let pause = idle_for
            .into_iter()
            .chain(quiet_for.map(Duration::from))
            .min();
        self.due = now.after(pause.unwrap_or(Duration::MAX));
    }

    /// Sends raw frames, if commanded.
    fn blast(&mut self, machine: &mut impl Machine) {
        let Some(blaster) = &mut self.blaster else {
            return;
        };
        if blaster.fill(&mut self.device.0, machine.now()) {
            blaster.report(machine, machine.now());
            self.blaster = None;
        }
    }

    /// Sleeps until something is due or a frame arrives.
    fn rest(&mut self, machine: &mut impl Machine) {
        let latest = machine.now().after(LONGEST_SLEEP);
        let burn = self.burner.wake_at().unwrap_or(latest);
        let until = self.due.min(burn).min(latest);
        if self.is_stopped {
            machine.sleep(until);
            return;
        }
        if !self.device.0.has_pending_tx() {
            self.device.0.sleep_until_frame(|| machine.sleep(until));
        }
    }

    /// `TestFrames` received so far; wraps at 2^32.
    fn received(&self) -> u32 {
        self.ledger.get(Counter::RxFrames)
    }

    /// Lets the device follow its link, and reports changes.
    fn follow_link(&mut self, machine: &mut impl Machine) {
        if self.is_stopped {
            return;
        }
        let link = self.device.0.poll_link();
        if self.link.replace(link) != Some(link) {
            report::link(machine, link);
        }
    }

    /// Stops or restarts the device, and reports its state.
    fn stop(&mut self, is_stopped: bool, machine: &mut impl Machine) {
        if is_stopped {
            self.device.0.halt();
        } else if let Err(error) = self.device.0.resume() {
            event(machine, "error", format_args!("\"what\":\"{error}\""));
            return;
        }
        self.is_stopped = is_stopped;
        report::device(machine, is_stopped);
    }

    fn execute(&mut self, command: Command, machine: &mut impl Machine) {
        match command {
            Command::Counters => console::counters(machine, self.ledger),
            Command::ReportFrames => self.frames.report(machine),
            Command::CountFrames(stream) => self.frames.count(stream),
            Command::Burn(load) => self.burner.set(load, machine.now()),
            Command::Burned => report::burned(machine, &self.burner, machine.now()),
            Command::Blast(command) => {
                let own = self.device.0.mac_address();
                self.blaster = Some(Blaster::new(command, own, machine.now()));
            }
            Command::Hold(is_held) => {
                self.is_held = is_held;
                report::held(machine, is_held);
            }
            Command::Stop(is_stopped) => self.stop(is_stopped, machine),
            Command::Rounds => {
                let (now, received) = (machine.now(), self.received());
                self.rounds.report(machine, now, received);
            }
        }
    }
}

/// Reports the device's identity and its services.
fn announce(machine: &mut impl Machine, device: &impl Device, setup: &Setup) {
    let own = device.mac_address();
    let burst = device.capabilities().max_burst_frames.unwrap_or(1);
    event(
        machine,
        "boot",
        format_args!(
            "\"program\":\"bench_agent\",\"board\":\"{}\",\"driver\":\"{}\",\"mac\":\"{own}\",\
             \"ipv4\":\"{}\",\"burst\":{burst}",
            setup.board,
            setup.driver,
            setup.address.address()
        ),
    );
    event(
        machine,
        "listening",
        format_args!(
            "\"iperf2\":5001,\"iperf3\":{},\"http\":{HTTP_PORT},\"stamp\":{},\"echo\":{}",
            iperf3::PORT,
            stamp::PORT,
            linerate_agent::echo::PORT,
        ),
    );
    info(machine, format_args!("Ready to be measured"));
}

/// Converts a time for smoltcp.
fn stack_time(now: Instant) -> smoltcp::time::Instant {
    smoltcp::time::Instant::from_micros(thousandth(now.ns()) as i64)
}

/// Equals `number / 1_000`, which takes hundreds of instructions on a CPU without 64-bit division: uses the
/// upper half of a product.
const fn thousandth(number: u64) -> u64 {
    /// 2^68 / 125, rounded up.
    const RECIPROCAL: u64 = 0x20c4_9ba5_e353_f7cf;
    const HALF: u64 = 0xffff_ffff;
    let eighth = number >> 3;
    let (low, high) = (eighth & HALF, eighth >> 32);
    let middle = low * (RECIPROCAL >> 32) + ((low * (RECIPROCAL & HALF)) >> 32);
    let carry = (high * (RECIPROCAL & HALF) + (middle & HALF)) >> 32;
    (high * (RECIPROCAL >> 32) + (middle >> 32) + carry) >> 4
}

#[cfg(test)]
mod tests {
    use super::thousandth;

    #[test]
    fn a_thousandth_is_what_a_division_yields() {
        let around = |number: u64| (0..2_100).map(move |it| number.wrapping_add(it));
        let powers = (0..64).flat_map(|bit| around((1_u64 << bit).wrapping_sub(1_050)));
        let products = (0..5_000_u64).map(|it| it.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for number in powers.chain(products) {
            assert_eq!(thousandth(number), number / 1_000, "{number}");
        }
    }
}
