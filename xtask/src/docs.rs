//! `cargo xtask docs`: figures and pictures in the documents, from the last demo, the last loss surface and a capture.

use crate::{demo, sh};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// A section of a report that becomes a picture.
struct Picture {
    section: &'static str,
    file: &'static str,
    /// Its size in pixels.
    size: &'static str,
}

const SCOPE: Picture = Picture {
    section: "scope",
    file: "docs/scope.png",
    size: "1100,2165",
};
const SURFACE: Picture = Picture {
    section: "line",
    file: "docs/loss-surface.png",
    size: "1100,880",
};

/// The picture of a capture, and the number of the first packet of the connection that it shows.
const EXPLAIN: (&str, u64) = ("docs/explain.svg", 566);

/// Runs the command.
pub fn run() -> Result<()> {
    let demo = sh::out("demo");
    let surface = sh::out("scenarios").join("loss-surface");
    let (has_demo, has_surface) = (
        demo.join("run.json").is_file(),
        surface.join("report.html").is_file(),
    );
    let capture = sh::niccle();
    if !has_demo && !has_surface && capture.is_none() {
        bail!("there is no demo in target/demo; run: cargo xtask demo");
    }
    match &capture {
        Some(capture) => explained(capture)?,
        None => println!(
            "{} is unchanged: a new one requires LINERATE_DATA, a folder with the capture of the article's NIC",
            EXPLAIN.0
        ),
    }
    if !has_demo && !has_surface {
        return Ok(());
    }
    if has_demo {
        of_demo(&demo.join("run.json"))?;
    }
    if !sh::has("chromium") {
        bail!("pictures need chromium: apt-get install chromium");
    }
    if has_demo {
        picture(&demo, &SCOPE)?;
    }
    if has_surface {
        picture(&surface, &SURFACE)?;
    } else {
        println!(
            "{} is unchanged; for a new one run: linerate run scenarios/loss-surface.toml --out \
             target/scenarios/loss-surface",
            SURFACE.file
        );
    }
    Ok(())
}

/// Draws a connection of `capture`.
fn explained(capture: &Path) -> Result<()> {
    let (file, first_packet) = EXPLAIN;
    let folder = sh::out("explain");
    let mut explain = sh::cmd(demo::built()?);
    explain.arg("explain").arg(capture).arg("--svg");
    let printed = sh::read(explain.arg(&folder))?;
    // The file name of each picture is printed on a separate line and begins with its rank.
    let name = format!("-packet-{first_packet}.svg");
    let drawn = printed.lines().find(|line| line.ends_with(&name));
    let drawn = drawn.context("the connection is not among those drawn")?;
    fs::copy(drawn, sh::root().join(file))?;
    println!("written: {file}");
    Ok(())
}

/// Writes the figures of the demo with these `results` to the documents.
fn of_demo(results: &Path) -> Result<()> {
    let fidelity = sh::read(sh::cmd(demo::built()?).arg("fidelity").arg(results))?;
    fs::write(sh::root().join("docs/fidelity.md"), fidelity)?;
    println!("written: docs/fidelity.md");
    let run = serde_json::from_str(&fs::read_to_string(results)?)?;
    let readme = sh::root().join("README.md");
    let text = fs::read_to_string(&readme)?;
    fs::write(
        &readme,
        replaced(&text, &figures(&run)?).context("README.md has no figures")?,
    )?;
    println!("written: the figures in README.md");
    Ok(())
}

/// Draws `picture` from the report in `folder`.
fn picture(folder: &Path, picture: &Picture) -> Result<()> {
    let html = fs::read_to_string(folder.join("report.html"))?;
    let page = folder.join("picture.html");
    fs::write(
        &page,
        only(&html, picture.section).context("the report has no such section")?,
    )?;
    let profile = sh::out("chromium");
    let file = sh::root().join(picture.file);
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
        .arg(format!("--window-size={}", picture.size))
        .arg(format!("--screenshot={}", file.display()))
        .arg(format!("file://{}", page.display()));
    sh::read(&mut chromium)?;
    fs::remove_file(page)?;
    println!("written: {}", picture.file);
    Ok(())
}

/// Marks around the README's figures.
const MARKS: [&str; 2] = [
    "<!-- figures: cargo xtask docs -->\n",
    "<!-- end of figures -->",
];

/// Replaces the figures between the marks.
fn replaced(text: &str, figures: &str) -> Option<String> {
    let start = text.find(MARKS[0])? + MARKS[0].len();
    let end = start + text[start..].find(MARKS[1])?;
    Some(format!("{}{figures}{}", &text[..start], &text[end..]))
}

