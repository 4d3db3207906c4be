//! The parts and the largest functions of a program with the agent, by its symbols.

use crate::symbols::{Symbol, symbols};
use anyhow::{Context, Result};
use object::{Object, ObjectSection, SectionKind};
use std::fmt::Write as _;
use std::path::Path;

/// Number of largest functions to list.
const NAMED: usize = 30;
/// Minimum length of a text among the constants.
const MIN_TEXT: usize = 3;

/// Part of the code: functions whose names contain one of the paths, unless an earlier part has them.
struct Part {
    paths: &'static [&'static str],
    name: &'static str,
    purpose: &'static str,
    reason: &'static str,
}

const PARTS: [Part; 12] = [
    Part {
        paths: &["OUTLINED_FUNCTION"],
        name: "outlined by the compiler",
        purpose: "instructions that several functions have in common",
        reason: "each saves more than it takes",
    },
    Part {
        paths: &["linerate_agent::iperf3::json"],
        name: "iperf 3: JSON",
        purpose: "one scanner, fed octet by octet, and one reader of members for parameters and results",
        reason: "it refuses what RFC 8259 does: nesting, escapes, the grammar of numbers (by a table), literals; \
                 0.000123 s become nanoseconds without floating point",
    },
    Part {
        paths: &["linerate_agent::iperf3::server"],
        name: "iperf 3: session",
        purpose: "nine states of the control connection, refusals, takeover from a stalled client, timeouts, \
                  connections being closed",
        reason: "each state has its octet, its deadline and its error number; the scanner is inlined here",
    },
    Part {
        paths: &["linerate_agent::iperf3"],
        name: "iperf 3: streams and results",
        purpose: "streams of TCP and UDP in both directions, omitted time, sums, results as JSON",
        reason: "three sums (sent, received, reported by the client) of seven counters of 64 bits; JSON is written in \
                 pieces into the space that TCP has",
    },
    Part {
        paths: &["linerate_agent::iperf2"],
        name: "iperf 2",
        purpose: "TCP and UDP; return tests (-r, -d), -R and --full-duplex; reports, their repetition, retries of \
                  connections",
        reason: "six kinds of test, each with another end; a forged source must gain nothing from an answer; a server \
                 without return tests is no server of iperf 2",
    },
    Part {
        paths: &["linerate_agent::http"],
        name: "HTTP",
        purpose: "heads in any pieces, lengths and chunks, pipelining, PUT with CRC-32, ten status codes",
        reason: "each rule against request smuggling of RFC 9112 is a comparison and a status",
    },
    Part {
        paths: &["linerate_agent::stamp"],
        name: "STAMP",
        purpose: "a stateful reflector: sessions, timestamps of NTP, error estimate, queue of reflections",
        reason: "44 octets are read and written field by field, as the fields are not aligned",
    },
    Part {
        paths: &["linerate_agent::count"],
        name: "counters of datagrams",
        purpose: "loss, reordering, duplicates, jitter, time until the last datagram that is no repetition",
        reason: "numbers and times have 64 bits, which are two registers here; shared by iperf 2 and 3",
    },
    Part {
        paths: &["agent_size::"],
        name: "driver",
        purpose: "makes the services and calls them",
        reason: "no part of the agent, but firmware has one, too",
    },
    Part {
        paths: &["linerate_"],
        name: "shared by the services",
        purpose: "addresses, slots for clients, paces, fields, decimal numbers, times, HTTP's content and its CRC",
        reason: "already one copy of each, out of line; divisions of 64 bits are made bit by bit",
    },
    Part {
        paths: &["compiler_builtins", "memcpy", "memset", "memcmp"],
        name: "compiler-builtins",
        purpose: "memcpy, memset, memcmp",
        reason: "they come compiled with the toolchain, for speed: memcpy alone takes 400 octets",
    },
    Part {
        paths: &[""],
        name: "core",
        purpose: "closures that are called by address (slots, JSON, results), slices, iterators",
        reason: "one copy of each in place of one for each service",
    },
];

/// Returns a table of the program's parts, and a list of its largest functions.
pub fn describe(elf: &Path) -> Result<String> {
    let bytes = std::fs::read(elf).with_context(|| format!("cannot read {}", elf.display()))?;
    let file = object::File::parse(&*bytes)?;
    let mut constants = Vec::new();
    for section in file.sections() {
        let is_constant = matches!(
            section.kind(),
            SectionKind::ReadOnlyData | SectionKind::ReadOnlyString | SectionKind::Data
        );
        if is_constant && !super::is_for_unwinding(section.name()?) {
            constants.extend_from_slice(section.data()?);
        }
    }
    Ok(tables(symbols(&bytes)?, &constants))
}

