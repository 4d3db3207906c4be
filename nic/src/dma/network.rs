//! A network device with a ring of descriptors per direction: buffers, accounting and the states common to such MACs.
//! The parts in which they differ are a [`Controller`].

use super::controller::{Controller, ReceiveStatus, Settings};
use super::frames::{IdleBuffers, ReceiveQueue, Received};
use super::ring::{Completion, Descriptor, Ring, Rings};
use super::{Buffer, Coherence, Transfer};
use crate::accounts::{self, Offered, OutgoingFrame};
use crate::device::{
    Capabilities, Device, FrameTooLong, InterruptDriven, LinkState, Managed, Medium, TxToken,
};
use crate::ledger::Ledger;
use crate::mdio::{LinkSettings, MdioError, Phy};
use linerate_ether::fcs;
use linerate_ether::frame::{HEADER_LEN, MAX_LEN, MAX_TAGGED_LEN, MacAddress};
use linerate_ether::ledger::Counter;

/// Longest frame to send, without FCS.
const LONGEST: usize = MAX_LEN - fcs::LEN;

/// The network device: MAC, rings and buffers.
pub struct RingDevice<M, C, D: 'static, const N: usize> {
    pub(crate) mac: M,
    rx: Ring<D, C, N>,
    tx: Ring<D, C, N>,
    /// Unused transmit buffers.
    idle: IdleBuffers<N>,
    pub(crate) ledger: &'static Ledger,
    address: MacAddress,
    groups: u64,
    link: Option<LinkSettings>,
    /// PHY to poll for the link.
    phy: Option<Phy>,
    is_halted: bool,
    /// In the middle of a frame that exceeds one buffer.
    is_mid_frame: bool,
    /// Buffers in which no frame ended.
    parts: u32,
    has_failed: bool,
}

