//! The network device.

use super::descriptor::{Command, Layout, SEND_INTERRUPT};
use super::mac::{self, Block, InitError, Mac, Settings, dwmac};
use super::offload;
use super::statistics::Statistics;
use crate::accounts::{self, Collisions, Offered, OutgoingFrame};
use crate::device::{
    Capabilities, Checksums, Device, FrameTooLong, InterruptDriven, LinkState, Managed, Medium,
    Offload, TxToken,
};
use crate::dma::frames::{IdleBuffers, ReceiveQueue, Received};
use crate::dma::ring::{Completion, Ring, Rings};
use crate::dma::{Buffer, Coherence, Transfer};
use crate::ledger::Ledger;
use crate::mdio::{LinkSettings, MdioError, Phy};
use crate::mmio::Registers;
use linerate_ether::fcs;
use linerate_ether::frame::{HEADER_LEN, MAX_LEN, MAX_TAGGED_LEN, MIN_LEN, MacAddress};
use linerate_ether::ledger::Counter;

/// Minimum size of a buffer in octets, a multiple of the widest bus. A buffer begins at a multiple of 64.
pub const BUFFER_LEN: usize = MAX_TAGGED_LEN.next_multiple_of(16);
/// Registers of lost frames saturate at these counts.
const MISSED_WITHOUT_DESCRIPTOR: u32 = 0x1_0000;
const MISSED_BY_OVERFLOW: u32 = 0x800;
/// Longest frame to send, without FCS, and the shortest, to which frames are padded.
const LONGEST: usize = MAX_LEN - fcs::LEN;
const SHORTEST: usize = MIN_LEN - fcs::LEN;

/// The network device: MAC, rings and buffers.
pub struct Dwmac<R, C, L: 'static, const N: usize> {
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
    /// Overflows that descriptors reported: the register of lost frames counts them, too.
    reported_overflows: u32,
}

impl<R: Registers, C: Coherence + Copy, L: Layout, const N: usize> Dwmac<R, C, L, N> {
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
            reported_overflows: 0,
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

    /// Configures the MAC, submits buffers to receive into, and starts it. If it stays in reset, it has
    /// [failed](Self::has_failed).
    fn start_mac(&mut self, rx_buffers: impl IntoIterator<Item = Buffer>) {
        let configured = self.mac.configure(&Settings {
            address: self.address,
            groups: self.groups,
            link: self.link.unwrap_or(LinkSettings::NO_LINK),
            enhanced: L::ENHANCED,
            rings: [self.rx.address(), self.tx.address()],
        });
        for buffer in rx_buffers {
            self.rx_and_tx().0.submit_empty(buffer);
        }
        self.has_failed = configured.is_err();
        if configured.is_ok() {
            self.mac.start();
        }
    }

    /// Stops the MAC. Frames not taken yet are lost, and counted.
    fn stop_and_drain(&mut self) {
        self.mac.stop();
        self.count_missed();
        self.reclaim();
        while let Some((buffer, octets)) = self.next() {
            let frame = &buffer[..octets];
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
                None => {
                    let collisions = match sent.status.collisions() {
                        0 => Collisions::None,
                        1 => Collisions::One,
                        _ => Collisions::Several,
                    };
                    sent.buffer.frame.count_sent(self.ledger, collisions);
                }
                Some(error) => self.ledger.count(error),
            }
            self.idle.push(sent.buffer);
        }
        !self.idle.is_empty() && !self.is_halted
    }

    /// Counts the frames lost before they reached a descriptor.
    fn count_missed(&mut self) {
        use dwmac::DMAMFBOCR::{MFA, MFC, OFOC, OMFC};
        let word = self.mac.registers.read(dwmac::DMAMFBOCR);
        let count = |bits: linerate_regs::Bits, beyond: linerate_regs::Bits, most| {
            if beyond.is_set(word) {
                most
            } else {
                bits.get(word)
            }
        };
        let unowned = count(MFC, OMFC, MISSED_WITHOUT_DESCRIPTOR);
        let overflown = count(MFA, OFOC, MISSED_BY_OVERFLOW);
        self.ledger.add(Counter::RxRingFull, unowned);
        let reported = core::mem::take(&mut self.reported_overflows);
        self.ledger
            .add(Counter::RxFifoOverruns, overflown.saturating_sub(reported));
        self.reported_overflows = reported.saturating_sub(overflown);
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
            let is_whole = status.is_whole() && !self.is_mid_frame;
            self.is_mid_frame = !is_last;
            let len = octets.saturating_sub(fcs::LEN);
            let verifies = self.mac.features().verifies_checksums;
            let error = status.receive_error().or_else(|| {
                if !is_whole || len > MAX_TAGGED_LEN - fcs::LEN {
                    Some(Counter::RxOversize)
                } else if len < HEADER_LEN {
                    Some(Counter::RxRunts)
                } else {
                    (verifies && offload::is_bad(&buffer[..len], status.verdict()))
                        .then_some(Counter::RxBadChecksum)
                }
            });
            self.reported_overflows += u32::from(error == Some(Counter::RxFifoOverruns));
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
    fn rx_and_tx(&mut self) -> (RxQueue<'_, C, L, N>, TxSlot<'_, R, C, L, N>) {
        let linkage = self.mac.config.linkage;
        let command = |first: usize, control| Command {
            control,
            linkage,
            first: first as u32,
        };
        let slot = TxSlot {
            command: command(self.tx.address(), SEND_INTERRUPT),
            inserts: self.mac.inserts_checksums(),
            ring: &mut self.tx,
            idle: &mut self.idle,
            registers: &self.mac.registers,
            ledger: self.ledger,
        };
        let queue = RxQueue {
            command: command(self.rx.address(), 0),
            ring: &mut self.rx,
        };
        (queue, slot)
    }
}

