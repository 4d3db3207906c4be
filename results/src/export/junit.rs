//! `JUnit` XML: one test case per result, and one per violated limit.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::record::Run;

/// The report.
pub fn junit(run: &Run) -> String {
    let mut measured = TestSuite::new("measured");
    for (at, result) in run.results.iter().enumerate() {
        let name = &result.setting().run;
        let name = if name.is_empty() {
            result.variant()
        } else {
            name
        };
        let description = result.describe();
        let failed = description.failures();
        let status = status(&failed.join("; "));
        let mut case = TestCase::new(
            format!("{} {name} {}", at + 1, description.detail()),
            status,
        );
        case.set_classname(format!("{}.{}", run.scenario, result.kind()));
        let notes = result.setting().notes.iter();
        let lines = std::iter::once(description.one_line()).chain(notes.cloned());
        case.set_system_out(lines.collect::<Vec<_>>().join("\n"));
        measured.add_test_case(case);
    }
    for it in &run.not_measured {
        let mut status = TestCaseStatus::skipped();
        status.set_message(it.why.as_str());
        let mut case = TestCase::new(it.what.as_str(), status);
        case.set_classname(format!("{}.not_measured", run.scenario));
        measured.add_test_case(case);
    }
    let mut limits = TestSuite::new("limits");
    if run.failures.is_empty() {
        limits.add_test_case(TestCase::new("every limit", TestCaseStatus::success()));
    }
    for failure in &run.failures {
        limits.add_test_case(TestCase::new(failure.as_str(), status(failure)));
    }
    let mut report = Report::new(format!("linerate {}", run.scenario));
    report.add_test_suite(measured).add_test_suite(limits);
    report.to_string().unwrap_or_default()
}

fn status(failure: &str) -> TestCaseStatus {
    if failure.is_empty() {
        return TestCaseStatus::success();
    }
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(failure);
    status
}