impl<M: Controller<D>, C, D, const N: usize> RingDevice<M, C, D, N>
where
    C: Coherence + Copy,
    D: Descriptor<Status: ReceiveStatus>,
{
    /// Starts the device. `buffers` of the driver's `BUFFER_LEN` octets or more each: the first half for received frames,
    /// the other for frames to send.
    ///
    /// # Panics
    /// If a buffer is too short or not aligned as `BUFFER_LEN` requires, which is an error of the caller.
    pub fn start(
        mac: M,
        coherence: C,
        rings: &'static mut Rings<D, N>,
        buffers: [[Buffer; N]; 2],
        address: MacAddress,
        link: Option<LinkSettings>,
        ledger: &'static Ledger,
    ) -> Self {
        let (len, alignment) = M::BUFFER;
        let fits = |it: &Buffer| it.len() >= len && it.address().is_multiple_of(alignment);
        assert!(buffers.as_flattened().iter().all(fits));
        let [rx_buffers, tx_buffers] = buffers;
        let mut groups = 0;
        for &group in M::GROUPS {
            groups |= 1 << M::hash_bin(group);
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
            parts: 0,
            has_failed: false,
        };
        // A MAC that stays in reset has failed.
        let _ = this.start_mac(rx_buffers);
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

    /// Configures the MAC, submits buffers to receive into, and starts it. If it does not respond, it has
    /// [failed](Self::has_failed).
    fn start_mac(&mut self, rx_buffers: impl IntoIterator<Item = Buffer>) -> Result<(), M::Error> {
        let settings = Settings {
            address: self.address,
            groups: self.groups,
            link: self.link.unwrap_or(LinkSettings::NO_LINK),
            rings: [self.rx.address(), self.tx.address()],
        };
        let configured = self.mac.configure(&settings);
        for buffer in rx_buffers {
            self.rx_and_tx().0.submit_empty(buffer);
        }
        self.has_failed = configured.is_err();
        if configured.is_ok() {
            self.mac.run(&settings);
            self.is_halted = false;
        }
        configured
    }

    /// Stops the MAC. Frames not taken yet are lost, and counted.
    fn stop_and_drain(&mut self) {
        self.is_halted = true;
        self.mac.stop(self.ledger);
        self.reclaim();
        self.mac.stop_receiver(self.ledger);
        while let Some((buffer, octets)) = self.next() {
            let frame = &buffer[M::OFFSETS.0..][..octets];
            drop(Offered::new(frame, self.ledger));
            self.rx_and_tx().0.submit_empty(buffer);
        }
        self.mac.finish_stop();
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
    pub fn stop(mut self) -> (M, [[Option<Buffer>; N]; 2]) {
        self.stop_and_drain();
        let rx_buffers = self.reclaim_all();
        (self.mac, [rx_buffers.into_array(), self.idle.into_array()])
    }

    /// Sets the mode of the link, or `None` if it is down: the MAC is restarted with it. Frames not taken or not sent yet
    /// are lost and counted.
    pub fn set_link(&mut self, link: Option<LinkSettings>) {
        if link == self.link && !self.has_failed {
            return;
        }
        self.ledger.count_link(self.link.into(), link.into());
        self.link = link;
        if !self.is_halted {
            self.stop_and_drain();
            let rx_buffers = self.reclaim_all();
            // If it does not respond, it has failed, and is started again with the next link.
            let _ = self.start_mac(rx_buffers);
            self.is_halted = false;
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

    /// Receive buffers that were filled without the end of a frame, modulo 2^32: the frame was longer than a buffer. The
    /// ledger counts such a frame once, at its end.
    #[must_use]
    pub const fn parts(&self) -> u32 {
        self.parts
    }

    /// Also receives frames to this group, and to those that share its bit of the hash table.
    pub fn join(&mut self, group: MacAddress) {
        self.groups |= 1 << M::hash_bin(group);
        self.mac.set_groups(self.groups);
    }

    /// True if a bus error has stopped the MAC, or it stays in reset. [`set_link`](Self::set_link) or
    /// [`poll_phy`](Self::poll_phy) restarts it.
    #[must_use]
    pub const fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Reclaims the buffers of sent frames. Returns `true` if there is room for one more.
    #[inline]
    pub(crate) fn reclaim(&mut self) -> bool {
        while let Some(sent) = self.tx.take() {
            match self.mac.sent(sent.status) {
                Ok(collisions) => sent.buffer.frame.count_sent(self.ledger, collisions),
                Err(error) => self.ledger.count(error),
            }
            self.idle.push(sent.buffer);
        }
        if self.idle.is_empty() {
            self.mac.wake_transmitter(&self.tx);
        }
        !self.idle.is_empty() && !self.is_halted
    }

    /// The next valid frame, and its length without the octets before it and without FCS.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(Buffer, usize)> {
        if !self.is_halted {
            self.mac.wake_receiver(&self.rx);
        }
        while let Some(Completion {
            buffer,
            octets,
            status,
        }) = self.rx.take()
        {
            let is_last = status.is_last();
            let is_whole = status.is_whole() && !self.is_mid_frame;
            self.is_mid_frame = !is_last;
            let len = octets.saturating_sub(M::OFFSETS.0 + M::TRAILER);
            let error = status.receive_error().or_else(|| {
                if !is_whole || len > MAX_TAGGED_LEN - fcs::LEN {
                    Some(Counter::RxOversize)
                } else if len < M::SHORTEST_RX {
                    Some(Counter::RxRunts)
                } else {
                    self.mac.frame_error(status, &buffer[M::OFFSETS.0..][..len])
                }
            });
            self.mac.on_receive_error(error);
            if !is_last {
                self.parts = self.parts.wrapping_add(1);
            }
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
    pub(crate) fn descriptors(&self) -> (&'static [D; N], &'static [D; N]) {
        (self.rx.descriptors(), self.tx.descriptors())
    }

    /// The receive queue, and a transmit buffer.
    #[inline]
    pub(crate) fn rx_and_tx(&mut self) -> (RxQueue<'_, M, C, D, N>, TxSlot<'_, M, C, D, N>) {
        let mac = &self.mac;
        let slot = TxSlot {
            ring: &mut self.tx,
            idle: &mut self.idle,
            mac,
            ledger: self.ledger,
        };
        let queue = RxQueue {
            ring: &mut self.rx,
            mac,
        };
        (queue, slot)
    }
}

/// The receiver's ring.
pub struct RxQueue<'a, M, C, D: 'static, const N: usize> {
    ring: &'a mut Ring<D, C, N>,
    mac: &'a M,
}

impl<M: Controller<D>, C: Coherence, D, const N: usize> ReceiveQueue for RxQueue<'_, M, C, D, N>
where
    D: Descriptor<Status: ReceiveStatus>,
{
    #[inline]
    fn submit_empty(&mut self, buffer: Buffer) {
        let command = self.mac.receive_command(self.ring.address());
        // Cannot fail: there is a descriptor for each buffer.
        let _ = self.ring.submit([(buffer, Transfer::FromDevice)], command);
        self.mac.notify_receiver();
    }
}

impl<M: Controller<D>, C, D, const N: usize> Device for RingDevice<M, C, D, N>
where
    C: Coherence + Copy,
    D: Descriptor<Status: ReceiveStatus>,
{
    type RxToken<'a>
        = Received<RxQueue<'a, M, C, D, N>>
    where
        Self: 'a;
    type TxToken<'a>
        = TxSlot<'a, M, C, D, N>
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
        let received = Received::new(buffer, M::OFFSETS.0, octets, queue, ledger);
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
            checksums: self.mac.checksums(),
        }
    }

    fn link_state(&self) -> LinkState {
        self.link.into()
    }

    fn mac_address(&self) -> MacAddress {
        self.address
    }
}

impl<M: Controller<D>, C, D, const N: usize> InterruptDriven for RingDevice<M, C, D, N>
where
    C: Coherence + Copy,
    D: Descriptor<Status: ReceiveStatus>,
{
    fn unmask(&mut self) -> bool {
        if M::MASKED_WHILE_HALTED && self.is_halted {
            return true;
        }
        self.reclaim();
        self.mac.unmask(&self.rx, &self.tx);
        !self.rx.has_completed()
    }

    fn mask(&mut self) {
        if M::MASKED_WHILE_HALTED && self.is_halted {
            return;
        }
        self.has_failed |= self.mac.mask(self.ledger);
    }
}

impl<M: Controller<D>, C, D, const N: usize> Managed for RingDevice<M, C, D, N>
where
    C: Coherence + Copy,
    D: Descriptor<Status: ReceiveStatus>,
{
    type Error = M::Error;

    fn poll_link(&mut self) -> LinkState {
        self.mac.count_lost(self.ledger);
        // If the PHY does not respond, the MAC continues unchanged.
        if let Some(phy) = self.phy {
            let _ = self.poll_phy(&phy);
        }
        self.link_state()
    }

    fn halt(&mut self) {
        self.stop_and_drain();
    }

    fn resume(&mut self) -> Result<(), Self::Error> {
        if self.is_halted {
            let rx_buffers = self.reclaim_all();
            self.start_mac(rx_buffers)?;
        }
        Ok(())
    }
}

/// A transmit buffer for one frame.
pub struct TxSlot<'a, M, C, D: 'static, const N: usize> {
    ring: &'a mut Ring<D, C, N>,
    idle: &'a mut IdleBuffers<N>,
    mac: &'a M,
    ledger: &'static Ledger,
}

impl<M: Controller<D>, C: Coherence, D, const N: usize> TxToken for TxSlot<'_, M, C, D, N>
where
    D: Descriptor<Status: ReceiveStatus>,
{
    #[inline]
    fn consume<T>(self, len: usize, f: impl FnOnce(&mut [u8]) -> T) -> Result<T, FrameTooLong> {
        let too_long = FrameTooLong { len, max: LONGEST };
        if len > LONGEST {
            self.ledger.count(Counter::TxOversize);
            return Err(too_long);
        }
        // A token exists only while a buffer is free.
        let mut buffer = self.idle.pop().ok_or(too_long)?;
        let result = f(&mut buffer[M::OFFSETS.1..][..len]);
        let padded = len.max(M::SHORTEST_TX);
        buffer[M::OFFSETS.1..][len..padded].fill(0);
        let frame = &buffer[M::OFFSETS.1..][..padded];
        let command = self.mac.transmit_command(self.ring.address(), frame);
        buffer.frame = OutgoingFrame::new(frame, len);
        let transfer = Transfer::ToDevice(M::OFFSETS.1 + padded);
        // Cannot fail: there is a descriptor for each buffer.
        let _ = self.ring.submit([(buffer, transfer)], command);
        self.mac.notify_transmitter(self.ring);
        Ok(result)
    }
}
