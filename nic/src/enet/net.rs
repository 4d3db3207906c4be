//! The network device.

use super::descriptor::{Enhanced, Layout, RECEIVE_INTERRUPT, SEND_INTERRUPT};
use super::mac::{self, Mac, SHIFT, Settings, enet};
use super::offload;
use super::statistics::Statistics;
use crate::accounts::{self, Collisions, Offered, OutgoingFrame};
use crate::device::{
    Capabilities, Checksums, Device, FrameTooLong, InterruptDriven, LinkState, Managed, Medium,
    Offload, TxToken,
};
use crate::dma::frames::{IdleBuffers, Lending, ReceiveQueue, Received, TakenFrame};
use crate::dma::ring::{Completion, Ring, Rings};
use crate::dma::{Buffer, Coherence, Transfer};
use crate::ledger::Ledger;
use crate::mdio::{LinkSettings, MdioError, Phy};
use crate::mmio::Registers;
use linerate_ether::fcs;
use linerate_ether::frame::{HEADER_LEN, MAX_LEN, MAX_TAGGED_LEN, MIN_LEN, MacAddress};
use linerate_ether::ledger::Counter;

/// Minimum size of a buffer, in octets: MRBR counts in units of 16. A buffer begins at a multiple
/// of 64.
pub const BUFFER_LEN: usize = (MAX_TAGGED_LEN + SHIFT).next_multiple_of(16);
/// Longest frame to send, without FCS, and the shortest, to which frames are padded.
const LONGEST: usize = MAX_LEN - fcs::LEN;
const SHORTEST: usize = MIN_LEN - fcs::LEN;

/// The network device: MAC, rings and buffers.
pub struct Enet<R, C, L: 'static, const N: usize> {
    mac: Mac<R>,
    rx: Ring<L, C, N>,
    tx: Ring<L, C, N>,
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
    has_failed: bool,
}

