//! Looks at a report as people see it: on a desk and on a phone, by day and by night.

use super::browser::{Browser, PROGRAM};
use crate::sh;
use crate::steps::Outcome;
use anyhow::{Result, bail};
use serde_json::{Value, json};
use std::path::Path;

/// Width and height of a window, pixels, and whether it is a phone's.
const WINDOWS: [(u32, u32, bool); 2] = [(1280, 900, false), (390, 844, true)];
const SCHEMES: [&str; 2] = ["light", "dark"];
/// What is wrong with a page and how many charts it has.
const CHECKS: &str = include_str!("checks.js");

/// Looks at `page` in every way.
///
/// # Errors
/// Says what is wrong, and where.
pub fn at(page: &Path) -> Result<Outcome> {
    if !sh::has(PROGRAM) {
        return Ok(Outcome::Skipped(format!(
            "looking at the report needs {PROGRAM}: apt-get install {PROGRAM} or cargo xtask setup"
        )));
    }
    let mut browser = Browser::start(&sh::out("chromium"))?;
    let (mut wrong, mut charts) = (Vec::new(), Value::Null);
    for (width, height, is_phone) in WINDOWS {
        for scheme in SCHEMES {
            let window = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone});
            browser.call("Emulation.setDeviceMetricsOverride", &window)?;
            let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
            browser.call("Emulation.setEmulatedMedia", &media)?;
            browser.open(page)?;
            let mut seen = browser.evaluate(CHECKS)?;
            charts = seen["charts"].take();
            let told = seen["wrong"].as_array().into_iter().flatten();
            let told = told.filter_map(|it| it.as_str().map(str::to_owned));
            let told = told.chain(browser.errors());
            wrong.extend(told.map(|it| format!("{width} pixels, {scheme}: {it}")));
        }
    }
    if !wrong.is_empty() {
        bail!("{}\n{}", wrong.join("\n"), page.display());
    }
    Ok(Outcome::Done(format!(
        "{charts} charts at {} widths, light and dark",
        WINDOWS.len()
    )))
}
