//! Figures for people: significant digits and a unit.

/// A rate in bits per second, and in bytes per second beside it, from bytes per second.
pub fn rate(bytes_per_s: f64) -> String {
    format!("{} ({})", bit_rate(bytes_per_s), byte_rate(bytes_per_s))
}

/// A rate in bits per second, decimal multiples, from bytes per second: for axes, and for quantities that users specify
/// in bits.
pub fn bit_rate(bytes_per_s: f64) -> String {
    bits(bytes_per_s * 8.0)
}

/// A rate in bytes per second, decimal multiples: beside one in bits.
pub fn byte_rate(bytes_per_s: f64) -> String {
    match bytes_per_s {
        r if r >= 999_500.0 => format!("{} MB/s", short(r / 1e6)),
        r if r >= 1_000.0 => format!("{} kB/s", short(r / 1e3)),
        r => format!("{} B/s", short(r)),
    }
}

/// A rate as a number of megabits per second, for a column with this unit, from bytes per second: three significant
/// digits where there are as many.
pub fn megabits(bytes_per_s: f64) -> String {
    let megabits = bytes_per_s * 8.0 / 1e6;
    let decimals = match megabits {
        m if m >= 99.95 => 0,
        m if m >= 9.995 => 1,
        m if m >= 0.9995 => 2,
        _ => 3,
    };
    format!("{megabits:.decimals$}")
}

/// A rate in bits per second, decimal multiples.
pub fn bits(bits_per_s: f64) -> String {
    match bits_per_s {
        r if r >= 999.5e6 => format!("{} Gbit/s", short(r / 1e9)),
        r if r >= 999.5e3 => format!("{} Mbit/s", short(r / 1e6)),
        r if r >= 999.5 => format!("{} kbit/s", short(r / 1e3)),
        r => format!("{} bit/s", short(r)),
    }
}

/// A time in nanoseconds.
pub fn time(ns: u64) -> String {
    let ns = ns as f64;
    match ns {
        t if t >= 999.5e6 => format!("{} s", short(t / 1e9)),
        t if t >= 999.5e3 => format!("{} ms", short(t / 1e6)),
        t if t >= 999.5 => format!("{} µs", short(t / 1e3)),
        t => format!("{} ns", short(t)),
    }
}

/// A size in bytes, decimal multiples if exact.
pub fn bytes(bytes: u64) -> String {
    match bytes {
        b if b >= 1_000_000 && b % 100_000 == 0 => format!("{} MB", b as f64 / 1e6),
        b if (1_000..1_000_000).contains(&b) && b % 100 == 0 => format!("{} kB", b as f64 / 1e3),
        b => format!("{} B", count(b)),
    }
}

/// A share (0 to 1) in per cent.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent.abs() {
        // Less than 100% is never shown as 100%.
        p if (99.5..100.0).contains(&p) => ">99%".into(),
        p if p == 0.0 || p >= 9.95 => format!("{percent:.0}%"),
        p if p >= 0.095 => format!("{percent:.1}%"),
        _ => "<0.1%".into(),
    }
}

/// From this confidence on, an answer is stated as the explanation.
pub const LIKELY: f64 = 0.6;

/// The confidence of a finding, in words where it is low.
pub fn confidence(confidence: f64) -> String {
    let percent = format!("{:.0}%", confidence * 100.0);
    if confidence < LIKELY {
        format!("{percent}: one of several possible causes")
    } else {
        percent
    }
}

/// A whole number with separators between thousands.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of things: `1 wait`, `2 waits`. `noun` is its singular.
pub fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(number))
}

/// `once`, `twice`, `3 times`.
pub fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => format!("{} times", count(number)),
    }
}

/// The relative error of `predicted`, signed, in per cent.
pub fn error(predicted: f64, published: f64) -> String {
    if published == 0.0 {
        return if predicted == 0.0 {
            "0%".into()
        } else {
            "n/a".into()
        };
    }
    let percent = (predicted / published - 1.0) * 100.0;
    match percent.abs() {
        p if p >= 9.95 => format!("{percent:+.0}%"),
        _ => format!("{percent:+.1}%"),
    }
}

fn short(value: f64) -> String {
    let decimals = if value == 0.0 || value.abs() >= 99.995 {
        0
    } else {
        2
    };
    let text = format!("{value:.decimals$}");
    if decimals == 0 {
        text
    } else {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_confidence_is_put_into_words() {
        assert_eq!(confidence(0.88), "88%");
        assert_eq!(confidence(LIKELY), "60%");
        assert_eq!(confidence(0.59), "59%: one of several possible causes");
    }

    #[test]
    fn figures_have_significant_digits_and_a_unit() {
        assert_eq!(byte_rate(655_432.0), "655 kB/s");
        assert_eq!(byte_rate(1_186_606.0), "1.19 MB/s");
        assert_eq!(byte_rate(999_600.0), "1 MB/s");
        assert_eq!(byte_rate(6_640.0), "6.64 kB/s");
        assert_eq!(byte_rate(0.0), "0 B/s");
        assert_eq!(bit_rate(1.25e6), "10 Mbit/s");
        assert_eq!(bit_rate(12_345.0), "98.76 kbit/s");
        assert_eq!(bit_rate(1.25e8), "1 Gbit/s");
        assert_eq!(rate(423_000.0), "3.38 Mbit/s (423 kB/s)");
        let column = [11_770_000.0, 1_140_000.0, 22_000.0, 400.0, 0.0].map(megabits);
        assert_eq!(column, ["94.2", "9.12", "0.176", "0.003", "0.000"]);
        assert_eq!(time(9_600), "9.6 µs");
        assert_eq!(time(1_050_000), "1.05 ms");
        assert_eq!(time(16_250), "16.25 µs");
        assert_eq!(time(999_700), "1 ms");
        assert_eq!(time(750), "750 ns");
        assert_eq!(time(13_564_000_000), "13.56 s");
        assert_eq!(bytes(10_000), "10 kB");
        assert_eq!(bytes(6_774_400), "6,774,400 B");
        assert_eq!(bytes(3_000_000), "3 MB");
        assert_eq!(bytes(1_234), "1,234 B");
        assert_eq!(percent(0.533), "53%");
        assert_eq!(percent(0.0123), "1.2%");
        assert_eq!(percent(0.0), "0%");
        assert_eq!(percent(0.9998), ">99%");
        assert_eq!(percent(1.0), "100%");
        assert_eq!(percent(0.0001), "<0.1%");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(123), "123");
        assert_eq!(counted(1, "wait"), "1 wait");
        assert_eq!(counted(1_234, "wait"), "1,234 waits");
        assert_eq!(error(655.0, 619.0), "+5.8%");
        assert_eq!(error(5.0, 10.0), "-50%");
        assert_eq!(error(0.0, 0.0), "0%");
        assert_eq!(error(1.0, 0.0), "n/a");
    }
}
