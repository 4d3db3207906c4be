//! The network device.

use super::descriptor::{Layout, RECEIVE_INTERRUPT, SEND_INTERRUPT};
use super::mac::{self, Mac, SHIFT, Setting, enet};
use super::offload;
use super::statistics::Statistics;
use crate::device::{
    Capabilities, Checksums, Device, FrameTooLong, Interrupting, LinkState, Managed, Medium,
    Offload, RxToken, TxToken,
};
use crate::dma::ring::{Memory, Returned, Ring};
use crate::dma::{Buffer, Coherence, Way};
use crate::ledger::Ledger;
use crate::mdio::{Link, MdioError, Pauses, Phy, Speed};
use crate::mmio::Registers;
use linerate_ether::fcs;
use linerate_ether::frame::{HEADER_LEN, MAX_LEN, MAX_TAGGED_LEN, MIN_LEN, MacAddress};
use linerate_ether::ledger::Counter;

/// Minimum size of a buffer, in octets: MRBR counts in units of 16. A buffer begins at a multiple
/// of 64.
pub const BUFFER: usize = (MAX_TAGGED_LEN + SHIFT).next_multiple_of(16);
/// Longest frame to send, without FCS, and the shortest, to which frames are padded.
const LONGEST: usize = MAX_LEN - fcs::LEN;
const SHORTEST: usize = MIN_LEN - fcs::LEN;

/// Mode while the link is down.
const NO_LINK: Link = Link {
    speed: Speed::Mbit100,
    full_duplex: true,
    pauses: Pauses {
        send: false,
        receive: false,
    },
};

/// Memory of the two rings, `N` frames per direction.
#[derive(Debug)]
pub struct Rings<L, const N: usize> {
    receive: Memory<L, N>,
    transmit: Memory<L, N>,
}

impl<L: Layout, const N: usize> Rings<L, N> {
    /// Empty rings.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            receive: Memory::new(),
            transmit: Memory::new(),
        }
    }
}

impl<L: Layout, const N: usize> Default for Rings<L, N> {
    fn default() -> Self {
        Self::new()
    }
}