/// The receiver's ring.
pub struct RxQueue<'a, C, L: 'static, const N: usize> {
    ring: &'a mut Ring<L, C, N>,
    command: Command,
}

impl<C: Coherence, L: Layout, const N: usize> ReceiveQueue for RxQueue<'_, C, L, N> {
    #[inline]
    fn submit_empty(&mut self, buffer: Buffer) {
        // Cannot fail: there is a descriptor for each buffer. A suspended receiver finds it at the next frame.
        let _ = self
            .ring
            .submit([(buffer, Transfer::FromDevice)], self.command);
    }
}

impl<R: Registers, C: Coherence + Copy, L: Layout, const N: usize> Device for Dwmac<R, C, L, N> {
    type RxToken<'a>
        = Received<RxQueue<'a, C, L, N>>
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
        let received = Received::new(buffer, 0, octets, queue, ledger);
        Some((received, slot))
    }

    #[inline]
    fn transmit(&mut self) -> Option<Self::TxToken<'_>> {
        self.reclaim().then(|| self.rx_and_tx().1)
    }

    fn capabilities(&self) -> Capabilities {
        let checksum = Offload {
            receive: self.mac.features().verifies_checksums,
            transmit: self.mac.inserts_checksums(),
        };
        Capabilities {
            medium: Medium::Ethernet,
            mtu: LONGEST - HEADER_LEN,
            max_burst_frames: Some(N),
            checksums: Checksums {
                ipv4: checksum,
                tcp: checksum,
                udp: checksum,
                icmp: checksum,
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

/// Events that interrupt while nothing is sent, with their summaries.
const WAKE_EVENTS: u32 = dwmac::DMAIER::NISE.mask()
    | dwmac::DMAIER::RIE.mask()
    | dwmac::DMAIER::AISE.mask()
    | dwmac::DMAIER::FBEIE.mask();
/// Events that are cleared.
const CLEARED: u32 = dwmac::DMASR::NIS.mask()
    | dwmac::DMASR::AIS.mask()
    | dwmac::DMASR::RS.mask()
    | dwmac::DMASR::TS.mask()
    | dwmac::DMASR::RBUS.mask()
    | dwmac::DMASR::ROS.mask()
    | dwmac::DMASR::FBES.mask();

impl<R: Registers, C: Coherence + Copy, L: Layout, const N: usize> InterruptDriven
    for Dwmac<R, C, L, N>
{
    fn unmask(&mut self) -> bool {
        self.reclaim();
        let registers = &self.mac.registers;
        let sending = dwmac::DMAIER::TIE.of((self.tx.free_descriptors() < N).into());
        let frames = dwmac::DMASR::NIS.mask() | dwmac::DMASR::RS.mask() | dwmac::DMASR::TS.mask();
        registers.write(dwmac::DMASR, frames);
        registers.write(dwmac::DMAIER, WAKE_EVENTS | sending);
        !self.rx.has_completed()
    }

    fn mask(&mut self) {
        let registers = &self.mac.registers;
        registers.write(dwmac::DMAIER, 0);
        let events = registers.read(dwmac::DMASR);
        registers.write(dwmac::DMASR, events & CLEARED);
        self.has_failed |= dwmac::DMASR::FBES.is_set(events);
        let lost = dwmac::DMASR::RBUS.mask() | dwmac::DMASR::ROS.mask();
        if events & lost != 0 {
            self.count_missed();
        }
    }
}

impl<R: Registers, C: Coherence + Copy, L: Layout, const N: usize> Managed for Dwmac<R, C, L, N> {
    type Error = InitError;

    fn poll_link(&mut self) -> LinkState {
        self.count_missed();
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
            if self.has_failed {
                self.is_halted = true;
                return Err(InitError::InReset);
            }
        }
        Ok(())
    }
}

/// A transmit buffer for one frame.
pub struct TxSlot<'a, R: Registers, C: Coherence, L: Layout, const N: usize> {
    ring: &'a mut Ring<L, C, N>,
    idle: &'a mut IdleBuffers<N>,
    command: Command,
    inserts: bool,
    registers: &'a Block<R>,
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
        let mut command = self.command;
        if self.inserts {
            command.control |= offload::checksum_insertions(frame);
        }
        buffer.frame = OutgoingFrame::new(frame, len);
        // Cannot fail: there is a descriptor for each buffer.
        let _ = self
            .ring
            .submit([(buffer, Transfer::ToDevice(padded))], command);
        // The transmitter may be suspended.
        self.registers.write(dwmac::DMATPDR, 0);
        Ok(result)
    }
}
