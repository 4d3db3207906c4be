//! The parts in which MACs with a ring of descriptors per direction differ.

use super::Coherence;
use super::ring::{Descriptor, Ring};
use crate::accounts::Collisions;
use crate::device::Checksums;
use crate::ledger::Ledger;
use crate::mdio::{LinkSettings, MdioBus, MdioError};
use core::fmt;
use linerate_ether::frame::{HEADER_LEN, MacAddress};
use linerate_ether::ledger::Counter;

/// Reason why a MAC could not be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitError {
    /// It stays in reset, for example without a clock.
    InReset,
    /// No PHY, or it does not respond.
    Phy(MdioError),
}

impl fmt::Display for InitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InReset => write!(f, "the MAC stays in reset"),
            Self::Phy(error) => write!(f, "{error}"),
        }
    }
}

impl core::error::Error for InitError {}

impl From<MdioError> for InitError {
    fn from(error: MdioError) -> Self {
        Self::Phy(error)
    }
}

/// Settings of a MAC, besides the configuration of the board.
pub struct Settings {
    pub address: MacAddress,
    /// Accepted groups: one bit per [`hash_bin`](Controller::hash_bin).
    pub groups: u64,
    pub link: LinkSettings,
    /// Addresses of the descriptors: receive, transmit.
    pub rings: [usize; 2],
}

/// Status of a received frame, or of a part of it, in a descriptor.
pub trait ReceiveStatus: Copy {
    /// True if a frame ends here.
    fn is_last(self) -> bool;

    /// True if it also begins here, as far as the descriptor reports it.
    fn is_whole(self) -> bool {
        self.is_last()
    }

    /// Counter for a receive error that does not depend on the length.
    fn receive_error(self) -> Option<Counter>;
}

/// The parts of a MAC and its DMA that differ, with descriptors of format `D`.
pub trait Controller<D: Descriptor<Status: ReceiveStatus>>: MdioBus {
    /// Reason why it is not running.
    type Error: fmt::Display;

    /// Minimum size of a buffer in octets, and alignment of its address.
    const BUFFER: (usize, usize);
    /// Octets before each received frame, and before each frame to send.
    const OFFSETS: (usize, usize);
    /// Octets after a received frame that the length of a descriptor includes.
    const TRAILER: usize;
    /// Shortest valid frame in a receive buffer, without FCS.
    const SHORTEST_RX: usize = HEADER_LEN;
    /// Length to which the driver pads frames to send; 0 if the MAC pads.
    const SHORTEST_TX: usize;
    /// Groups that are received from the start.
    const GROUPS: &[MacAddress];

    /// Bit of a group in the hash table.
    fn hash_bin(group: MacAddress) -> u32;

    /// Sets the accepted groups.
    fn set_groups(&self, groups: u64);

    /// Configures a stopped MAC, before receive buffers are submitted.
    ///
    /// # Errors
    /// It does not respond: it is not [run](Self::run).
    fn configure(&mut self, settings: &Settings) -> Result<(), Self::Error>;

    /// Starts it, after receive buffers were submitted.
    fn run(&mut self, _settings: &Settings) {}

    /// Stops it at the end of the current frames, the transmitter at least; returned descriptors are then reclaimed.
    fn stop(&mut self, ledger: &Ledger);

    /// Stops the receiver, if [`stop`](Self::stop) did not; received frames are then taken.
    fn stop_receiver(&mut self, _ledger: &Ledger) {}

    /// Completes the stop: it accesses no memory after it.
    fn finish_stop(&mut self) {}

    /// Checksums that it verifies and inserts.
    fn checksums(&self) -> Checksums;

    /// Command of an empty buffer for a ring at `ring`.
    fn receive_command(&self, ring: usize) -> D::Command;

    /// Command of this frame to send for a ring at `ring`, with the checksums to insert.
    fn transmit_command(&self, ring: usize, frame: &[u8]) -> D::Command;

    /// An empty buffer was submitted.
    fn notify_receiver(&self) {}

    /// A frame was submitted.
    fn notify_transmitter<C: Coherence, const N: usize>(&self, ring: &Ring<D, C, N>);

    /// Wakes a receiver that has stopped at a descriptor that is ready now.
    fn wake_receiver<C: Coherence, const N: usize>(&self, _ring: &Ring<D, C, N>) {}

    /// Wakes a transmitter that has stopped at a descriptor that is ready now.
    fn wake_transmitter<C: Coherence, const N: usize>(&self, _ring: &Ring<D, C, N>) {}

    /// End of a frame to send: sent, or the counter for its error.
    fn sent(&mut self, status: D::Status) -> Result<Collisions, Counter>;

    /// Counter for a received frame whose length is correct.
    fn frame_error(&self, status: D::Status, frame: &[u8]) -> Option<Counter>;

    /// Receive error reported by a descriptor.
    fn on_receive_error(&mut self, _error: Option<Counter>) {}

    /// Counts frames of which no descriptor reports.
    fn count_lost(&mut self, _ledger: &Ledger) {}

    /// Enables interrupts, of the transmitter only if it has frames to send.
    fn unmask<C: Coherence, const N: usize>(&self, rx: &Ring<D, C, N>, tx: &Ring<D, C, N>);

    /// Disables interrupts, and counts what they report. Returns `true` if a bus error has stopped the MAC.
    fn mask(&mut self, ledger: &Ledger) -> bool;

    /// True if interrupts stay disabled while it is halted.
    const MASKED_WHILE_HALTED: bool = false;
}
