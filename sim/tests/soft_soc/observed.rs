//! A board whose instructions are observed.

use std::cell::RefCell;
use std::rc::Rc;

use linerate_sim::board::SoftBoard;
use linerate_sim::board::Stop;
use linerate_sim::board::soft_soc::Executed;
use linerate_sim::chip::soft_soc::file;
use linerate_sim::peer::host::{Config, Host};
use linerate_sim::time::Instant;
use linerate_sim::wire::FrameLinkConfig;

use super::programs::{WFI, elf};

const BOARD: &str = include_str!("../../../boards/rv32-soft-soc/system.toml");
const START: u32 = 0x100;
/// lui t1, 0x8001; sw zero, 0(t1); li t0, 5; addi t0, t0, -1; bnez t0, .-4; lw t2, 4(t1); wfi
const PROGRAM: [u32; 7] = [
    0x0800_1337,
    0x0003_2023,
    0x0050_0293,
    0xfff2_8293,
    0xfe02_9ee3,
    0x0043_2383,
    WFI,
];

/// A timer interrupts every 100 cycles; `wfi`, 101 instructions, and again. Traps are off, and nothing clears the interrupt.
const WAKING: [u32; 16] = [
    // lui t1, 0x8002; li t0, 100; sw t0, 8(t1); sw zero, 12(t1); li t0, 7; sw t0, 4(t1)
    0x0800_2337,
    0x0640_0293,
    0x0053_2423,
    0x0003_2623,
    0x0070_0293,
    0x0053_2223,
    // lui t1, 0x8003; li t0, 2; sw t0, 4(t1)
    0x0800_3337,
    0x0020_0293,
    0x0053_2223,
    // lui t0, 1; addi t0, t0, -2048; csrw mie, t0
    0x0000_12b7,
    0x8002_8293,
    0x3042_9073,
    WFI,
    // li t0, 50; addi t0, t0, -1; bnez t0, .-4
    0x0320_0293,
    0xfff2_8293,
    0xfe02_9ee3,
];
/// j .-16
const AGAIN: u32 = 0xff1f_f06f;

fn board(program: &[u32]) -> SoftBoard {
    let described = file::parse(BOARD, "system.toml").unwrap();
    let peer = Box::new(Host::new(Config::default()));
    let program = elf(START, program);
    SoftBoard::new(
        &described.config,
        &program,
        FrameLinkConfig::default(),
        peer,
        "none",
    )
    .unwrap()
}

/// Runs the program for a millisecond; returns what it left.
fn result(mut board: SoftBoard) -> (String, Instant, u64, u64) {
    assert_eq!(board.run(Instant::from_ns(1_000_000)), Stop::Reached);
    let hart = board.soc().hart();
    let (cycles, instructions) = (hart.cycle(), hart.instret());
    let hash = board.trace_hash().to_string();
    (hash, board.now(), cycles, instructions)
}

#[test]
fn each_instruction_is_observed_once_and_the_run_is_the_same() {
    let executed: Rc<RefCell<Vec<Executed>>> = Rc::default();
    let mut observed = board(&PROGRAM);
    let into = Rc::clone(&executed);
    observed.observe(move |it| into.borrow_mut().push(it));
    let after = result(observed);
    assert_eq!(after, result(board(&PROGRAM)));
    let executed = executed.borrow();
    assert_eq!(executed.len() as u64, after.3);
    // Five rounds of the loop, and the others once.
    let addresses: Vec<u32> = executed.iter().map(|it| (it.address - START) / 4).collect();
    let round = [3, 4].repeat(5);
    assert_eq!(addresses, [&[0, 1, 2], round.as_slice(), &[5, 6]].concat());
    let of = |number: u32| {
        let mut at = executed
            .iter()
            .filter(|it| it.address == START + 4 * number);
        at.next().unwrap().accesses
    };
    assert_eq!([of(1), of(5), of(2)], [[0, 1], [1, 0], [0, 0]]);
}

#[test]
fn what_follows_a_wake_up_is_observed() {
    let program = [WAKING.as_slice(), &[AGAIN]].concat();
    let count: Rc<RefCell<u64>> = Rc::default();
    let mut observed = board(&program);
    let into = Rc::clone(&count);
    observed.observe(move |_| *into.borrow_mut() += 1);
    let after = result(observed);
    assert_eq!(after, result(board(&program)));
    assert_eq!(*count.borrow(), after.3);
    assert!(after.3 > 10_000, "it woke up");
}
