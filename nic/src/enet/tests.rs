//! The driver against registers and descriptors for which a test emulates the device.

extern crate std;

use super::descriptor::{
    BAD_IPV4, BAD_TRANSPORT, INSERT_IPV4, INSERT_TRANSPORT, RECEIVE_INTERRUPT, SEND_INTERRUPT,
};
use super::mac::{enet, hash_bin};
use super::*;
use crate::accounts::tests::assert_script;
use crate::device::{Device, InterruptDriven, LinkState, Managed, RxToken, TxToken};
use crate::dma::{Buffer, Coherent};
use crate::ledger::Ledger;
use crate::mdio::{FlowControl, LinkSettings, MdioBus, MdioError, Phy, Speed, mii};
use crate::mmio::Registers;
use linerate_ether::frame::MacAddress;
use linerate_ether::ledger::Counter;
use linerate_regs::RegisterRef;
use std::boxed::Box;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::vec::Vec;

const N: usize = 4;
const OWN: MacAddress = MacAddress([2, 0x11, 0x22, 0x33, 0x44, 0x55]);
const ACTIVE: u32 = 1 << 24;

/// Registers whose writes take effect at once.
#[derive(Default)]
struct Chip {
    values: RefCell<BTreeMap<usize, u32>>,
    written: RefCell<Vec<(usize, u32)>>,
    phy: RefCell<[u16; 32]>,
    /// True if the chip does not react.
    is_dead: Cell<bool>,
}

impl Chip {
    fn value(&self, register: RegisterRef) -> u32 {
        let values = self.values.borrow();
        values
            .get(&(register.offset as usize))
            .copied()
            .unwrap_or(0)
    }

    fn set(&self, register: RegisterRef, value: u32) {
        let at = register.offset as usize;
        self.values.borrow_mut().insert(at, value);
    }

    fn happens(&self, event: linerate_regs::Bits) {
        self.set(enet::EIR, self.value(enet::EIR) | event.mask());
    }

    /// Writes to these registers, in order.
    fn order_of<const K: usize>(&self, registers: [RegisterRef; K]) -> Vec<(usize, u32)> {
        let ours = |(at, _): &&(usize, u32)| registers.iter().any(|it| it.offset as usize == *at);
        self.written.borrow().iter().filter(ours).copied().collect()
    }

    fn transfer(&self, frame: u32) {
        // Start of frame and turnaround of clause 22.
        assert_eq!(frame & 0xc003_0000, 0x4002_0000);
        let mut phy = self.phy.borrow_mut();
        let register = &mut phy[enet::MMFR::RA.get(frame) as usize];
        let is_here = enet::MMFR::PA.get(frame) == 6;
        if enet::MMFR::OP.get(frame) == enet::MMFR::OP::WRITE {
            *register = frame as u16;
        }
        let data = if is_here { *register } else { 0xffff };
        self.set(enet::MMFR, enet::MMFR::DATA.put(frame, data.into()));
        self.happens(enet::EIR::MII);
    }
}

impl Registers for &'static Chip {
    fn read_at(&self, offset: usize) -> u32 {
        self.values.borrow().get(&offset).copied().unwrap_or(0)
    }

    fn write_at(&self, offset: usize, value: u32) {
        self.written.borrow_mut().push((offset, value));
        let is = |register: RegisterRef| register.offset as usize == offset;
        let value = if is(enet::EIR) {
            self.value(enet::EIR) & !value
        } else if is(enet::ECR) && !self.is_dead.get() {
            enet::ECR::RESET.put(value, 0)
        } else {
            value
        };
        self.values.borrow_mut().insert(offset, value);
        if self.is_dead.get() {
            return;
        }
        if is(enet::MMFR) {
            self.transfer(value);
        }
        if is(enet::TCR) && enet::TCR::GTS.is_set(value) {
            self.happens(enet::EIR::GRA);
        }
    }
}

const CONFIG: Config = Config {
    interface: Interface::Rgmii,
    bus_hz: 66_000_000,
    fifo: ReceiveFifo::GIGABIT,
    promiscuous: false,
    verifies_checksums: false,
};

