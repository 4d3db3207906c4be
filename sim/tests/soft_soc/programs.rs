//! Small programs as machine code: exact cycles of the hart with the memory system.

use linerate_sim::chip::soft_soc::{SoftSoc, Stop, file};
use linerate_sim::elf::Elf;
use linerate_sim::time::Instant;

use super::firmware::BOARD;

/// An executable of `words` at `addr`.
pub fn elf(addr: u32, words: &[u32]) -> Elf {
    let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut file = Vec::new();
    file.extend(b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0");
    file.extend([2, 0, 243, 0, 1, 0, 0, 0]);
    // Entry, program headers, section headers, flags.
    for word in [addr, 52, 0, 0] {
        file.extend(word.to_le_bytes());
    }
    file.extend([52, 0, 32, 0, 1, 0, 40, 0, 0, 0, 0, 0]);
    let len = code.len() as u32;
    for word in [1, 84, addr, addr, len, len, 5, 4] {
        file.extend(u32::to_le_bytes(word));
    }
    file.extend(code);
    Elf::parse(&file).unwrap()
}

pub const WFI: u32 = 0x1050_0073;
const NOP: u32 = 0x0000_0013;

/// `lw rd, imm(rs1)`.
fn lw(rd: u32, rs1: u32, imm: u32) -> u32 {
    imm << 20 | rs1 << 15 | 2 << 12 | rd << 7 | 0x03
}

/// `sw rs2, imm(rs1)`.
fn sw(rs2: u32, rs1: u32, imm: u32) -> u32 {
    (imm >> 5) << 25 | rs2 << 20 | rs1 << 15 | 2 << 12 | (imm & 31) << 7 | 0x23
}

/// `lui rd, value >> 12`.
fn lui(rd: u32, value: u32) -> u32 {
    value & 0xffff_f000 | rd << 7 | 0x37
}

/// Cycles of a program in DDR until it sleeps.
fn cycles(board: &str, program: &[u32]) -> u64 {
    let board = file::parse(board, "system.toml").unwrap();
    let mut words = program.to_vec();
    words.push(WFI);
    let mut soc = SoftSoc::new(&board.config, &elf(0x100, &words)).unwrap();
    assert_eq!(soc.run(Instant::from_ns(1_000_000)), Stop::Asleep);
    soc.hart().cycle()
}

/// The first line: from a closed bank front 2, tRCD 2, CL 2, first word 1, back 3: the critical word
/// is there after 10 cycles.
const FIRST_FETCH: u64 = 10;

#[test]
fn instructions_wait_for_their_line() {
    assert_eq!(cycles(BOARD, &[NOP]), FIRST_FETCH + 2);
    // The second line begins with the ninth instruction; the rest of the first one streams in
    // meanwhile. Request at cycle 18 in the open row: 2 + 2 + 1 + 3.
    let second = 8;
    assert_eq!(cycles(BOARD, &[NOP; 8]), FIRST_FETCH + 8 + second + 1);
    let whole = BOARD.replacen("resume = \"critical-word\"", "resume = \"whole-line\"", 1);
    // Eight words take 8 cycles of a 16-bit DDR, so 7 more than the first.
    assert_eq!(cycles(&whole, &[NOP]), FIRST_FETCH + 7 + 2);
}

#[test]
fn data_wait_for_their_line_and_dirty_lines_are_written() {
    let base = 0x0010_0000;
    let program = [lui(5, base), lw(6, 5, 0), lw(7, 5, 4)];
    let hit = [lui(5, base), lw(6, 5, 4), lw(7, 5, 8)];
    assert_eq!(cycles(BOARD, &program), cycles(BOARD, &hit));
    // The line is in another row of bank 0: precharge, activate, then 8 words.
    // Request at cycle 11, command at 13; the row was opened at 2: tRAS is over. Precharge 13,
    // activate 15, read 17, data at 19, last word after 8 cycles 27, back 3: 30. Wait 19.
    assert_eq!(cycles(BOARD, &program), FIRST_FETCH + 4 + 19);
    let uncached = base | 0x8000_0000;
    // One word: command 13, activate 15, read 17, data 19, word 20, back 23: waits 12.
    let program = [lui(5, uncached), lw(6, 5, 0)];
    assert_eq!(cycles(BOARD, &program), FIRST_FETCH + 3 + 12);
    // A store to the packet memory: accepted after one cycle.
    let program = [lui(5, 0x0400_0000), sw(5, 5, 0)];
    assert_eq!(cycles(BOARD, &program), FIRST_FETCH + 3 + 1);
    let program = [lui(5, 0x0400_0000), lw(6, 5, 0)];
    assert_eq!(cycles(BOARD, &program), FIRST_FETCH + 3 + 1);
}

#[test]
fn an_unmapped_address_is_an_access_fault_and_a_misaligned_one_traps() {
    let board = file::parse(BOARD, "system.toml").unwrap();
    // `csrw mtvec, x8`: no handler can be fetched there.
    let no_handler = [lui(8, 0x7000_0000), 0x3054_1073];
    for (addr, offset, cause) in [(0x7000_0000, 0, "load access"), (0, 2, "misaligned load")] {
        let program = [
            no_handler[0],
            no_handler[1],
            lui(5, addr),
            lw(6, 5, offset),
            WFI,
        ];
        let mut soc = SoftSoc::new(&board.config, &elf(0x1000, &program)).unwrap();
        let Stop::Fault(fault) = soc.run(Instant::from_ns(1_000_000)) else {
            panic!("no fault");
        };
        assert!(fault.to_string().starts_with(cause), "{fault}");
        assert_eq!(fault.pc, 0x100c);
    }
}

/// `addi rd, rs1, imm`.
fn addi(rd: u32, rs1: u32, imm: u32) -> u32 {
    imm << 20 | rs1 << 15 | rd << 7 | 0x13
}

/// The last word of a copy of `words` by the DMA controller into DDR, loaded through the cache after `instructions` others:
/// 0 if it was not there yet. The load first writes a dirty line back, for which there is no write buffer.
fn loaded_during_copy(words: u32, instructions: usize) -> u32 {
    let last = 4 * words - 4;
    let mut program = vec![
        lui(5, 0x0800_4000),
        lui(6, 0x0400_0000),
        addi(7, 0, 0x123),
        // Two lines in one place of the cache.
        lui(8, 0x0010_0000),
        addi(9, 8, 0x400),
        addi(9, 9, 0x400),
        addi(11, 0, 0x8c),
        addi(12, 0, 4 * words),
        sw(7, 6, last),
        sw(7, 8, 0),
        // Read and write address, length.
        sw(6, 5, 0x04),
        sw(9, 5, 0x08),
        sw(12, 5, 0x0c),
    ];
    // The start and the load are in one line of instructions.
    program.resize(program.len().next_multiple_of(8), NOP);
    program.push(sw(11, 5, 0x18));
    program.extend(vec![NOP; instructions]);
    program.push(lw(10, 9, last));
    program.push(WFI);
    let board = BOARD.replacen(
        "write_buffer = { value = 1",
        "write_buffer = { value = 0",
        1,
    );
    let board = file::parse(&board, "system.toml").unwrap();
    let mut soc = SoftSoc::new(&board.config, &elf(0x100, &program)).unwrap();
    assert_eq!(soc.run(Instant::from_ns(1_000_000)), Stop::Asleep);
    soc.hart().regs()[10]
}

/// Between the two requests of one load the DMA has its turn: the line has what was written before its request, and
/// nothing later.
#[test]
fn a_load_finds_what_the_dma_has_written_before_its_line_is_read() {
    // The second word is written while the dirty line is.
    assert_eq!(loaded_during_copy(2, 0), 0x123);
    // Eight words take longer, and reach DDR one by one.
    assert_eq!(loaded_during_copy(8, 0), 0);
    assert!((1..200).any(|it| loaded_during_copy(8, it) == 0x123));
}
