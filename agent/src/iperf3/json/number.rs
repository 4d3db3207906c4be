use crate::octets::{divide, product, with_digit};

/// A number as written: `mantissa` * 10^`exponent`. Digits that do not fit the mantissa's 64 bits are
/// dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Number {
    mantissa: u64,
    exponent: i32,
    negative: bool,
}

impl Number {
    /// 10^`power` times the number, rounded towards zero; `None` if it is negative or exceeds 64 bits.
    #[inline(never)]
    pub(crate) fn scaled(&self, power: u8) -> Option<u64> {
        let mut scaled = self.mantissa;
        let mut shift = self.exponent.saturating_add(i32::from(power));
        if self.negative && scaled != 0 {
            return None;
        }
        // Ends with 0 or an overflow after 20 steps at most.
        while scaled != 0 && shift != 0 {
            if shift < 0 {
                divide(&mut scaled, 10);
                shift += 1;
            } else {
                scaled = product(scaled, 10)?;
                shift -= 1;
            }
        }
        Some(scaled)
    }
}

/// States between the characters of a number: an index of `NEXT`.
const START: u8 = 0;
const MINUS: u8 = 1;
/// Behind a leading zero, which no digit may follow.
const ZERO: u8 = 2;
const INTEGER: u8 = 3;
const POINT: u8 = 4;
const FRACTION: u8 = 5;
const EXPONENT: u8 = 6;
const EXPONENT_SIGN: u8 = 7;
const EXPONENT_DIGITS: u8 = 8;
/// The character does not belong to the number.
const NONE: u8 = 9;

/// The state behind a minus sign, a zero, another digit, a point, an E, and a plus sign.
const NEXT: [[u8; 6]; 9] = [
    [MINUS, ZERO, INTEGER, NONE, NONE, NONE],
    [NONE, ZERO, INTEGER, NONE, NONE, NONE],
    [NONE, NONE, NONE, POINT, EXPONENT, NONE],
    [NONE, INTEGER, INTEGER, POINT, EXPONENT, NONE],
    [NONE, FRACTION, FRACTION, NONE, NONE, NONE],
    [NONE, FRACTION, FRACTION, NONE, EXPONENT, NONE],
    [
        EXPONENT_SIGN,
        EXPONENT_DIGITS,
        EXPONENT_DIGITS,
        NONE,
        NONE,
        EXPONENT_SIGN,
    ],
    [NONE, EXPONENT_DIGITS, EXPONENT_DIGITS, NONE, NONE, NONE],
    [NONE, EXPONENT_DIGITS, EXPONENT_DIGITS, NONE, NONE, NONE],
];

/// Parses a number character by character.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader {
    number: Number,
    /// The exponent as written.
    written: i32,
    written_negative: bool,
    state: u8,
    /// The mantissa is full: further digits are dropped.
    full: bool,
}

impl Reader {
    pub(super) const fn new() -> Self {
        Self {
            number: Number {
                mantissa: 0,
                exponent: 0,
                negative: false,
            },
            written: 0,
            written_negative: false,
            state: START,
            full: false,
        }
    }

    /// True if the character belongs to the number.
    pub(super) fn push(&mut self, octet: u8) -> bool {
        let column = match octet {
            b'-' => 0,
            b'0' => 1,
            b'1'..=b'9' => 2,
            b'.' => 3,
            b'e' | b'E' => 4,
            b'+' => 5,
            _ => return false,
        };
        let next = NEXT.get(usize::from(self.state));
        let next = next.map_or(NONE, |row: &[u8; 6]| row[column]);
        match next {
            NONE => return false,
            MINUS => self.number.negative = true,
            INTEGER => self.digit(octet, 0),
            FRACTION => self.digit(octet, -1),
            EXPONENT_SIGN => self.written_negative = octet == b'-',
            EXPONENT_DIGITS => {
                let digit = i32::from(octet - b'0');
                // A larger exponent makes no difference.
                if self.written < i32::MAX / 20 {
                    self.written = self.written * 10 + digit;
                }
            }
            _ => {}
        }
        self.state = next;
        true
    }

    /// Appends a digit; behind the point it decreases the exponent, and a dropped digit increases it.
    fn digit(&mut self, octet: u8, exponent: i32) {
        let number = &mut self.number;
        let longer = with_digit(number.mantissa, octet - b'0').filter(|_| !self.full);
        self.full = longer.is_none();
        number.mantissa = longer.unwrap_or(number.mantissa);
        let dropped = i32::from(self.full);
        number.exponent = number.exponent.saturating_add(exponent + dropped);
    }

    /// The number, if it may end here.
    pub(super) fn number(&self) -> Option<Number> {
        if !matches!(self.state, ZERO | INTEGER | FRACTION | EXPONENT_DIGITS) {
            return None;
        }
        let written = if self.written_negative {
            -self.written
        } else {
            self.written
        };
        Some(Number {
            exponent: self.number.exponent.saturating_add(written),
            ..self.number
        })
    }
}
