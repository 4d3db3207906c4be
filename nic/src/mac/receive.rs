//! The two halves of the receive path: interrupt and main thread.

use super::stage::Stage;
use crate::bitbang::{FRAME_OFFSET, MAX_RAW_LEN, SummedFrame};
use crate::filter::{AddressFilter, FilterWords};
use crate::ledger::Ledger;
use crate::queue::{self, Consumer, Producer, Queue, words_of};
use crate::sync::{AtomicBool, AtomicUsize, Ordering, fence};
use core::marker::PhantomData;
use core::ops::Range;
use linerate_ether::fcs;
use linerate_ether::frame::{ADDRESSES_LEN, EtherType, MacAddress};
use linerate_ether::ledger::Counter;
use linerate_ether::pause::{Pause, PauseError};

/// Result of a receive interrupt, reported by the PHY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reception {
    /// A complete transmission: that many bytes were written, in the format of [`crate::bitbang`].
    Packet(usize),
    /// A complete transmission that was aligned and summed during reception, in the format of
    /// [`crate::bitbang`].
    Frame(SummedFrame),
    /// A transmission without a start frame delimiter at the expected position.
    NoSfd,
    /// A frame abandoned because of its destination: [`InterruptHalf::next_filter`] does not accept
    /// it.
    Filtered,
    /// A frame to a group abandoned because [`InterruptHalf::next_filter`] currently accepts no
    /// groups.
    Shed,
    /// A transmission that overlapped one of our own on a full-duplex link and was not received.
    WhileSending,
    /// A normal link pulse.
    LinkPulse,
    /// A burst of fast link pulses.
    LinkBurst,
    /// A transmission that ended without the end-of-packet signal.
    Truncated,
    /// A transmission abandoned at a symbol that is not a Manchester symbol.
    SymbolError,
    /// A transmission longer than the buffer.
    Oversize,
    /// No transmission.
    Nothing,
}

/// State of the receiver after an interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum ReceiverState {
    /// The PHY was called; reception stays enabled.
    Listening,
    /// The queue had no room: the PHY was not called, and reception is disabled until there is
    /// room.
    Suspended,
}

/// Disables and enables the receive interrupt.
///
/// While the queue is full, an interrupt for each frame that cannot be kept would only take the
/// time needed to empty the queue. Both methods may be called twice in a row.
pub trait ReceiveSwitch {
    /// Disables receive interrupts. Called by [`InterruptHalf::receive`].
    fn suspend(&self);
    /// Enables receive interrupts. Called on the main thread as soon as a frame fits.
    fn resume(&self);
}

/// A receiver whose interrupt stays enabled while the queue is full.
#[derive(Debug, Clone, Copy, Default)]
pub struct AlwaysOn;

impl ReceiveSwitch for AlwaysOn {
    #[inline(always)]
    fn suspend(&self) {}
    #[inline(always)]
    fn resume(&self) {}
}

/// Number of maximum-length frames whose room in the queue frames to groups may occupy at once. A
/// TCP window leaves it free ([`crate::window`]).
pub const GROUP_FRAMES: usize = 2;

/// State shared by both halves: a `static` that contains the receive queue.
pub struct Receiver<const WORDS: usize> {
    queue: Queue<WORDS>,
    suspended: AtomicBool,
    promiscuous: AtomicBool,
    /// Words taken by frames to groups when committed, and when released; both wrap. Their
    /// difference is the number in use.
    groups_in: AtomicUsize,
    groups_out: AtomicUsize,
}

/// `WORDS` of a [`Receiver`] that always takes `frames` raw receptions of any length.
pub const fn receiver_words(frames: usize) -> usize {
    Queue::<0>::words_for(frames, MAX_RAW_LEN)
}

impl<const WORDS: usize> Receiver<WORDS> {
    /// Number of receptions that always fit, whatever the previous lengths.
    pub const FRAMES: usize = Queue::<WORDS>::guaranteed_frames(MAX_RAW_LEN);
    /// When frames to groups use this many words of the queue, no more of them are accepted: the
    /// room of [`GROUP_FRAMES`] maximum-length frames.
    pub const HIGH_WATER_MARK: usize = GROUP_FRAMES * words_of(MAX_RAW_LEN);
    /// Below this many words they are accepted again.
    pub const LOW_WATER_MARK: usize = Self::HIGH_WATER_MARK / 2;

