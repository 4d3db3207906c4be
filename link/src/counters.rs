//! Counters of a link.

/// Events since the link was made. Each wraps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Counters {
    /// Good frames received, of all kinds.
    pub frames: u32,
    /// Octets between two delimiters that are no good frame.
    pub damaged: u32,
    /// Frames that the peer gave up while it sent them.
    pub aborted: u32,
    /// Good data frames that had been received before.
    pub duplicates: u32,
    /// Good data frames for which there was no room: none, if the peer keeps to the credit.
    pub overruns: u32,
    /// Data frames that this end sent again.
    pub retransmitted: u32,
    /// Times that this end asked for an acknowledgment that was overdue.
    pub polls: u32,
    /// Messages dropped from transmit queues at a restart: on their way on an unreliable channel, or too long for
    /// the FIFO of the new peer.
    pub dropped: u32,
}
