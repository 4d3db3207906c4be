//! Counters of a network interface from the output of the tools of a Linux device.
//!
//! | output | source |
//! |---|---|
//! | `     IEEE_rx_macerr: 7` | `ethtool -S`: counters of the driver and its MAC |
//! | `ENET_IEEE_T_FDXFC:0x02188270 =0x00000d6c` | `devregs` of Boundary Devices: registers of an i.MX 6 |
//! | `RX packets:3901387 errors:782502 ...`, `RX errors 0  dropped 0 ...` | `ifconfig`, older and newer |
//! | `RX:  bytes packets errors dropped missed mcast` and numbers below | `ip -s link`, `ip -s -s link` |
//! | `  eth0: 266 3 0 ...` | `/proc/net/dev` |
//!
//! Several outputs may follow each other. A counter of the driver goes before the same counter of the kernel's interface,
//! which may be a sum of several. Interfaces called `lo` are left out; of several others the first one counts, so name the
//! interface in the command.

mod interface;
mod names;

/// A counter that several tools report under their own names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// Frames received without an error.
    RxFrames,
    /// Frames lost because the receive FIFO of the MAC was full.
    RxFifoOverruns,
    /// Received frames that the kernel or the driver dropped.
    RxDropped,
    /// Received frames with a wrong FCS.
    RxFcsErrors,
    /// Pause frames sent.
    TxPauseFrames,
    /// Pause frames received.
    RxPauseFrames,
    /// Frames sent.
    TxFrames,
}

impl Counter {
    const ALL: [Self; 7] = [
        Self::RxFrames,
        Self::RxFifoOverruns,
        Self::RxDropped,
        Self::RxFcsErrors,
        Self::TxPauseFrames,
        Self::RxPauseFrames,
        Self::TxFrames,
    ];
}

/// Source of a value; a later one goes before an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Interface,
    Driver,
}

/// Counters of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceCounters {
    values: [Option<(Source, u64)>; Counter::ALL.len()],
}

impl InterfaceCounters {
    /// Reads all counters in `text`; other lines are ignored.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut counters = Self::default();
        let mut interface = interface::Reader::default();
        for line in text.lines() {
            if let Some((counter, value)) = names::of_driver(line) {
                counters.set(counter, Source::Driver, value);
            } else {
                interface.line(line, |counter, value| {
                    counters.set(counter, Source::Interface, value);
                });
            }
        }
        counters
    }

    /// The value of a counter, if it was reported.
    #[must_use]
    pub fn get(&self, counter: Counter) -> Option<u64> {
        self.values[counter as usize].map(|it| it.1)
    }

    /// True if no counter was reported.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.iter().all(Option::is_none)
    }

    /// The first value of the best source stays.
    fn set(&mut self, counter: Counter, source: Source, value: u64) {
        let place = &mut self.values[counter as usize];
        if place.is_none_or(|before| before.0 < source) {
            *place = Some((source, value));
        }
    }
}

#[cfg(test)]
mod tests;
