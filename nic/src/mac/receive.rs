//! The receive path's two halves: the interrupt's and the main thread's.

use super::stage::Stage;
use crate::bitbang::{FRAME_OFFSET, MAX_RAW_LEN, Summed};
use crate::filter::{AddressFilter, Words};
use crate::ledger::Ledger;
use crate::queue::{self, Consumer, Producer, Queue, words_of};
use crate::sync::{AtomicBool, AtomicUsize, Ordering, fence};
use core::marker::PhantomData;
use core::ops::Range;
use linerate_ether::fcs;
use linerate_ether::frame::{ADDRESSES_LEN, EtherType, MacAddress};
use linerate_ether::ledger::Counter;
use linerate_ether::pause::{Pause, PauseError};

/// What the PHY heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reception {
    /// A transmission up to its end: that many bytes were written, as [`crate::bitbang`] says.
    Packet(usize),
    /// A transmission that was aligned and summed on the way, likewise.
    Frame(Summed),
    /// A transmission without a start frame delimiter where one belongs.
    NoSfd,
    /// A frame given up because of its destination: [`Interrupt::filter`] does not accept it.
    Filtered,
    /// A frame to a group given up because [`Interrupt::filter`] accepts no groups just now.
    Shed,
    /// A transmission that met one of our own where both may send at once, and was not heard.
    WhileSending,
    /// A normal link pulse.
    LinkPulse,
    /// A burst of fast link pulses.
    LinkBurst,
    /// A transmission that ended without the end-of-packet signal.
    Truncated,
    /// A transmission given up at something that is no Manchester symbol.
    SymbolError,
    /// A transmission that filled the buffer and still went on.
    Oversize,
    /// No transmission at all.
    Nothing,
}

/// Whether the interrupt should go on listening.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// The PHY was called; listen on.
    Listening,
    /// The queue had no room, the PHY was not called, and reception is switched off until it has.
    Suspended,
}

/// Switches the receive interrupt off and on.
///
/// While the queue is full there is no point in an interrupt for each frame that cannot be kept:
/// it would only take the time needed to empty the queue. Both calls may come twice in a row.
pub trait ReceiveSwitch {
    /// Stops receive interrupts. Called by [`Interrupt::receive`].
    fn suspend(&self);
    /// Lets receive interrupts happen again. Called on the main thread as soon as a frame fits.
    fn resume(&self);
}

/// A receiver that goes on interrupting while the queue is full.
#[derive(Debug, Clone, Copy, Default)]
pub struct AlwaysOn;

impl ReceiveSwitch for AlwaysOn {
    #[inline(always)]
    fn suspend(&self) {}
    #[inline(always)]
    fn resume(&self) {}
}

/// Frames of the longest whose room in the queue frames to groups may take at once. A TCP window
/// leaves it free ([`crate::window`]).
pub const GROUP_FRAMES: usize = 2;

/// What both halves share: a `static` with the receive queue in it.
pub struct Receiver<const WORDS: usize> {
    queue: Queue<WORDS>,
    suspended: AtomicBool,
    promiscuous: AtomicBool,
    /// Words that frames to groups took when they were committed, and when they were released; both
    /// wrap. Their difference is what they take now.
    groups_in: AtomicUsize,
    groups_out: AtomicUsize,
}

/// The `WORDS` of a [`Receiver`] that always takes `frames` raw receptions of any length.
pub const fn receiver_words(frames: usize) -> usize {
    Queue::<0>::words_for(frames, MAX_RAW_LEN)
}

impl<const WORDS: usize> Receiver<WORDS> {
    /// How many receptions fit whatever their lengths were before.
    pub const FRAMES: usize = Queue::<WORDS>::guaranteed_frames(MAX_RAW_LEN);
    /// From so many words of the queue in use for frames to groups on, no more of these are
    /// accepted: the room of [`GROUP_FRAMES`] of the longest.
    pub const HIGH_MARK: usize = GROUP_FRAMES * words_of(MAX_RAW_LEN);
    /// Below so many words they are accepted again.
    pub const LOW_MARK: usize = Self::HIGH_MARK / 2;

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

