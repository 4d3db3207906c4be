//! Frames of a driver with DMA: buffers that wait for one, and the token of a received one.

use super::Buffer;
use crate::accounts::Offered;
use crate::device::{Device, RxToken};
use crate::ledger::Ledger;
use linerate_ether::ledger::Counter;

/// Buffers without a frame, at most `N`; the last one in is the first one out.
pub struct IdleBuffers<const N: usize> {
    /// The first `count` are present.
    buffers: [Option<Buffer>; N],
    count: usize,
}

impl<const N: usize> IdleBuffers<N> {
    pub(crate) const fn empty() -> Self {
        Self {
            buffers: [const { None }; N],
            count: 0,
        }
    }

    pub(crate) fn full(buffers: [Buffer; N]) -> Self {
        Self {
            buffers: buffers.map(Some),
            count: N,
        }
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    pub(crate) const fn is_full(&self) -> bool {
        self.count == N
    }

    #[inline]
    pub(crate) fn push(&mut self, buffer: Buffer) {
        self.buffers[self.count] = Some(buffer);
        self.count += 1;
    }

    /// Takes back the buffer of a frame that a stopped device did not send, and counts the frame.
    pub(crate) fn push_unsent(&mut self, buffer: Buffer, ledger: &Ledger) {
        ledger.count(Counter::TxLinkDown);
        self.push(buffer);
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Buffer> {
        self.count = self.count.checked_sub(1)?;
        self.buffers[self.count].take()
    }

    pub(crate) fn into_array(self) -> [Option<Buffer>; N] {
        self.buffers
    }
}

impl<const N: usize> IntoIterator for IdleBuffers<N> {
    type Item = Buffer;
    type IntoIter = core::iter::Flatten<core::array::IntoIter<Option<Buffer>, N>>;

    fn into_iter(self) -> Self::IntoIter {
        self.buffers.into_iter().flatten()
    }
}

/// Queue of a device from which it takes the buffers for received frames.
pub trait ReceiveQueue {
    /// Lends `buffer` to the device.
    fn submit_empty(&mut self, buffer: Buffer);
}

/// A received frame together with its buffer, which the stack keeps until it gives it back.
#[derive(Debug)]
pub struct TakenFrame {
    /// The buffer.
    pub buffer: Buffer,
    /// Octets before the frame: 2 at least.
    pub offset: usize,
    /// Octets of the frame, without FCS.
    pub octets: usize,
}

impl TakenFrame {
    /// Counts the frame as delivered.
    pub(crate) fn new(
        buffer: Buffer,
        offset: usize,
        octets: usize,
        ledger: &'static Ledger,
    ) -> Self {
        Offered::new(&buffer[offset..][..octets], ledger).consume();
        Self {
            buffer,
            offset,
            octets,
        }
    }
}

/// A device with DMA whose receive buffers a stack may keep for some time, so that received data is not copied.
///
/// The device has as many buffers fewer as are kept: a stack that keeps all of them receives nothing.
pub trait Lending: Device {
    /// Returns the next frame with its buffer, counted as delivered; `None` as [`receive`](Device::receive).
    fn take(&mut self) -> Option<TakenFrame>;

    /// Returns the buffer of a taken frame to the device.
    fn give_back(&mut self, buffer: Buffer);
}

/// A received frame in the device's buffer, which returns to `queue` when this is dropped.
pub struct Received<Q: ReceiveQueue> {
    /// `Some` until this is dropped.
    buffer: Option<Buffer>,
    /// Octets before the frame, and of it.
    offset: usize,
    octets: usize,
    offered: Offered,
    queue: Q,
}

impl<Q: ReceiveQueue> Received<Q> {
    /// Offers the frame of `octets` after the first `offset` octets of `buffer`.
    #[inline]
    pub(crate) fn new(
        buffer: Buffer,
        offset: usize,
        octets: usize,
        queue: Q,
        ledger: &'static Ledger,
    ) -> Self {
        Self {
            offered: Offered::new(&buffer[offset..][..octets], ledger),
            buffer: Some(buffer),
            offset,
            octets,
            queue,
        }
    }
}

impl<Q: ReceiveQueue> RxToken for Received<Q> {
    #[inline]
    fn peek(&mut self) -> &mut [u8] {
        let frame = self.buffer.as_deref_mut().unwrap_or_default();
        &mut frame[self.offset..][..self.octets]
    }

    #[inline]
    fn consume<T>(mut self, f: impl FnOnce(&mut [u8]) -> T) -> T {
        self.offered.consume();
        f(self.peek())
    }
}

impl<Q: ReceiveQueue> Drop for Received<Q> {
    #[inline]
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            self.queue.submit_empty(buffer);
        }
    }
}
