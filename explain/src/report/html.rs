//! The page: one file, no network. Everything is visible without its script, which only zooms charts.

use minijinja::Environment;
use minijinja::value::Serde;

use super::page::Page;
use crate::published::Published;
use linerate_results::record::Run;

/// Renders `run` as one self-contained HTML page, dark or light as the reader's system asks. `published`: the figures that
/// its board reproduces.
pub fn html(run: &Run, published: &Published) -> String {
    let mut environment = Environment::new();
    // The suffix .html enables escaping.
    environment
        .add_template("report.html", include_str!("../templates/report.html"))
        .and_then(|()| {
            environment.add_template("report.css", include_str!("../templates/report.css"))
        })
        .and_then(|()| {
            environment.add_template("flame.css", include_str!("../templates/flame.css"))
        })
        .and_then(|()| environment.add_template("zoom.js", include_str!("../templates/zoom.js")))
        .and_then(|()| {
            environment
                .get_template("report.html")?
                .render(Serde(Page::of(run, published)))
        })
        .expect("the template is part of the program and a test renders it")
}
