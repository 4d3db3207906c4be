//! The adapters, each driven through the traits of its stack.
#![cfg(all(not(loom), any(feature = "smoltcp", feature = "embassy")))]

mod support;

use linerate_ether::ledger::Counter;
use linerate_nic::device::LinkState;
use linerate_nic::ledger::Ledger;
use linerate_nic::mac::{
    AlwaysOn, BitTimes, InterruptHalf, Mac, Phy, Receiver, ReceiverState, Reception, TransmitError,
    Transmitter, TxStart, Windowed, receiver_words,
};
use std::cell::{Cell, RefCell};
use support::{DEVICE, Hearing, frame, reception, with_fcs};

const WORDS: usize = receiver_words(3);

/// A wire that records sent packets.
struct Wire<'w> {
    now: Cell<u32>,
    sent: &'w RefCell<Vec<Vec<u8>>>,
    link: LinkState,
}

impl Phy for Wire<'_> {
    fn now(&self) -> BitTimes {
        self.now.set(self.now.get() + 1);
        BitTimes(self.now.get())
    }
    fn transmit(&mut self, packet: &[u8], _start: TxStart) -> Result<BitTimes, TransmitError> {
        self.sent.borrow_mut().push(packet.to_vec());
        Ok(self.now())
    }
    fn link_state(&self) -> LinkState {
        self.link
    }
}

type Nic<'n> = Mac<'n, Wire<'n>, Windowed, AlwaysOn, WORDS>;

/// Runs `test` with the interrupt and the device of a station.
fn station(
    link: LinkState,
    test: impl FnOnce(
        InterruptHalf<'_, Windowed, AlwaysOn, WORDS>,
        Nic<'_>,
        &Ledger,
        &RefCell<Vec<Vec<u8>>>,
    ),
) {
    let (ledger, receiver) = (Ledger::new(), Receiver::<WORDS>::new());
    let sent = RefCell::new(Vec::new());
    let (interrupt, main) = receiver.split(&ledger, AlwaysOn).unwrap();
    let wire = Wire {
        now: Cell::new(0),
        sent: &sent,
        link,
    };
    let nic = Mac::new(main, Transmitter::new(wire, &ledger), DEVICE);
    test(interrupt, nic, &ledger, &sent);
}

fn deliver(interrupt: &mut InterruptHalf<'_, Windowed, AlwaysOn, WORDS>, frame: &[u8]) {
    let raw = reception(
        &with_fcs(frame),
        Hearing {
            missed_bits: 13,
            idle_bits: 2,
            padding: false,
        },
    );
    let outcome = interrupt.receive(|buffer| {
        buffer[..raw.len()].copy_from_slice(&raw);
        Reception::Packet(raw.len())
    });
    assert_eq!(outcome, ReceiverState::Listening);
}

#[cfg(feature = "smoltcp")]
mod smoltcp_adapter {
    use super::*;
    use linerate_nic::adapter::smoltcp::Adapter;
    use smoltcp::iface::{Config, Interface, SocketSet};
    use smoltcp::phy::{Device, RxToken as _};
    use smoltcp::time::Instant;
    use smoltcp::wire::{EthernetAddress, IpCidr, Ipv4Address};

    /// An ARP request for `ip` by the peer (RFC 826).
    fn arp_request(ip: [u8; 4]) -> Vec<u8> {
        let mut frame = [&[0xFF; 6][..], &super::support::PEER, &[8, 6]].concat();
        frame.extend([0, 1, 8, 0, 6, 4, 0, 1]);
        frame.extend(super::support::PEER);
        frame.extend([169, 254, 10, 1]);
        frame.extend([0; 6]);
        frame.extend(ip);
        frame.resize(60, 0);
        frame
    }

    #[test]
    fn the_stack_answers_arp_through_the_mac() {
        station(LinkState::Up, |mut interrupt, nic, ledger, sent| {
            let mut device = Adapter(nic);
            let config = Config::new(EthernetAddress(DEVICE).into());
            let mut interface = Interface::new(config, &mut device, Instant::ZERO);
            interface.update_ip_addrs(|addresses| {
                addresses
                    .push(IpCidr::new(Ipv4Address::new(169, 254, 10, 2).into(), 16))
                    .unwrap();
            });
            let mut sockets = SocketSet::new(&mut [][..]);
            deliver(&mut interrupt, &arp_request([169, 254, 10, 2]));
            deliver(&mut interrupt, &arp_request([169, 254, 10, 3]));
            interface.poll(Instant::ZERO, &mut device, &mut sockets);
            let sent = sent.borrow();
            assert_eq!(sent.len(), 1, "one of the two requests is for this station");
            let reply = &sent[0][8..];
            assert_eq!(reply.len(), 64);
            assert_eq!(reply[..6], super::support::PEER);
            // Opcode 2: reply; the sender is the device.
            assert_eq!(reply[20..32], [0, 2, 2, 0, 0, 0, 0, 2, 169, 254, 10, 2]);
            let counted = [
                Counter::RxDelivered,
                Counter::RxStackRejected,
                Counter::TxFrames,
            ];
            assert_eq!(counted.map(|counter| ledger.get(counter)), [2, 0, 1]);
        });
    }