    /// The two halves, for the stage `S`. There is one of each: the second call gets `None`.
    #[allow(clippy::type_complexity)]
    pub fn split<'q, S: Stage, R: ReceiveSwitch + Copy>(
        &'q self,
        ledger: &'q Ledger,
        switch: R,
    ) -> Option<(Interrupt<'q, S, R, WORDS>, Main<'q, S, R, WORDS>)> {
        const {
            assert!(
                Self::FRAMES >= 1,
                "a receiver's queue must hold at least one frame"
            );
        };
        let (producer, consumer) = self.queue.split()?;
        let interrupt = Interrupt {
            producer,
            receiver: self,
            ledger,
            switch,
            scratch: S::SCRATCH,
            filter: Words {
                promiscuous: 1,
                ..Words::default()
            },
            sheds: false,
        };
        let main = Main {
            consumer,
            receiver: self,
            ledger,
            switch,
            station: None,
            stage: PhantomData,
        };
        Some((interrupt, main))
    }

    /// The queue, for its figures.
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
pub struct Interrupt<'q, S: Stage, R, const WORDS: usize> {
    producer: Producer<'q, WORDS>,
    receiver: &'q Receiver<WORDS>,
    ledger: &'q Ledger,
    switch: R,
    scratch: S::Scratch,
    filter: Words,
    /// Groups are not accepted until the queue has emptied somewhat.
    sheds: bool,
}

impl<S: Stage, R: ReceiveSwitch, const WORDS: usize> Interrupt<'_, S, R, WORDS> {
    /// Handles one receive interrupt. `phy` is given [`MAX_RAW_LEN`] bytes to write to, aligned to
    /// a word, and says what it heard; it is not called when the queue has no room.
    ///
    /// Inlined, so that it lies where the caller lies. Calls nothing that panics or formats.
    #[inline(always)]
    pub fn receive(&mut self, phy: impl FnOnce(&mut [u8]) -> Reception) -> Outcome {
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
                        // Its group was accepted when it began, or the loop does not filter.
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
                Outcome::Listening
            }
            None => self.suspend(),
        }
    }

    /// Says which destinations a receive loop is to accept that asks for [`filter`](Self::filter).
    /// At the start all.
    pub fn set_filter(&mut self, filter: &AddressFilter) {
        self.filter = filter.words();
    }

    /// The destinations to accept in the reception that begins now.
    ///
    /// When frames to groups fill their share of the queue up to the [high
    /// mark](Receiver::HIGH_MARK), no groups are accepted until it has emptied to the [low
    /// mark](Receiver::LOW_MARK). So a storm of broadcasts takes nothing from the station's own
    /// frames, and the main thread gets the time in which its frames are not received. A loop that
    /// gives a frame up for that reports [`Reception::Shed`] instead of [`Reception::Filtered`].
    #[inline(always)]
    pub fn filter(&mut self) -> Words {
        let receiver = self.receiver;
        let released = receiver.groups_out.load(Ordering::Relaxed);
        let groups = receiver
            .groups_in
            .load(Ordering::Relaxed)
            .wrapping_sub(released);
        let mark = if self.sheds {
            Receiver::<WORDS>::LOW_MARK
        } else {
            Receiver::<WORDS>::HIGH_MARK
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
    fn suspend(&mut self) -> Outcome {
        self.ledger.count(Counter::RxQueueFull);
        self.switch.suspend();
        self.receiver.suspended.store(true, Ordering::Relaxed);
        // On a second core the main thread may have made room in between. Either it sees
        // `suspended` after making room, or the check below sees the room.
        fence(Ordering::SeqCst);
        if self.receiver.queue.fits(MAX_RAW_LEN) {
            self.receiver.suspended.store(false, Ordering::Relaxed);
            self.switch.resume();
            return Outcome::Listening;
        }
        Outcome::Suspended
    }

    /// Whether a frame fits now.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.receiver.queue.fits(MAX_RAW_LEN)
    }
}

/// The main thread's half.
pub struct Main<'q, S, R: ReceiveSwitch, const WORDS: usize> {
    consumer: Consumer<'q, WORDS>,
    receiver: &'q Receiver<WORDS>,
    ledger: &'q Ledger,
    switch: R,
    station: Option<MacAddress>,
    stage: PhantomData<S>,
}