    /// An empty receiver.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self {
            queue: Queue::new(),
            suspended: AtomicBool::new(false),
            promiscuous: AtomicBool::new(false),
            groups_in: AtomicUsize::new(0),
            groups_out: AtomicUsize::new(0),
        }
    }

    /// An empty receiver (not `const`: loom's atomics are not).
    #[cfg(loom)]
    pub fn new() -> Self {
        Self {
            queue: Queue::new(),
            suspended: AtomicBool::new(false),
            promiscuous: AtomicBool::new(false),
            groups_in: AtomicUsize::new(0),
            groups_out: AtomicUsize::new(0),
        }
    }

    /// The two halves, for the stage `S`. Each exists once: the second call returns `None`.
    #[allow(clippy::type_complexity)]
    pub fn split<'q, S: Stage, R: ReceiveSwitch + Copy>(
        &'q self,
        ledger: &'q Ledger,
        switch: R,
    ) -> Option<(InterruptHalf<'q, S, R, WORDS>, MainHalf<'q, S, R, WORDS>)> {
        const {
            assert!(
                Self::FRAMES >= 1,
                "a receiver's queue must hold at least one frame"
            );
        };
        let (producer, consumer) = self.queue.split()?;
        let interrupt = InterruptHalf {
            producer,
            receiver: self,
            ledger,
            switch,
            scratch: S::SCRATCH,
            filter: FilterWords {
                promiscuous: 1,
                ..FilterWords::default()
            },
            sheds: false,
        };
        let main = MainHalf {
            consumer,
            receiver: self,
            ledger,
            switch,
            station: None,
            stage: PhantomData,
        };
        Some((interrupt, main))
    }

    /// The queue, for its statistics.
    pub fn queue(&self) -> &Queue<WORDS> {
        &self.queue
    }
}

impl<const WORDS: usize> Default for Receiver<WORDS> {
    fn default() -> Self {
        Self::new()
    }
}

/// The interrupt's half.
pub struct InterruptHalf<'q, S: Stage, R, const WORDS: usize> {
    producer: Producer<'q, WORDS>,
    receiver: &'q Receiver<WORDS>,
    ledger: &'q Ledger,
    switch: R,
    scratch: S::Scratch,
    filter: FilterWords,
    /// True if groups are not accepted until the queue has emptied to the low-water mark.
    sheds: bool,
}

impl<S: Stage, R: ReceiveSwitch, const WORDS: usize> InterruptHalf<'_, S, R, WORDS> {
    /// Handles one receive interrupt. `phy` gets [`MAX_RAW_LEN`] bytes to write to, aligned to a
    /// word, and returns what it received; it is not called if the queue has no room.
    ///
    /// Inlined into the memory section of the caller. Calls nothing that panics or formats.
    #[inline(always)]
    pub fn receive(&mut self, phy: impl FnOnce(&mut [u8]) -> Reception) -> ReceiverState {
        match self.producer.grant(MAX_RAW_LEN) {
            Some(grant) => {
                let sheds = self.sheds;
                let mut group = false;
                let phy = |buffer: &mut [u8]| {
                    let reception = phy(buffer);
                    if !S::SHEDS_GROUPS {
                        return reception;
                    }
                    group = buffer[FRAME_OFFSET] & 1 != 0;
                    match reception {
                        // The group was accepted when the frame began, or the loop does not filter.
                        Reception::Frame(_) if sheds && group => Reception::Shed,
                        Reception::Shed if !group => Reception::Filtered,
                        reception => reception,
                    }
                };
                let len = S::interrupt(grant, &mut self.scratch, self.ledger, phy);
                if S::SHEDS_GROUPS && group && len > 0 {
                    let groups = &self.receiver.groups_in;
                    let total = groups.load(Ordering::Relaxed).wrapping_add(words_of(len));
                    groups.store(total, Ordering::Relaxed);
                }
                ReceiverState::Listening
            }
            None => self.suspend(),
        }
    }

    /// Sets the destinations for a receive loop that uses [`next_filter`](Self::next_filter).
    /// Initially all are accepted.
    pub fn set_filter(&mut self, filter: &AddressFilter) {
        self.filter = filter.words();
    }

    /// Returns the destinations to accept in the reception that begins now.
    ///
    /// When frames to groups fill their share of the queue up to the [high-water
    /// mark](Receiver::HIGH_WATER_MARK), no groups are accepted until it has emptied to the
    /// [low-water mark](Receiver::LOW_WATER_MARK). A broadcast storm therefore takes no room from
    /// frames to the station, and the main thread gains the time in which storm frames are not
    /// received. A loop that abandons a frame for that reason reports [`Reception::Shed`] instead
    /// of [`Reception::Filtered`].
    #[inline(always)]
    pub fn next_filter(&mut self) -> FilterWords {
        let receiver = self.receiver;
        let released = receiver.groups_out.load(Ordering::Relaxed);
        let groups = receiver
            .groups_in
            .load(Ordering::Relaxed)
            .wrapping_sub(released);
        let mark = if self.sheds {
            Receiver::<WORDS>::LOW_WATER_MARK
        } else {
            Receiver::<WORDS>::HIGH_WATER_MARK
        };
        self.sheds = groups >= mark;
        let mut filter = self.filter;
        if self.sheds {
            filter = filter.without_groups();
        }
        if self.receiver.promiscuous.load(Ordering::Relaxed) {
            filter.promiscuous = 1;
        }
        filter
    }

    #[inline]
    fn suspend(&mut self) -> ReceiverState {
        self.ledger.count(Counter::RxQueueFull);
        self.switch.suspend();
        self.receiver.suspended.store(true, Ordering::Relaxed);
        // On a second core the main thread may have made room in between. Either it sees
        // `suspended` after making room, or the check below sees the room.
        fence(Ordering::SeqCst);
        if self.receiver.queue.fits(MAX_RAW_LEN) {
            self.receiver.suspended.store(false, Ordering::Relaxed);
            self.switch.resume();
            return ReceiverState::Listening;
        }
        ReceiverState::Suspended
    }

    /// True if a frame of any length fits now.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.receiver.queue.fits(MAX_RAW_LEN)
    }
}

