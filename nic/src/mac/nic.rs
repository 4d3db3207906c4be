//! Receiver and transmitter as one device.

use super::phy::Phy;
use super::receive::{MainHalf, ReceiveSwitch, RxFrame};
use super::stage::Stage;
use super::transmit::Transmitter;
use crate::device::{Capabilities, Device, FrameTooLong, LinkState, Medium, RxToken, TxToken};
use linerate_ether::frame::{MAX_PAYLOAD, MacAddress};

/// The MAC as a [`Device`]: owned by the main thread, to be wrapped in the adapter of a stack.
pub struct Mac<'q, P, S, R: ReceiveSwitch, const WORDS: usize> {
    /// The receiving half.
    pub rx: MainHalf<'q, S, R, WORDS>,
    /// The sending half.
    pub tx: Transmitter<'q, P>,
    station: MacAddress,
}

impl<'q, P, S, R: ReceiveSwitch, const WORDS: usize> Mac<'q, P, S, R, WORDS> {
    /// Combines both halves. Frames to other stations are filtered out; see
    /// [`MainHalf::set_station_filter`].
    pub fn new(
        mut rx: MainHalf<'q, S, R, WORDS>,
        mut tx: Transmitter<'q, P>,
        mac_address: impl Into<MacAddress>,
    ) -> Self
    where
        S: Stage,
        R: Copy,
    {
        let station = mac_address.into();
        rx.set_station_filter(Some(station));
        tx.seed(station);
        tx.fill_tcp_checksum(S::CHECKSUMS.tcp.receive);
        Self { rx, tx, station }
    }
}

/// A back-off takes up to 52 ms. [`receive`](Device::receive) continues meanwhile, because the
/// queue must be emptied, and so does [`transmit`](Device::transmit): smoltcp 0.14 treats a fast
/// retransmission as sent when it gets no token for it, without a timer to repeat it, and the
/// connection stalls forever. Frames sent meanwhile are dropped ([`Transmitter::send`]); to make
/// them wait, let the stack send only when [`Transmitter::poll_ready`] returns `true`.
impl<'q, P, S, R, const WORDS: usize> Device for Mac<'q, P, S, R, WORDS>
where
    P: Phy,
    S: Stage,
    R: ReceiveSwitch + Copy,
{
    type RxToken<'a>
        = MacRxToken<'a, 'q, R, WORDS>
    where
        Self: 'a;
    type TxToken<'a>
        = MacTxToken<'a, 'q, P>
    where
        Self: 'a;

    #[inline]
    fn receive(&mut self) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        // A held frame must not wait for the stack to send another.
        self.tx.poll_ready();
        let frame = self.rx.receive_with_pause(|quanta| self.tx.pause(quanta))?;
        Some((MacRxToken(frame), MacTxToken(&mut self.tx)))
    }

    #[inline]
    fn transmit(&mut self) -> Option<Self::TxToken<'_>> {
        let room = self.tx.poll_ready() || !self.tx.is_paused();
        room.then_some(MacTxToken(&mut self.tx))
    }

    fn has_pending_tx(&self) -> bool {
        self.tx.has_pending_tx()
    }

    fn capabilities(&self) -> Capabilities {
        // A stage that verifies TCP checksums for the stack also fills them in.
        let mut checksums = S::CHECKSUMS;
        checksums.tcp.transmit = checksums.tcp.receive;
        Capabilities {
            medium: Medium::Ethernet,
            mtu: MAX_PAYLOAD,
            max_burst_frames: self.rx.max_burst_frames(),
            checksums,
        }
    }

    fn link_state(&self) -> LinkState {
        self.tx.phy().link_state()
    }

    fn mac_address(&self) -> MacAddress {
        self.station
    }
}

/// A received frame.
pub struct MacRxToken<'m, 'q, R: ReceiveSwitch + Copy, const WORDS: usize>(
    RxFrame<'m, 'q, R, WORDS>,
);

impl<R: ReceiveSwitch + Copy, const WORDS: usize> RxToken for MacRxToken<'_, '_, R, WORDS> {
    fn peek(&mut self) -> &mut [u8] {
        self.0.bytes_mut()
    }

    #[inline]
    fn consume<T>(self, f: impl FnOnce(&mut [u8]) -> T) -> T {
        self.0.consume(f)
    }
}

/// Token for a frame to send.
pub struct MacTxToken<'m, 'q, P>(&'m mut Transmitter<'q, P>);

impl<P: Phy> TxToken for MacTxToken<'_, '_, P> {
    #[inline]
    fn consume<T>(self, len: usize, f: impl FnOnce(&mut [u8]) -> T) -> Result<T, FrameTooLong> {
        self.0.send(len, f)
    }
}