const GIGABIT: LinkSettings = LinkSettings {
    speed: Speed::Mbit1000,
    full_duplex: true,
    flow_control: FlowControl {
        send: true,
        receive: true,
    },
};

#[repr(align(64))]
struct Aligned([u8; BUFFER_LEN]);

/// A buffer with this content: alignment octets, and then a received frame.
fn buffer(content: &[u8]) -> Buffer {
    let memory = Box::leak(Box::new(Aligned([0; BUFFER_LEN])));
    memory.0[..content.len()].copy_from_slice(content);
    Buffer::new(&mut memory.0)
}

struct Bench<L: Layout> {
    enet: Enet<&'static Chip, Coherent, L, N>,
    chip: &'static Chip,
    ledger: &'static Ledger,
    receive: &'static [L; N],
    transmit: &'static [L; N],
}

/// A running device whose receive buffers have this content.
fn bench<L: Layout>(config: Config, link: Option<LinkSettings>, content: &[u8]) -> Bench<L> {
    let chip: &'static Chip = Box::leak(Box::default());
    let ledger: &'static Ledger = Box::leak(Box::new(Ledger::new()));
    let mac = Mac::reset(chip, config).expect("out of reset");
    let rings = Box::leak(Box::new(Rings::new()));
    let buffers = [0, 1].map(|_| core::array::from_fn(|_| buffer(content)));
    let enet: Enet<_, _, L, N> = Enet::start(mac, Coherent, rings, buffers, OWN, link, ledger);
    let (receive, transmit) = enet.descriptors();
    Bench {
        enet,
        chip,
        ledger,
        receive,
        transmit,
    }
}

fn enhanced(content: &[u8]) -> Bench<Enhanced> {
    bench(CONFIG, Some(GIGABIT), content)
}

/// The device has received a frame: length, and flags of the upper half of the first word.
fn came(descriptor: &Legacy, octets: usize, flags: u32) {
    let wrap = descriptor.state.read() & 1 << 29;
    assert_ne!(descriptor.state.read() & 1 << 31, 0, "not the device's");
    descriptor.state.write(wrap | flags << 16 | octets as u32);
}

const LAST: u32 = 1 << 11;

/// 16 alignment bits, a frame, and a dummy FCS.
fn shifted(frame: &[u8]) -> Vec<u8> {
    [&[0, 0], frame, &[0xfc; 4]].concat()
}

/// Addresses and `EtherType`, IPv4 of this protocol, fragment and sum of what it carries.
fn ipv4(protocol: u8, fragment: u8, sum: [u8; 2]) -> Vec<u8> {
    let mut frame = [[0x02; 12].as_slice(), &[8, 0, 0x45]].concat();
    frame.resize(14 + 20 + 20, 0);
    frame[14 + 7] = fragment;
    frame[14 + 9] = protocol;
    frame[14 + 20 + 6..][..2].copy_from_slice(&sum);
    frame
}

#[test]
fn the_mac_is_set_up_before_it_runs() {
    let Bench { enet, chip, .. } = enhanced(&[]);
    let value = |register| chip.value(register);
    assert_eq!(value(enet::PALR), 0x0211_2233);
    assert_eq!(value(enet::PAUR), 0x4455_0000);
    // 1522 octets and two before them, no control frames but pause, flow control, RGMII, MII_MODE.
    assert_eq!(value(enet::RCR), 0x05f4_8064);
    assert_eq!(value(enet::TCR), 4);
    assert_eq!(value(enet::OPD), 0xfff0);
    assert_eq!(value(enet::TFWR), 0x100);
    let fifo = [enet::RSFL, enet::RSEM, enet::RAEM, enet::RAFL, enet::FTRL].map(value);
    assert_eq!(fifo, [16, 0x84, 8, 8, 1524]);
    assert_eq!((value(enet::RACC), value(enet::TACC)), (0x80, 0));
    assert_eq!(value(enet::MRBR), 1536);
    // Twice 66 MHz / 14 is below 5 MHz.
    assert_eq!(value(enet::MSCR), 13 << 1);
    // Reset; the rings; enabled, 1000 Mbit/s, enhanced, little-endian; then the receiver is
    // started, once per buffer.
    let order = chip.order_of([enet::ECR, enet::RDSR, enet::TDSR, enet::RDAR]);
    let at = |register: RegisterRef| register.offset as usize;
    assert_eq!(order[0], (at(enet::ECR), 1));
    assert_eq!((order[1].0, order[2].0), (at(enet::RDSR), at(enet::TDSR)));
    assert_eq!(order[3], (at(enet::ECR), 0x132));
    assert_eq!(order[4..], [(at(enet::RDAR), ACTIVE); N]);
    assert_eq!(enet.link_state(), LinkState::Up);
    let cleared = chip.order_of([enet::MIBC]);
    assert_eq!(
        cleared.iter().map(|it| it.1 >> 28).collect::<Vec<_>>(),
        [8, 10, 8, 0]
    );
}

