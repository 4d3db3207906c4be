//! Overruns of the receive FIFO: what is left of a frame, and frames whose end is lost.

use super::*;

/// First words of receive descriptors.
const LAST: u32 = 1 << 27;
const OVERRUN: u32 = 1 << 17;
const TRUNCATED: u32 = 1 << 16;
/// Size of a receive buffer for one frame.
const ONE_FRAME: u32 = 1536;
/// Reset value of FTRL, and a length that a buffer holds.
const RESET: u32 = 0x7ff;
const FITTING: u32 = 1524;

/// Descriptors that the MAC has written.
fn written(bench: &Bench, count: u32) -> Vec<u32> {
    let words = (0..count).map(|it| bench.word(RX_RING + 8 * it));
    words.take_while(|it| it >> 31 == 0).collect()
}

/// What the FIFO took of a frame before it was full is written like a frame, with OV, and counted.
#[test]
fn an_overrun_leaves_its_first_part() {
    let slow = Parameters {
        rates: [100_000_000; 2],
        ..Parameters::default()
    };
    let mut bench = Bench::new(slow);
    bench.start(4, 0, 16);
    for number in 0..2 {
        let start = us(1) + LinkMode::GIGABIT.duration(1538 * number);
        bench.enet.deliver(frame(1514, OWN, start));
    }
    bench.run(us(1000));
    assert_eq!(bench.word(RX_RING) & 0x2_ffff, 1518);
    let second = bench.word(RX_RING + 8);
    assert_ne!(second & OVERRUN, 0);
    let stored = second & 0xffff;
    assert!((700..1200).contains(&stored), "{stored}");
    assert_eq!(
        bench.enet.counter(counters::offsets::IEEE_R_MACERR.offset),
        1
    );
}

/// Two long frames, of which the second one overruns, and a short one that follows at once.
fn three_frames(overrun_end: u32) -> Bench {
    let mut bench = Bench::new(Parameters {
        rates: [200_000_000; 2],
        overrun_end,
        ..Parameters::default()
    });
    bench.start(4, 0, 16);
    let mut start = us(1);
    for len in [1514, 1514, 60] {
        let frame = frame(len, OWN, start);
        start = frame.next_start();
        bench.enet.deliver(frame);
    }
    bench.run(us(1000));
    bench
}

#[test]
fn a_frame_joins_the_one_before_it_whose_end_an_overrun_lost() {
    let apart = three_frames(0);
    let words = written(&apart, 4);
    assert_eq!(words.len(), 3, "{words:x?}");
    let part = words[1] & 0xffff;
    let joined = three_frames(512);
    let words = written(&joined, 4);
    assert_eq!(words.len(), 2, "{words:x?}");
    assert_eq!(words[1] & 0xffff, part + 64, "both lengths");
    assert_eq!(words[1] & (LAST | OVERRUN), LAST | OVERRUN);
    assert_eq!(joined.enet.lost_ends(), 1);
    assert_eq!(apart.enet.lost_ends(), 0);
    // The short frame follows the first part of the long one in the same buffer.
    let second = (BUFFERS + BUFFER) as usize;
    let short = &frame(60, OWN, us(1)).octets;
    let long = &frame(1514, OWN, us(1)).octets[..part as usize];
    let place = &joined.memory[second..][..part as usize + 64];
    assert_eq!(place, [long, short].concat());
}

#[test]
fn the_end_is_recorded_as_soon_as_there_is_room_for_it() {
    // At the overrun, RAFL's 4 words are free.
    assert_eq!(three_frames(32).enet.lost_ends(), 0);
    // During the rest of the frame, the DMA path frees about 110 octets.
    assert_eq!(three_frames(72).enet.lost_ends(), 0);
    assert_eq!(three_frames(2048).enet.lost_ends(), 1);
}

/// Twenty frames back to back, faster than the DMA path.
fn a_burst(overrun_end: u32, longest: u32) -> Bench {
    let mut bench = Bench::new(Parameters {
        receive_fifo: 4096,
        rates: [600_000_000; 2],
        overrun_end,
        ..Parameters::default()
    });
    bench.start(28, 0, 0);
    bench.write(regs::MRBR, ONE_FRAME, Instant::ZERO);
    bench.write(regs::FTRL, longest, Instant::ZERO);
    let mut start = us(1);
    for _ in 0..20 {
        let frame = frame(1514, OWN, start);
        start = frame.next_start();
        bench.enet.deliver(frame);
    }
    bench.run(us(1000));
    bench
}

#[test]
fn a_joined_frame_fills_more_than_a_buffer_unless_it_is_truncated() {
    let parts = |bench: &Bench| {
        let words = written(bench, 28);
        words.iter().filter(|it| **it & LAST == 0).count()
    };
    assert_eq!(parts(&a_burst(0, RESET)), 0);
    let joined = a_burst(600, RESET);
    assert!(joined.enet.lost_ends() > 0);
    assert!(parts(&joined) > 0, "{:x?}", written(&joined, 28));
    let truncated = a_burst(600, FITTING);
    assert!(truncated.enet.lost_ends() > 0);
    assert_eq!(parts(&truncated), 0);
    let words = written(&truncated, 28);
    assert!(words.iter().any(|it| it & TRUNCATED != 0), "{words:x?}");
    assert!(words.iter().all(|it| it & 0xffff <= FITTING), "{words:x?}");
}

/// A frame that fills the FIFO alone is written to memory, however much room its end needs.
#[test]
fn a_frame_that_fills_the_fifo_alone_does_not_stop_the_receiver() {
    let mut bench = Bench::new(Parameters {
        receive_fifo: 1024,
        overrun_end: 4096,
        ..Parameters::default()
    });
    bench.start(4, 0, 0);
    bench.enet.deliver(frame(1514, OWN, us(1)));
    bench.enet.deliver(frame(60, OWN, us(100)));
    bench.run(us(1000));
    let words = written(&bench, 4);
    assert_eq!(words.len(), 2, "{words:x?}");
    assert_eq!(words[1] & 0xffff, 64);
}
