//! The network device.

use super::descriptor::Descriptor;
use super::engine::Engine;
use super::mac::{self, Mac, SHIFT};
use crate::accounts::{self, Collisions, Offered, OutgoingFrame};
use crate::device::{
    Capabilities, Checksums, Device, FrameTooLong, InterruptDriven, LinkState, Managed, Medium,
    TxToken,
};
use crate::dma::frames::{IdleBuffers, ReceiveQueue, Received};
use crate::dma::ring::{self, Completion, Ring};
use crate::dma::{Buffer, Coherence, Transfer};
use crate::ledger::Ledger;
use crate::mdio::{LinkSettings, MdioError, Phy};
use crate::mmio::Registers;
use linerate_ether::fcs;
use linerate_ether::frame::{HEADER_LEN, MAX_LEN, MAX_TAGGED_LEN, MIN_LEN, MacAddress};
use linerate_ether::ledger::Counter;

/// Size of a buffer, in octets. A buffer begins at a multiple of 4.
pub const BUFFER_LEN: usize = (MAX_TAGGED_LEN + SHIFT).next_multiple_of(32);
/// Longest frame to send, and the shortest to receive, without FCS.
const LONGEST: usize = MAX_LEN - fcs::LEN;
const SHORTEST: usize = MIN_LEN - fcs::LEN;

/// Memory of the two rings, `N` frames per direction.
pub type Rings<const N: usize> = ring::Rings<Descriptor, N>;

/// The network device: MAC, DMA, rings and buffers.
pub struct Tse<R, C, const N: usize> {
    mac: Mac<R>,
    rx: Ring<Descriptor, C, N>,
    tx: Ring<Descriptor, C, N>,
    /// Unused transmit buffers.
    idle: IdleBuffers<N>,
    ledger: &'static Ledger,
    address: MacAddress,
    groups: u64,
    link: Option<LinkSettings>,
    /// PHY to poll for the link.
    phy: Option<Phy>,
    is_halted: bool,
    /// In the middle of a frame that exceeds one buffer.
    is_mid_frame: bool,
    /// Since the MAC was started: frames that it took to send, and frames counted that it dropped.
    taken: u32,
    dropped: u32,
}

impl<R: Registers, C: Coherence + Copy, const N: usize> Tse<R, C, N> {
    /// Starts the device. `buffers` of [`BUFFER_LEN`] octets or more each: the first half for received frames, the other
    /// for frames to send.
    ///
    /// # Panics
    /// If a buffer is too short, or does not begin at a multiple of 4, which is an error of the caller.
    pub fn start(
        mac: Mac<R>,
        coherence: C,
        rings: &'static mut Rings<N>,
        buffers: [[Buffer; N]; 2],
        address: MacAddress,
        link: Option<LinkSettings>,
        ledger: &'static Ledger,
    ) -> Self {
        let fits = |it: &Buffer| it.len() >= BUFFER_LEN && it.address().is_multiple_of(4);
        assert!(buffers.as_flattened().iter().all(fits));
        let [rx_buffers, tx_buffers] = buffers;
        let mut this = Self {
            mac,
            rx: Ring::new(&mut rings.receive, coherence),
            tx: Ring::new(&mut rings.transmit, coherence),
            idle: IdleBuffers::full(tx_buffers),
            ledger,
            address,
            groups: 0,
            link,
            phy: None,
            is_halted: false,
            is_mid_frame: false,
            taken: 0,
            dropped: 0,
        };
        this.start_mac(rx_buffers);
        this
    }

    /// The same, with a PHY that [`poll_link`](Managed::poll_link) reads.
    #[must_use]
    pub fn with_phy(self, phy: Phy) -> Self {
        Self {
            phy: Some(phy),
            ..self
        }
    }

    /// Configures the MAC and starts the engines, with buffers to receive into.
    fn start_mac(&mut self, rx_buffers: impl IntoIterator<Item = Buffer>) {
        (self.taken, self.dropped) = (0, 0);
        self.is_halted = false;
        for buffer in rx_buffers {
            (&mut self.rx).submit_empty(buffer);
        }
        let link = self.link.unwrap_or(LinkSettings::NO_LINK);
        self.mac.start(self.address, self.groups, link);
        self.mac.receive.start(self.rx.address());
        self.mac.transmit.start(self.tx.address());
    }

    /// Stops the MAC. Frames not taken yet are lost, and counted.
    fn stop_and_drain(&mut self) {
        self.is_halted = true;
        self.mac.transmit.finish();
        self.reclaim();
        self.mac.drain(self.taken);
        self.count_dropped();
        self.mac.receive.reset();
        while let Some((buffer, octets)) = self.next() {
            drop(Offered::new(&buffer[SHIFT..][..octets], self.ledger));
            (&mut self.rx).submit_empty(buffer);
        }
        self.mac.stop();
        self.is_mid_frame = false;
    }

