//! `cargo xtask docs`: what the documents show of the last demo.

use crate::{demo, sh};
use anyhow::{Context, Result, bail};
use std::fs;

/// The section of the report that becomes the README's picture, and its size in pixels.
const SECTION: &str = "scope";
const SIZE: &str = "1100,1480";

/// The command.
pub fn run() -> Result<()> {
    let results = sh::out("demo").join("run.json");
    if !results.is_file() {
        bail!("there is no demo to take it from; run: cargo xtask demo");
    }
    let fidelity = sh::read(sh::cmd(demo::linerate(None)?).arg("fidelity").arg(results))?;
    fs::write(sh::root().join("docs/fidelity.md"), fidelity)?;
    println!("written: docs/fidelity.md");
    if !sh::has("chromium") {
        bail!("docs/scope.png needs chromium: apt-get install chromium");
    }
    picture()?;
    println!("written: docs/scope.png");
    Ok(())
}

fn picture() -> Result<()> {
    let demo = sh::out("demo");
    let html = fs::read_to_string(demo.join("report.html"))?;
    let page = demo.join("picture.html");
    fs::write(
        &page,
        only(&html, SECTION).context("the report has no such section")?,
    )?;
    let profile = sh::out("chromium");
    let picture = sh::root().join("docs/scope.png");
    let mut chromium = sh::cmd("chromium");
    chromium
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
        ])
        .args(["--disable-sync", "--hide-scrollbars"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("--window-size={SIZE}"))
        .arg(format!("--screenshot={}", picture.display()))
        .arg(format!("file://{}", page.display()));
    sh::read(&mut chromium)?;
    fs::remove_file(page)?;
    Ok(())
}

/// The page's head and one of its sections.
fn only(html: &str, id: &str) -> Option<String> {
    let (head, _) = html.split_once("</head>")?;
    let start = html.find(&format!("<section id=\"{id}\""))?;
    let end = start + html[start..].find("</section>")?;
    Some(format!(
        "{head}</head><body><main>{}</section></main></body></html>",
        &html[start..end]
    ))
}

#[cfg(test)]
mod tests {
    #[test]
    fn keeps_the_head_and_one_section() {
        let html = "<html><head>H</head><body><section id=\"a\">A</section>\
            <section id=\"b\">B</section></body></html>";
        let page = super::only(html, "b").expect("there");
        assert!(
            page.contains('H') && page.contains('B') && !page.contains('A'),
            "{page}"
        );
        assert!(super::only(html, "c").is_none());
    }
}
