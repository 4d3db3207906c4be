//! Figures in a sentence: numbers with their units, and the precision with which they are printed.

/// Unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number, or a share.
    Plain,
    /// Per cent of a share.
    Percent,
    /// Nanoseconds.
    Time,
    /// Octets.
    Bytes,
    /// Octets per second.
    Rate,
}

/// Relation of the figure to the value that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Rounded,
    Below,
    Above,
}

/// A figure in a sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// As printed.
    pub text: String,
    /// In the base unit.
    pub value: f64,
    /// Half of the last printed place, in the base unit.
    half_place: f64,
    pub unit: Unit,
    relation: Relation,
    /// Its word in the sentence.
    pub word: usize,
    /// The first word after it and its unit.
    pub next: usize,
}

/// Words before numbers that name something: a port, a clause of a standard, an option of a program.
const NAMES: [&str; 13] = [
    "port", "RFC", "section", "clause", "clauses", "IEEE", "type", "code", "-s", "-B", "default",
    "TCP", "iperf",
];
const OPENING: [char; 4] = ['(', '[', '<', '>'];
const CLOSING: [char; 6] = [')', ']', ',', '.', ':', ';'];

impl Quantity {
    /// True if `value` is printed as this figure.
    pub fn shows(&self, value: f64) -> bool {
        // The halves of binary fractions may be rounded either way.
        let slack = self.half_place * 1.001 + self.value.abs() * 1e-9;
        match self.relation {
            Relation::Rounded => (value - self.value).abs() <= slack,
            Relation::Below => value <= self.value + slack,
            Relation::Above => value >= self.value - slack,
        }
    }
}

/// The words of `text`.
pub fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// The figures of a sentence. Addresses, names with digits and numbers of standards are none.
pub fn quantities(words: &[&str]) -> Vec<Quantity> {
    (0..words.len())
        .filter(|at| *at == 0 || !NAMES.contains(&words[at - 1].trim_start_matches(OPENING)))
        .filter_map(|at| quantity(words, at))
        .collect()
}

fn quantity(words: &[&str], at: usize) -> Option<Quantity> {
    let opened = words[at].trim_start_matches(OPENING);
    let bare = opened.trim_end_matches(CLOSING);
    let (digits, is_percent) = bare
        .strip_suffix('%')
        .map_or((bare, false), |digits| (digits, true));
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits
            .chars()
            .all(|c| c.is_ascii_digit() || c == ',' || c == '.');
    if !is_number {
        return None;
    }
    let number: f64 = digits.replace(',', "").parse().ok()?;
    let decimals = digits
        .split_once('.')
        .map_or(0, |(_, fraction)| fraction.len());
    let follows = (opened == bare).then(|| words.get(at + 1)).flatten();
    let unit = follows.and_then(|word| unit(word.trim_end_matches(CLOSING)));
    let (unit, scale) = match unit {
        _ if is_percent => (Unit::Percent, 0.01),
        Some((unit, scale)) => (unit, scale),
        None => (Unit::Plain, 1.0),
    };
    let has_word = !matches!(unit, Unit::Percent | Unit::Plain);
    let relation = match words[at].trim_end_matches(opened).chars().last() {
        Some('<') => Relation::Below,
        Some('>') => Relation::Above,
        _ => Relation::Rounded,
    };
    let next = at + 1 + usize::from(has_word);
    Some(Quantity {
        text: words[at..next.min(words.len())].join(" "),
        value: number * scale,
        half_place: 0.5 * scale / 10_f64.powi(i32::try_from(decimals).ok()?),
        unit,
        relation,
        word: at,
        next,
    })
}

fn unit(word: &str) -> Option<(Unit, f64)> {
    Some(match word {
        "ns" => (Unit::Time, 1.0),
        "µs" => (Unit::Time, 1e3),
        "ms" => (Unit::Time, 1e6),
        "s" => (Unit::Time, 1e9),
        "B" => (Unit::Bytes, 1.0),
        "kB" => (Unit::Bytes, 1e3),
        "MB" => (Unit::Bytes, 1e6),
        "B/s" => (Unit::Rate, 1.0),
        "kB/s" => (Unit::Rate, 1e3),
        "MB/s" => (Unit::Rate, 1e6),
        "bit/s" => (Unit::Rate, 0.125),
        "kbit/s" => (Unit::Rate, 125.0),
        "Mbit/s" => (Unit::Rate, 125e3),
        "Gbit/s" => (Unit::Rate, 125e6),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, f64, Unit)> {
        quantities(&words(text))
            .into_iter()
            .map(|it| (it.text, it.value, it.unit))
            .collect()
    }

    #[test]
    fn numbers_have_units_and_names_are_none() {
        assert_eq!(
            found("10.9.0.2 port 80 (IPv4, RFC 7323) sent 1,234 segments to host6.example (12%)."),
            [
                ("1,234".to_owned(), 1234.0, Unit::Plain),
                ("(12%).".to_owned(), 0.12, Unit::Percent),
            ]
        );
        assert_eq!(
            found("2.5 ms at 8 Mbit/s, in 3 s"),
            [
                ("2.5 ms".to_owned(), 2.5e6, Unit::Time),
                ("8 Mbit/s,".to_owned(), 1e6, Unit::Rate),
                ("3 s".to_owned(), 3e9, Unit::Time),
            ]
        );
    }

    #[test]
    fn a_value_is_shown_within_the_printed_place() {
        let shows = |text: &str, value: f64| quantities(&words(text))[0].shows(value);
        assert!(shows("12.5 ms", 12_540_000.0) && !shows("12.5 ms", 12_560_000.0));
        assert!(shows("<0.1%", 0.0004) && !shows("<0.1%", 0.002));
        assert!(shows(">99%", 0.9999) && !shows(">99%", 0.97));
    }
}
