//! The network from the programs' view: a started PHY, the MAC, smoltcp and an address.

mod arp;
#[cfg(feature = "bench-agent")]
mod bounded;
mod dhcp;
mod link_local;
mod one;

use esp_hal::{clock::CpuClock, rng::Rng};
use linerate_ether::ledger::Counter;
#[cfg(feature = "line-rate")]
use linerate_nic::filter::AddressFilter;
use linerate_nic::{
    adapter::smoltcp::Adapter,
    device::{Device as _, LinkState},
    mac::{Mac, Receiver, Transmitter},
};
use smoltcp::{
    iface::{
        Config, Interface, PollIngressSingleResult, PollResult, SocketHandle, SocketSet,
        SocketStorage,
    },
    time::{Duration, Instant},
    wire::{HardwareAddress, IpCidr, Ipv4Cidr},
};
use static_cell::ConstStaticCell;

pub use arp::Arp;
#[cfg(feature = "bench-agent")]
pub use bounded::Sender;
pub use one::Frame;
use one::One;

use crate::{
    LINERATE_LEDGER,
    config::{self, Addressing, MAC_ADDRESS, Without},
    event, info,
    phy::{self, Parts, Phy, Switch},
    stage,
};

/// The network device.
pub type Device = Adapter<Mac<'static, Phy, stage::Receive, Switch, { stage::QUEUE_WORDS }>>;

/// Maximum frames for smoltcp in one round: the queue's capacity for frames of maximum length.
const FRAMES_A_ROUND: usize = stage::QUEUE_FRAMES;

/// Maximum number of a program's sockets, the DHCP client's included.
const SOCKETS: usize = if cfg!(feature = "bench-agent") { 16 } else { 6 };

/// Pulses to send until the partner must have detected the link: it needs 2 to 10 (IEEE 802.3 clause
/// 14.2.1.7).
const PULSES_FOR_LINK: u32 = 10;

/// Maximum wait for the link partner.
const LINK_TIMEOUT: Duration = Duration::from_secs(5);

/// If smoltcp must be called earlier than that, the link timer's interrupt may wake the core too late.
const SLEEP_FOR: Duration = Duration::from_millis(17);

/// First of the dynamic ports (RFC 6335).
const FIRST_DYNAMIC_PORT: u16 = 0xC000;

static RECEIVER: Receiver<{ stage::QUEUE_WORDS }> = Receiver::new();

/// The network stack of a program.
pub struct Network {
    /// The device below smoltcp.
    pub device: Device,
    /// smoltcp's interface.
    pub iface: Interface,
    /// The sockets.
    pub sockets: SocketSet<'static>,
    dhcp: Option<SocketHandle>,
    rng: Rng,
    next_port: u16,
}

/// The time since the start.
#[inline]
pub fn now() -> Instant {
    let elapsed = esp_hal::time::Instant::now().duration_since_epoch();
    Instant::from_micros(elapsed.as_micros() as i64)
}

