//! One received frame as a device for smoltcp.

use linerate_nic::mac::{MAX_TX_LEN, RxFrame, Transmitter};
use smoltcp::{
    phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken},
    time::Instant,
};

use crate::{
    phy::{Phy, Switch},
    stage,
};

/// A received frame.
pub type Frame<'m> = RxFrame<'m, 'static, Switch, { stage::QUEUE_WORDS }>;

/// A frame already taken from the queue, and the transmitter to answer it.
pub(super) struct One<'m> {
    pub frame: Option<Frame<'m>>,
    pub transmitter: &'m mut Transmitter<'static, Phy>,
}

impl<'m> Device for One<'m> {
    type RxToken<'t>
        = Received<'m>
    where
        Self: 't;
    type TxToken<'t>
        = Reply<'t>
    where
        Self: 't;

    fn receive(&mut self, _: Instant) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        let frame = self.frame.take()?;
        Some((Received(frame), Reply(self.transmitter)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Self::TxToken<'_>> {
        Some(Reply(self.transmitter))
    }

    /// smoltcp normally asks the whole device, once. This one leaves all checksums to the stack.
    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = MAX_TX_LEN;
        capabilities.max_burst_size = Some(stage::QUEUE_FRAMES);
        capabilities
    }
}

/// The frame, for smoltcp to read.
pub(super) struct Received<'m>(Frame<'m>);

impl RxToken for Received<'_> {
    fn consume<T, F: FnOnce(&[u8]) -> T>(self, f: F) -> T {
        self.0.consume(|frame| f(frame))
    }
}

/// Transmit buffer for an answer.
pub(super) struct Reply<'t>(&'t mut Transmitter<'static, Phy>);

impl TxToken for Reply<'_> {
    fn consume<T, F: FnOnce(&mut [u8]) -> T>(self, len: usize, f: F) -> T {
        self.0
            .send(len, f)
            .expect("smoltcp keeps to the device's capabilities")
    }
}
