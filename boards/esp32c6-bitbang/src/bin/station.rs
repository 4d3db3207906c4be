//! A station controlled over the console: counts and checks test frames, answers pings, sends at an offered
//! load. The README lists the commands.

#![no_std]
#![no_main]

use esp32c6_bitbang::{
    config::MAC_ADDRESS,
    console::{self, Commands},
    event, info,
    net::{self, Network},
};
use linerate_ether::{
    fcs,
    frame::{ADDRESSES_LEN, EtherType, HEADER_LEN, MAX_LEN, MIN_LEN},
    pattern,
};
use static_cell::ConstStaticCell;

/// Octets of a test frame's number.
const NUMBER_LEN: usize = 4;
/// The pattern in a test frame begins at its number times this.
const STRIDE: u64 = 7;
/// Nanoseconds of an octet, and of preamble, SFD and gap in octets.
const OCTET_NS: u64 = 800;
const OVERHEAD_OCTETS: u64 = 20;
/// Octets that identify a test frame.
const START: usize = HEADER_LEN + NUMBER_LEN;
/// Frames sent in a row before other work.
const IN_A_ROW: usize = 8;
/// Maximum backlog of a load that cannot be sustained.
const BACKLOG_NS: u64 = 100_000_000;
/// Fill level of the queue below which there is time to check a whole frame. Less than the level at which the
/// MAC rejects frames to groups.
const FULL_CHECK_BELOW_BYTES: usize = 1024;
/// Octets at both ends of a frame that are always checked.
const END_OCTETS: usize = 16;

/// Test frames received.
#[derive(Default)]
struct Checked {
    frames: u32,
    octets: u64,
    wrong: u32,
}

impl Checked {
    /// Counts `frame` (without FCS) if it is a test frame; returns true if it is.
    fn take(&mut self, frame: &[u8], all: bool) -> bool {
        if frame.get(ADDRESSES_LEN..HEADER_LEN)
            != Some(&EtherType::LOCAL_EXPERIMENT.0.to_be_bytes()[..])
        {
            return false;
        }
        let Some((number, data)) = frame[HEADER_LEN..].split_first_chunk::<NUMBER_LEN>() else {
            return false;
        };
        self.frames += 1;
        self.octets += (frame.len() + fcs::LEN) as u64;
        let offset = u64::from(u32::from_be_bytes(*number)) * STRIDE;
        let is = |from: usize, part: &[u8]| {
            pattern::first_difference(offset + from as u64, part).is_none()
        };
        let right = if all || data.len() <= 2 * END_OCTETS {
            is(0, data)
        } else {
            let tail = data.len() - END_OCTETS;
            is(0, &data[..END_OCTETS]) && is(tail, &data[tail..])
        };
        self.wrong += u32::from(!right);
        true
    }

    fn report(&self) {
        let Self {
            frames,
            octets,
            wrong,
        } = self;
        event!(
            "checked",
            "\"frames\":{frames},\"octets\":{octets},\"wrong\":{wrong}"
        );
        net::report_counters();
    }
}

/// Frames to send at a pace.
struct Load {
    /// Octets of a frame with FCS.
    octets: usize,
    /// From a frame's start to the next one's; `None`: nothing is sent.
    period_ns: Option<u64>,
    next_ns: u64,
    frame: &'static [u8],
    /// Octets of it in the MAC's buffer.
    written: usize,
}

impl Load {
    fn set(&mut self, percent: u64, octets: usize, now_ns: u64) {
        self.octets = octets.clamp(MIN_LEN, MAX_LEN);
        let on_wire = (self.octets as u64 + OVERHEAD_OCTETS) * OCTET_NS;
        self.period_ns = (percent > 0).then(|| on_wire * 100 / percent.min(100));
        self.next_ns = now_ns;
    }

