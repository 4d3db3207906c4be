//! The boot line: `key=value` words that the boot loader (here: the simulator) writes into `BOOT_LINE`.

use linerate_nic::enet::ReceiveFifo;
use static_cell::StaticCell;

/// Longest boot line.
const LEN: usize = 384;

/// Written by the boot loader before the start; ends with a zero.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".data.boot")]
static BOOT_LINE: [u8; LEN] = [0; LEN];

/// Settings of the program.
#[derive(Clone, Copy)]
pub struct Boot {
    /// `wait=on`: sleep when idle. `off`: run.
    pub waits: bool,
    /// `receive=poll`: in turns with the interrupt masked. `interrupt`: in the interrupt handler.
    pub polls: bool,
    /// Frames per turn.
    pub budget: u32,
    /// `errors=drop`: frames with an overrun end in the driver, without a copy. `forward`: they are copied and reach the
    /// stack, which drops them.
    pub drops_errors: bool,
    /// `pause=on`: pause frames are advertised.
    pub pauses: bool,
    /// Thresholds: `rsfl`, `rsem`, `raem`, `rafl`, `opd`.
    pub fifo: ReceiveFifo,
    /// `ftrl`: truncation length; 0 leaves the driver's.
    pub truncation: u32,
    /// Cycles that the program spends beside its own work: per interrupt, per turn, per frame in the driver, per
    /// frame in the stack, per datagram in the process that reads the socket.
    pub interrupt_cycles: u32,
    pub turn_cycles: u32,
    pub frame_cycles: u32,
    pub stack_cycles: u32,
    pub process_cycles: u32,
    /// The same, in the stack for a frame with an overrun.
    pub bad_cycles: u32,
    /// Characters of the line that the driver logs for each buffer in which no frame ended; 0: it logs nothing.
    pub log_characters: u32,
    /// Rate of the serial console that the line goes to, in bit/s.
    pub baud: u32,
    /// Frames that wait for the stack, at most (`interrupt` only).
    pub backlog: u32,
    /// Datagrams that wait in the socket for the process, at most.
    pub socket: u32,
    /// Frames of the backlog in a row after which the process reads what its socket holds; 0: never.
    pub restart: u32,
    /// `resume=on`: the next interrupt ends that turn of the process.
    pub resumes: bool,
}

impl Boot {
    /// Reads the boot line.
    ///
    /// # Errors
    /// The word that is wrong.
    pub fn read() -> Result<Self, &'static str> {
        static LINE: StaticCell<[u8; LEN]> = StaticCell::new();
        let mut boot = Self {
            waits: true,
            polls: true,
            budget: 64,
            drops_errors: true,
            pauses: true,
            fifo: ReceiveFifo::GIGABIT,
            truncation: 0,
            interrupt_cycles: 0,
            turn_cycles: 0,
            frame_cycles: 0,
            stack_cycles: 0,
            process_cycles: 0,
            bad_cycles: 0,
            log_characters: 0,
            baud: 115_200,
            backlog: 1000,
            socket: 1000,
            restart: 0,
            resumes: false,
        };
        // SAFETY: a static of this program; volatile, because the boot loader has changed it.
        let line = LINE.init(unsafe { core::ptr::read_volatile(&raw const BOOT_LINE) });
        let end = line.iter().position(|it| *it == 0).unwrap_or(LEN);
        let text = core::str::from_utf8(&line[..end]).map_err(|_| "(not a text)")?;
        for word in text.split_ascii_whitespace() {
            let (key, value) = word.split_once('=').ok_or(word)?;
            boot.set(key, value).ok_or(word)?;
        }
        Ok(boot)
    }

    fn set(&mut self, key: &str, value: &str) -> Option<()> {
        let either = |yes: &str, no: &str| match value {
            _ if value == yes => Some(true),
            _ if value == no => Some(false),
            _ => None,
        };
        let number = || match value.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => value.parse().ok(),
        };
        let half = || number().and_then(|it| u16::try_from(it).ok());
        match key {
            "wait" => self.waits = either("on", "off")?,
            "receive" => self.polls = either("poll", "interrupt")?,
            "errors" => self.drops_errors = either("drop", "forward")?,
            "pause" => self.pauses = either("on", "off")?,
            "budget" => self.budget = number()?,
            "rsfl" => self.fifo.forward_threshold = half()?,
            "rsem" => self.fifo.pause_threshold = half()?,
            "raem" => self.fifo.almost_empty = half()?,
            "rafl" => self.fifo.almost_full = half()?,
            "opd" => self.fifo.pause_quanta = half()?,
            "ftrl" => self.truncation = number()?,
            "interrupt_cycles" => self.interrupt_cycles = number()?,
            "turn_cycles" => self.turn_cycles = number()?,
            "frame_cycles" => self.frame_cycles = number()?,
            "stack_cycles" => self.stack_cycles = number()?,
            "process_cycles" => self.process_cycles = number()?,
            "bad_cycles" => self.bad_cycles = number()?,
            "log_characters" => self.log_characters = number()?,
            "baud" => self.baud = number().filter(|it| *it > 0)?,
            "backlog" => self.backlog = number()?,
            "restart" => self.restart = number()?,
            "resume" => self.resumes = either("on", "off")?,
            "socket" => self.socket = number()?,
            _ => return None,
        }
        Some(())
    }
}
