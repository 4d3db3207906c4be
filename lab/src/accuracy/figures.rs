//! Results of a run, figures derived from several results, and the relay's counts.

use serde_json::Value;

/// Results of one run of a case.
pub struct Measured {
    /// The results of `--json`.
    pub results: Value,
    /// Its figures by `linerate compare --json`, which include those derived from several results.
    pub combined: Value,
    /// The results of the relay, with its counts.
    pub truth: Value,
    /// Median of the windows that this end announced on each TCP connection, octets, in the order in which they
    /// were opened; empty without a capture.
    pub windows: Vec<f64>,
}

impl Measured {
    /// Results of a measurement.
    pub fn of<'a>(&'a self, measurement: &'a str) -> impl Iterator<Item = &'a Value> {
        let results = self.results["results"].as_array().into_iter().flatten();
        results.filter(move |it| it["measurement"] == measurement)
    }

    /// A figure of the transfer; a run has one at most.
    pub fn transfer(&self, pointer: &str) -> Option<f64> {
        number(self.of("throughput").next()?, pointer)
    }

    /// A figure of the result whose parameter has this value.
    pub fn where_is(
        &self,
        measurement: &str,
        (parameter, value): (&str, u64),
        pointer: &str,
    ) -> Option<f64> {
        let mut all = self.of(measurement);
        number(all.find(|it| it["params"][parameter] == value)?, pointer)
    }

    /// A figure of the round trips without load.
    pub fn idle(&self, pointer: &str) -> Option<f64> {
        let mut all = self.of("latency");
        let idle = all.find(|it| it.pointer("/params/load").is_none_or(Value::is_null));
        number(idle?, pointer)
    }

    /// A figure derived from several results, of the first one whose name begins with `of`.
    pub fn combined(&self, of: &str, metric: &str) -> Option<f64> {
        let mut all = self.combined["changes"].as_array()?.iter();
        let is_it = |it: &&Value| {
            let name = it["result"].as_str();
            it["metric"] == metric && name.is_some_and(|name| name.starts_with(of))
        };
        number(all.find(is_it)?, "/after")
    }

    /// A count of the relay for one direction.
    pub fn counted(&self, direction: &str, count: &str) -> Option<f64> {
        number(
            &self.truth,
            &format!("/results/0/metrics/{direction}/{count}"),
        )
    }
}

/// The number at `pointer`.
pub fn number(value: &Value, pointer: &str) -> Option<f64> {
    value.pointer(pointer)?.as_f64()
}