/// The network device: MAC, rings and buffers.
pub struct Enet<R, C, L: 'static, const N: usize> {
    mac: Mac<R>,
    rx: Ring<L, C, N>,
    tx: Ring<L, C, N>,
    /// Unused transmit buffers: the first `idle`.
    spare: [Option<Buffer>; N],
    idle: usize,
    ledger: &'static Ledger,
    address: MacAddress,
    groups: u64,
    link: Option<Link>,
    /// PHY to poll for the link.
    phy: Option<Phy>,
    is_halted: bool,
    /// In the middle of a frame that exceeds one buffer.
    is_within: bool,
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
        link: Option<Link>,
        ledger: &'static Ledger,
    ) -> Self {
        let fits = |it: &Buffer| it.len() >= BUFFER && it.address().is_multiple_of(64);
        assert!(buffers.as_flattened().iter().all(fits));
        let [coming, going] = buffers;
        let mut groups = 0;
        for group in [MacAddress::BROADCAST, MacAddress::MAC_CONTROL] {
            groups |= 1 << mac::bin(group);
        }
        let mut this = Self {
            mac,
            rx: Ring::new(&mut rings.receive, coherence),
            tx: Ring::new(&mut rings.transmit, coherence),
            spare: going.map(Some),
            idle: N,
            ledger,
            address,
            groups,
            link,
            phy: None,
            is_halted: false,
            is_within: false,
            has_failed: false,
        };
        this.go(coming);
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
    fn go(&mut self, coming: impl IntoIterator<Item = Buffer>) {
        self.mac.go(&Setting {
            address: self.address,
            groups: self.groups,
            link: self.link.unwrap_or(NO_LINK),
            enhanced: L::ENHANCED,
            buffer: BUFFER,
            rings: [self.rx.address(), self.tx.address()],
        });
        for buffer in coming {
            give_back(&mut self.rx, &self.mac.registers, buffer);
        }
    }

    /// Stops the MAC. Frames not taken yet are lost, and counted.
    fn quiet(&mut self) {
        self.mac.stop();
        self.reclaim();
        while self.next().is_some_and(|(buffer, _)| {
            self.ledger.count(Counter::RxStackRejected);
            give_back(&mut self.rx, &self.mac.registers, buffer);
            true
        }) {}
        (self.is_within, self.has_failed) = (false, false);
    }

    /// Returns all receive buffers of a stopped MAC. Frames not sent yet are lost, and counted.
    fn recall(&mut self) -> [Option<Buffer>; N] {
        let mut coming = [const { None }; N];
        let mut places = coming.iter_mut();
        self.rx.recall(|buffer| {
            if let Some(place) = places.next() {
                *place = Some(buffer);
            }
        });
        self.tx.recall(|buffer| {
            self.ledger.count(Counter::TxLinkDown);
            self.spare[self.idle] = Some(buffer);
            self.idle += 1;
        });
        coming
    }

    /// Stops the device permanently. Returns the MAC, and the buffers, receive buffers first.
    pub fn stop(mut self) -> (Mac<R>, [[Option<Buffer>; N]; 2]) {
        self.quiet();
        let coming = self.recall();
        (self.mac, [coming, self.spare])
    }

    /// Sets the mode of the link, or `None` if it is down: the MAC is restarted with it. Frames not
    /// taken or not sent yet are lost and counted.
    pub fn set_link(&mut self, link: Option<Link>) {
        if link == self.link && !self.has_failed {
            return;
        }
        match (self.link, link) {
            (None, Some(_)) => self.ledger.count(Counter::LinkUps),
            (Some(_), None) => self.ledger.count(Counter::LinkDowns),
            _ => {}
        }
        self.link = link;
        if !self.is_halted {
            self.quiet();
            let coming = self.recall();
            self.go(coming.into_iter().flatten());
        }
    }

    /// Reads the PHY and applies its link mode.
    ///
    /// # Errors
    /// [`MdioError`].
    pub fn follow(&mut self, phy: &Phy) -> Result<LinkState, MdioError> {
        let link = phy.link(&self.mac)?;
        self.set_link(link);
        Ok(self.link_state())
    }

    /// Mode of the link.
    #[must_use]
    pub const fn link(&self) -> Option<Link> {
        self.link
    }

    /// Also receives frames to this group, and to those that share its bin.
    pub fn join(&mut self, group: MacAddress) {
        self.groups |= 1 << mac::bin(group);
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
            if let Some(counter) = sent.outcome.transmit_error() {
                self.ledger.count(counter);
            }
            self.spare[self.idle] = Some(sent.buffer);
            self.idle += 1;
        }
        if self.idle == 0 {
            self.wake_transmitter();
        }
        self.idle > 0 && !self.is_halted
    }

    /// A frame that becomes ready while the transmitter is stopping is not seen, and TDAR is
    /// cleared after it was written (erratum ERR006358).
    fn wake_transmitter(&self) {
        let registers = &self.mac.registers;
        if self.tx.room() < N && registers.read(enet::TDAR) == 0 {
            registers.write(enet::TDAR, enet::TDAR::TDAR.mask());
        }
    }

    /// The next valid frame, and its length without the octets before it and without FCS.
    #[inline]
    fn next(&mut self) -> Option<(Buffer, usize)> {
        while let Some(Returned {
            buffer,
            octets,
            outcome,
        }) = self.rx.take()
        {
            let is_last = outcome.is_last();
            let is_whole = is_last && !self.is_within;
            self.is_within = !is_last;
            let len = octets.saturating_sub(front::<L>() + fcs::LEN);
            let verified = L::ENHANCED && self.mac.config.verifies_checksums;
            let error = outcome.receive_error().or_else(|| {
                if !is_whole || len > MAX_TAGGED_LEN - fcs::LEN {
                    Some(Counter::RxOversize)
                } else if len < HEADER_LEN {
                    Some(Counter::RxRunts)
                } else {
                    let frame = &buffer[front::<L>()..][..len];
                    (verified && offload::is_bad(frame, outcome.control))
                        .then_some(Counter::RxBadChecksum)
                }
            });
            if is_last {
                self.ledger.count(Counter::RxFrames);
                match error {
                    None => return Some((buffer, len)),
                    Some(counter) => self.ledger.count(counter),
                }
            }
            give_back(&mut self.rx, &self.mac.registers, buffer);
        }
        None
    }

    /// Receive and transmit descriptors, for the device model of a test.
    #[cfg(test)]
    pub(super) fn descriptors(&self) -> (&'static [L; N], &'static [L; N]) {
        (self.rx.descriptors(), self.tx.descriptors())
    }

    /// The receive ring, and a transmit buffer.
    #[inline]
    fn ends(&mut self) -> (&mut Ring<L, C, N>, Room<'_, R, C, L, N>) {
        let room = Room {
            ring: &mut self.tx,
            spare: &mut self.spare,
            idle: &mut self.idle,
            registers: &self.mac.registers,
            ledger: self.ledger,
        };
        (&mut self.rx, room)
    }
}

