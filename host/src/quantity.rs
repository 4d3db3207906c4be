//! Parsing and formatting of quantities with units: `1%`, `5ms`, `10M`, `64kB`.

/// Quantity in whole multiples of its smallest unit.
pub struct Quantity {
    /// Suffixes with their factors, largest first; of equal ones the first is used for output.
    units: &'static [(&'static str, u64)],
}

/// A time in nanoseconds.
pub const TIME: Quantity = Quantity {
    units: &[
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
        ("ns", 1),
    ],
};

/// A number with decimal multiples.
const NUMBER: Quantity = Quantity {
    units: &[
        ("G", 1_000_000_000),
        ("g", 1_000_000_000),
        ("M", 1_000_000),
        ("m", 1_000_000),
        ("k", 1_000),
        ("K", 1_000),
        ("", 1),
    ],
};

/// Parses a number without spaces: `1500000`, `1.5M`, `50k`.
pub fn parse_number(text: &str) -> Option<u64> {
    let is_word = !text.contains(char::is_whitespace);
    is_word.then(|| NUMBER.parse(text)).flatten()
}

/// A rate in bits per second.
pub const RATE: Quantity = Quantity {
    units: &[
        ("G", 1_000_000_000),
        ("M", 1_000_000),
        ("k", 1_000),
        ("", 1),
        ("Gbit", 1_000_000_000),
        ("Mbit", 1_000_000),
        ("kbit", 1_000),
        ("bit", 1),
    ],
};

/// Octets.
pub const OCTETS: Quantity = Quantity {
    units: &[("MB", 1_000_000), ("kB", 1_000), ("B", 1)],
};

impl Quantity {
    /// Parses a decimal number with a unit, rounded to whole units.
    pub fn parse(&self, text: &str) -> Option<u64> {
        let end = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
        let (number, unit) = (text[..end].trim(), text[end..].trim());
        let (_, factor) = self.units.iter().find(|(name, _)| *name == unit)?;
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(*factor);
        }
        let value = decimal(number)? * *factor as f64;
        // Beyond 2^53 a float cannot represent every integer.
        (value <= 9e15).then(|| value.round() as u64)
    }

    /// Formats `value` so that [`parse`](Self::parse) returns it again.
    pub fn format(&self, value: u64) -> String {
        let fits =
            |(_, factor): &&(&str, u64)| *factor == 1 || value > 0 && value.is_multiple_of(*factor);
        let unit = self.units.iter().find(fits);
        unit.map_or_else(String::new, |(name, factor)| {
            format!("{}{name}", value / factor)
        })
    }
}

/// Parses a fraction: `1%`, `0.01` or `1e-2`.
pub fn parse_fraction(text: &str) -> Option<f64> {
    match text.trim().strip_suffix('%') {
        Some(percent) => Some(decimal(percent.trim())? / 100.0),
        None => decimal(text.trim()),
    }
}

/// Formats `value` so that [`parse_fraction`] returns it again.
pub fn format_fraction(value: f64) -> String {
    let percent = format!("{}%", value * 100.0);
    // Only if it parses to exactly the same value: settings are compared.
    if value >= 1e-4 && percent.len() <= 8 && parse_fraction(&percent) == Some(value) {
        percent
    } else {
        format!("{value:e}")
    }
}

/// Parses a finite, non-negative number that starts with a digit or a point.
fn decimal(text: &str) -> Option<f64> {
    let digits = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let value: f64 = text.parse().ok().filter(|_| digits)?;
    (value.is_finite() && value >= 0.0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_rates_and_octets_are_parsed_and_formatted() {
        for (quantity, text, value, again) in [
            (TIME, "5ms", 5_000_000, "5ms"),
            (TIME, "1.5 us", 1_500, "1500ns"),
            (TIME, "0s", 0, "0ns"),
            (NUMBER, "5M", 5_000_000, "5M"),
            (NUMBER, "1.5k", 1_500, "1500"),
            (RATE, "10M", 10_000_000, "10M"),
            (RATE, "9600", 9_600, "9600"),
            (RATE, "2.5Gbit", 2_500_000_000, "2500M"),
            (OCTETS, "64kB", 64_000, "64kB"),
        ] {
            assert_eq!(quantity.parse(text), Some(value), "{text}");
            assert_eq!(quantity.format(value), again, "{text}");
        }
    }

    #[test]
    fn invalid_quantities_give_none() {
        for text in [
            "", "ms", "5", "-5ms", "5 m s", "1e300s", "infs", "NaNms", "5mss",
        ] {
            assert_eq!(TIME.parse(text), None, "{text}");
        }
        for text in ["", "%", "-1%", "inf", "nan", "1%%", "a"] {
            assert_eq!(parse_fraction(text), None, "{text}");
        }
    }

    #[test]
    fn fractions_are_percentages_or_decimals() {
        assert_eq!(parse_fraction("1%"), Some(0.01));
        assert_eq!(parse_fraction("0.01"), Some(0.01));
        assert_eq!(parse_fraction("1e-6"), Some(1e-6));
        assert_eq!(format_fraction(0.01), "1%");
        assert_eq!(format_fraction(1e-6), "1e-6");
    }
}