#[test]
fn a_slow_half_duplex_link_on_rmii() {
    let config = Config {
        interface: Interface::Rmii,
        promiscuous: true,
        ..CONFIG
    };
    let link = LinkSettings {
        speed: Speed::Mbit10,
        full_duplex: false,
        flow_control: FlowControl::default(),
    };
    let Bench { chip, .. } = bench::<Legacy>(config, Some(link), &[]);
    // RMII_10T, RMII_MODE, no FCE, PROM, MII_MODE, DRT.
    assert_eq!(chip.value(enet::RCR), 0x05f2_830e);
    assert_eq!((chip.value(enet::TCR), chip.value(enet::RSEM)), (0, 0));
    assert_eq!((chip.value(enet::ECR), chip.value(enet::RACC)), (0x102, 0));
}

#[test]
fn the_address_before_the_reset_is_found() {
    let chip: &'static Chip = Box::leak(Box::default());
    assert_eq!(
        Mac::reset(chip, CONFIG).expect("there").previous_address(),
        None
    );
    chip.set(enet::PALR, 0x5254_0012);
    chip.set(enet::PAUR, 0x3456_8808);
    let found = Mac::reset(chip, CONFIG).expect("there").previous_address();
    assert_eq!(found, Some(MacAddress([0x52, 0x54, 0, 0x12, 0x34, 0x56])));
}

#[test]
fn a_mac_without_clock_is_reported() {
    let chip: &'static Chip = Box::leak(Box::default());
    let mac = Mac::reset(chip, CONFIG).expect("there");
    chip.is_dead.set(true);
    assert_eq!(mac.read(6, mii::BMSR), Err(MdioError::Timeout));
    assert_eq!(Phy::at(&mac, 6).err(), Some(MdioError::Timeout));
    assert_eq!(Mac::reset(chip, CONFIG).err(), Some(InitError::InReset));
}

#[test]
fn registers_of_the_phy_are_read_and_written() {
    let chip: &'static Chip = Box::leak(Box::default());
    let mac = Mac::reset(chip, CONFIG).expect("there");
    assert_eq!(mac.write(6, mii::ANAR, 0x0de1), Ok(()));
    assert_eq!(mac.read(6, mii::ANAR), Ok(0x0de1));
    assert_eq!(mac.read(5, mii::ANAR), Ok(0xffff));
    let frames = chip.order_of([enet::MMFR]);
    let frames: Vec<u32> = frames.iter().map(|it| it.1).collect();
    assert_eq!(frames, [0x5312_0de1, 0x6312_0000, 0x6292_0000]);
}

#[test]
fn a_frame_is_received_without_shift_and_fcs() {
    let frame = [[0xff; 6], [3; 6], [7; 6], [9; 6]].concat();
    let mut bench = enhanced(&shifted(&frame));
    assert!(bench.enet.receive().is_none());
    for turn in 0..2 * N {
        let descriptor = &bench.receive[turn % N];
        assert_eq!(descriptor.control.read(), RECEIVE_INTERRUPT);
        came(&descriptor.base, frame.len() + 6, LAST);
        let (mut token, _) = bench.enet.receive().expect("came");
        assert_eq!(token.peek(), frame);
        if turn % 2 == 0 {
            token.consume(|it| assert_eq!(it, frame));
        } else {
            drop(token);
        }
        assert!(bench.enet.receive().is_none());
    }
    let count = |counter| bench.ledger.get(counter);
    let half = N as u32;
    assert_eq!(count(Counter::RxFrames), 2 * half);
    assert_eq!(count(Counter::RxBroadcast), 2 * half);
    assert_eq!(count(Counter::RxDelivered), half);
    assert_eq!(count(Counter::RxStackRejected), half);
    // The MAC was notified of each returned buffer.
    assert_eq!(bench.chip.order_of([enet::RDAR]).len(), 3 * N);
}

