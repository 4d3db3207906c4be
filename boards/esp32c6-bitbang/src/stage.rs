//! The four stages of the article "Implementing and optimizing an Ethernet 10BASE-T MAC layer for
//! maximum throughput" (Timon Van Overveldt, 2024), as variants of the same code.
//!
//! | stage | frame is checked | between PHY and queue | code and `memcpy` | TCP window |
//! |---|---|---|---|---|
//! | `isr-all` | in the interrupt | copied | flash (PHY loops: RAM) | about the queue |
//! | `main-thread` | on the main thread | copied | flash; `memcpy`, interrupt: RAM | about the queue |
//! | `zero-copy` | on the main thread | received in place | RAM | about the queue |
//! | `windowed` | on the main thread | received in place | RAM | less than the queue |

use linerate_nic::{mac, window};

/// The stage's name, as in results.
pub const NAME: &str = if cfg!(feature = "isr-all") {
    "isr-all"
} else if cfg!(feature = "main-thread") {
    "main-thread"
} else if cfg!(feature = "zero-copy") {
    "zero-copy"
} else {
    "windowed"
};

/// Who does what between PHY and stack. The first two stages align and check with the
/// libraries that the article's implementation used; the others by words.
pub type Receive = cfg_select! {
    feature = "isr-all" => { mac::IsrAll<crate::naive::Bitvec> }
    feature = "main-thread" => { mac::MainThread<crate::naive::Bitvec> }
    feature = "zero-copy" => { mac::ZeroCopy }
    _ => { mac::Windowed }
};

/// The longest frames that the receive queue takes in a row.
pub const QUEUE_FRAMES: usize = if cfg!(feature = "windowed") { 9 } else { 10 };

/// The receive queue's size in words.
pub const QUEUE_WORDS: usize = mac::receiver_words(QUEUE_FRAMES);

/// Frames of the queue that are kept free of a TCP connection's data.
const OTHERS: usize = 2;

const MSS: usize = window::mss(1500);

/// A TCP socket's receive buffer in bytes, which is the window that it offers.
pub const TCP_WINDOW: usize = if cfg!(feature = "windowed") {
    window::receive_window(QUEUE_FRAMES, OTHERS, MSS)
} else {
    QUEUE_FRAMES * MSS
};
