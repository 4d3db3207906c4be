//! Each invariant of ARCHITECTURE.md names the tests that hold it.

use std::fs;

use crate::code::{shipped, tokens, without_comments};
use crate::tree::root;

#[test]
fn every_invariant_names_the_tests_that_hold_it() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("readable");
    let invariants = invariants(&text);
    assert!(
        invariants.len() > 8,
        "invariants were not found: {invariants:?}"
    );
    for invariant in invariants {
        let named = tests_of(&invariant);
        assert!(!named.is_empty(), "no test holds: {invariant}");
        check_tests(&named, &invariant);
    }
}

/// The rows of docs/faults.md end with the tests that found the fault.
#[test]
fn every_fault_names_tests_that_exist() {
    let text = fs::read_to_string(root().join("docs/faults.md")).expect("readable");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
    assert!(rows.len() > 30, "faults were not found: {rows:?}");
    let is_head = |row: &&str| row.starts_with("| subject |");
    for row in rows.into_iter().filter(|row| !is_head(row)) {
        let cells: Vec<&str> = row.trim_end_matches(" |").split(" | ").collect();
        let named = listed_tests(cells.last().unwrap_or(&""));
        assert!(!named.is_empty(), "no test finds: {row}");
        check_tests(&named, row);
    }
}

/// Checks that the files have the tests that `text` names.
fn check_tests(named: &[(String, String)], text: &str) {
    for (file, test) in named {
        let path = root().join(file);
        let code = fs::read_to_string(&path).unwrap_or_else(|_| panic!("{file} does not exist"));
        assert!(
            has_test(&code, test),
            "{file} has no test {test}, of: {text}"
        );
    }
}

/// The list in the section `Invariants`, one entry per line.
fn invariants(document: &str) -> Vec<String> {
    let section = document
        .split("\n## Invariants\n")
        .nth(1)
        .unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let entries = section.split("\n- ").skip(1);
    entries
        .map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

/// Files and tests that an entry names after "Test:" or "Tests:".
fn tests_of(invariant: &str) -> Vec<(String, String)> {
    let named = invariant
        .split_once("Test: ")
        .or_else(|| invariant.split_once("Tests: "));
    named.map_or_else(Vec::new, |(_, named)| listed_tests(named))
}

/// Files and tests, listed as `` `file`, `file` (`test`, `test`) ``.
fn listed_tests(text: &str) -> Vec<(String, String)> {
    let spans = text.split('`').skip(1).step_by(2);
    let mut files = Vec::new();
    let mut is_listed = false;
    let mut found = Vec::new();
    for span in spans {
        if std::path::Path::new(span)
            .extension()
            .is_some_and(|it| it == "rs")
        {
            if std::mem::take(&mut is_listed) {
                files.clear();
            }
            files.push(span.to_owned());
        } else {
            is_listed = true;
            found.extend(files.iter().map(|file| (file.clone(), span.to_owned())));
        }
    }
    found
}

/// True if `text` defines the test function `name`.
fn has_test(text: &str, name: &str) -> bool {
    let code = without_comments(text);
    let tokens = tokens(&code);
    let is_marked = |at: usize| tokens[at.saturating_sub(8)..at].contains(&"test");
    (1..tokens.len()).any(|at| tokens[at] == name && tokens[at - 1] == "fn" && is_marked(at))
}

#[test]
fn names_of_tests_are_found() {
    let invariant = "**A.** It is. Tests: `a/b.rs` (`c_d`, `e`), `f.rs` (`g`).";
    let pair = |file: &str, test: &str| (file.to_owned(), test.to_owned());
    assert_eq!(
        tests_of(invariant),
        [
            pair("a/b.rs", "c_d"),
            pair("a/b.rs", "e"),
            pair("f.rs", "g")
        ]
    );
    let invariant = "**A.** It is. Test: `a.rs`, `b.rs` (`c`).";
    assert_eq!(tests_of(invariant), [pair("a.rs", "c"), pair("b.rs", "c")]);
    assert_eq!(tests_of("**A.** `a/b.rs` is a file."), []);
    assert!(has_test("#[test]\nfn a() {}\nfn b() {}", "a"));
    assert!(!has_test("fn a() {}", "a"));
    assert!(!has_test("// #[test] fn a() {}", "a"));
    assert!(
        shipped("#[cfg(test)] mod a { #[test] fn b() {} }")
            .trim()
            .is_empty()
    );
}