    #[test]
    fn capabilities_are_converted_for_the_stack() {
        station(LinkState::Up, |_, nic, _, _| {
            let capabilities = Adapter(nic).capabilities();
            assert_eq!(capabilities.max_transmission_unit, 1514);
            assert_eq!(capabilities.max_burst_size, Some(3));
            assert!(capabilities.checksum.tcp.rx() && capabilities.checksum.tcp.tx());
        });
    }

    #[test]
    fn a_dropped_token_loses_the_frame_and_is_counted() {
        station(LinkState::Up, |mut interrupt, nic, ledger, _| {
            let mut device = Adapter(nic);
            deliver(&mut interrupt, &frame(60, 1));
            deliver(&mut interrupt, &frame(60, 2));
            drop(device.receive(Instant::ZERO));
            let (token, _) = device.receive(Instant::ZERO).unwrap();
            assert_eq!(token.consume(<[u8]>::to_vec), frame(60, 2));
            let counted = [
                Counter::RxValid,
                Counter::RxStackRejected,
                Counter::RxDelivered,
            ];
            assert_eq!(counted.map(|counter| ledger.get(counter)), [2, 1, 1]);
        });
    }
}

#[cfg(feature = "embassy")]
mod embassy_adapter {
    use super::*;
    use embassy_net_driver::{Driver, HardwareAddress, RxToken as _, TxToken as _};
    use linerate_nic::adapter::embassy::{Adapter, AtomicWaker};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::{Context, Wake, Waker};
    use support::shared::Shared;

    #[derive(Default)]
    struct Woken(AtomicU32);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_reception_wakes_the_stack_which_takes_it_and_answers() {
        station(LinkState::Up, |mut interrupt, nic, ledger, sent| {
            let waker = AtomicWaker::new();
            let mut driver = Adapter::new(nic, &waker);
            let woken = Arc::new(Woken::default());
            let task = Waker::from(Arc::clone(&woken));
            let mut context = Context::from_waker(&task);
            assert!(driver.receive(&mut context).is_none());
            deliver(&mut interrupt, &frame(77, 5));
            waker.wake();
            assert_eq!(woken.0.load(Ordering::Relaxed), 1);
            let (rx, tx) = driver.receive(&mut context).unwrap();
            let got = rx.consume(|frame| frame.to_vec());
            assert_eq!(got, frame(77, 5));
            tx.consume(got.len(), |buffer| buffer.copy_from_slice(&got));
            assert_eq!(sent.borrow()[0][8..], with_fcs(&got));
            assert_eq!(ledger.get(Counter::RxDelivered), 1);
        });
    }

    #[test]
    fn a_frame_that_backs_off_keeps_the_stack_awake() {
        let (ledger, receiver) = (Ledger::new(), Receiver::<WORDS>::new());
        let (_, main) = receiver.split::<Windowed, _>(&ledger, AlwaysOn).unwrap();
        let phy = Shared::new(&[Some(10); 10]);
        let nic = Mac::new(main, Transmitter::new(phy, &ledger), DEVICE);
        let waker = AtomicWaker::new();
        let mut driver = Adapter::new(nic, &waker);
        let woken = Arc::new(Woken::default());
        let task = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&task);
        let token = driver.transmit(&mut context).unwrap();
        token.consume(60, |buffer| buffer.copy_from_slice(&frame(60, 1)));
        // The end of each of embassy-net's polls; no interrupt comes.
        let _ = driver.link_state(&mut context);
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        while woken.0.swap(0, Ordering::Relaxed) == 1 {
            assert!(driver.receive(&mut context).is_none());
            let _ = driver.link_state(&mut context);
        }
        assert_eq!(ledger.get(Counter::TxFrames), 1);
    }

    #[test]
    fn capabilities_address_and_link_are_converted_for_the_stack() {
        for (link, expected) in [
            (LinkState::Up, embassy_net_driver::LinkState::Up),
            (LinkState::Down, embassy_net_driver::LinkState::Down),
        ] {
            station(link, |_, nic, _, _| {
                let waker = AtomicWaker::new();
                let mut driver = Adapter::new(nic, &waker);
                let mut context = Context::from_waker(Waker::noop());
                assert!(driver.link_state(&mut context) == expected);
                assert_eq!(driver.capabilities().max_transmission_unit, 1514);
                assert_eq!(driver.capabilities().max_burst_size, Some(3));
                assert_eq!(driver.hardware_address(), HardwareAddress::Ethernet(DEVICE));
            });
        }
    }
}
