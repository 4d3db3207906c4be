//! The page: one file, no network. Everything is visible without its scripts, which zoom charts, open the section of a
//! link, and mark tables that are wider than their frame.

use minijinja::Environment;
use minijinja::value::Serde;

use super::page::Page;
use crate::published::Published;
use crate::svg;
use linerate_results::record::Run;

/// The parts of all pages. The suffix .html enables escaping.
const PARTS: [(&str, &str); 5] = [
    ("report.css", include_str!("../templates/report.css")),
    ("flame.css", include_str!("../templates/flame.css")),
    ("trace.css", include_str!("../templates/trace.css")),
    ("page.js", include_str!("../templates/page.js")),
    ("zoom.js", include_str!("../templates/zoom.js")),
];

/// Renders `run` as one self-contained HTML page, dark or light as the reader's system asks. `published`: the figures that
/// its board reproduces.
pub fn html(run: &Run, published: &Published) -> String {
    let template = include_str!("../templates/report.html");
    render(("report.html", template), Page::of(run, published))
}

/// Renders `page` with a `template`: its name and its text.
pub(super) fn render(
    template: (&'static str, &'static str),
    page: impl serde::Serialize,
) -> String {
    let mut environment = Environment::new();
    environment.add_filter("series", svg::colour);
    let files = PARTS.into_iter().chain([template]);
    files
        .into_iter()
        .try_for_each(|(name, text)| environment.add_template(name, text))
        .and_then(|()| environment.get_template(template.0)?.render(Serde(page)))
        .expect("the template is part of the program and a test renders it")
}