fn tables(mut functions: Vec<Symbol>, constants: &[u8]) -> String {
    functions.retain(|symbol| symbol.is_code && symbol.is_stored);
    // Two symbols at one address count once.
    functions.sort_by(|a, b| (a.addr, b.size).cmp(&(b.addr, a.size)));
    functions.dedup_by_key(|symbol| symbol.addr);
    functions.sort_by(|a, b| (b.size, &a.name).cmp(&(a.size, &b.name)));
    let mut text = String::from(
        "| part of the code | octets | functions | purpose | why it is not smaller |\n|---|---:|---:|---|---|\n",
    );
    let mut parts: Vec<(&Part, u64, usize)> = Vec::new();
    for symbol in &functions {
        let part = part(&symbol.name);
        match parts.iter_mut().find(|(known, ..)| known.name == part.name) {
            Some((_, octets, functions)) => {
                *octets += symbol.size;
                *functions += 1;
            }
            None => parts.push((part, symbol.size, 1)),
        }
    }
    parts.sort_by_key(|(part, octets, _)| (u64::MAX - octets, part.name));
    for (part, octets, functions) in parts {
        let Part {
            name,
            purpose,
            reason,
            ..
        } = part;
        let _ = writeln!(
            text,
            "| {name} | {octets} | {functions} | {purpose} | {reason} |"
        );
    }
    let texts = text_octets(constants);
    let _ = writeln!(
        text,
        "| constants: texts | {texts} | | names of JSON members and HTTP fields, status lines | each is compared or \
         sent as it is |\n\
         | constants: tables | {} | | addresses and lengths of the texts, tables of the services' functions, of jumps \
         and of states | an entry is 4 octets; code for the same would take more |",
        constants.len() - texts
    );
    text += "\nThe largest functions, with what is inlined into them:\n\n```text\n";
    for symbol in functions.iter().take(NAMED) {
        let _ = writeln!(text, "{:5} {}", symbol.size, symbol.name);
    }
    text += "```\n";
    text
}

fn part(name: &str) -> &'static Part {
    let found = PARTS
        .iter()
        .find(|part| part.paths.iter().any(|path| name.contains(path)));
    // The last has every name.
    found.unwrap_or(&PARTS[PARTS.len() - 1])
}

/// Octets in runs of printable characters.
fn text_octets(constants: &[u8]) -> usize {
    let is_text = |octet: &u8| matches!(octet, b' '..=b'~' | b'\r' | b'\n');
    let runs = constants.chunk_by(|a, b| is_text(a) == is_text(b));
    runs.filter(|run| run.len() >= MIN_TEXT && is_text(&run[0]))
        .map(<[u8]>::len)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::tables;
    use crate::symbols::Symbol;

    fn symbol(name: &str, addr: u32, size: u64) -> Symbol {
        Symbol {
            name: name.to_owned(),
            addr,
            size,
            is_code: true,
            is_stored: true,
        }
    }

    #[test]
    fn functions_count_once_for_their_service_and_texts_apart_from_tables() {
        let received = "<linerate_agent::http::server::Server<_> as linerate_agent::service::Service>::received";
        let text = tables(
            vec![
                symbol(received, 0x100, 50),
                symbol(
                    "linerate_agent::iperf3::json::scan::Scanner<_>::push",
                    0x200,
                    70,
                ),
                symbol(
                    "linerate_agent::iperf3::streams::Streams<_>::open",
                    0x300,
                    9,
                ),
                symbol("linerate_agent::octets::u32_at", 0x400, 8),
                symbol("compiler_builtins::mem::memcpy", 0x500, 100),
                symbol("memmove", 0x500, 100),
            ],
            b"\0\0chunked\0\x01ab\0",
        );
        let rows: Vec<_> = text.lines().skip(2).take(7).collect();
        let starts = [
            "| compiler-builtins | 100 | 1 |",
            "| iperf 3: JSON | 70 | 1 |",
            "| HTTP | 50 | 1 |",
            "| iperf 3: streams and results | 9 | 1 |",
            "| shared by the services | 8 | 1 |",
            "| constants: texts | 7 | |",
            "| constants: tables | 7 | |",
        ];
        for (row, start) in rows.iter().zip(starts) {
            assert!(row.starts_with(start), "{row}");
        }
        let largest = format!(
            "  100 compiler_builtins::mem::memcpy\n   70 linerate_agent::iperf3::json::scan::Scanner<_>::push\n   \
             50 {received}\n"
        );
        assert!(text.contains(&largest), "{text}");
    }
}
