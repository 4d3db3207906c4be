//! The four stages of the article "Implementing and optimizing an Ethernet 10BASE-T MAC layer for
//! maximum throughput" (Timon Van Overveldt, 2024), as variants of the same code.
//!
//! | stage | frame is checked | between PHY and queue | code and `memcpy` | TCP window |
//! |---|---|---|---|---|
//! | `isr-all` | in the interrupt | copied | flash (PHY loops: RAM) | about the queue |
//! | `main-thread` | on the main thread | copied | flash; `memcpy`, interrupt: RAM | about the queue |
//! | `zero-copy` | on the main thread | received in place | RAM | about the queue |
//! | `windowed` | on the main thread | received in place | RAM | less than the queue |

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

/// Whether the receive interrupt checks frames itself, before it queues them.
pub const CHECK_IN_INTERRUPT: bool = cfg!(feature = "isr-all");

/// Whether the PHY receives into a buffer of its own, and the frame is copied into the queue.
pub const COPY: bool = cfg!(any(feature = "isr-all", feature = "main-thread"));