    /// Returns all receive buffers of a stopped MAC. Frames not sent yet are lost, and counted.
    fn reclaim_all(&mut self) -> IdleBuffers<N> {
        let mut rx_buffers = IdleBuffers::empty();
        self.rx.reclaim_all(|buffer| rx_buffers.push(buffer));
        self.tx
            .reclaim_all(|buffer| self.idle.push_unsent(buffer, self.ledger));
        rx_buffers
    }

    /// Stops the device permanently. Returns the MAC, and the buffers, receive buffers first.
    pub fn stop(mut self) -> (Mac<R>, [[Option<Buffer>; N]; 2]) {
        self.stop_and_drain();
        let rx_buffers = self.reclaim_all();
        (self.mac, [rx_buffers.into_array(), self.idle.into_array()])
    }

    /// Sets the mode of the link, or `None` if it is down: the MAC is restarted with it. Frames not taken or not sent yet
    /// are lost and counted.
    pub fn set_link(&mut self, link: Option<LinkSettings>) {
        if link == self.link {
            return;
        }
        self.ledger.count_link(self.link.into(), link.into());
        self.link = link;
        if !self.is_halted {
            self.stop_and_drain();
            let rx_buffers = self.reclaim_all();
            self.start_mac(rx_buffers);
        }
    }

    /// Reads the PHY and applies its link mode.
    ///
    /// # Errors
    /// [`MdioError`].
    pub fn poll_phy(&mut self, phy: &Phy) -> Result<LinkState, MdioError> {
        let link = phy.link(&self.mac)?;
        self.set_link(link);
        Ok(self.link_state())
    }

    /// Mode of the link.
    #[must_use]
    pub const fn link(&self) -> Option<LinkSettings> {
        self.link
    }

    /// Also receives frames to this group, and to those that share its entry of the hash table.
    pub fn join(&mut self, group: MacAddress) {
        self.groups |= 1 << mac::hash_bin(group);
        self.mac.set_groups(self.groups);
    }

    /// Reclaims the buffers of sent frames. Returns `true` if there is room for one more.
    #[inline]
    fn reclaim(&mut self) -> bool {
        while let Some(sent) = self.tx.take() {
            sent.buffer.frame.count_sent(self.ledger, Collisions::None);
            self.idle.push(sent.buffer);
            self.taken = self.taken.wrapping_add(1);
        }
        if self.idle.is_empty() {
            wake(&self.tx, &self.mac.transmit);
        }
        !self.idle.is_empty() && !self.is_halted
    }

    /// The next valid frame, and its length without the octets before it.
    #[inline]
    fn next(&mut self) -> Option<(Buffer, usize)> {
        if !self.is_halted {
            wake(&self.rx, &self.mac.receive);
        }
        while let Some(Completion {
            buffer,
            octets,
            status,
        }) = self.rx.take()
        {
            let is_last = status.is_last();
            let is_whole = is_last && !self.is_mid_frame;
            self.is_mid_frame = !is_last;
            let len = octets.saturating_sub(SHIFT);
            let error = status.receive_error().or_else(|| {
                if !is_whole || len > MAX_TAGGED_LEN - fcs::LEN {
                    Some(Counter::RxOversize)
                } else if len < SHORTEST {
                    Some(Counter::RxRunts)
                } else {
                    let is_wrong = status.has_wrong_length();
                    is_wrong.then_some(Counter::RxLengthErrors)
                }
            });
            if is_last {
                accounts::received(self.ledger, error);
                if error.is_none() {
                    return Some((buffer, len));
                }
            }
            (&mut self.rx).submit_empty(buffer);
        }
        None
    }

    /// Counts the frames that the receive FIFO had no room for.
    fn count_dropped(&mut self) {
        let dropped = self.mac.dropped();
        let more = dropped.wrapping_sub(self.dropped);
        self.dropped = dropped;
        self.ledger.add(Counter::RxFifoOverruns, more);
    }

    /// Receive and transmit descriptors, for the device model of a test.
    #[cfg(test)]
    pub(super) fn descriptors(&self) -> (&'static [Descriptor; N], &'static [Descriptor; N]) {
        (self.rx.descriptors(), self.tx.descriptors())
    }

    /// The receive ring, and a transmit buffer.
    #[inline]
    fn rx_and_tx(&mut self) -> (&mut Ring<Descriptor, C, N>, TxSlot<'_, R, C, N>) {
        let slot = TxSlot {
            ring: &mut self.tx,
            idle: &mut self.idle,
            engine: &self.mac.transmit,
            ledger: self.ledger,
        };
        (&mut self.rx, slot)
    }
}

