//! The network device.

use super::descriptor::{Command, Layout, SEND_INTERRUPT, Status};
use super::mac::{self, Mac, dwmac};
use super::offload;
use super::statistics::Statistics;
use crate::accounts::Collisions;
use crate::device::{Checksums, Offload};
use crate::dma::Coherence;
use crate::dma::controller::{Controller, InitError, Settings};
use crate::dma::network::RingDevice;
use crate::dma::ring::Ring;
use crate::ledger::Ledger;
use crate::mmio::Registers;
use linerate_ether::fcs;
use linerate_ether::frame::{MAX_TAGGED_LEN, MIN_LEN, MacAddress};
use linerate_ether::ledger::Counter;
use linerate_regs::Bits;

/// Minimum size of a buffer in octets, a multiple of the widest bus. A buffer begins at a multiple of 64.
pub const BUFFER_LEN: usize = MAX_TAGGED_LEN.next_multiple_of(16);
/// Registers of lost frames saturate at these counts.
const MISSED_WITHOUT_DESCRIPTOR: u32 = 0x1_0000;
const MISSED_BY_OVERFLOW: u32 = 0x800;

/// The network device: MAC, rings and buffers.
pub type Dwmac<R, C, L, const N: usize> = RingDevice<Mac<R>, C, L, N>;

impl<R: Registers, C: Coherence + Copy, L: Layout, const N: usize> Dwmac<R, C, L, N> {
    /// Hardware counters since the last start or link change.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        Statistics::read(&self.mac.registers)
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

impl<R: Registers> Mac<R> {
    /// Counts the frames lost before they reached a descriptor.
    fn count_missed(&mut self, ledger: &Ledger) {
        use dwmac::DMAMFBOCR::{MFA, MFC, OFOC, OMFC};
        let word = self.registers.read(dwmac::DMAMFBOCR);
        let count = |bits: Bits, beyond: Bits, most| {
            if beyond.is_set(word) {
                most
            } else {
                bits.get(word)
            }
        };
        let unowned = count(MFC, OMFC, MISSED_WITHOUT_DESCRIPTOR);
        let overflown = count(MFA, OFOC, MISSED_BY_OVERFLOW);
        ledger.add(Counter::RxRingFull, unowned);
        let reported = core::mem::take(&mut self.reported_overflows);
        ledger.add(Counter::RxFifoOverruns, overflown.saturating_sub(reported));
        self.reported_overflows = reported.saturating_sub(overflown);
    }

    #[inline]
    fn command(&self, ring: usize, control: u32) -> Command {
        Command {
            control,
            linkage: self.config.linkage,
            first: ring as u32,
        }
    }
}

impl<R: Registers, L: Layout> Controller<L> for Mac<R> {
    type Error = InitError;

    const BUFFER: (usize, usize) = (BUFFER_LEN, 64);
    const OFFSETS: (usize, usize) = (0, 0);
    const TRAILER: usize = fcs::LEN;
    const SHORTEST_TX: usize = MIN_LEN - fcs::LEN;
    const GROUPS: &[MacAddress] = &[MacAddress::BROADCAST, MacAddress::MAC_CONTROL];

    fn hash_bin(group: MacAddress) -> u32 {
        mac::hash_bin(group)
    }

    fn set_groups(&self, groups: u64) {
        Self::set_groups(self, groups);
    }

    fn configure(&mut self, settings: &Settings) -> Result<(), InitError> {
        self.configure_core(settings, L::ENHANCED)
    }

    fn run(&mut self, _: &Settings) {
        self.start();
    }

    fn stop(&mut self, ledger: &Ledger) {
        self.stop_at_frame_end();
        self.count_missed(ledger);
    }

    fn checksums(&self) -> Checksums {
        let checksum = Offload {
            receive: self.features().verifies_checksums,
            transmit: self.inserts_checksums(),
        };
        Checksums {
            ipv4: checksum,
            tcp: checksum,
            udp: checksum,
            icmp: checksum,
        }
    }

    #[inline]
    fn receive_command(&self, ring: usize) -> Command {
        self.command(ring, 0)
    }

    #[inline]
    fn transmit_command(&self, ring: usize, frame: &[u8]) -> Command {
        let mut control = SEND_INTERRUPT;
        if self.inserts_checksums() {
            control |= offload::checksum_insertions(frame);
        }
        self.command(ring, control)
    }

    /// The transmitter may be suspended. A suspended receiver finds a descriptor at the next frame.
    #[inline]
    fn notify_transmitter<C: Coherence, const N: usize>(&self, _: &Ring<L, C, N>) {
        self.registers.write(dwmac::DMATPDR, 0);
    }

    #[inline]
    fn sent(&mut self, status: Status) -> Result<Collisions, Counter> {
        match status.transmit_error() {
            None => Ok(match status.collisions() {
                0 => Collisions::None,
                1 => Collisions::One,
                _ => Collisions::Several,
            }),
            Some(error) => Err(error),
        }
    }

    #[inline]
    fn frame_error(&self, status: Status, frame: &[u8]) -> Option<Counter> {
        let verifies = self.features().verifies_checksums;
        (verifies && offload::is_bad(frame, status.verdict())).then_some(Counter::RxBadChecksum)
    }

    #[inline]
    fn on_receive_error(&mut self, error: Option<Counter>) {
        self.reported_overflows += u32::from(error == Some(Counter::RxFifoOverruns));
    }

    fn count_lost(&mut self, ledger: &Ledger) {
        self.count_missed(ledger);
    }

    fn unmask<C: Coherence, const N: usize>(&self, _: &Ring<L, C, N>, tx: &Ring<L, C, N>) {
        let registers = &self.registers;
        let sending = dwmac::DMAIER::TIE.of((tx.free_descriptors() < N).into());
        let frames = dwmac::DMASR::NIS.mask() | dwmac::DMASR::RS.mask() | dwmac::DMASR::TS.mask();
        registers.write(dwmac::DMASR, frames);
        registers.write(dwmac::DMAIER, WAKE_EVENTS | sending);
    }

    fn mask(&mut self, ledger: &Ledger) -> bool {
        let registers = &self.registers;
        registers.write(dwmac::DMAIER, 0);
        let events = registers.read(dwmac::DMASR);
        registers.write(dwmac::DMASR, events & CLEARED);
        let lost = dwmac::DMASR::RBUS.mask() | dwmac::DMASR::ROS.mask();
        if events & lost != 0 {
            self.count_missed(ledger);
        }
        dwmac::DMASR::FBES.is_set(events)
    }
}