#[test]
fn invalid_frames_are_counted_and_dropped() {
    let mut bench = bench::<Legacy>(CONFIG, Some(GIGABIT), &[0; 100]);
    let cases = [
        // An overrun, whatever the other bits.
        (LAST | 0x02, 800, Counter::RxFifoOverruns),
        (LAST | 0x37, 800, Counter::RxFifoOverruns),
        (LAST | 0x01, 1524, Counter::RxOversize),
        (LAST | 0x20, 1523, Counter::RxOversize),
        (LAST | 0x14, 80, Counter::RxAlignmentErrors),
        (LAST | 0x04, 80, Counter::RxBadFcs),
        (LAST, 17, Counter::RxRunts),
        (LAST, 0, Counter::RxRunts),
    ];
    let mut turn = 0;
    for (flags, octets, counter) in cases {
        let before = bench.ledger.get(counter);
        came(&bench.receive[turn % N], octets, flags);
        turn += 1;
        assert!(bench.enet.receive().is_none());
        assert_eq!(bench.ledger.get(counter), before + 1, "{flags:x} {octets}");
    }
    // One in three buffers, whose end could be mistaken for a frame; then a good one.
    for flags in [0, 0, LAST, LAST] {
        came(&bench.receive[turn % N], 70, flags);
        turn += 1;
    }
    assert!(bench.enet.receive().is_some());
    assert_eq!(bench.enet.parts(), 2);
    assert_eq!(bench.ledger.get(Counter::RxOversize), 3);
    assert_eq!(bench.ledger.get(Counter::RxFrames), cases.len() as u32 + 2);
    assert_eq!(bench.ledger.get(Counter::RxValid), 1);
}

#[test]
fn a_frame_is_padded_and_sent() {
    let mut bench = enhanced(&[0xaa; 100]);
    let room = bench.enet.transmit().expect("room");
    assert!(room.consume(1515, |_| ()).is_err());
    assert!(bench.chip.order_of([enet::TDAR]).is_empty());
    let room = bench.enet.transmit().expect("room");
    assert!(room.consume(20, |it| it.fill(3)).is_ok());
    let descriptor = &bench.transmit[0];
    // Ready, last, with FCS, 60 octets.
    assert_eq!(descriptor.base.state.read(), 0x8c00_003c);
    assert_eq!(descriptor.control.read(), SEND_INTERRUPT);
    assert_eq!(bench.chip.value(enet::TDAR), ACTIVE);
    assert_eq!(bench.ledger.get(Counter::TxOctets), 0);
    descriptor.base.state.write(0);
    assert!(bench.enet.transmit().is_some());
    assert_eq!(bench.ledger.get(Counter::TxOctets), 64);
    let (_, [_, buffers]) = bench.enet.stop();
    let sent = buffers
        .iter()
        .flatten()
        .find(|it| it[0] == 3)
        .expect("written");
    assert_eq!((&sent[..20], &sent[20..60]), (&[3; 20][..], &[0; 40][..]));
}

#[test]
fn a_full_ring_waits_and_failures_to_send_are_counted() {
    let mut bench = enhanced(&[]);
    for _ in 0..N {
        let room = bench.enet.transmit().expect("room");
        assert!(room.consume(100, |_| ()).is_ok());
    }
    // The transmitter did not see the last (erratum ERR006358).
    bench.chip.set(enet::TDAR, 0);
    assert!(bench.enet.transmit().is_none());
    assert_eq!(bench.chip.value(enet::TDAR), ACTIVE);
    // Frames wait in the device while none can be answered.
    came(&bench.receive[0].base, 100, LAST);
    assert!(bench.enet.receive().is_none());
    let errors = [
        (1 << 13, Counter::TxUnderruns),
        (1 << 12, Counter::TxExcessiveCollisions),
        (1 << 10, Counter::TxLateCollisions),
    ];
    for (descriptor, (bit, _)) in bench.transmit.iter().zip(errors) {
        descriptor.base.state.write(0);
        descriptor.control.write(1 << 15 | bit);
    }
    assert!(bench.enet.receive().is_some());
    for (_, counter) in errors {
        assert_eq!(bench.ledger.get(counter), 1);
    }
}