    /// Sends what is due.
    fn run(&mut self, network: &mut Network, now_ns: u64) {
        let Some(period) = self.period_ns else {
            return;
        };
        let len = self.octets - fcs::LEN;
        for _ in 0..IN_A_ROW {
            // A frame in back-off is not replaced by the next one.
            if self.next_ns > now_ns || !network.device.0.tx.poll_ready() {
                return;
            }
            self.next_ns = (self.next_ns + period).max(now_ns.saturating_sub(BACKLOG_NS));
            // Such a frame is never too long; the ledger shows its fate in the MAC.
            let (sent, written) = (&self.frame[..len], &mut self.written);
            let _ = network.device.0.tx.send(len, |frame| {
                // The buffer keeps the previous content: most often this very frame.
                if frame[..START] != sent[..START] || len > *written {
                    frame.copy_from_slice(sent);
                    *written = len;
                }
            });
        }
    }
}

/// Attempts to send endlessly, to trigger the jabber function. The PHY of the article's stages has none.
#[cfg(feature = "line-rate")]
mod endless {
    use super::{ConstStaticCell, Network};
    use linerate_ether::preamble::{PREAMBLE_AND_SFD, SFD};
    use linerate_nic::link::Jabber;

    /// Longer than the jabber function allows.
    const OCTETS: usize = Jabber::MAX_OCTETS + 1;

    /// A packet that no station may send.
    pub struct Packet(&'static mut [u8; OCTETS]);

    impl Packet {
        /// Returns the only one. Call it once.
        pub fn take() -> Self {
            static PACKET: ConstStaticCell<[u8; OCTETS]> = ConstStaticCell::new([0; OCTETS]);
            let packet = PACKET.take();
            packet.fill(PREAMBLE_AND_SFD[0]);
            packet[PREAMBLE_AND_SFD.len() - 1] = SFD;
            Self(packet)
        }

        /// Sends it.
        pub fn send(&self, network: &mut Network) {
            network.device.0.tx.send_packet(self.0);
        }
    }
}

/// A test frame of any length, broadcast. All sent frames are the same: creating one takes longer than the
/// gap between two, and a station that is late for the gap never gets the medium among others.
fn test_frame() -> &'static [u8] {
    static FRAME: ConstStaticCell<[u8; MAX_LEN]> = ConstStaticCell::new([0; MAX_LEN]);
    let frame = FRAME.take();
    frame[..6].fill(0xFF);
    frame[6..ADDRESSES_LEN].copy_from_slice(&MAC_ADDRESS.0);
    frame[ADDRESSES_LEN..HEADER_LEN].copy_from_slice(&EtherType::LOCAL_EXPERIMENT.0.to_be_bytes());
    // Its number is 0.
    pattern::fill(0, &mut frame[HEADER_LEN + NUMBER_LEN..]);
    frame
}

#[esp_hal::main]
fn main() -> ! {
    let mut network = Network::start("station");
    let mut commands = Commands::new();
    #[cfg(feature = "line-rate")]
    let endless = endless::Packet::take();
    let mut checked = Checked::default();
    let mut load = Load {
        octets: MIN_LEN,
        period_ns: None,
        next_ns: 0,
        frame: test_frame(),
        written: 0,
    };
    loop {
        let queue = network.device.0.rx.queue();
        network.take_with(|frame| {
            checked.take(
                frame.bytes_mut(),
                queue.used_bytes() < FULL_CHECK_BELOW_BYTES,
            )
        });
        network.send();
        let now_ns = net::now().total_micros() as u64 * 1000;
        load.run(&mut network, now_ns);
        let Some(line) = commands.next() else {
            if load.period_ns.is_none() {
                network.idle();
            }
            continue;
        };
        let mut words = line.split_ascii_whitespace();
        let number = |word: Option<&str>| word.and_then(|word| word.parse::<u64>().ok());
        match words.next() {
            Some("counters") => checked.report(),
            Some("load") => match (number(words.next()), number(words.next())) {
                (Some(percent), Some(octets)) => load.set(percent, octets as usize, now_ns),
                _ => unknown(line),
            },
            #[cfg(feature = "line-rate")]
            Some("jabber") => endless.send(&mut network),
            Some("promiscuous") => match words.next() {
                Some("on") => network.device.0.rx.set_promiscuous(true),
                Some("off") => network.device.0.rx.set_promiscuous(false),
                _ => unknown(line),
            },
            Some("end") => {
                checked.report();
                console::done()
            }
            Some(_) => unknown(line),
            None => {}
        }
    }
}

fn unknown(line: &str) {
    info!("Not understood: {line}");
    event!("error", "\"what\":\"unknown command\"");
}