/// Octets before each received frame.
const fn front<L: Layout>() -> usize {
    if L::ENHANCED { SHIFT } else { 0 }
}

/// Submits a buffer to the receiver.
#[inline]
fn give_back<C: Coherence, L: Layout, const N: usize>(
    ring: &mut Ring<L, C, N>,
    registers: &impl Registers,
    buffer: Buffer,
) {
    // Cannot fail: there is a descriptor for each buffer.
    let _ = ring.give([(buffer, Way::FromDevice)], RECEIVE_INTERRUPT);
    registers.write(enet::RDAR, enet::RDAR::RDAR.mask());
}

impl<R: Registers, C: Coherence + Copy, L: Layout, const N: usize> Device for Enet<R, C, L, N> {
    type RxToken<'a>
        = Received<'a, R, C, L, N>
    where
        Self: 'a;
    type TxToken<'a>
        = Room<'a, R, C, L, N>
    where
        Self: 'a;

    #[inline]
    fn receive(&mut self) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        // A frame stays in the device until it can be answered.
        if !self.reclaim() {
            return None;
        }
        let (buffer, octets) = self.next()?;
        self.ledger.count(Counter::RxValid);
        self.ledger
            .add(Counter::RxOctets, (octets + fcs::LEN) as u32);
        let frame = &buffer[front::<L>()..][..octets];
        self.ledger
            .count_group(frame, Counter::RxMulticast, Counter::RxBroadcast);
        let (ring, room) = self.ends();
        let received = Received {
            buffer: Some(buffer),
            octets,
            is_taken: false,
            ring,
            registers: room.registers,
            ledger: room.ledger,
        };
        Some((received, room))
    }

    #[inline]
    fn transmit(&mut self) -> Option<Self::TxToken<'_>> {
        self.reclaim().then(|| self.ends().1)
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
        match self.link {
            Some(_) => LinkState::Up,
            None => LinkState::Down,
        }
    }

    fn mac_address(&self) -> MacAddress {
        self.address
    }
}

/// Events that interrupt, and those counted where descriptors do not report them.
const WAKING: u32 = enet::EIR::RXF.mask() | enet::EIR::EBERR.mask();
const COUNTED: [(u32, Counter); 3] = [
    (enet::EIR::LC.mask(), Counter::TxLateCollisions),
    (enet::EIR::RL.mask(), Counter::TxExcessiveCollisions),
    (enet::EIR::UN.mask(), Counter::TxUnderruns),
];

impl<R: Registers, C: Coherence + Copy, L: Layout, const N: usize> Interrupting
    for Enet<R, C, L, N>
{
    fn unmask(&mut self) -> bool {
        self.reclaim();
        let registers = &self.mac.registers;
        let sending = enet::EIR::TXF.of((self.tx.room() < N).into());
        registers.write(enet::EIR, enet::EIR::RXF.mask() | enet::EIR::TXF.mask());
        registers.write(enet::EIMR, WAKING | sending);
        self.wake_transmitter();
        !self.rx.has_returned()
    }

    fn mask(&mut self) {
        let registers = &self.mac.registers;
        registers.write(enet::EIMR, 0);
        let events = registers.read(enet::EIR);
        let counted = COUNTED.iter().fold(0, |all, (bit, _)| all | bit);
        registers.write(
            enet::EIR,
            events & (WAKING | enet::EIR::TXF.mask() | counted),
        );
        self.has_failed |= enet::EIR::EBERR.is_set(events);
        if !L::ENHANCED {
            for (bit, counter) in COUNTED {
                if events & bit != 0 {
                    self.ledger.count(counter);
                }
            }
        }
    }
}