#[test]
fn checksums_are_inserted_where_the_accelerator_knows_them() {
    let arp = [[2; 12].as_slice(), &[8, 6], &[0; 46]].concat();
    let tagged = |frame: Vec<u8>| [&frame[..12], &[0x81, 0, 0, 5], &frame[12..]].concat();
    let mut ipv6 = ipv4(0, 0, [0; 2]);
    ipv6[12..14].copy_from_slice(&[0x86, 0xdd]);
    ipv6[14 + 6] = 17;
    let both = INSERT_IPV4 | INSERT_TRANSPORT;
    let cases = [
        (ipv4(6, 0, [0; 2]), both),
        (ipv4(17, 0, [0; 2]), both),
        (tagged(ipv4(17, 0, [0; 2])), both),
        // ICMP, and the second of two fragments.
        (ipv4(1, 0, [0; 2]), INSERT_IPV4),
        (ipv4(17, 9, [0; 2]), INSERT_IPV4),
        (ipv6, INSERT_TRANSPORT),
        (arp, 0),
    ];
    let mut bench = enhanced(&[]);
    for (number, (frame, inserted)) in (0..).zip(cases) {
        let room = bench.enet.transmit().expect("room");
        assert!(
            room.consume(frame.len(), |it| it.copy_from_slice(&frame))
                .is_ok()
        );
        let descriptor = &bench.transmit[number % N];
        assert_eq!(
            descriptor.control.read(),
            SEND_INTERRUPT | inserted,
            "{frame:x?}"
        );
        descriptor.base.state.write(0);
    }
    let checksums = bench.enet.capabilities().checksums;
    assert!(checksums.tcp.transmit && checksums.udp.transmit && checksums.ipv4.transmit);
    assert!(!checksums.icmp.transmit && !checksums.tcp.receive);
    let legacy = self::bench::<Legacy>(CONFIG, None, &[]).enet;
    assert!(!legacy.capabilities().checksums.tcp.transmit);
    assert_eq!(legacy.link_state(), LinkState::Down);
}

#[test]
fn wrong_checksums_are_dropped_if_the_receiver_verifies_them() {
    let config = Config {
        verifies_checksums: true,
        ..CONFIG
    };
    let both = BAD_IPV4 | BAD_TRANSPORT;
    let cases = [
        (ipv4(6, 0, [1, 2]), 0, true),
        (ipv4(6, 0, [1, 2]), BAD_TRANSPORT, false),
        (ipv4(6, 0, [1, 2]), BAD_IPV4, false),
        (ipv4(17, 0, [1, 2]), BAD_TRANSPORT, false),
        // Without a checksum; a fragment; an unsupported protocol.
        (ipv4(17, 0, [0, 0]), BAD_TRANSPORT, true),
        (ipv4(17, 9, [1, 2]), BAD_TRANSPORT, true),
        (ipv4(1, 0, [1, 2]), BAD_TRANSPORT, true),
        ([[2; 12].as_slice(), &[8, 6], &[0; 46]].concat(), both, true),
    ];
    for (frame, found, is_good) in cases {
        let mut bench: Bench<Enhanced> = bench(config, Some(GIGABIT), &shifted(&frame));
        assert!(bench.enet.capabilities().checksums.tcp.receive);
        bench.receive[0].control.write(found);
        came(&bench.receive[0].base, frame.len() + 6, LAST);
        assert_eq!(
            bench.enet.receive().is_some(),
            is_good,
            "{found:x} {frame:x?}"
        );
        let refused = bench.ledger.get(Counter::RxBadChecksum);
        assert_eq!(refused, u32::from(!is_good));
    }
}

