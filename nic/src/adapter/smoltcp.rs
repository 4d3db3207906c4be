//! Adapter for smoltcp 0.14: any [`Device`] as a [`smoltcp::phy::Device`].

use crate::device::{self, Capabilities, Device, FrameTooLong, Offload};
use smoltcp::phy::{self, Checksum, ChecksumCapabilities, DeviceCapabilities};
use smoltcp::time::Instant;

/// A device for smoltcp's `Interface::poll`.
pub struct Adapter<D>(
    /// The device.
    pub D,
);

fn checksum(offload: Offload) -> Checksum {
    // smoltcp names the work left to the stack.
    match (offload.receive, offload.transmit) {
        (false, false) => Checksum::Both,
        (true, false) => Checksum::Tx,
        (false, true) => Checksum::Rx,
        (true, true) => Checksum::None,
    }
}

/// Converts the capabilities of a device to those of smoltcp.
pub fn capabilities(from: Capabilities) -> DeviceCapabilities {
    let mut checksums = ChecksumCapabilities::default();
    checksums.ipv4 = checksum(from.checksums.ipv4);
    checksums.tcp = checksum(from.checksums.tcp);
    checksums.udp = checksum(from.checksums.udp);
    checksums.icmpv4 = checksum(from.checksums.icmp);
    let mut to = DeviceCapabilities::default();
    to.medium = match from.medium {
        device::Medium::Ethernet => phy::Medium::Ethernet,
        device::Medium::Ip => phy::Medium::Ip,
    };
    // smoltcp includes the link header.
    to.max_transmission_unit = from.max_frame_len();
    to.max_burst_size = from.max_burst_frames;
    to.checksum = checksums;
    to
}

impl<D: Device> phy::Device for Adapter<D> {
    type RxToken<'a>
        = RxToken<D::RxToken<'a>>
    where
        Self: 'a;
    type TxToken<'a>
        = TxToken<D::TxToken<'a>>
    where
        Self: 'a;

    #[inline]
    fn receive(&mut self, _: Instant) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        self.0.receive().map(|(rx, tx)| (RxToken(rx), TxToken(tx)))
    }

    #[inline]
    fn transmit(&mut self, _: Instant) -> Option<Self::TxToken<'_>> {
        self.0.transmit().map(TxToken)
    }

    fn capabilities(&self) -> DeviceCapabilities {
        capabilities(self.0.capabilities())
    }
}

/// A received frame.
pub struct RxToken<T>(T);

impl<T: device::RxToken> phy::RxToken for RxToken<T> {
    #[inline]
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        self.0.consume(|frame| f(frame))
    }
}

/// Token for a frame to send.
pub struct TxToken<T>(T);

impl<T: device::TxToken> phy::TxToken for TxToken<T> {
    /// # Panics
    /// If smoltcp exceeds the length in the capabilities of the device, which it does not.
    #[inline]
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        match self.0.consume(len, f) {
            Ok(result) => result,
            Err(FrameTooLong { .. }) => panic!("frame longer than the device's capabilities"),
        }
    }
}

/// One received frame as a device for smoltcp, for a program that inspects each frame first.
pub struct SingleFrame<'d, D: Device + 'd> {
    tokens: Option<(D::RxToken<'d>, D::TxToken<'d>)>,
    capabilities: Capabilities,
}

impl<'d, D: Device + 'd> SingleFrame<'d, D> {
    /// A device with the given capabilities that returns this `frame` and a token for its reply.
    pub const fn new(
        frame: D::RxToken<'d>,
        slot: D::TxToken<'d>,
        capabilities: Capabilities,
    ) -> Self {
        Self {
            tokens: Some((frame, slot)),
            capabilities,
        }
    }
}

impl<'d, D: Device> phy::Device for SingleFrame<'d, D> {
    type RxToken<'a>
        = RxToken<D::RxToken<'d>>
    where
        Self: 'a;
    type TxToken<'a>
        = TxToken<D::TxToken<'d>>
    where
        Self: 'a;

    #[inline]
    fn receive(&mut self, _: Instant) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        let (frame, slot) = self.tokens.take()?;
        Some((RxToken(frame), TxToken(slot)))
    }

    /// Frames that are not replies wait for the device itself.
    fn transmit(&mut self, _: Instant) -> Option<Self::TxToken<'_>> {
        None
    }

    fn capabilities(&self) -> DeviceCapabilities {
        capabilities(self.capabilities)
    }
}
