use crate::octets::{product, with_digit};

/// A number as written: `mantissa` * 10^`exponent`. Digits that do not fit the mantissa's 64 bits are
/// dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Number {
    negative: bool,
    mantissa: u64,
    exponent: i32,
}

impl Number {
    /// 10^`power` times the number, rounded towards zero; `None` if it is negative or exceeds 64 bits.
    pub(crate) fn scaled(self, power: u8) -> Option<u64> {
        if self.mantissa == 0 {
            return Some(0);
        }
        if self.negative {
            return None;
        }
        let shift = self.exponent.saturating_add(i32::from(power));
        let mut scaled = self.mantissa;
        // 20 digits reduce any 64-bit value to zero.
        for _ in 0..shift.unsigned_abs().min(20) {
            scaled = if shift < 0 {
                scaled / 10
            } else {
                product(scaled, 10)?
            };
        }
        Some(scaled)
    }
}

/// Position in a number of the next character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberState {
    Start,
    Minus,
    /// Behind a leading zero, which no digit may follow.
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

/// Parses a number character by character.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader {
    place: NumberState,
    number: Number,
    /// The mantissa is full: further digits are dropped.
    full: bool,
    /// The exponent as written.
    written: i32,
    written_negative: bool,
}

impl Reader {
    pub(super) const fn new() -> Self {
        Self {
            place: NumberState::Start,
            number: Number {
                negative: false,
                mantissa: 0,
                exponent: 0,
            },
            full: false,
            written: 0,
            written_negative: false,
        }
    }

    /// True if the character belongs to the number.
    pub(super) fn push(&mut self, octet: u8) -> bool {
        use NumberState::{
            Exponent, ExponentDigits, ExponentSign, Fraction, Integer, Minus, Point, Start, Zero,
        };
        self.place = match (self.place, octet) {
            (Start, b'-') => {
                self.number.negative = true;
                Minus
            }
            (Start | Minus, b'0') => Zero,
            (Start | Minus | Integer, b'0'..=b'9') => {
                self.digit(octet, 0);
                Integer
            }
            (Zero | Integer, b'.') => Point,
            (Point | Fraction, b'0'..=b'9') => {
                self.digit(octet, -1);
                Fraction
            }
            (Zero | Integer | Fraction, b'e' | b'E') => Exponent,
            (Exponent, b'+' | b'-') => {
                self.written_negative = octet == b'-';
                ExponentSign
            }
            (Exponent | ExponentSign | ExponentDigits, b'0'..=b'9') => {
                let digit = i32::from(octet - b'0');
                self.written = self.written.saturating_mul(10).saturating_add(digit);
                ExponentDigits
            }
            _ => return false,
        };
        true
    }

    /// Appends a digit; behind the point it decreases the exponent, and a dropped digit increases it.
    fn digit(&mut self, octet: u8, exponent: i32) {
        let number = &mut self.number;
        let longer = with_digit(number.mantissa, octet - b'0');
        self.full |= longer.is_none();
        match longer.filter(|_| !self.full) {
            Some(longer) => {
                number.mantissa = longer;
                number.exponent = number.exponent.saturating_add(exponent);
            }
            None if exponent == 0 => number.exponent = number.exponent.saturating_add(1),
            None => {}
        }
    }

    /// The number, if it may end here.
    pub(super) fn number(&self) -> Option<Number> {
        use NumberState::{ExponentDigits, Fraction, Integer, Zero};
        if !matches!(self.place, Zero | Integer | Fraction | ExponentDigits) {
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
