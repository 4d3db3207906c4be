//! The network device.

use super::descriptor::{Descriptor, Status};
use super::engine::Engine;
use super::mac::{self, Mac, SHIFT};
use crate::accounts::Collisions;
use crate::device::Checksums;
use crate::dma::Coherence;
use crate::dma::controller::{Controller, Settings};
use crate::dma::network::RingDevice;
use crate::dma::ring::{self, Ring};
use crate::ledger::Ledger;
use crate::mmio::Registers;
use linerate_ether::fcs;
use linerate_ether::frame::{MAX_TAGGED_LEN, MIN_LEN, MacAddress};
use linerate_ether::ledger::Counter;

/// Size of a buffer, in octets. A buffer begins at a multiple of 4.
pub const BUFFER_LEN: usize = (MAX_TAGGED_LEN + SHIFT).next_multiple_of(32);

/// Memory of the two rings, `N` frames per direction.
pub type Rings<const N: usize> = ring::Rings<Descriptor, N>;

/// The network device: MAC, DMA, rings and buffers.
pub type Tse<R, C, const N: usize> = RingDevice<Mac<R>, C, Descriptor, N>;

impl<R: Registers> Mac<R> {
    /// Counts the frames that the receive FIFO had no room for.
    fn count_dropped(&mut self, ledger: &Ledger) {
        let dropped = self.drop_events();
        let more = dropped.wrapping_sub(self.dropped);
        self.dropped = dropped;
        ledger.add(Counter::RxFifoOverruns, more);
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

impl<R: Registers> Controller<Descriptor> for Mac<R> {
    type Error = core::convert::Infallible;

    const BUFFER: (usize, usize) = (BUFFER_LEN, 4);
    const OFFSETS: (usize, usize) = (SHIFT, SHIFT);
    // The MAC removes the FCS, and pads.
    const TRAILER: usize = 0;
    const SHORTEST_RX: usize = MIN_LEN - fcs::LEN;
    const SHORTEST_TX: usize = 0;
    const GROUPS: &[MacAddress] = &[];
    const MASKED_WHILE_HALTED: bool = true;

    fn hash_bin(group: MacAddress) -> u32 {
        mac::hash_bin(group)
    }

    fn set_groups(&self, groups: u64) {
        Self::set_groups(self, groups);
    }

    fn configure(&mut self, _: &Settings) -> Result<(), Self::Error> {
        (self.taken, self.dropped) = (0, 0);
        Ok(())
    }

    fn run(&mut self, settings: &Settings) {
        self.start(settings);
        self.receive.start(settings.rings[0]);
        self.transmit.start(settings.rings[1]);
    }

    fn stop(&mut self, _: &Ledger) {
        self.transmit.finish();
    }

    fn stop_receiver(&mut self, ledger: &Ledger) {
        self.drain(self.taken);
        self.count_dropped(ledger);
        self.receive.reset();
    }

    fn finish_stop(&mut self) {
        self.reset_core();
    }

    fn checksums(&self) -> Checksums {
        Checksums::NONE
    }

    #[inline]
    fn receive_command(&self, ring: usize) -> u32 {
        ring as u32
    }

    #[inline]
    fn transmit_command(&self, ring: usize, _: &[u8]) -> u32 {
        ring as u32
    }

    #[inline]
    fn notify_transmitter<C: Coherence, const N: usize>(&self, ring: &Ring<Descriptor, C, N>) {
        wake(ring, &self.transmit);
    }

    #[inline]
    fn wake_receiver<C: Coherence, const N: usize>(&self, ring: &Ring<Descriptor, C, N>) {
        wake(ring, &self.receive);
    }

    #[inline]
    fn wake_transmitter<C: Coherence, const N: usize>(&self, ring: &Ring<Descriptor, C, N>) {
        wake(ring, &self.transmit);
    }

    #[inline]
    fn sent(&mut self, _: Status) -> Result<Collisions, Counter> {
        self.taken = self.taken.wrapping_add(1);
        Ok(Collisions::None)
    }

    #[inline]
    fn frame_error(&self, status: Status, _: &[u8]) -> Option<Counter> {
        let is_wrong = status.has_wrong_length();
        is_wrong.then_some(Counter::RxLengthErrors)
    }

    fn unmask<C: Coherence, const N: usize>(
        &self,
        rx: &Ring<Descriptor, C, N>,
        tx: &Ring<Descriptor, C, N>,
    ) {
        wake(tx, &self.transmit);
        wake(rx, &self.receive);
        // The transmitter interrupts when it has stopped, perhaps before its last descriptor.
        self.transmit.unmask(false);
        self.receive.unmask(true);
    }

    fn mask(&mut self, ledger: &Ledger) -> bool {
        self.receive.mask();
        self.transmit.mask();
        self.count_dropped(ledger);
        false
    }
}
