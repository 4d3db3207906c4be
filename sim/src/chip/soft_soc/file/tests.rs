//! Board files: what is read, and the messages for what is wrong.

use super::*;

const BOARD: &str = include_str!("../../../../../boards/rv32-soft-soc/system.toml");

/// The message for the board's file with `from` replaced by `to`.
fn message(from: &str, to: &str) -> String {
    assert!(BOARD.contains(from), "{from}");
    let text = BOARD.replacen(from, to, 1);
    parse(&text, "system.toml").expect_err(to).to_string()
}

#[test]
fn the_board_is_read_with_the_source_of_each_number() {
    let board = parse(BOARD, "system.toml").unwrap();
    let config = &board.config;
    assert_eq!(config.ports.period, 144);
    assert_eq!(config.memories[0].name, "ddr");
    assert_eq!(config.topology.masters.len(), 11);
    assert_eq!(config.devices[3].masters, [2, 3]);
    assert_eq!(config.pipeline.div, 35);
    let figure = |field: &str| board.figures.iter().find(|it| it.field == field).unwrap();
    assert_eq!(figure("memory.ddr.banks").source, "JESD79");
    assert!(figure("memory.ddr.cas").is_guess() && figure("memory.ddr.front").is_guess());
    assert!(!figure("hart.cpu.pipeline.div").is_guess());
}

#[test]
fn a_message_names_file_line_field_and_what_is_valid() {
    let line = |text: &str| {
        let at = BOARD.find(text).unwrap();
        BOARD[..at].matches('\n').count() + 1
    };
    let cases = [
        (
            "kind = \"ddr\"",
            "kind = \"dram\"",
            "memory.ddr.kind: cannot be dram; one of on-chip, ssram, sdram, ddr",
        ),
        (
            "row_bytes = 2048",
            "row_bytes = 2000",
            "memory.ddr.row_bytes: cannot be 2000; a power of two from 1024 to 65536",
        ),
        (
            "rcd = 2",
            "rcd = \"two\"",
            "memory.ddr.rcd: is a value of type string; a whole number from 0 to 10000",
        ),
        (
            "rrd = 2",
            "trrd = 2",
            "memory.ddr.rrd: is missing; a whole number from 0 to 10000",
        ),
        (
            "posts_writes = false",
            "posts_writes = false\ncycles = 1",
            "bridge.slow.cycles: is unknown; valid here: from, kind, posts_writes, \
             request_cycles, response_cycles, source, to",
        ),
        (
            "hertz = { value = 83_333_333, source = \"AN 440, table 3\" }",
            "hertz = 83_333_333",
            "clock.system.hertz: has no source; write { value = 83333333, source = \"...\" }, or a \
             `source` for the section; `guess` is one",
        ),
        (
            "interrupt = 2",
            "interrupt = 1",
            "device.dma.interrupt: cannot be 1; a line that timer does not use",
        ),
        (
            "model = \"dma\"",
            "model = \"msgdma\"",
            "device.dma.model: cannot be msgdma; one of checksum, dma, dwmac, enet, intc, interval-timer, jtag-uart, \
             lan91c111, sgdma-from-stream, sgdma-to-stream, tse, uart",
        ),
        (
            "stream_to = \"rx_dma\"",
            "stream_to = \"dma\"",
            "device.mac.stream_to: cannot be dma; a device with a stream input that no other stream leads to",
        ),
        (
            "transmit_fifo_words = { value = 2048",
            "transmit_fifo_words = { value = 2000",
            "device.mac.transmit_fifo_words: cannot be 2000; a power of two from 64 to 65536",
        ),
        (
            "size = { value = 2048, source = \"AN 440, table 3\" }",
            "size = { value = 3000, source = \"AN 440, table 3\" }",
            "hart.cpu.data_cache.size: cannot be 3000; line x ways x a power of two",
        ),
        (
            "data_bus = \"main\"",
            "data_bus = \"mian\"",
            "hart.cpu.data_bus: cannot be mian; one of main, slow",
        ),
    ];
    for (from, to, expected) in cases {
        let message = message(from, to);
        let (place, rest) = message.split_once(": ").unwrap();
        assert_eq!(rest, expected, "{to}");
        let (file, found) = place.split_once(':').unwrap();
        let section = BOARD[..BOARD.find(from).unwrap()].rfind("\n[").unwrap() + 1;
        let lines = line(&BOARD[section..])..=line(from) + 1;
        assert_eq!(file, "system.toml");
        assert!(
            lines.contains(&found.parse().unwrap()),
            "{message}: {lines:?}"
        );
    }
}

#[test]
fn targets_that_overlap_are_named() {
    let error = message("base = 0x800_4000", "base = 0x800_2000");
    assert!(
        error.ends_with("timer and dma overlap at 0x08002000"),
        "{error}"
    );
}

#[test]
fn a_syntax_error_has_its_line() {
    let error = parse("schema = 1\nname = \n", "x.toml").unwrap_err();
    assert_eq!((error.file.as_str(), error.line), ("x.toml", 2));
}

#[test]
fn a_file_with_a_damaged_line_is_rejected_with_a_place_or_can_be_built() {
    let lines: Vec<&str> = BOARD.lines().collect();
    let mut rejected = 0;
    for damaged in 0..lines.len() {
        let line = lines[damaged];
        let digits = line.replace(|c: char| c.is_ascii_digit(), "9");
        let damages = [
            String::new(),
            digits,
            line.replace('=', "= -"),
            line.replace("0x", "0xf"),
            line.replace('"', ""),
            format!("{line}\n{line}"),
        ];
        for damage in damages {
            let mut changed = lines.clone();
            changed[damaged] = &damage;
            match parse(&changed.join("\n"), "x.toml") {
                Ok(board) => {
                    crate::memsys::Fabric::new(&board.config.topology).unwrap();
                }
                Err(error) => {
                    rejected += 1;
                    assert!(error.to_string().starts_with("x.toml:"), "{error}");
                    assert!((1..=lines.len() + 1).contains(&error.line), "{error}");
                }
            }
        }
    }
    assert!(rejected > lines.len(), "{rejected} of {}", lines.len());
}
