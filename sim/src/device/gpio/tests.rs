//! Pads driven and read at times that are easy to check by hand.

use super::*;

/// A square wave on every pad, and a record of what the chip drives.
#[derive(Default)]
struct Wave {
    period_ns: u64,
    driven: Vec<(u8, bool, u64)>,
}

impl Pads for Wave {
    fn level(&mut self, _: u8, at: Instant) -> bool {
        self.period_ns != 0 && at.as_ns() / self.period_ns % 2 == 1
    }
    fn next_edge(&mut self, _: u8, after: Instant) -> Instant {
        if self.period_ns == 0 {
            return Instant::NEVER;
        }
        Instant::from_ns((after.as_ns() / self.period_ns + 1) * self.period_ns)
    }
    fn drive(&mut self, pad: u8, level: bool, at: Instant) {
        self.driven.push((pad, level, at.as_ns()));
    }
    fn deadline(&self) -> Instant {
        Instant::NEVER
    }
}

fn ns(ns: u64) -> Instant {
    Instant::from_ns(ns)
}

#[test]
fn plain_outputs_drive_their_pads() {
    let (mut gpio, mut pads) = (Gpio::new(), Wave::default());
    gpio.write(ENABLE_W1TS, 1 << 5, ns(1), &mut pads);
    gpio.write(OUT_W1TS, 1 << 5 | 1 << 6, ns(2), &mut pads);
    gpio.write(OUT_W1TC, 1 << 5, ns(3), &mut pads);
    assert_eq!(pads.driven, [(5, false, 1), (5, true, 2), (5, false, 3)]);
}

#[test]
fn dedicated_outputs_go_through_the_matrix() {
    let (mut gpio, mut pads) = (Gpio::new(), Wave::default());
    gpio.write(
        OUT_SEL + 4 * 10,
        0x1d | OUT_INVERT | OEN_FROM_ENABLE,
        ns(1),
        &mut pads,
    );
    gpio.write(ENABLE, 1 << 10, ns(2), &mut pads);
    gpio.set_dedicated_out(0b10, ns(3), &mut pads);
    gpio.set_dedicated_out(0b11, ns(4), &mut pads);
    gpio.set_dedicated_out(0, ns(5), &mut pads);
    assert_eq!(pads.driven, [(10, true, 2), (10, false, 3), (10, true, 5)]);
}

#[test]
fn without_oen_sel_the_channel_enables_the_pad() {
    let (mut gpio, mut pads) = (Gpio::new(), Wave::default());
    gpio.write(OUT_SEL, 28, ns(1), &mut pads);
    gpio.set_dedicated_out(1, ns(2), &mut pads);
    assert_eq!(pads.driven, []);
    gpio.set_dedicated_enable(1, ns(3), &mut pads);
    assert_eq!(pads.driven, [(0, true, 3)]);
}

#[test]
fn dedicated_inputs_are_late_and_inverted_as_selected() {
    let (mut gpio, mut pads) = (
        Gpio::new(),
        Wave {
            period_ns: 100,
            ..Wave::default()
        },
    );
    gpio.set_delays(Span::from_ns(12), Span::from_ns(12));
    gpio.set_input_enable(6, true, ns(0), &mut pads);
    // Signal 35 is channel 7.
    gpio.write(IN_SEL + 4 * 35, IN_MATRIX | 6, ns(0), &mut pads);
    gpio.write(IN_SEL + 4 * 28, IN_MATRIX | IN_ONE, ns(0), &mut pads);
    assert_eq!(gpio.dedicated_in(ns(111), &mut pads), 1);
    assert_eq!(gpio.dedicated_in(ns(112), &mut pads), 1 | 1 << 7);
    gpio.write(IN_SEL + 4 * 35, IN_MATRIX | IN_INVERT | 6, ns(0), &mut pads);
    assert_eq!(gpio.dedicated_in(ns(150), &mut pads), 1);
}

#[test]
fn an_edge_interrupts_once_until_it_is_cleared() {
    let (mut gpio, mut pads) = (
        Gpio::new(),
        Wave {
            period_ns: 100,
            ..Wave::default()
        },
    );
    gpio.set_delays(Span::from_ns(10), Span::from_ns(20));
    gpio.set_input_enable(6, true, ns(0), &mut pads);
    // Falling edges, for the CPU.
    gpio.write(PIN + 4 * 6, 2 << 7 | 1 << 13, ns(50), &mut pads);
    assert_eq!(gpio.next_event(), ns(220));
    gpio.advance(ns(219));
    assert_eq!(gpio.interrupts(), 0);
    gpio.advance(ns(220));
    assert_eq!(gpio.interrupts(), 1);
    assert_eq!(gpio.read(PCPU_INT, ns(230), &mut pads), Some(1 << 6));
    assert_eq!(gpio.next_event(), Instant::NEVER);
    gpio.write(STATUS_W1TC, 1 << 6, ns(250), &mut pads);
    assert_eq!(gpio.interrupts(), 0);
    assert_eq!(gpio.next_event(), ns(420));
}

#[test]
fn an_edge_on_its_way_survives_a_refresh() {
    let (mut gpio, mut pads) = (
        Gpio::new(),
        Wave {
            period_ns: 100,
            ..Wave::default()
        },
    );
    gpio.set_delays(Span::ZERO, Span::from_ns(20));
    gpio.set_input_enable(0, true, ns(0), &mut pads);
    gpio.write(PIN, 1 << 7 | 1 << 13, ns(0), &mut pads);
    assert_eq!(gpio.next_event(), ns(120));
    gpio.refresh(ns(121), &mut pads);
    assert_eq!(gpio.next_event(), ns(120));
}

#[test]
fn a_level_interrupts_again_as_long_as_it_lasts() {
    let (mut gpio, mut pads) = (
        Gpio::new(),
        Wave {
            period_ns: 1000,
            ..Wave::default()
        },
    );
    gpio.set_input_enable(3, true, ns(0), &mut pads);
    gpio.write(PIN + 12, 5 << 7 | 1 << 13, ns(10), &mut pads);
    gpio.advance(ns(1000));
    assert_eq!(gpio.interrupts(), 1);
    gpio.write(STATUS_W1TC, 1 << 3, ns(1500), &mut pads);
    assert_eq!(gpio.next_event(), ns(1500));
    gpio.advance(ns(1500));
    gpio.write(STATUS_W1TC, 1 << 3, ns(2500), &mut pads);
    assert_eq!(gpio.next_event(), ns(3000));
}

#[test]
fn the_chips_own_output_can_interrupt() {
    let (mut gpio, mut pads) = (Gpio::new(), Wave::default());
    gpio.set_input_enable(4, true, ns(0), &mut pads);
    gpio.write(ENABLE, 1 << 4, ns(0), &mut pads);
    gpio.write(PIN + 16, 3 << 7 | 1 << 13, ns(0), &mut pads);
    gpio.write(OUT_W1TS, 1 << 4, ns(9), &mut pads);
    gpio.advance(ns(9));
    assert_eq!(gpio.interrupts(), 1);
    assert_eq!(gpio.read(IN, ns(9), &mut pads), Some(1 << 4));
}
