//! `linerate merge`: joined parts, and what is wrong with others.

use crate::parts::{merge, run, write};

#[test]
fn parts_are_joined_into_one_table() {
    let dir = tempfile::tempdir().expect("a folder");
    let one = write(dir.path(), "one", &run(&[3, 1]));
    let two = write(dir.path(), "two", &run(&[0, 2]));
    let (code, text) = merge(dir.path(), &[&one, &two]);
    assert_eq!(code, Some(0), "{text}");
    let joined = |name: &str| std::fs::read_to_string(dir.path().join("joined").join(name));
    let json = joined("run.json").expect("written");
    let found = linerate_results::record::Run::from_json(&json).expect("valid");
    let cell = |result: &linerate_results::record::Measurement| {
        result.setting().cell.as_ref().map(|cell| cell.number)
    };
    let cells: Vec<_> = found.results.iter().filter_map(cell).collect();
    assert_eq!(cells, [0, 0, 1, 1, 2, 2, 3, 3]);
    assert!(joined("report.html").is_ok());
}

#[test]
fn a_missing_part_is_named_with_exit_code_1() {
    let dir = tempfile::tempdir().expect("a folder");
    let one = write(dir.path(), "one", &run(&[0, 1]));
    let two = write(dir.path(), "two", &run(&[3]));
    let (code, text) = merge(dir.path(), &[&one, &two]);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("cell 2: the folders have no result of it"),
        "{text}"
    );
    let gone = dir.path().join("gone");
    let (code, text) = merge(dir.path(), &[&one, &gone]);
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains(&format!("cannot read {}", gone.display())),
        "{text}"
    );
}

#[test]
fn a_damaged_part_is_named_with_exit_code_2() {
    let dir = tempfile::tempdir().expect("a folder");
    let one = write(dir.path(), "one", &run(&[0, 1]));
    let two = write(dir.path(), "two", &run(&[2, 3]));
    let file = two.join("run.json");
    let text = std::fs::read(&file).expect("written");
    std::fs::write(&file, &text[..text.len() / 2]).expect("written");
    let (code, text) = merge(dir.path(), &[&one, &two]);
    assert_eq!(code, Some(2), "{text}");
    let expected = format!("{} contains no linerate results", file.display());
    assert!(text.contains(&expected), "{text}");
    assert!(!dir.path().join("joined").exists());
}

#[test]
fn a_cell_with_two_results_is_refused_with_both_folders() {
    let dir = tempfile::tempdir().expect("a folder");
    let one = write(dir.path(), "one", &run(&[0, 1]));
    let mut other = run(&[1, 2, 3]);
    other.results.swap(0, 1);
    let two = write(dir.path(), "two", &other);
    let (code, text) = merge(dir.path(), &[&one, &two]);
    assert_eq!(code, Some(2), "{text}");
    let expected = format!(
        "{} and {} have different results of cell 1",
        one.display(),
        two.display()
    );
    assert!(text.contains(&expected), "{text}");
}
