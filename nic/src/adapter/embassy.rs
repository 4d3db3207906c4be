//! Adapter for embassy-net-driver 0.2: any [`Device`] as an [`embassy_net_driver::Driver`].

use crate::device::{self, Device, FrameTooLong, Offload};
pub use atomic_waker::AtomicWaker;
use core::task::Context;
use embassy_net_driver::{
    Capabilities, Checksum, ChecksumCapabilities, Driver, HardwareAddress, LinkState,
};

/// A driver for embassy-net. The receive interrupt wakes `waker` after each reception and whenever
/// the link may have changed.
pub struct Adapter<'w, D> {
    /// The device.
    pub device: D,
    waker: &'w AtomicWaker,
}

impl<'w, D: Device> Adapter<'w, D> {
    /// A driver for `device`, whose interrupt calls [`AtomicWaker::wake`] on `waker`.
    pub fn new(device: D, waker: &'w AtomicWaker) -> Self {
        Self { device, waker }
    }
}

fn checksum(offload: Offload) -> Checksum {
    // embassy-net names the work left to the stack.
    match (offload.receive, offload.transmit) {
        (false, false) => Checksum::Both,
        (true, false) => Checksum::Tx,
        (false, true) => Checksum::Rx,
        (true, true) => Checksum::None,
    }
}

/// Converts the capabilities of a device to those of embassy-net.
pub fn capabilities(from: device::Capabilities) -> Capabilities {
    let mut checksums = ChecksumCapabilities::default();
    checksums.ipv4 = checksum(from.checksums.ipv4);
    checksums.tcp = checksum(from.checksums.tcp);
    checksums.udp = checksum(from.checksums.udp);
    checksums.icmpv4 = checksum(from.checksums.icmp);
    checksums.icmpv6 = checksum(from.checksums.icmp);
    let mut to = Capabilities::default();
    to.max_transmission_unit = from.max_frame_len();
    to.max_burst_size = from.max_burst_frames;
    to.checksum = checksums;
    to
}

impl<D: Device> Driver for Adapter<'_, D> {
    type RxToken<'a>
        = RxToken<D::RxToken<'a>>
    where
        Self: 'a;
    type TxToken<'a>
        = TxToken<D::TxToken<'a>>
    where
        Self: 'a;

    fn receive(&mut self, cx: &mut Context<'_>) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        // Registered first: a frame that arrives between the two is not missed.
        self.waker.register(cx.waker());
        self.device
            .receive()
            .map(|(rx, tx)| (RxToken(rx), TxToken(tx)))
    }

    fn transmit(&mut self, cx: &mut Context<'_>) -> Option<Self::TxToken<'_>> {
        self.waker.register(cx.waker());
        self.device.transmit().map(TxToken)
    }

    fn link_state(&mut self, cx: &mut Context<'_>) -> LinkState {
        self.waker.register(cx.waker());
        // embassy-net queries the link at the end of each poll.
        if self.device.has_pending_tx() {
            cx.waker().wake_by_ref();
        }
        match self.device.link_state() {
            device::LinkState::Down => LinkState::Down,
            device::LinkState::Up => LinkState::Up,
        }
    }

    fn capabilities(&self) -> Capabilities {
        capabilities(self.device.capabilities())
    }

    fn hardware_address(&self) -> HardwareAddress {
        match self.device.capabilities().medium {
            device::Medium::Ethernet => HardwareAddress::Ethernet(self.device.mac_address().0),
            device::Medium::Ip => HardwareAddress::Ip,
        }
    }
}

/// A received frame.
pub struct RxToken<T>(T);

impl<T: device::RxToken> embassy_net_driver::RxToken for RxToken<T> {
    #[inline]
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, f: F) -> R {
        self.0.consume(f)
    }
}

/// Token for a frame to send.
pub struct TxToken<T>(T);

impl<T: device::TxToken> embassy_net_driver::TxToken for TxToken<T> {
    /// # Panics
    /// If embassy-net exceeds the length in the capabilities of the device, which it does not.
    #[inline]
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        match self.0.consume(len, f) {
            Ok(result) => result,
            Err(FrameTooLong { .. }) => panic!("frame longer than the device's capabilities"),
        }
    }
}
