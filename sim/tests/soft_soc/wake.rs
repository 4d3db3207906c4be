//! A hart that takes its time to leave a `wfi`, while its devices go on.

use linerate_regs::IMX6;
use linerate_sim::chip::soft_soc::{SoftSoc, Stop, file};
use linerate_sim::device::enet::Enet;
use linerate_sim::device::{Device, Intc, Partner};
use linerate_sim::time::{Instant, Span};

use super::programs::{WFI, elf};

mod enet {
    linerate_regs::constants!(super::IMX6, "ENET":
        EIMR { MII } ECR { ETHEREN DBSWP } MMFR { OP { READ } } MSCR { MII_SPEED } RCR { RMII_10T } TCR { FDEN }
        TFWR { STRFWD } TDSR TDAR { TDAR }
    );
}

/// Its hart takes 60 us from an interrupt to the next instruction.
const BOARD: &str = include_str!("../../../boards/rv32-enet/system.toml");
const DESCRIPTOR: u32 = 0x1000;
const FRAME: u32 = 0x2000;
/// READY, LAST, `APPEND_FCS` and the length of the shortest frame.
const STATE: u32 = 1 << 31 | 1 << 27 | 1 << 26 | 0x3c;

/// The MDIO transfer wakes the hart after 10 us; the frame ends after 58 us, at 10 Mbit/s.
#[test]
fn a_frame_is_handed_out_at_its_end_while_the_hart_leaves_a_wfi() {
    let board = file::parse(BOARD, "system.toml").unwrap();
    let mut soc = SoftSoc::new(&board.config, &elf(0x100, &[WFI])).unwrap();
    soc.connect(Some(Partner {
        mbit_per_s: 10,
        pause: false,
    }))
    .unwrap();
    assert_eq!(soc.run(Instant::from_ns(10_000)), Stop::Asleep);
    soc.load(DESCRIPTOR, &STATE.to_le_bytes()).unwrap();
    soc.load(DESCRIPTOR + 4, &FRAME.to_le_bytes()).unwrap();
    soc.with_device("intc", |it: &mut Intc, now| it.write(4, u32::MAX, now))
        .unwrap();
    let start = soc.now();
    soc.with_device("ethernet", |it: &mut Enet, now| {
        for (register, value) in [
            (enet::EIMR, enet::EIMR::MII.mask()),
            (enet::RCR, enet::RCR::RMII_10T.mask()),
            (enet::TCR, enet::TCR::FDEN.mask()),
            (enet::TFWR, enet::TFWR::STRFWD.mask()),
            (enet::TDSR, DESCRIPTOR),
            (
                enet::ECR,
                enet::ECR::ETHEREN.mask() | enet::ECR::DBSWP.mask(),
            ),
            (enet::TDAR, enet::TDAR::TDAR.mask()),
            (enet::MSCR, enet::MSCR::MII_SPEED.of(4)),
            (enet::MMFR, enet::MMFR::OP.of(enet::MMFR::OP::READ)),
        ] {
            it.write(register.offset, value, now);
        }
    })
    .unwrap();
    assert_eq!(soc.run(start + Span::from_ms(1)), Stop::Sent);
    let frame = soc.take_frame().unwrap();
    let late = soc.now().since(frame.end);
    assert!(frame.end.since(start) < Span::from_us(60));
    assert!(late < Span::from_ns(100), "{late:?} late");
}

/// The same transfer, on a board on which the interrupt of the MAC (line 2) does not end a `wfi`.
#[test]
fn an_ignored_interrupt_does_not_end_a_wfi_but_another_one_does() {
    let mut board = file::parse(BOARD, "system.toml").unwrap().config;
    board.wfi_ignores = 1 << 2;
    // lui t0, 1; addi t0, t0, -2048; csrw mie, t0; wfi; j .
    let program = [0x0000_12b7, 0x8002_8293, 0x3042_9073, WFI, 0x0000_006f];
    let mut soc = SoftSoc::new(&board, &elf(0x100, &program)).unwrap();
    assert_eq!(soc.run(Instant::from_ns(10_000)), Stop::Asleep);
    soc.with_device("intc", |it: &mut Intc, now| it.write(4, u32::MAX, now))
        .unwrap();
    soc.with_device("ethernet", |it: &mut Enet, now| {
        for (register, value) in [
            (enet::EIMR, enet::EIMR::MII.mask()),
            (
                enet::ECR,
                enet::ECR::ETHEREN.mask() | enet::ECR::DBSWP.mask(),
            ),
            (enet::MSCR, enet::MSCR::MII_SPEED.of(4)),
            (enet::MMFR, enet::MMFR::OP.of(enet::MMFR::OP::READ)),
        ] {
            it.write(register.offset, value, now);
        }
    })
    .unwrap();
    soc.run(Instant::from_ns(1_000_000));
    assert!(soc.is_waiting(), "the MAC's interrupt woke the hart");
    // Line 1 is the timer's.
    soc.with_device("intc", |it: &mut Intc, _| it.set_line(1, true))
        .unwrap();
    soc.run(Instant::from_ns(2_000_000));
    assert!(!soc.is_waiting(), "the timer's interrupt did not");
}
