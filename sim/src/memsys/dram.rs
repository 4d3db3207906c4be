//! A controller of SDRAM or DDR SDRAM: banks with open rows, the command protocol, refresh.
//!
//! Rows stay open until another row of the bank is needed or a refresh is due. Parameters are those
//! of JESD79 (DDR) and of SDRAM datasheets, in cycles of the memory's clock.

use super::static_memory::Service;
use super::transfers;

/// Geometry and timing; everything without unit in clock cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DramConfig {
    /// Period of its clock in ticks.
    pub period: u64,
    /// Bytes that the chips transfer at once.
    pub width: u32,
    /// Transfers in a cycle: 1 for SDRAM, 2 for DDR.
    pub transfers_per_cycle: u32,
    /// Transfers in a burst (BL).
    pub burst: u32,
    /// Number of banks, a power of two.
    pub banks: u32,
    /// Bytes in a row of a bank, a power of two. Consecutive rows are in different banks.
    pub row_bytes: u32,
    /// Read command to data (CL).
    pub cas: u32,
    /// Write command to data (0 for SDRAM, 1 for DDR).
    pub write_latency: u32,
    /// Activate to read or write (tRCD).
    pub rcd: u32,
    /// Precharge to activate (tRP).
    pub rp: u32,
    /// Activate to precharge (tRAS).
    pub ras: u32,
    /// Activate to activate of the same bank (tRC).
    pub rc: u32,
    /// Activate to activate of another bank (tRRD).
    pub rrd: u32,
    /// End of written data to precharge (tWR).
    pub wr: u32,
    /// End of written data to read (tWTR).
    pub wtr: u32,
    /// Refresh to activate (tRFC).
    pub rfc: u32,
    /// Average refresh interval (tREFI).
    pub refi: u32,
    /// From a request at the controller to its first command.
    pub front: u32,
    /// From data at the pins to data at the controller's port.
    pub back: u32,
    /// True: a write is complete when the controller has taken it with its data. The next request still waits until
    /// the write's commands are out.
    pub posts_writes: bool,
}

/// Kind of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandKind {
    /// Opens the row.
    Activate,
    /// Reads a burst of the open row.
    Read,
    /// Writes a burst to the open row.
    Write,
    /// Closes the bank's row.
    Precharge,
    /// Closes all rows.
    PrechargeAll,
    /// Refreshes a row of each bank.
    Refresh,
}

/// A command on the pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Time in ticks.
    pub at: u64,
    /// Kind.
    pub kind: CommandKind,
    /// Bank; 0 where it does not apply.
    pub bank: u32,
    /// Row of an [`CommandKind::Activate`]; 0 otherwise.
    pub row: u32,
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DramStatistics {
    /// Requests to an open row.
    pub row_hits: u64,
    /// Requests to a bank without open row.
    pub row_opened: u64,
    /// Requests to a bank with another open row.
    pub row_conflicts: u64,
    /// Refresh commands.
    pub refreshes: u64,
}

/// State of a bank, in ticks.
#[derive(Clone, Copy, Debug, Default)]
struct Bank {
    open_row: Option<u32>,
    /// The earliest next activate, apart from tRRD.
    activate_from: u64,
    /// The earliest next read or write of the open row.
    column_from: u64,
    /// The earliest next precharge.
    precharge_from: u64,
}

/// The controller and the state of its chips.
#[derive(Clone, Debug)]
pub struct Dram {
    config: DramConfig,
    banks: Vec<Bank>,
    bank_shift: u32,
    row_shift: u32,
    /// The earliest next activate of any bank (tRRD).
    activate_from: u64,
    /// The earliest next read or write command, by the data bus.
    command_from: u64,
    /// The earliest next read command after a write, and write command after a read.
    read_from: u64,
    write_from: u64,
    refresh_due: u64,
    statistics: DramStatistics,
    commands: Option<Vec<Command>>,
}

impl Dram {
    /// A controller with all rows closed.
    pub fn new(config: DramConfig) -> Self {
        let row_shift = config.row_bytes.trailing_zeros();
        Self {
            banks: vec![Bank::default(); config.banks as usize],
            bank_shift: row_shift,
            row_shift: row_shift + config.banks.trailing_zeros(),
            activate_from: 0,
            command_from: 0,
            read_from: 0,
            write_from: 0,
            refresh_due: u64::from(config.refi) * config.period,
            statistics: DramStatistics::default(),
            commands: None,
            config,
        }
    }

    /// Records all commands from now on, for a check of the protocol.
    pub fn record_commands(&mut self) {
        self.commands = Some(Vec::new());
    }