impl<'q, S: Stage, R: ReceiveSwitch + Copy, const WORDS: usize> Main<'q, S, R, WORDS> {
    /// The next good frame. Bad ones before it are counted and released.
    #[inline]
    pub fn receive(&mut self) -> Option<RxFrame<'_, 'q, R, WORDS>> {
        self.receive_obeying(|_| ())
    }

    /// The same, and hands `pause` each pause that was asked for before that frame, in quanta of
    /// 512 bit times (IEEE 802.3 Annex 31B.2), for the transmitter. 0 takes an earlier one back.
    #[inline]
    pub fn receive_obeying(
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

    /// Lets only frames to `station` and to groups pass; `None` lets all pass, as at the start.
    /// What does not pass is counted as `RxFiltered`.
    pub fn filter(&mut self, station: Option<MacAddress>) {
        self.station = station;
    }

    /// Lets every frame pass, whatever its destination, or those again that
    /// [`filter`](Self::filter) and [`Interrupt::set_filter`] say.
    pub fn promiscuous(&mut self, on: bool) {
        self.receiver.promiscuous.store(on, Ordering::Relaxed);
    }

    /// How many of the longest frames the stack may count on, if the stage says so.
    pub const fn max_burst_frames(&self) -> Option<usize> {
        if S::LIMITS_BURST {
            Some(Receiver::<WORDS>::FRAMES)
        } else {
            None
        }
    }

    /// The queue, for its figures.
    pub fn queue(&self) -> &'q Queue<WORDS> {
        &self.receiver.queue
    }
}

/// Whether the good frame in `bytes` is for `station`.
#[inline]
fn accepts(station: Option<MacAddress>, frame: &[u8], bytes: &Range<usize>) -> bool {
    let Some(station) = station else { return true };
    let destination = frame.get(bytes.start..).and_then(MacAddress::from_bytes);
    destination.is_some_and(|to| to == station || to.is_multicast())
}

/// What the MAC control frame in `frame` (without FCS) asks for: a pause in quanta, or what it is
/// counted as; `None` when it is another frame.
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

/// What the frame in the queue's entry takes of the groups' share, in words.
#[inline]
fn group_words<S: Stage>(entry: &[u8]) -> usize {
    match entry.get(FRAME_OFFSET) {
        Some(first) if S::SHEDS_GROUPS && first & 1 != 0 => words_of(entry.len()),
        _ => 0,
    }
}

/// Takes note that a frame's room is free again.
#[inline]
fn release_group<const WORDS: usize>(receiver: &Receiver<WORDS>, words: usize) {
    if words > 0 {
        let total = receiver.groups_out.load(Ordering::Relaxed);
        let total = total.wrapping_add(words);
        receiver.groups_out.store(total, Ordering::Relaxed);
    }
}

/// Switches reception on again if the queue was full and no longer is.
#[inline]
fn resume_if_room<const WORDS: usize>(receiver: &Receiver<WORDS>, switch: &impl ReceiveSwitch) {
    // Pairs with the fence in `Interrupt::suspend`.
    fence(Ordering::SeqCst);
    if receiver.suspended.load(Ordering::Relaxed) && receiver.queue.fits(MAX_RAW_LEN) {
        receiver.suspended.store(false, Ordering::Relaxed);
        switch.resume();
    }
}

/// A good frame, where the PHY (or the interrupt's copy) put it. Dropping it releases its room and
/// counts what became of it.
pub struct RxFrame<'m, 'q, R: ReceiveSwitch + Copy, const WORDS: usize> {
    /// `None` only while being dropped.
    frame: Option<queue::Frame<'m, 'q, WORDS>>,
    bytes: Range<usize>,
    /// What it takes of the groups' share of the queue, in words.
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

    /// The frame's FCS, which is right, as the CRC-32 of [`bytes_mut`](Self::bytes_mut); `None`
    /// where the stage does not keep it.
    #[inline]
    pub fn fcs(&self) -> Option<u32> {
        let frame = self.frame.as_ref().filter(|_| self.keeps_fcs)?;
        let behind = frame.get(self.bytes.end..)?;
        behind.first_chunk().map(|fcs| u32::from_le_bytes(*fcs))
    }

    /// Hands the frame to `f`, counts it as delivered and releases it.
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