#[test]
fn a_waiting_frame_prevents_sleep() {
    let mut bench = enhanced(&[]);
    assert!(bench.enet.unmask());
    assert_eq!(bench.chip.value(enet::EIMR), 0x0240_0000);
    bench.chip.happens(enet::EIR::RXF);
    came(&bench.receive[0].base, 100, LAST);
    bench.enet.mask();
    let registers = [enet::EIMR, enet::EIR].map(|it| bench.chip.value(it));
    assert_eq!(registers, [0, 0]);
    assert!(!bench.enet.unmask());
    // During a transmission its end wakes the processor, too.
    assert!(bench.enet.receive().is_some());
    let room = bench.enet.transmit().expect("room");
    assert!(room.consume(100, |_| ()).is_ok());
    assert!(bench.enet.unmask());
    assert_eq!(bench.chip.value(enet::EIMR), 0x0a40_0000);
}

#[test]
fn events_are_counted_where_descriptors_do_not_report_them() {
    let mut bench = bench::<Legacy>(CONFIG, Some(GIGABIT), &[]);
    for event in [enet::EIR::LC, enet::EIR::RL, enet::EIR::UN] {
        bench.chip.happens(event);
    }
    bench.enet.mask();
    bench.enet.mask();
    let counters = [
        Counter::TxLateCollisions,
        Counter::TxExcessiveCollisions,
        Counter::TxUnderruns,
    ];
    assert_eq!(counters.map(|it| bench.ledger.get(it)), [1; 3]);
}

#[test]
fn a_failed_mac_starts_again() {
    let mut bench = enhanced(&[]);
    bench.chip.happens(enet::EIR::EBERR);
    bench.enet.mask();
    assert!(bench.enet.has_failed());
    let before = bench.chip.order_of([enet::ECR]).len();
    bench.enet.set_link(Some(GIGABIT));
    assert!(!bench.enet.has_failed());
    // Restarted once, and then not again.
    bench.enet.set_link(Some(GIGABIT));
    assert_eq!(bench.chip.order_of([enet::ECR]).len(), before + 2);
}

#[test]
fn a_changed_link_mode_is_applied() {
    let mut bench = enhanced(&[0; 100]);
    // Two frames to send, of which one is sent, and a received one that was not taken.
    for _ in 0..2 {
        let room = bench.enet.transmit().expect("room");
        assert!(room.consume(100, |_| ()).is_ok());
    }
    bench.transmit[0].base.state.write(0);
    came(&bench.receive[0].base, 100, LAST);
    bench.chip.phy.borrow_mut()[1..6].copy_from_slice(&[0x782d, 7, 0xc0d1, 0x01e1, 0x0081]);
    let mac = Mac::reset(bench.chip, CONFIG).expect("there");
    let phy = Phy::at(&mac, 6).expect("there");
    assert_eq!(bench.enet.poll_phy(&phy), Ok(LinkState::Up));
    let halted = bench.chip.order_of([enet::TCR, enet::ECR]);
    // Stopped gracefully, off; then half duplex, 100 Mbit/s.
    let halted = &halted[halted.len() - 4..];
    assert_eq!(
        halted.iter().map(|it| it.1 & 0x127).collect::<Vec<_>>(),
        [5, 0, 0, 0x122 & !0x20]
    );
    let count = |counter| bench.ledger.get(counter);
    let lost = [Counter::TxLinkDown, Counter::RxStackRejected].map(count);
    assert_eq!((lost, count(Counter::LinkUps)), ([1, 1], 0));
    // The rings begin anew.
    came(&bench.receive[0].base, 100, LAST);
    assert!(bench.enet.receive().is_some());
    for _ in 0..N {
        let room = bench.enet.transmit().expect("room");
        assert!(room.consume(100, |_| ()).is_ok());
    }
    bench.enet.set_link(None);
    assert_eq!(bench.ledger.get(Counter::LinkDowns), 1);
    assert_eq!(bench.ledger.get(Counter::TxLinkDown), 1 + N as u32);
    let (_, buffers) = bench.enet.stop();
    assert_eq!(buffers.as_flattened().iter().flatten().count(), 2 * N);
}

