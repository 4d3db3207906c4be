//! Variants of the firmware: the four stages of the article "Implementing and optimizing an Ethernet 10BASE-T
//! MAC layer for maximum throughput" (Timon Van Overveldt, 2024), and one that goes further.
//!
//! | stage | frame is checked | between PHY and queue | code and `memcpy` | TCP window |
//! |---|---|---|---|---|
//! | `isr-all` | in the interrupt | copied | flash (PHY loops: RAM) | 10,240 octets |
//! | `isr-ram` | in the interrupt | copied | RAM | 10,240 octets |
//! | `main-thread` | on the main thread | copied | flash; `memcpy`, interrupt: RAM | 10,240 octets |
//! | `zero-copy` | on the main thread | received in place | RAM | about the queue |
//! | `windowed` | on the main thread | received in place | RAM | less than the queue |
//! | `line-rate` | as it is received | received in place | RAM | less than a larger queue |
//!
//! The first three also align, check and copy as slowly as the article's code (feature `article-mac`).
//! `windowed-article` is `windowed` with that: the article's last stage, for comparison with this MAC in
//! `windowed`.

use linerate_nic::{mac, window};

use crate::config;

/// The stage's name, as in results.
pub const NAME: &str = if cfg!(feature = "isr-ram") {
    "isr-ram"
} else if cfg!(feature = "isr-all") {
    "isr-all"
} else if cfg!(feature = "main-thread") {
    "main-thread"
} else if cfg!(feature = "zero-copy") {
    "zero-copy"
} else if cfg!(feature = "windowed-article") {
    "windowed-article"
} else if cfg!(feature = "line-rate") {
    "line-rate"
} else {
    "windowed"
};

/// Alignment and check of receptions: with the libraries of the article's implementation, or by words.
#[cfg(not(feature = "line-rate"))]
type Check = cfg_select! {
    feature = "article-mac" => { crate::naive::Bitvec }
    _ => { mac::Wordwise }
};

/// Division of the work between PHY and stack.
pub type Receive = cfg_select! {
    feature = "isr-all" => { mac::IsrAll<Check> }
    feature = "main-thread" => { mac::MainThread<Check> }
    feature = "zero-copy" => { mac::ZeroCopy<Check> }
    feature = "line-rate" => { mac::LineRate }
    _ => { mac::Windowed<Check> }
};

/// Receive queue capacity in frames of maximum length.
pub const QUEUE_FRAMES: usize = if cfg!(feature = "line-rate") {
    config::queue_frames(38)
} else if cfg!(feature = "windowed") {
    9
} else {
    10
};

/// The receive queue's size in words.
pub const QUEUE_WORDS: usize = mac::receiver_words(QUEUE_FRAMES);

/// Queue space in frames that a TCP connection's data must not fill: in the last stage for frames to groups,
/// and as many for other connections.
const OTHERS: usize = if cfg!(feature = "line-rate") {
    2 * mac::GROUP_FRAMES
} else {
    2
};

const MSS: usize = window::mss(1500);

/// A TCP socket's receive buffer in bytes, which is the window that it offers: in the first three stages that
/// of the article's capture, then the capacity of the queue, then the capacity left beside others' frames.
pub const TCP_WINDOW: usize = if cfg!(any(feature = "windowed", feature = "line-rate")) {
    window::receive_window(QUEUE_FRAMES, OTHERS, MSS)
} else if cfg!(feature = "zero-copy") {
    QUEUE_FRAMES * MSS
} else {
    10_240
};

/// A TCP socket's transmit buffer in bytes, for programs that send much.
pub const TX_BUFFER: usize = 22 * MSS;