impl Network {
    /// Starts the chip, the PHY and the stack, waits for the link and gets an address.
    ///
    /// # Panics
    /// If called twice.
    pub fn start(program: &str) -> Self {
        let peripherals =
            esp_hal::init(esp_hal::Config::default().with_cpu_clock(CpuClock::_160MHz));
        let addressing = config::addressing();
        let ipv4 = match addressing {
            Addressing::Static(address) => address.address(),
            _ => smoltcp::wire::Ipv4Address::UNSPECIFIED,
        };
        event!(
            "boot",
            "\"program\":\"{program}\",\"variant\":\"{}\",\"mac\":\"{}\",\"ipv4\":\"{ipv4}\"",
            stage::NAME,
            Hex(MAC_ADDRESS.0),
        );

        #[cfg_attr(not(feature = "line-rate"), allow(unused_mut))]
        let (mut interrupt, main) = RECEIVER
            .split(&LINERATE_LEDGER, Switch)
            .expect("the network is started once");
        #[cfg(feature = "line-rate")]
        interrupt.set_filter(&AddressFilter::new(MAC_ADDRESS.0.into()));
        phy::report_loops();
        let phy = Phy::start(
            Parts {
                tx: peripherals.GPIO5,
                rx: peripherals.GPIO6,
                debug: peripherals.GPIO10,
                timer: peripherals.TIMG0,
            },
            interrupt,
        );
        let transmitter = Transmitter::new(phy, &LINERATE_LEDGER);
        let mut device = Adapter(Mac::new(main, transmitter, MAC_ADDRESS.0));

        static STORAGE: ConstStaticCell<[SocketStorage<'static>; SOCKETS]> =
            ConstStaticCell::new([const { SocketStorage::EMPTY }; SOCKETS]);
        let storage = STORAGE.take();
        let rng = Rng::new();
        let mut config = Config::new(HardwareAddress::Ethernet(MAC_ADDRESS));
        config.random_seed = u64::from(rng.random()) << 32 | u64::from(rng.random());
        let iface = if const { Without::Checksums.is_set() } {
            device.0.tx.fill_tcp_checksum(false);
            let mut plain = One {
                frame: None,
                transmitter: &mut device.0.tx,
            };
            Interface::new(config, &mut plain, now())
        } else {
            Interface::new(config, &mut device, now())
        };
        let mut network = Self {
            device,
            iface,
            sockets: SocketSet::new(&mut storage[..]),
            dhcp: None,
            rng,
            next_port: FIRST_DYNAMIC_PORT | rng.random() as u16,
        };
        network.wait_for_link();
        match addressing {
            Addressing::Static(address) => network.set_address(address),
            Addressing::Dhcp => dhcp::start(&mut network),
            Addressing::LinkLocal => link_local::start(&mut network),
        }
        info!("Booted up!");
        network
    }

    fn wait_for_link(&self) {
        let deadline = now() + LINK_TIMEOUT;
        while self.device.0.link_state() == LinkState::Down
            || LINERATE_LEDGER.get(Counter::TxLinkPulses) < PULSES_FOR_LINK
        {
            if now() > deadline {
                event!("error", "\"what\":\"no link\"");
                let received = [Counter::RxLinkPulses, Counter::RxLinkBursts];
                let what = if received.map(|c| LINERATE_LEDGER.get(c)) == [0, 0] {
                    "link pulses from"
                } else {
                    "link with"
                };
                info!("No {what} a partner within {LINK_TIMEOUT}; going on");
                return;
            }
            phy::report_link();
            phy::sleep_if(|| true);
        }
        phy::report_link();
    }

    /// Assigns the interface's address.
    ///
    /// # Panics
    /// Never: there is space for one address.
    pub fn set_address(&mut self, address: Ipv4Cidr) {
        self.iface.update_ip_addrs(|addresses| {
            addresses.clear();
            addresses
                .push(IpCidr::Ipv4(address))
                .expect("there is room for one address");
        });
    }

    /// A random number.
    pub fn random(&self) -> u32 {
        self.rng.random()
    }

    /// Returns a local port that was not used recently.
    pub fn local_port(&mut self) -> u16 {
        self.next_port = FIRST_DYNAMIC_PORT | self.next_port.wrapping_add(1);
        self.next_port
    }

    /// Lets smoltcp process received and pending frames.
    #[inline(never)]
    pub fn poll(&mut self) {
        if cfg!(feature = "line-rate") {
            self.take();
            return self.give();
        }
        phy::report_link();
        self.iface.poll(now(), &mut self.device, &mut self.sockets);
        if let Some(handle) = self.dhcp {
            dhcp::maintain(self, handle);
        }
    }

    /// The first half of a round: lets smoltcp process received frames. A program reads its sockets between
    /// this and [`give`](Self::give), so that one acknowledgement covers all received data and offers
    /// the whole window again. The article's stages send here, too, like their model, and acknowledge again when
    /// the program has read.
    #[inline(never)]
    pub fn take(&mut self) {
        if !cfg!(feature = "line-rate") {
            return self.poll();
        }
        self.ingress();
        if const { Without::OneAck.is_set() } {
            self.send();
        }
    }

    fn ingress(&mut self) {
        phy::report_link();
        let now = now();
        self.iface.poll_maintenance(now);
        // Bounded: a storm must not starve the program.
        for _ in 0..FRAMES_A_ROUND {
            let polled = self
                .iface
                .poll_ingress_single(now, &mut self.device, &mut self.sockets);
            if polled == PollIngressSingleResult::None {
                break;
            }
        }
    }

    /// As [`take`](Self::take), but `intercept` gets each frame first and returns true to keep it: the
    /// stack would spend more time on an irrelevant frame than the wire allows.
    pub fn take_with(&mut self, mut intercept: impl FnMut(&mut Frame) -> bool) {
        phy::report_link();
        let now = now();
        self.iface.poll_maintenance(now);
        for _ in 0..FRAMES_A_ROUND {
            let nic = &mut self.device.0;
            nic.tx.poll_ready();
            let pause = |quanta| nic.tx.pause(quanta);
            let Some(mut frame) = nic.rx.receive_with_pause(pause) else {
                break;
            };
            if intercept(&mut frame) {
                frame.consume(|_| ());
                continue;
            }
            let mut one = One {
                frame: Some(frame),
                transmitter: &mut nic.tx,
            };
            self.iface
                .poll_ingress_single(now, &mut one, &mut self.sockets);
        }
        if const { Without::OneAck.is_set() } {
            self.send();
        }
    }

    /// The second half of a round: lets smoltcp send pending frames.
    #[inline(never)]
    pub fn give(&mut self) {
        if cfg!(feature = "line-rate") {
            self.send();
        }
    }

    /// Lets smoltcp send pending frames.
    pub fn send(&mut self) {
        // Each turn sends at most one packet per socket; bounded, so that a program gets to read while it
        // uploads.
        for _ in 0..FRAMES_A_ROUND {
            // Data without transmitter space wait in the sockets.
            if !self.device.0.tx.poll_ready() {
                break;
            }
            let sent = self
                .iface
                .poll_egress(now(), &mut self.device, &mut self.sockets);
            if sent == PollResult::None {
                break;
            }
        }
        if let Some(handle) = self.dhcp {
            dhcp::maintain(self, handle);
        }
    }

    /// Sleeps until the next interrupt if there is nothing to do now or soon, and no delayed frame that would
    /// miss its time.
    pub fn idle(&mut self) {
        if self.device.0.has_pending_tx() {
            return;
        }
        let delay = self.iface.poll_delay(now(), &self.sockets);
        if delay.is_none_or(|delay| delay >= SLEEP_FOR) {
            let queue = self.device.0.rx.queue();
            phy::sleep_if(|| queue.used_bytes() == 0);
        }
    }

    /// Polls for this long.
    pub fn wait(&mut self, span: Duration) {
        let until = now() + span;
        while now() < until {
            self.poll();
            if now() + SLEEP_FOR < until {
                self.idle();
            }
        }
    }
}

/// Prints the counters: a summary for a person, all nonzero ones for a program.
pub fn report_counters() {
    use Counter as C;
    let of = |counter| LINERATE_LEDGER.get(counter);
    info!("--- Stats ---");
    info!(
        "PHY TX: Packets: {}, LTPs: {}",
        of(C::TxFrames),
        of(C::TxLinkPulses)
    );
    info!(
        "PHY RX: Packets: {}, trunc: {}, LTPs: {}, OOM: {}",
        of(C::RxFrames),
        of(C::RxTruncated),
        of(C::RxLinkPulses),
        of(C::RxQueueFull),
    );
    info!(
        "MAC RX: Packets: {}, invalid SFD: {}, invalid CRC: {}",
        of(C::RxFrames),
        of(C::RxBadSfd),
        of(C::RxBadFcs) + of(C::RxAlignmentErrors),
    );
    info!("Valid: {}", of(C::RxValid));
    event!("counters", "{}", Counters);
}

/// All nonzero counters, as members of a JSON object.
struct Counters;

impl core::fmt::Display for Counters {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        for (index, (counter, count)) in LINERATE_LEDGER.non_zero().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}\"{}\":{count}", counter.name())?;
        }
        Ok(())
    }
}

/// A MAC address with colons.
struct Hex([u8; 6]);

impl core::fmt::Display for Hex {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let colon = if index == 0 { "" } else { ":" };
            write!(f, "{colon}{byte:02x}")?;
        }
        Ok(())
    }
}