impl<R: Registers, C: Coherence + Copy, L: Layout, const N: usize> Managed for Enet<R, C, L, N> {
    type Error = core::convert::Infallible;

    fn watch_link(&mut self) -> LinkState {
        // If the PHY does not respond, the MAC continues unchanged.
        if let Some(phy) = self.phy {
            let _ = self.follow(&phy);
        }
        self.link_state()
    }

    fn halt(&mut self) {
        self.quiet();
        self.is_halted = true;
    }

    fn resume(&mut self) -> Result<(), Self::Error> {
        if core::mem::take(&mut self.is_halted) {
            let coming = self.recall();
            self.go(coming.into_iter().flatten());
        }
        Ok(())
    }
}

/// A received frame in the buffer of the device.
pub struct Received<'a, R: Registers, C: Coherence, L: Layout, const N: usize> {
    /// `Some` until this is dropped.
    buffer: Option<Buffer>,
    octets: usize,
    is_taken: bool,
    ring: &'a mut Ring<L, C, N>,
    registers: &'a R,
    ledger: &'static Ledger,
}

impl<R: Registers, C: Coherence, L: Layout, const N: usize> RxToken for Received<'_, R, C, L, N> {
    #[inline]
    fn peek(&mut self) -> &mut [u8] {
        let frame = self.buffer.as_deref_mut().unwrap_or_default();
        &mut frame[front::<L>()..][..self.octets]
    }

    #[inline]
    fn consume<T>(mut self, f: impl FnOnce(&mut [u8]) -> T) -> T {
        self.is_taken = true;
        f(self.peek())
    }
}

impl<R: Registers, C: Coherence, L: Layout, const N: usize> Drop for Received<'_, R, C, L, N> {
    #[inline]
    fn drop(&mut self) {
        let counter = if self.is_taken {
            Counter::RxDelivered
        } else {
            Counter::RxStackRejected
        };
        self.ledger.count(counter);
        if let Some(buffer) = self.buffer.take() {
            give_back(self.ring, self.registers, buffer);
        }
    }
}

/// A transmit buffer for one frame.
pub struct Room<'a, R: Registers, C: Coherence, L: Layout, const N: usize> {
    ring: &'a mut Ring<L, C, N>,
    spare: &'a mut [Option<Buffer>; N],
    idle: &'a mut usize,
    registers: &'a R,
    ledger: &'static Ledger,
}

impl<R: Registers, C: Coherence, L: Layout, const N: usize> TxToken for Room<'_, R, C, L, N> {
    #[inline]
    fn consume<T>(self, len: usize, f: impl FnOnce(&mut [u8]) -> T) -> Result<T, FrameTooLong> {
        let too_long = FrameTooLong { len, max: LONGEST };
        if len > LONGEST {
            self.ledger.count(Counter::TxOversize);
            return Err(too_long);
        }
        let index = *self.idle - 1;
        // A token exists only while a buffer is free.
        let mut buffer = self.spare[index].take().ok_or(too_long)?;
        *self.idle = index;
        let result = f(&mut buffer[..len]);
        let padded = len.max(SHORTEST);
        buffer[len..padded].fill(0);
        let frame = &buffer[..padded];
        let control = SEND_INTERRUPT
            | if L::ENHANCED {
                offload::insertions(frame)
            } else {
                0
            };
        self.ledger.count(Counter::TxFrames);
        self.ledger
            .add(Counter::TxOctets, (padded + fcs::LEN) as u32);
        self.ledger
            .count_group(frame, Counter::TxMulticast, Counter::TxBroadcast);
        // Cannot fail: there is a descriptor for each buffer.
        let _ = self.ring.give([(buffer, Way::ToDevice(padded))], control);
        self.registers.write(enet::TDAR, enet::TDAR::TDAR.mask());
        Ok(result)
    }
}
