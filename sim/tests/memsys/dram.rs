//! The rules of JESD79 on a stream of commands, and a controller that follows them clock by clock.

use CommandKind::{Activate, Precharge, PrechargeAll, Read, Refresh, Write};
use linerate_sim::memsys::{Command, CommandKind, DramConfig};

/// Clocks that `next` must keep from an earlier command; `None` if it may follow at any distance.
#[expect(clippy::match_same_arms, reason = "a line for each rule")]
pub fn distance(config: &DramConfig, earlier: Command, next: Command) -> Option<u32> {
    let same = earlier.bank == next.bank;
    let burst = config.burst / config.transfers_per_cycle;
    let burst = burst.max(1);
    match (earlier.kind, next.kind) {
        (Activate, Activate) if same => Some(config.rc),
        (Activate, Activate) => Some(config.rrd),
        (Activate, Refresh) => Some(config.rc),
        (Activate, Read | Write) if same => Some(config.rcd),
        (Activate, Precharge) if same => Some(config.ras),
        (Activate, PrechargeAll) => Some(config.ras),
        (Precharge, Activate) if same => Some(config.rp),
        (Precharge | PrechargeAll, Refresh) | (PrechargeAll, Activate) => Some(config.rp),
        (Read, Read) | (Write, Write) => Some(burst),
        (Read, Write) => Some(
            (config.cas + burst + 1)
                .saturating_sub(config.write_latency)
                .max(burst),
        ),
        (Write, Read) => Some(config.write_latency + burst + config.wtr),
        (Read, Precharge) if same => Some(burst),
        (Read, PrechargeAll) => Some(burst),
        (Write, Precharge) if same => Some(config.write_latency + burst + config.wr),
        (Write, PrechargeAll) => Some(config.write_latency + burst + config.wr),
        (Refresh, Activate | Refresh) => Some(config.rfc),
        _ => None,
    }
}

/// Checks a recorded stream; returns the first violation.
pub fn check(config: &DramConfig, commands: &[Command]) -> Result<(), String> {
    let mut open: Vec<Option<u32>> = vec![None; config.banks as usize];
    let mut refreshes = 0;
    for (index, &next) in commands.iter().enumerate() {
        if !next.at.is_multiple_of(config.period) {
            return Err(format!("{next:?} is on no clock edge"));
        }
        for &earlier in &commands[..index] {
            if earlier.at >= next.at {
                return Err(format!("{next:?} after {earlier:?}"));
            }
            let clocks = (next.at - earlier.at) / config.period;
            if distance(config, earlier, next).is_some_and(|least| clocks < u64::from(least)) {
                return Err(format!("{clocks} clocks from {earlier:?} to {next:?}"));
            }
        }
        let row = &mut open[next.bank as usize];
        match next.kind {
            Activate if row.is_some() => return Err(format!("{next:?} of an open bank")),
            Activate => *row = Some(next.row),
            Read | Write if row.is_none() => return Err(format!("{next:?} of a closed bank")),
            Read | Write => {}
            Precharge => *row = None,
            PrechargeAll => open.fill(None),
            Refresh => {
                if open.iter().any(Option::is_some) {
                    return Err(format!("{next:?} with an open row"));
                }
                refreshes += 1;
                // At most eight refreshes may be postponed.
                let due = refreshes * u64::from(config.refi) * config.period;
                let latest = due + 8 * u64::from(config.refi) * config.period;
                if next.at < due || next.at > latest {
                    return Err(format!("refresh {refreshes} at {}, due {due}", next.at));
                }
            }
        }
    }
    Ok(())
}

/// A controller that tries each command at each clock.
#[derive(Debug)]
pub struct ReferenceDram {
    config: DramConfig,
    history: Vec<Command>,
    open: Vec<Option<u32>>,
    refreshes: u64,
}

impl ReferenceDram {
    pub fn new(config: DramConfig) -> Self {
        Self {
            open: vec![None; config.banks as usize],
            config,
            history: Vec::new(),
            refreshes: 0,
        }
    }

    /// Issues the command at the first permitted clock edge from `from` on; returns its time.
    fn issue(&mut self, kind: CommandKind, bank: u32, from: u64) -> u64 {
        let period = self.config.period;
        let mut at = from.div_ceil(period) * period;
        loop {
            let next = Command {
                at,
                kind,
                bank,
                row: 0,
            };
            let permitted = self.history.iter().all(|&earlier| {
                let least = distance(&self.config, earlier, next).map_or(0, u64::from);
                at >= earlier.at + least * period
            });
            if permitted {
                self.history.push(next);
                return at;
            }
            at += period;
        }
    }

    /// End of the last burst command.
    fn command_free(&self) -> u64 {
        let burst = u64::from((self.config.burst / self.config.transfers_per_cycle).max(1));
        let bursts = self
            .history
            .iter()
            .filter(|c| matches!(c.kind, Read | Write));
        bursts
            .map(|command| command.at + burst * self.config.period)
            .max()
            .unwrap_or(0)
    }

    fn refresh(&mut self, at: u64) {
        let interval = u64::from(self.config.refi) * self.config.period;
        while (self.refreshes + 1) * interval <= at {
            self.refreshes += 1;
            let mut from = (self.refreshes * interval).max(self.command_free());
            if self.open.iter().any(Option::is_some) {
                from = self.issue(PrechargeAll, 0, from);
                self.open.fill(None);
            }
            self.issue(Refresh, 0, from);
        }
    }

    /// First data, last data, and when the next request is accepted.
    pub fn serve(&mut self, addr: u32, bytes: u32, write: bool, at: u64) -> (u64, u64, u64) {
        let config = self.config;
        let clocks = |n: u32| u64::from(n) * config.period;
        self.refresh(at);
        let rows = addr / config.row_bytes;
        let (bank, row) = (rows % config.banks, rows / config.banks);
        let mut from = at + clocks(config.front);
        if self.open[bank as usize] != Some(row) {
            if self.open[bank as usize].is_some() {
                from = self.issue(Precharge, bank, from);
            }
            from = self.issue(Activate, bank, from);
            self.open[bank as usize] = Some(row);
        }
        let kind = if write { Write } else { Read };
        let latency = if write {
            config.write_latency
        } else {
            config.cas
        };
        let per_clock = config.width * config.transfers_per_cycle;
        let burst_bytes = config.burst * config.width;
        let mut first_command = None;
        let mut burst = addr / burst_bytes * burst_bytes;
        while burst < addr + bytes {
            let command = self.issue(kind, bank, from);
            first_command.get_or_insert(command);
            burst += burst_bytes;
        }
        let data = first_command.unwrap() + clocks(latency);
        let back = if write { 0 } else { clocks(config.back) };
        let first = data + clocks(bytes.min(4).div_ceil(per_clock));
        let last = data + clocks(bytes.div_ceil(per_clock));
        let (first, last) = if write && config.posts_writes {
            let taken = |bytes: u32| at + clocks(bytes.div_ceil(per_clock));
            (taken(bytes.min(4)), taken(bytes))
        } else {
            (first + back, last + back)
        };
        let free = self.command_free() - clocks(config.front).min(self.command_free());
        (first, last, free.max(at + config.period))
    }
}