impl<R: Registers, C: Coherence + Copy, L: Layout, const N: usize> Enet<R, C, L, N> {
    /// Starts the device. `buffers` of [`BUFFER_LEN`] octets or more each: the first half for
    /// received frames, the other for frames to send.
    ///
    /// # Panics
    /// If a buffer is too short, or does not begin at a multiple of 64, which is an error of the
    /// caller.
    pub fn start(
        mac: Mac<R>,
        coherence: C,
        rings: &'static mut Rings<L, N>,
        buffers: [[Buffer; N]; 2],
        address: MacAddress,
        link: Option<LinkSettings>,
        ledger: &'static Ledger,
    ) -> Self {
        let fits = |it: &Buffer| it.len() >= BUFFER_LEN && it.address().is_multiple_of(64);
        assert!(buffers.as_flattened().iter().all(fits));
        let [rx_buffers, tx_buffers] = buffers;
        let mut groups = 0;
        for group in [MacAddress::BROADCAST, MacAddress::MAC_CONTROL] {
            groups |= 1 << mac::hash_bin(group);
        }
        let mut this = Self {
            mac,
            rx: Ring::new(&mut rings.receive, coherence),
            tx: Ring::new(&mut rings.transmit, coherence),
            idle: IdleBuffers::full(tx_buffers),
            ledger,
            address,
            groups,
            link,
            phy: None,
            is_halted: false,
            is_mid_frame: false,
            has_failed: false,
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

    /// Configures the MAC, and submits buffers to receive into.
    fn start_mac(&mut self, rx_buffers: impl IntoIterator<Item = Buffer>) {
        self.mac.start_mac(&Settings {
            address: self.address,
            groups: self.groups,
            link: self.link.unwrap_or(LinkSettings::NO_LINK),
            enhanced: L::ENHANCED,
            buffer: BUFFER_LEN,
            rings: [self.rx.address(), self.tx.address()],
        });
        for buffer in rx_buffers {
            self.rx_and_tx().0.submit_empty(buffer);
        }
    }

    /// Stops the MAC. Frames not taken yet are lost, and counted.
    fn stop_and_drain(&mut self) {
        self.mac.stop();
        self.reclaim();
        while let Some((buffer, octets)) = self.next() {
            let frame = &buffer[rx_offset::<L>()..][..octets];
            drop(Offered::new(frame, self.ledger));
            self.rx_and_tx().0.submit_empty(buffer);
        }
        (self.is_mid_frame, self.has_failed) = (false, false);
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

    /// Sets the mode of the link, or `None` if it is down: the MAC is restarted with it. Frames not
    /// taken or not sent yet are lost and counted.
    pub fn set_link(&mut self, link: Option<LinkSettings>) {
        if link == self.link && !self.has_failed {
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

    /// Also receives frames to this group, and to those that share its bin.
    pub fn join(&mut self, group: MacAddress) {
        self.groups |= 1 << mac::hash_bin(group);
        self.mac.set_groups(self.groups);
    }

    /// Hardware counters since the last start or link change.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        Statistics::read(&self.mac.registers)
    }

    /// True if a bus error has stopped the MAC. [`set_link`](Self::set_link) or
    /// [`poll_phy`](Self::poll_phy) restarts it.
    #[must_use]
    pub const fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Reclaims the buffers of sent frames. Returns `true` if there is room for one more.
    #[inline]
    fn reclaim(&mut self) -> bool {
        while let Some(sent) = self.tx.take() {
            match sent.status.transmit_error() {
                None => sent.buffer.frame.count_sent(self.ledger, Collisions::None),
                Some(error) => self.ledger.count(error),
            }
            self.idle.push(sent.buffer);
        }
        if self.idle.is_empty() {
            self.wake_transmitter();
        }
        !self.idle.is_empty() && !self.is_halted
    }

    /// A frame that becomes ready while the transmitter is stopping is not seen, and TDAR is
    /// cleared after it was written (erratum ERR006358).
    fn wake_transmitter(&self) {
        let registers = &self.mac.registers;
        if self.tx.free_descriptors() < N && registers.read(enet::TDAR) == 0 {
            registers.write(enet::TDAR, enet::TDAR::TDAR.mask());
        }
    }

    /// The next valid frame, and its length without the octets before it and without FCS.
    #[inline]
    fn next(&mut self) -> Option<(Buffer, usize)> {
        while let Some(Completion {
            buffer,
            octets,
            status,
        }) = self.rx.take()
        {
            let is_last = status.is_last();
            let is_whole = is_last && !self.is_mid_frame;
            self.is_mid_frame = !is_last;
            let len = octets.saturating_sub(rx_offset::<L>() + fcs::LEN);
            let verified = L::ENHANCED && self.mac.config.verifies_checksums;
            let error = status.receive_error().or_else(|| {
                if !is_whole || len > MAX_TAGGED_LEN - fcs::LEN {
                    Some(Counter::RxOversize)
                } else if len < HEADER_LEN {
                    Some(Counter::RxRunts)
                } else {
                    let frame = &buffer[rx_offset::<L>()..][..len];
                    (verified && offload::is_bad(frame, status.control))
                        .then_some(Counter::RxBadChecksum)
                }
            });
            if is_last {
                accounts::received(self.ledger, error);
                if error.is_none() {
                    return Some((buffer, len));
                }
            }
            self.rx_and_tx().0.submit_empty(buffer);
        }
        None
    }

    /// Receive and transmit descriptors, for the device model of a test.
    #[cfg(test)]
    pub(super) fn descriptors(&self) -> (&'static [L; N], &'static [L; N]) {
        (self.rx.descriptors(), self.tx.descriptors())
    }

    /// The receive queue, and a transmit buffer.
    #[inline]
    fn rx_and_tx(&mut self) -> (RxQueue<'_, R, C, L, N>, TxSlot<'_, R, C, L, N>) {
        let registers = &self.mac.registers;
        let slot = TxSlot {
            ring: &mut self.tx,
            idle: &mut self.idle,
            registers,
            ledger: self.ledger,
        };
        let ring = &mut self.rx;
        (RxQueue { ring, registers }, slot)
    }
}

/// Octets before each received frame.
const fn rx_offset<L: Layout>() -> usize {
    if L::ENHANCED { SHIFT } else { 0 }
}

/// The receiver's ring.
pub struct RxQueue<'a, R, C, L: 'static, const N: usize> {
    ring: &'a mut Ring<L, C, N>,
    registers: &'a R,
}

impl<R: Registers, C: Coherence, L: Layout, const N: usize> ReceiveQueue
    for RxQueue<'_, R, C, L, N>
{
    #[inline]
    fn submit_empty(&mut self, buffer: Buffer) {
        // Cannot fail: there is a descriptor for each buffer.
        let _ = self
            .ring
            .submit([(buffer, Transfer::FromDevice)], RECEIVE_INTERRUPT);
        self.registers.write(enet::RDAR, enet::RDAR::RDAR.mask());
    }
}

impl<R: Registers, C: Coherence + Copy, L: Layout, const N: usize> Device for Enet<R, C, L, N> {
    type RxToken<'a>
        = Received<RxQueue<'a, R, C, L, N>>
    where
        Self: 'a;
    type TxToken<'a>
        = TxSlot<'a, R, C, L, N>
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
        let (queue, slot) = self.rx_and_tx();
        let received = Received::new(buffer, rx_offset::<L>(), octets, queue, ledger);
        Some((received, slot))
    }

    #[inline]
    fn transmit(&mut self) -> Option<Self::TxToken<'_>> {
        self.reclaim().then(|| self.rx_and_tx().1)
    }

    fn capabilities(&self) -> Capabilities {
        let checksum = Offload {
            receive: L::ENHANCED && self.mac.config.verifies_checksums,
            transmit: L::ENHANCED,
        };
        Capabilities {
            medium: Medium::Ethernet,
            mtu: LONGEST - HEADER_LEN,
            max_burst_frames: Some(N),
            checksums: Checksums {
                ipv4: checksum,
                tcp: checksum,
                udp: checksum,
                icmp: Offload::default(),
            },
        }
    }

    fn link_state(&self) -> LinkState {
        self.link.into()
    }

    fn mac_address(&self) -> MacAddress {
        self.address
    }
}

impl<R: Registers, C: Coherence + Copy, const N: usize> Lending for Enet<R, C, Enhanced, N> {
    #[inline]
    fn take(&mut self) -> Option<TakenFrame> {
        // As `receive` does.
        if !self.reclaim() {
            return None;
        }
        let (buffer, octets) = self.next()?;
        let offset = rx_offset::<Enhanced>();
        Some(TakenFrame::new(buffer, offset, octets, self.ledger))
    }

    #[inline]
    fn give_back(&mut self, buffer: Buffer) {
        self.rx_and_tx().0.submit_empty(buffer);
    }
}

/// Events that interrupt, and those counted where descriptors do not report them.
const WAKE_EVENTS: u32 = enet::EIR::RXF.mask() | enet::EIR::EBERR.mask();
const COUNTED_EVENTS: [(u32, Counter); 3] = [
    (enet::EIR::LC.mask(), Counter::TxLateCollisions),
    (enet::EIR::RL.mask(), Counter::TxExcessiveCollisions),
    (enet::EIR::UN.mask(), Counter::TxUnderruns),
];

impl<R: Registers, C: Coherence + Copy, L: Layout, const N: usize> InterruptDriven
    for Enet<R, C, L, N>
{
    fn unmask(&mut self) -> bool {
        self.reclaim();
        let registers = &self.mac.registers;
        let sending = enet::EIR::TXF.of((self.tx.free_descriptors() < N).into());
        registers.write(enet::EIR, enet::EIR::RXF.mask() | enet::EIR::TXF.mask());
        registers.write(enet::EIMR, WAKE_EVENTS | sending);
        self.wake_transmitter();
        !self.rx.has_completed()
    }

    fn mask(&mut self) {
        let registers = &self.mac.registers;
        registers.write(enet::EIMR, 0);
        let events = registers.read(enet::EIR);
        let counted = COUNTED_EVENTS.iter().fold(0, |all, (bit, _)| all | bit);
        registers.write(
            enet::EIR,
            events & (WAKE_EVENTS | enet::EIR::TXF.mask() | counted),
        );
        self.has_failed |= enet::EIR::EBERR.is_set(events);
        if !L::ENHANCED {
            for (bit, counter) in COUNTED_EVENTS {
                if events & bit != 0 {
                    self.ledger.count(counter);
                }
            }
        }
    }
}

impl<R: Registers, C: Coherence + Copy, L: Layout, const N: usize> Managed for Enet<R, C, L, N> {
    type Error = core::convert::Infallible;

    fn poll_link(&mut self) -> LinkState {
        // If the PHY does not respond, the MAC continues unchanged.
        if let Some(phy) = self.phy {
            let _ = self.poll_phy(&phy);
        }
        self.link_state()
    }

    fn halt(&mut self) {
        self.stop_and_drain();
        self.is_halted = true;
    }

    fn resume(&mut self) -> Result<(), Self::Error> {
        if core::mem::take(&mut self.is_halted) {
            let rx_buffers = self.reclaim_all();
            self.start_mac(rx_buffers);
        }
        Ok(())
    }
}

/// A transmit buffer for one frame.
pub struct TxSlot<'a, R: Registers, C: Coherence, L: Layout, const N: usize> {
    ring: &'a mut Ring<L, C, N>,
    idle: &'a mut IdleBuffers<N>,
    registers: &'a R,
    ledger: &'static Ledger,
}

impl<R: Registers, C: Coherence, L: Layout, const N: usize> TxToken for TxSlot<'_, R, C, L, N> {
    #[inline]
    fn consume<T>(self, len: usize, f: impl FnOnce(&mut [u8]) -> T) -> Result<T, FrameTooLong> {
        let too_long = FrameTooLong { len, max: LONGEST };
        if len > LONGEST {
            self.ledger.count(Counter::TxOversize);
            return Err(too_long);
        }
        // A token exists only while a buffer is free.
        let mut buffer = self.idle.pop().ok_or(too_long)?;
        let result = f(&mut buffer[..len]);
        let padded = len.max(SHORTEST);
        buffer[len..padded].fill(0);
        let frame = &buffer[..padded];
        let control = SEND_INTERRUPT
            | if L::ENHANCED {
                offload::checksum_insertions(frame)
            } else {
                0
            };
        buffer.frame = OutgoingFrame::new(frame, len);
        // Cannot fail: there is a descriptor for each buffer.
        let _ = self
            .ring
            .submit([(buffer, Transfer::ToDevice(padded))], control);
        self.registers.write(enet::TDAR, enet::TDAR::TDAR.mask());
        Ok(result)
    }
}
