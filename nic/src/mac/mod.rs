//! The MAC between a bit-level PHY and a stack (IEEE 802.3 clause 4).
//!
//! Reception has two halves. [`InterruptHalf`] belongs to the interrupt of the PHY, [`MainHalf`] to
//! the main thread; a [`Receiver`] in a `static` connects them, and a [`Stage`] divides the work
//! between them. [`Transmitter`] sends. [`Mac`] combines both as one
//! [`Device`](crate::device::Device).
//!
//! ```
//! use linerate_nic::{ledger::Ledger, mac::{self, ReceiverState, Reception, Windowed}};
//! static LEDGER: Ledger = Ledger::new();
//! static RECEIVER: mac::Receiver<{ mac::receiver_words(9) }> = mac::Receiver::new();
//!
//! let (mut interrupt, mut main) =
//!     RECEIVER.split::<Windowed, _>(&LEDGER, mac::AlwaysOn).unwrap();
//! // In the receive interrupt:
//! let outcome = interrupt.receive(|buffer| Reception::LinkPulse);
//! assert_eq!(outcome, ReceiverState::Listening);
//! // On the main thread:
//! assert!(main.receive().is_none());
//! ```

mod access;
pub(crate) mod checksum;
mod fill;
mod line_rate;
mod nic;
mod phy;
mod receive;
mod stage;
mod transmit;
mod validate;

pub use access::{INTER_PACKET_GAP, MAX_DEFER};
pub use line_rate::LineRate;
pub use nic::{Mac, MacRxToken, MacTxToken};
pub use phy::{BitTimes, Phy, TransmitError, TxStart};
pub use receive::{
    AlwaysOn, GROUP_FRAMES, InterruptHalf, MainHalf, ReceiveSwitch, Receiver, ReceiverState,
    Reception, RxFrame, receiver_words,
};
pub use stage::{IsrAll, MainThread, Scratch, Stage, Windowed, ZeroCopy};
pub use transmit::{MAX_TX_LEN, Transmitter};
pub use validate::{Bitwise, InvalidFrame, Validator, Wordwise};