/// The main thread's half.
pub struct MainHalf<'q, S, R: ReceiveSwitch, const WORDS: usize> {
    consumer: Consumer<'q, WORDS>,
    receiver: &'q Receiver<WORDS>,
    ledger: &'q Ledger,
    switch: R,
    station: Option<MacAddress>,
    stage: PhantomData<S>,
}

impl<'q, S: Stage, R: ReceiveSwitch + Copy, const WORDS: usize> MainHalf<'q, S, R, WORDS> {
    /// Returns the next good frame. Bad ones before it are counted and released.
    #[inline]
    pub fn receive(&mut self) -> Option<RxFrame<'_, 'q, R, WORDS>> {
        self.receive_with_pause(|_| ())
    }

    /// Like [`receive`](Self::receive), and calls `pause` for each PAUSE request received before
    /// that frame, in quanta of 512 bit times (IEEE 802.3 Annex 31B.2), for the transmitter. 0
    /// cancels an earlier one.
    #[inline]
    pub fn receive_with_pause(
        &mut self,
        mut pause: impl FnMut(u16),
    ) -> Option<RxFrame<'_, 'q, R, WORDS>> {
        let bytes = loop {
            let mut frame = self.consumer.read()?;
            let refused = match S::main(&mut frame) {
                Ok(bytes)
                    if accepts(self.station, &frame, &bytes)
                        || self.receiver.promiscuous.load(Ordering::Relaxed) =>
                {
                    let control = S::OBEYS_PAUSE
                        .then(|| control(frame.get(bytes.clone()).unwrap_or_default()))
                        .flatten();
                    match control {
                        None => {
                            frame.keep();
                            break bytes;
                        }
                        Some(Ok(quanta)) => {
                            pause(quanta);
                            Counter::RxPause
                        }
                        Some(Err(counter)) => counter,
                    }
                }
                Ok(_) => Counter::RxFiltered,
                Err(invalid) => invalid.counter(),
            };
            self.ledger.count(refused);
            let group = group_words::<S>(&frame);
            drop(frame);
            release_group(self.receiver, group);
            resume_if_room(self.receiver, &self.switch);
        };
        let frame = self.consumer.read()?;
        let ledger = self.ledger;
        ledger.count(Counter::RxValid);
        ledger.add(Counter::RxOctets, (bytes.len() + fcs::LEN) as u32);
        if let Some(frame) = frame.get(bytes.clone()) {
            ledger.count_group(frame, Counter::RxMulticast, Counter::RxBroadcast);
        }
        Some(RxFrame {
            group: group_words::<S>(&frame),
            keeps_fcs: S::KEEPS_FCS,
            frame: Some(frame),
            bytes,
            receiver: self.receiver,
            ledger,
            switch: self.switch,
            delivered: false,
        })
    }

    /// Passes only frames to `station` and to groups; `None`, the initial state, passes all. Other
    /// frames are counted as `RxFiltered`.
    pub fn set_station_filter(&mut self, station: Option<MacAddress>) {
        self.station = station;
    }

    /// Enables or disables promiscuous mode, which overrides
    /// [`set_station_filter`](Self::set_station_filter) and [`InterruptHalf::set_filter`].
    pub fn set_promiscuous(&mut self, on: bool) {
        self.receiver.promiscuous.store(on, Ordering::Relaxed);
    }