#[test]
fn the_mac_is_stopped_for_a_while_and_follows_its_phy() {
    let Bench {
        enet,
        chip,
        ledger,
        receive,
        ..
    } = enhanced(&[0; 100]);
    chip.phy.borrow_mut()[1..6].copy_from_slice(&[0x782d, 7, 0xc0d1, 0x01e1, 0x0081]);
    let mac = Mac::reset(chip, CONFIG).expect("there");
    let mut enet = enet.with_phy(Phy::at(&mac, 6).expect("there"));
    came(&receive[0].base, 100, LAST);
    enet.halt();
    assert!(enet.receive().is_none() && enet.transmit().is_none());
    assert_eq!(ledger.get(Counter::RxStackRejected), 1);
    let is_running = || enet::ECR::ETHEREN.is_set(chip.value(enet::ECR));
    // The link goes down meanwhile.
    chip.phy.borrow_mut()[1] = 0x7809;
    assert_eq!(enet.poll_link(), LinkState::Down);
    assert!(!is_running());
    assert_eq!(enet.resume(), Ok(()));
    assert!(is_running());
    came(&receive[0].base, 100, LAST);
    assert!(enet.receive().is_some());
    chip.phy.borrow_mut()[1] = 0x782d;
    assert_eq!(enet.poll_link(), LinkState::Up);
    assert_eq!(
        [Counter::LinkDowns, Counter::LinkUps].map(|it| ledger.get(it)),
        [1, 1]
    );
    assert!(enet.transmit().is_some());
}

/// The upper six bits of the register of the CRC, bit by bit.
#[test]
fn groups_are_found_by_their_bits() {
    for group in [
        MacAddress::BROADCAST,
        MacAddress::MAC_CONTROL,
        MacAddress([1, 0, 0x5e, 0, 0, 0xfb]),
        MacAddress([0x33, 0x33, 0, 0, 0, 1]),
    ] {
        let mut crc = u32::MAX;
        for octet in group.0 {
            for bit in 0..8 {
                let low = crc & 1 ^ u32::from(octet >> bit & 1);
                crc = (crc >> 1) ^ (low * 0xedb8_8320);
            }
        }
        assert_eq!(hash_bin(group), crc >> 26, "{group}");
    }
    let mut bench = enhanced(&[]);
    let groups =
        |chip: &Chip| u64::from(chip.value(enet::GAUR)) << 32 | u64::from(chip.value(enet::GALR));
    let [broadcast, pause, group] = [
        MacAddress::BROADCAST,
        MacAddress::MAC_CONTROL,
        MacAddress([1, 0, 0x5e, 0, 0, 0xfb]),
    ]
    .map(|it| 1 << hash_bin(it));
    assert_eq!(groups(bench.chip), broadcast | pause);
    bench.enet.join(MacAddress([1, 0, 0x5e, 0, 0, 0xfb]));
    assert_eq!(groups(bench.chip), broadcast | pause | group);
    // A restart keeps them.
    bench.enet.set_link(None);
    assert_eq!(groups(bench.chip), broadcast | pause | group);
}

#[test]
fn the_hardware_counters_are_read() {
    let bench = enhanced(&[]);
    bench.chip.set(enet::IEEE_T_FDXFC, 0xd6c);
    bench.chip.set(enet::IEEE_R_MACERR, 3);
    let expected = Statistics {
        sent_pauses: 0xd6c,
        overruns: 3,
        ..Statistics::default()
    };
    assert_eq!(bench.enet.statistics(), expected);
}

#[test]
fn every_frame_has_one_end_in_the_account() {
    let mut bench = enhanced(&shifted(&[0xff; 60]));
    let mut number = 0..;
    let mut arrive = |flags| {
        let next: usize = number.next().expect("endless");
        came(&bench.receive[next % N].base, 66, LAST | flags);
    };
    arrive(0x04);
    arrive(0);
    let (token, _) = bench.enet.receive().expect("valid");
    token.consume(|_| ());
    arrive(0);
    drop(bench.enet.receive().expect("valid"));
    arrive(0);
    arrive(0);
    for _ in 0..2 {
        let room = bench.enet.transmit().expect("room");
        assert!(room.consume(60, |it| it.fill(0xff)).is_ok());
    }
    bench.transmit[0].base.state.write(0);
    bench.enet.halt();
    assert_eq!(bench.enet.resume(), Ok(()));
    assert_script(bench.ledger, Counter::RxBadFcs);
}
