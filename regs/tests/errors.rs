//! Error messages for authors of maps.

use linerate_regs::{Map, ParseError};

#[test]
fn the_first_syntax_error_is_reported() {
    let head = "map x X\nsource a manual\n\n# a comment\nblock A 1000\n";
    let first_error = |lines: &str| Map(&format!("{head}{lines}")).first_error();
    assert_eq!(
        first_error("0 R 0 ro /16 @1.2 Title\n 15:0 F\n  a V What\n"),
        None
    );
    for (lines, line, message) in [
        (
            "0 R\n",
            6,
            "a register needs an offset, a name and its value after reset",
        ),
        (
            "0+4*0 R 0\n",
            6,
            "a register needs an offset, a name and its value after reset",
        ),
        (
            "fffffff0+8*3 R 0\n",
            6,
            "a register needs an offset, a name and its value after reset",
        ),
        (
            "0 R 0\n 32 F\n",
            7,
            "a field needs its bits, as 5 or 29:16, and a name",
        ),
        (
            "0 R 0\n 0:5 F\n",
            7,
            "a field needs its bits, as 5 or 29:16, and a name",
        ),
        (
            "0 R 0\n 5\n",
            7,
            "a field needs its bits, as 5 or 29:16, and a name",
        ),
        (" 5 F\n", 6, "a field needs a register above it"),
        (
            "0 R 0 /8\n 8 F\n",
            7,
            "the field does not fit into its register",
        ),
        (
            "0 R 0\n 8:4 F\n 4:0 G\n",
            8,
            "the field shares a bit with one above it",
        ),
        ("0 R 0\n  1 V\n", 7, "a value needs a field above it"),
        (
            "0 R 0\n 5 F\n  x V\n",
            8,
            "a value needs a hexadecimal number and a name",
        ),
        (
            "block B\n",
            6,
            "a block needs a name and an address, or - in its place",
        ),
    ] {
        assert_eq!(
            first_error(lines),
            Some(ParseError { line, message }),
            "{lines}"
        );
    }
    let message = "only `map` and `source` are allowed before the first block";
    assert_eq!(
        Map("0 R 0\n").first_error(),
        Some(ParseError { line: 1, message })
    );
}