/// Table with a row for each run in `run.json`, all with downloads of one size.
fn figures(run: &Value) -> Result<String> {
    let results = run["results"]
        .as_array()
        .context("run.json has no results")?;
    let of = |kind: &'static str| results.iter().filter(move |r| r["measurement"] == kind);
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let bytes = common_size(&of("http_get").collect::<Vec<_>>()).context("no downloads")?;
    let mut text = format!(
        "By `cargo xtask demo`: downloads of {:.0} MB, the median of five requests.\n\n\
         | stage | Mbit/s | kB/s | of line rate | frames lost | interrupt after a frame | ping |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
        bytes as f64 / 1e6,
    );
    for get in of("http_get").filter(|get| get["params"]["bytes"] == bytes) {
        let name = &get["params"]["run"];
        let metrics = &get["metrics"];
        let goodput = number(&metrics["goodput_bytes_per_s_p50"]);
        let ping = of("ping").find(|ping| ping["params"]["run"] == *name);
        let ping = ping.map_or_else(
            || "–".to_owned(),
            |ping| format!("{:.0} us", number(&ping["metrics"]["rtt_ns"]["p50"]) / 1e3),
        );
        writeln!(
            text,
            "| `{}` | {} | {} | {:.1}% | {:.1}% | {:.1} us | {ping} |",
            name.as_str().unwrap_or_default(),
            digits(goodput * 8.0 / 1e6),
            digits(goodput / 1e3),
            100.0 * goodput / number(&get["limits"]["line_goodput_bytes_per_s"]),
            100.0 * number(&metrics["frame_loss_rate"]),
            number(&metrics["isr_post_processing_ns_p50"]) / 1e3,
        )?;
    }
    Ok(text)
}

/// The size that most runs have, the largest of these.
fn common_size(gets: &[&Value]) -> Option<u64> {
    let sizes = gets
        .iter()
        .filter_map(|get| get["params"]["bytes"].as_u64());
    let runs = |bytes: u64| {
        gets.iter()
            .filter(|get| get["params"]["bytes"] == bytes)
            .count()
    };
    sizes.max_by_key(|bytes| (runs(*bytes), *bytes))
}

/// A number with three significant digits where there are as many.
fn digits(number: f64) -> String {
    let decimals = match number {
        n if n >= 99.95 => 0,
        n if n >= 9.995 => 1,
        n if n >= 0.9995 => 2,
        _ => 3,
    };
    format!("{number:.decimals$}")
}

/// The page with only one of its sections.
fn only(html: &str, id: &str) -> Option<String> {
    let (head, _) = html.split_once("</head>")?;
    let start = html.find(&format!("<section id=\"{id}\""))?;
    let end = start + html[start..].find("</section>")?;
    let section = html[start..end].replacen("<details>", "<details open>", 1);
    Some(format!(
        "{head}</head><body><main>{section}</section></main></body></html>"
    ))
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_run_has_one_line_of_one_size_between_the_marks() {
        let get = |run: &str, bytes: u64| {
            serde_json::json!({"measurement": "http_get",
                "params": {"variant": "a", "run": run, "bytes": bytes},
                "metrics": {"goodput_bytes_per_s_p50": 500_000.0, "frame_loss_rate": 0.0,
                    "isr_post_processing_ns_p50": 800},
                "limits": {"line_goodput_bytes_per_s": 1_000_000.0}})
        };
        let results = [
            get("a", 10_000),
            get("a", 1_000_000),
            get("a", 3_000_000),
            get("b", 1_000_000),
        ];
        let figures = super::figures(&serde_json::json!({"results": results})).expect("results");
        assert!(
            figures.starts_with("By `cargo xtask demo`: downloads of 1 MB,"),
            "{figures}"
        );
        let row = "| `a` | 4.00 | 500 | 50.0% | 0.0% | 0.8 us | – |";
        assert_eq!(figures.matches(row).count(), 1, "{figures}");
        assert_eq!(figures.lines().count(), 2 + 2 + 2, "{figures}");
        let [open, close] = super::MARKS;
        let readme = format!("head\n{open}old\n{close}\ntail");
        assert_eq!(
            super::replaced(&readme, "new\n"),
            Some(format!("head\n{open}new\n{close}\ntail"))
        );
    }

    #[test]
    fn slow_rates_keep_their_digits() {
        let rates = [0.052, 0.176, 9.121, 22.04, 1_140.2].map(super::digits);
        assert_eq!(rates, ["0.052", "0.176", "9.12", "22.0", "1140"]);
    }

    #[test]
    fn keeps_the_head_and_one_section() {
        let html = "<html><head>H</head><body><section id=\"a\">A</section>\
            <section id=\"b\"><details>B</details></section></body></html>";
        let page = super::only(html, "b").expect("there");
        assert!(
            page.contains('H') && page.contains("<details open>B") && !page.contains('A'),
            "{page}"
        );
        assert!(super::only(html, "c").is_none());
    }
}
