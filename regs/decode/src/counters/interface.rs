//! Counters of the kernel's network interfaces: `ifconfig`, `ip -s link`, `/proc/net/dev`.

use super::Counter;

/// Columns of a line of `/proc/net/dev` behind the interface's name.
const COLUMNS: usize = 16;
/// Counters by these columns.
const BY_COLUMN: [(usize, Counter); 4] = [
    (1, Counter::RxFrames),
    (3, Counter::RxDropped),
    (4, Counter::RxFifoOverruns),
    (9, Counter::TxFrames),
];

/// Reads line by line.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The lines belong to the loopback interface.
    is_loopback: bool,
    /// Counters of the columns of the next line of `ip`.
    columns: Vec<Option<Counter>>,
}

impl Reader {
    /// Calls `found` with each counter in `line`.
    pub fn line(&mut self, line: &str, mut found: impl FnMut(Counter, u64)) {
        let columns = std::mem::take(&mut self.columns);
        if let Some(name) = interface(line) {
            self.is_loopback = name == "lo";
        }
        if let Some(numbers) = proc_net_dev(line) {
            for (column, counter) in BY_COLUMN {
                if !self.is_loopback {
                    found(counter, numbers[column]);
                }
            }
            return;
        }
        if self.is_loopback {
            return;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if columns.iter().any(Option::is_some) {
            for (counter, word) in columns.iter().zip(&words) {
                if let (Some(counter), Ok(value)) = (counter, word.parse()) {
                    found(*counter, value);
                }
            }
            return;
        }
        match words[..] {
            ["RX:", ref names @ ..] => self.columns = names.iter().map(|it| received(it)).collect(),
            ["TX:", ref names @ ..] => self.columns = names.iter().map(|it| sent(it)).collect(),
            ["RX", "errors:", ref names @ ..] => {
                self.columns = names.iter().map(|it| detail(it)).collect();
            }
            ["RX", ref rest @ ..] => pairs(rest, |name, value| {
                if let Some(it) = received(name) {
                    found(it, value);
                }
            }),
            ["TX", ref rest @ ..] => pairs(rest, |name, value| {
                if let Some(it) = sent(name) {
                    found(it, value);
                }
            }),
            _ => {}
        }
    }
}

/// The interface that a line begins with: `eth0: flags=...`, `2: eth0@if3: <...>`, `eth0      Link encap:...`,
/// `  eth0: 266 3 ...`.
fn interface(line: &str) -> Option<&str> {
    if line.contains("Link encap:") {
        return line.split_whitespace().next();
    }
    let (first, rest) = line.split_once(':')?;
    let first = first.trim();
    if first.parse::<u32>().is_ok() {
        let (name, flags) = rest.split_once(':')?;
        let name = name.trim();
        let is_link = flags.trim_start().starts_with('<');
        return is_link.then(|| name.split_once('@').map_or(name, |it| it.0));
    }
    let is_header = rest.trim_start().starts_with("flags=") || proc_net_dev(line).is_some();
    (is_header && !first.contains(char::is_whitespace)).then_some(first)
}

/// The numbers of a line of `/proc/net/dev`.
fn proc_net_dev(line: &str) -> Option<[u64; COLUMNS]> {
    let (_, rest) = line.split_once(':')?;
    let mut numbers = [0; COLUMNS];
    let mut words = rest.split_whitespace();
    for number in &mut numbers {
        *number = words.next()?.parse().ok()?;
    }
    words.next().is_none().then_some(numbers)
}

/// `packets:3 errors:0` and `packets 3  bytes 266 (266.0 B)`.
fn pairs(words: &[&str], mut found: impl FnMut(&str, u64)) {
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let (name, value) = match word.split_once(':') {
            Some(pair) => pair,
            None => match words.peek() {
                Some(next) => (*word, **next),
                None => return,
            },
        };
        if let Ok(value) = value.parse() {
            found(name, value);
        }
    }
}

fn received(name: &str) -> Option<Counter> {
    match name {
        "packets" => Some(Counter::RxFrames),
        "dropped" => Some(Counter::RxDropped),
        "overruns" | "overrun" => Some(Counter::RxFifoOverruns),
        _ => None,
    }
}

fn sent(name: &str) -> Option<Counter> {
    (name == "packets").then_some(Counter::TxFrames)
}

fn detail(name: &str) -> Option<Counter> {
    match name {
        "crc" => Some(Counter::RxFcsErrors),
        "fifo" => Some(Counter::RxFifoOverruns),
        _ => None,
    }
}