    /// The recorded commands since the last call, in the order of time.
    pub fn take_commands(&mut self) -> Vec<Command> {
        self.commands
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Counts since the start.
    pub fn statistics(&self) -> DramStatistics {
        self.statistics
    }

    /// `cycles` in ticks.
    fn ticks(&self, cycles: u32) -> u64 {
        u64::from(cycles) * self.config.period
    }

    /// Cycles in which the pins transfer `bytes`.
    fn data_cycles(&self, bytes: u32) -> u32 {
        transfers(bytes, self.config.width * self.config.transfers_per_cycle)
    }

    fn record(&mut self, at: u64, kind: CommandKind, bank: u32, row: u32) {
        if let Some(commands) = &mut self.commands {
            commands.push(Command {
                at,
                kind,
                bank,
                row,
            });
        }
    }

    /// Serves a request within a row that arrives at `at`, a clock edge at which the controller is
    /// free.
    pub(super) fn serve(&mut self, addr: u32, bytes: u32, write: bool, at: u64) -> Service {
        self.refresh_until(at);
        let from = at + self.ticks(self.config.front);
        let number = addr >> self.bank_shift & (self.config.banks - 1);
        let row = addr >> self.row_shift;
        let opened = self.open(number, row, from);
        let first_command = opened.max(self.command_from).max(if write {
            self.write_from
        } else {
            self.read_from
        });
        let burst_bytes = self.config.burst * self.config.width;
        let burst = self.ticks(self.data_cycles(burst_bytes));
        let offset = addr & (burst_bytes - 1);
        let bursts = transfers(offset + bytes, burst_bytes);
        let last_command = first_command + u64::from(bursts - 1) * burst;
        let kind = if write {
            CommandKind::Write
        } else {
            CommandKind::Read
        };
        if self.commands.is_some() {
            for index in 0..u64::from(bursts) {
                self.record(first_command + index * burst, kind, number, 0);
            }
        }
        self.command_from = last_command + burst;
        let latency = if write {
            self.config.write_latency
        } else {
            self.config.cas
        };
        let data = first_command + self.ticks(latency);
        let first = data + self.ticks(self.data_cycles(bytes.min(4)));
        let last = data + self.ticks(self.data_cycles(bytes)).max(first - data);
        let data_end = last_command + self.ticks(latency) + burst;
        let bank = &mut self.banks[number as usize];
        if write {
            let recovered = data_end + u64::from(self.config.wr) * self.config.period;
            bank.precharge_from = bank.precharge_from.max(recovered);
            self.read_from = data_end + self.ticks(self.config.wtr);
        } else {
            bank.precharge_from = bank.precharge_from.max(last_command + burst);
            // One idle cycle between read and written data.
            let turned = data_end + self.config.period;
            self.write_from = turned.saturating_sub(self.ticks(self.config.write_latency));
        }
        let (first, last) = if !write {
            let back = self.ticks(self.config.back);
            (first + back, last + back)
        } else if self.config.posts_writes {
            let taken = |bytes| at + self.ticks(self.data_cycles(bytes));
            (taken(bytes.min(4)), taken(bytes))
        } else {
            (first, last)
        };
        Service {
            first,
            last,
            free: self
                .command_from
                .saturating_sub(self.ticks(self.config.front))
                .max(at + self.config.period),
        }
    }

    /// Opens the row if necessary; returns the earliest read or write command from `from` on.
    fn open(&mut self, number: u32, row: u32, from: u64) -> u64 {
        let bank = self.banks[number as usize];
        if bank.open_row == Some(row) {
            self.statistics.row_hits += 1;
            return from.max(bank.column_from);
        }
        let mut ready = from;
        if bank.open_row.is_some() {
            self.statistics.row_conflicts += 1;
            let precharge = from.max(bank.precharge_from);
            self.record(precharge, CommandKind::Precharge, number, 0);
            ready = precharge + self.ticks(self.config.rp);
        } else {
            self.statistics.row_opened += 1;
        }
        let activate = ready.max(bank.activate_from).max(self.activate_from);
        self.record(activate, CommandKind::Activate, number, row);
        self.activate_from = activate + self.ticks(self.config.rrd);
        let column_from = activate + self.ticks(self.config.rcd);
        self.banks[number as usize] = Bank {
            open_row: Some(row),
            activate_from: activate + self.ticks(self.config.rc),
            column_from,
            precharge_from: activate + self.ticks(self.config.ras),
        };
        column_from
    }

    /// Issues the refreshes that are due at or before `at`, each as soon as the banks permit it.
    fn refresh_until(&mut self, at: u64) {
        let interval = self.ticks(self.config.refi);
        while self.refresh_due <= at {
            let is_open = self.banks.iter().any(|bank| bank.open_row.is_some());
            if !is_open && self.commands.is_none() {
                // Refreshes of closed banks while nothing is requested: only the last can matter.
                let skipped = (at - self.refresh_due) / interval;
                self.refresh_due += skipped * interval;
                self.statistics.refreshes += skipped;
            }
            let mut refresh = self.refresh_due.max(self.command_from);
            if is_open {
                let permitted = self.banks.iter().map(|bank| bank.precharge_from).max();
                let precharge = refresh.max(permitted.unwrap_or(0));
                self.record(precharge, CommandKind::PrechargeAll, 0, 0);
                refresh = precharge + self.ticks(self.config.rp);
            }
            let permitted = self.banks.iter().map(|bank| bank.activate_from).max();
            refresh = refresh.max(permitted.unwrap_or(0));
            self.record(refresh, CommandKind::Refresh, 0, 0);
            let ready = refresh + self.ticks(self.config.rfc);
            for bank in &mut self.banks {
                bank.open_row = None;
                bank.activate_from = ready;
            }
            self.statistics.refreshes += 1;
            self.refresh_due += interval;
        }
    }
}