    /// Number of maximum-length frames that the queue always takes, if the stage reports it.
    pub const fn max_burst_frames(&self) -> Option<usize> {
        if S::LIMITS_BURST {
            Some(Receiver::<WORDS>::FRAMES)
        } else {
            None
        }
    }

    /// The queue, for its statistics.
    pub fn queue(&self) -> &'q Queue<WORDS> {
        &self.receiver.queue
    }
}

/// True if the good frame in `bytes` is for `station`.
#[inline]
fn accepts(station: Option<MacAddress>, frame: &[u8], bytes: &Range<usize>) -> bool {
    let Some(station) = station else { return true };
    let destination = frame.get(bytes.start..).and_then(MacAddress::from_bytes);
    destination.is_some_and(|to| to == station || to.is_multicast())
}

/// Parses a MAC control frame (without FCS): a pause in quanta, or the counter for an invalid one;
/// `None` if it is another frame.
#[inline]
fn control(frame: &[u8]) -> Option<Result<u16, Counter>> {
    let kind = frame.get(ADDRESSES_LEN..)?.first_chunk()?;
    if EtherType(u16::from_be_bytes(*kind)) != EtherType::MAC_CONTROL {
        return None;
    }
    Some(match Pause::parse(frame) {
        Ok(pause) => Ok(pause.quanta),
        Err(PauseError::UnknownOpcode(_)) => Err(Counter::RxUnknownOpcodes),
        Err(_) => Err(Counter::RxLengthErrors),
    })
}

/// Words that the frame in the queue entry takes of the share for groups.
#[inline]
fn group_words<S: Stage>(entry: &[u8]) -> usize {
    match entry.get(FRAME_OFFSET) {
        Some(first) if S::SHEDS_GROUPS && first & 1 != 0 => words_of(entry.len()),
        _ => 0,
    }
}

/// Records that the room of a frame is free again.
#[inline]
fn release_group<const WORDS: usize>(receiver: &Receiver<WORDS>, words: usize) {
    if words > 0 {
        let total = receiver.groups_out.load(Ordering::Relaxed);
        let total = total.wrapping_add(words);
        receiver.groups_out.store(total, Ordering::Relaxed);
    }
}

/// Enables reception again if the queue was full and no longer is.
#[inline]
fn resume_if_room<const WORDS: usize>(receiver: &Receiver<WORDS>, switch: &impl ReceiveSwitch) {
    // Pairs with the fence in `InterruptHalf::suspend`.
    fence(Ordering::SeqCst);
    if receiver.suspended.load(Ordering::Relaxed) && receiver.queue.fits(MAX_RAW_LEN) {
        receiver.suspended.store(false, Ordering::Relaxed);
        switch.resume();
    }
}

/// A good frame in the queue. Dropping it releases its room and counts its fate.
pub struct RxFrame<'m, 'q, R: ReceiveSwitch + Copy, const WORDS: usize> {
    /// `None` only while being dropped.
    frame: Option<queue::Frame<'m, 'q, WORDS>>,
    bytes: Range<usize>,
    /// Words that it takes of the queue's share for groups.
    group: usize,
    keeps_fcs: bool,
    receiver: &'q Receiver<WORDS>,
    ledger: &'q Ledger,
    switch: R,
    delivered: bool,
}

impl<R: ReceiveSwitch + Copy, const WORDS: usize> RxFrame<'_, '_, R, WORDS> {
    /// The frame from destination address to the end of data and padding, without FCS.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let bytes = self.bytes.clone();
        self.frame
            .as_mut()
            .and_then(|frame| frame.get_mut(bytes))
            .unwrap_or_default()
    }

    /// The verified FCS of the frame, as the CRC-32 of [`bytes_mut`](Self::bytes_mut); `None` if
    /// the stage does not keep it.
    #[inline]
    pub fn fcs(&self) -> Option<u32> {
        let frame = self.frame.as_ref().filter(|_| self.keeps_fcs)?;
        let behind = frame.get(self.bytes.end..)?;
        behind.first_chunk().map(|fcs| u32::from_le_bytes(*fcs))
    }

    /// Calls `f` with the frame, counts it as delivered and releases it.
    #[inline]
    pub fn consume<T>(mut self, f: impl FnOnce(&mut [u8]) -> T) -> T {
        self.delivered = true;
        self.ledger.count(Counter::RxDelivered);
        f(self.bytes_mut())
    }
}

impl<R: ReceiveSwitch + Copy, const WORDS: usize> Drop for RxFrame<'_, '_, R, WORDS> {
    #[inline]
    fn drop(&mut self) {
        if !self.delivered {
            self.ledger.count(Counter::RxStackRejected);
        }
        self.frame = None;
        release_group(self.receiver, self.group);
        resume_if_room(self.receiver, &self.switch);
    }
}
