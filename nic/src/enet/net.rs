//! The network device.

use super::descriptor::{Enhanced, Layout, RECEIVE_INTERRUPT, SEND_INTERRUPT, Status};
use super::mac::{self, Mac, SHIFT, enet};
use super::offload;
use super::statistics::Statistics;
use crate::accounts::Collisions;
use crate::device::{Checksums, Offload};
use crate::dma::controller::{Controller, Settings};
use crate::dma::frames::{Lending, ReceiveQueue, TakenFrame};
use crate::dma::network::RingDevice;
use crate::dma::ring::Ring;
use crate::dma::{Buffer, Coherence};
use crate::ledger::Ledger;
use crate::mmio::Registers;
use linerate_ether::fcs;
use linerate_ether::frame::{MAX_TAGGED_LEN, MIN_LEN, MacAddress};
use linerate_ether::ledger::Counter;

/// Minimum size of a buffer, in octets: MRBR counts in units of 16. A buffer begins at a multiple
/// of 64.
pub const BUFFER_LEN: usize = (MAX_TAGGED_LEN + SHIFT).next_multiple_of(16);

/// The network device: MAC, rings and buffers.
pub type Enet<R, C, L, const N: usize> = RingDevice<Mac<R>, C, L, N>;

impl<R: Registers, C: Coherence + Copy, L: Layout, const N: usize> Enet<R, C, L, N> {
    /// Hardware counters since the last start or link change.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        Statistics::read(&self.mac.registers)
    }
}

/// Events that interrupt, and those counted where descriptors do not report them.
const WAKE_EVENTS: u32 = enet::EIR::RXF.mask() | enet::EIR::EBERR.mask();
const COUNTED_EVENTS: [(u32, Counter); 3] = [
    (enet::EIR::LC.mask(), Counter::TxLateCollisions),
    (enet::EIR::RL.mask(), Counter::TxExcessiveCollisions),
    (enet::EIR::UN.mask(), Counter::TxUnderruns),
];

impl<R: Registers, L: Layout> Controller<L> for Mac<R> {
    type Error = core::convert::Infallible;

    const BUFFER: (usize, usize) = (BUFFER_LEN, 64);
    const OFFSETS: (usize, usize) = (if L::ENHANCED { SHIFT } else { 0 }, 0);
    const TRAILER: usize = fcs::LEN;
    const SHORTEST_TX: usize = MIN_LEN - fcs::LEN;
    const GROUPS: &[MacAddress] = &[MacAddress::BROADCAST, MacAddress::MAC_CONTROL];

    fn hash_bin(group: MacAddress) -> u32 {
        mac::hash_bin(group)
    }

    fn set_groups(&self, groups: u64) {
        Self::set_groups(self, groups);
    }

    fn configure(&mut self, settings: &Settings) -> Result<(), Self::Error> {
        self.start_mac(settings, L::ENHANCED);
        Ok(())
    }

    fn stop(&mut self, _: &Ledger) {
        self.stop_at_frame_end();
    }

    fn checksums(&self) -> Checksums {
        let checksum = Offload {
            receive: L::ENHANCED && self.config.verifies_checksums,
            transmit: L::ENHANCED,
        };
        Checksums {
            ipv4: checksum,
            tcp: checksum,
            udp: checksum,
            icmp: Offload::default(),
        }
    }

    #[inline]
    fn receive_command(&self, _: usize) -> u32 {
        RECEIVE_INTERRUPT
    }

    #[inline]
    fn transmit_command(&self, _: usize, frame: &[u8]) -> u32 {
        let checksums = if L::ENHANCED {
            offload::checksum_insertions(frame)
        } else {
            0
        };
        SEND_INTERRUPT | checksums
    }

    #[inline]
    fn notify_receiver(&self) {
        self.registers.write(enet::RDAR, enet::RDAR::RDAR.mask());
    }

    #[inline]
    fn notify_transmitter<C: Coherence, const N: usize>(&self, _: &Ring<L, C, N>) {
        self.registers.write(enet::TDAR, enet::TDAR::TDAR.mask());
    }

    /// A frame that becomes ready while the transmitter is stopping is not seen, and TDAR is
    /// cleared after it was written (erratum ERR006358).
    #[inline]
    fn wake_transmitter<C: Coherence, const N: usize>(&self, ring: &Ring<L, C, N>) {
        if ring.free_descriptors() < N && self.registers.read(enet::TDAR) == 0 {
            self.registers.write(enet::TDAR, enet::TDAR::TDAR.mask());
        }
    }

    #[inline]
    fn sent(&mut self, status: Status) -> Result<Collisions, Counter> {
        status.transmit_error().map_or(Ok(Collisions::None), Err)
    }

    #[inline]
    fn frame_error(&self, status: Status, frame: &[u8]) -> Option<Counter> {
        let verified = L::ENHANCED && self.config.verifies_checksums;
        (verified && offload::is_bad(frame, status.control)).then_some(Counter::RxBadChecksum)
    }

    fn unmask<C: Coherence, const N: usize>(&self, _: &Ring<L, C, N>, tx: &Ring<L, C, N>) {
        let registers = &self.registers;
        let sending = enet::EIR::TXF.of((tx.free_descriptors() < N).into());
        registers.write(enet::EIR, enet::EIR::RXF.mask() | enet::EIR::TXF.mask());
        registers.write(enet::EIMR, WAKE_EVENTS | sending);
        self.wake_transmitter(tx);
    }

    fn mask(&mut self, ledger: &Ledger) -> bool {
        let registers = &self.registers;
        registers.write(enet::EIMR, 0);
        let events = registers.read(enet::EIR);
        let counted = COUNTED_EVENTS.iter().fold(0, |all, (bit, _)| all | bit);
        registers.write(
            enet::EIR,
            events & (WAKE_EVENTS | enet::EIR::TXF.mask() | counted),
        );
        if !L::ENHANCED {
            for (bit, counter) in COUNTED_EVENTS {
                if events & bit != 0 {
                    ledger.count(counter);
                }
            }
        }
        enet::EIR::EBERR.is_set(events)
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
        Some(TakenFrame::new(buffer, SHIFT, octets, self.ledger))
    }

    #[inline]
    fn give_back(&mut self, buffer: Buffer) {
        self.rx_and_tx().0.submit_empty(buffer);
    }
}
