//! A headless browser, controlled by its `DevTools` protocol.
//!
//! Messages are JSON, each terminated by a zero byte: `--remote-debugging-pipe`, on descriptors 3 and 4.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// The program; `cargo xtask setup` installs it.
pub const PROGRAM: &str = "chromium";
/// Seconds after which it is terminated.
const LIMIT: &str = "180";
/// Moves its standard streams to the descriptors of the protocol.
const START: &str = "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null";
const FLAGS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
];

/// A browser with one open page.
pub struct Browser {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// Id of the last request.
    last: u64,
    /// Session of the page.
    session: Option<String>,
    /// Events received since the page was opened.
    events: Vec<Value>,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Browser {
    /// Starts it with its own `profile`.
    ///
    /// # Errors
    /// It does not start or does not answer.
    pub fn start(profile: &Path) -> Result<Self> {
        let mut command = crate::sh::cmd("timeout");
        command.args([LIMIT, "sh", "-c", START, "sh", PROGRAM]);
        command.args(FLAGS);
        command.arg(format!("--user-data-dir={}", profile.display()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().context("cannot start a browser")?;
        let to = process.stdin.take().context("no pipe to the browser")?;
        let from = process.stdout.take().context("no pipe from the browser")?;
        let mut browser = Self {
            process,
            to,
            from: BufReader::new(from),
            last: 0,
            session: None,
            events: Vec::new(),
        };
        let page = browser.call("Target.createTarget", &json!({"url": "about:blank"}))?;
        let attach = json!({"targetId": page["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", &attach)?;
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), &json!({}))?;
        }
        Ok(browser)
    }

    /// Calls a method and returns its result.
    ///
    /// # Errors
    /// The browser returns an error or has exited.
    pub fn call(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes())?;
        self.to.flush()?;
        loop {
            let mut answer = self.read().with_context(|| method.to_owned())?;
            if answer["id"] != self.last {
                self.events.push(answer);
                continue;
            }
            if !answer["error"].is_null() {
                bail!("{method}: {}", answer["error"]);
            }
            return Ok(answer["result"].take());
        }
    }

    /// Opens a page and waits until it is complete.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn open(&mut self, page: &Path) -> Result<()> {
        self.events.clear();
        let url = format!("file://{}", page.display());
        self.call("Page.navigate", &json!({"url": url}))?;
        let is_complete = |it: &Value| it["method"] == "Page.loadEventFired";
        while !self.events.iter().any(is_complete) {
            let event = self.read()?;
            self.events.push(event);
        }
        Ok(())
    }

    /// Evaluates an expression on the page, and waits for its result if that is a promise.
    ///
    /// # Errors
    /// As [`call`](Self::call), or the expression throws an exception.
    pub fn evaluate(&mut self, expression: &str) -> Result<Value> {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut done = self.call("Runtime.evaluate", &params)?;
        if !done["exceptionDetails"].is_null() {
            bail!("{}", done["exceptionDetails"]);
        }
        Ok(done["result"]["value"].take())
    }

    /// Errors on its console since the page was opened.
    pub fn errors(&self) -> Vec<String> {
        let is_error = |it: &&Value| match it["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => it["params"]["type"] == "error",
            Some("Log.entryAdded") => it["params"]["entry"]["level"] == "error",
            _ => false,
        };
        let errors = self.events.iter().filter(is_error);
        errors.map(|it| it["params"].to_string()).collect()
    }

    fn read(&mut self) -> Result<Value> {
        let mut message = Vec::new();
        self.from.read_until(0, &mut message)?;
        if message.pop() != Some(0) {
            bail!("the browser has exited");
        }
        Ok(serde_json::from_slice(&message)?)
    }
}