/// Its engine is started again by `wake`.
impl<C: Coherence, const N: usize> ReceiveQueue for &mut Ring<Descriptor, C, N> {
    #[inline]
    fn submit_empty(&mut self, buffer: Buffer) {
        let first = self.address() as u32;
        // Cannot fail: there is a descriptor for each buffer.
        let _ = self.submit([(buffer, Transfer::FromDevice)], first);
    }
}

/// Starts an engine that has stopped, because the next descriptor was not its own, where it stopped. One that is busy
/// may have read that descriptor already, and will stop.
#[inline]
fn wake<R: Registers, C: Coherence, const N: usize>(
    ring: &Ring<Descriptor, C, N>,
    engine: &Engine<R>,
) {
    if !engine.is_busy()
        && let Some(address) = ring.pending_address()
    {
        engine.start(address);
    }
}

impl<R: Registers, C: Coherence + Copy, const N: usize> Device for Tse<R, C, N> {
    type RxToken<'a>
        = Received<&'a mut Ring<Descriptor, C, N>>
    where
        Self: 'a;
    type TxToken<'a>
        = TxSlot<'a, R, C, N>
    where
        Self: 'a;

    #[inline]
    fn receive(&mut self) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        // A frame stays in the device until it can be answered.
        if !self.reclaim() {
            return None;
        }
        let (buffer, octets) = self.next()?;
        let ledger = self.ledger;
        let (ring, slot) = self.rx_and_tx();
        let received = Received::new(buffer, SHIFT, octets, ring, ledger);
        Some((received, slot))
    }

    #[inline]
    fn transmit(&mut self) -> Option<Self::TxToken<'_>> {
        self.reclaim().then(|| self.rx_and_tx().1)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            medium: Medium::Ethernet,
            mtu: LONGEST - HEADER_LEN,
            max_burst_frames: Some(N),
            checksums: Checksums::NONE,
        }
    }

    fn link_state(&self) -> LinkState {
        self.link.into()
    }

    fn mac_address(&self) -> MacAddress {
        self.address
    }
}

impl<R: Registers, C: Coherence + Copy, const N: usize> InterruptDriven for Tse<R, C, N> {
    fn unmask(&mut self) -> bool {
        if self.is_halted {
            return true;
        }
        self.reclaim();
        wake(&self.tx, &self.mac.transmit);
        wake(&self.rx, &self.mac.receive);
        // The transmitter interrupts when it has stopped, perhaps before its last descriptor.
        self.mac.transmit.unmask(false);
        self.mac.receive.unmask(true);
        !self.rx.has_completed()
    }

    fn mask(&mut self) {
        if self.is_halted {
            return;
        }
        self.mac.receive.mask();
        self.mac.transmit.mask();
        self.count_dropped();
    }
}

impl<R: Registers, C: Coherence + Copy, const N: usize> Managed for Tse<R, C, N> {
    type Error = core::convert::Infallible;

    fn poll_link(&mut self) -> LinkState {
        // If the PHY does not respond, the MAC continues unchanged.
        if let Some(phy) = self.phy {
            let _ = self.poll_phy(&phy);
        }
        self.link_state()
    }

    fn halt(&mut self) {
        if !self.is_halted {
            self.stop_and_drain();
        }
    }

    fn resume(&mut self) -> Result<(), Self::Error> {
        if self.is_halted {
            let rx_buffers = self.reclaim_all();
            self.start_mac(rx_buffers);
        }
        Ok(())
    }
}

/// A transmit buffer for one frame.
pub struct TxSlot<'a, R: Registers, C: Coherence, const N: usize> {
    ring: &'a mut Ring<Descriptor, C, N>,
    idle: &'a mut IdleBuffers<N>,
    engine: &'a Engine<R>,
    ledger: &'static Ledger,
}

impl<R: Registers, C: Coherence, const N: usize> TxToken for TxSlot<'_, R, C, N> {
    #[inline]
    fn consume<T>(self, len: usize, f: impl FnOnce(&mut [u8]) -> T) -> Result<T, FrameTooLong> {
        let too_long = FrameTooLong { len, max: LONGEST };
        if len > LONGEST {
            self.ledger.count(Counter::TxOversize);
            return Err(too_long);
        }
        // A token exists only while a buffer is free.
        let mut buffer = self.idle.pop().ok_or(too_long)?;
        let frame = &mut buffer[SHIFT..][..len];
        let result = f(frame);
        // The MAC pads it.
        buffer.frame = OutgoingFrame::new(&buffer[SHIFT..][..len], len);
        let first = self.ring.address() as u32;
        // Cannot fail: there is a descriptor for each buffer.
        let transfer = Transfer::ToDevice(SHIFT + len);
        let _ = self.ring.submit([(buffer, transfer)], first);
        wake(self.ring, self.engine);
        Ok(result)
    }
}
