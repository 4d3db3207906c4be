//! Numbers in sentences.

use linerate_results::format;

/// "once", "twice", "3 times".
pub(super) fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => format!("{} times", format::count(number)),
    }
}

/// "1 connection", "2 connections".
pub(super) fn counted(number: u64, one: &str, many: &str) -> String {
    let noun = if number == 1 { one } else { many };
    format!("{} {noun}", format::count(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_agree_with_their_numbers() {
        assert_eq!([1, 2, 3].map(times), ["once", "twice", "3 times"]);
        assert_eq!(
            [1, 2].map(|number| counted(number, "SYN", "SYNs")),
            ["1 SYN", "2 SYNs"]
        );
    }
}
