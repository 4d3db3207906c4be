//! What a run has left: its results, what several of them mean together, and the truth.

use serde_json::Value;

/// A case that was measured once.
pub struct Measured {
    /// What `--json` wrote.
    pub results: Value,
    /// Its figures by `linerate compare --json`: those that only several results have are in it, too.
    pub together: Value,
    /// What the relay has counted.
    pub truth: Value,
    /// The median of the windows that this end announced on each TCP connection, octets, in the order in
    /// which they were opened; empty where nothing was captured.
    pub windows: Vec<f64>,
}

impl Measured {
    /// The results of one kind of measurement.
    pub fn of<'a>(&'a self, measurement: &'a str) -> impl Iterator<Item = &'a Value> {
        let results = self.results["results"].as_array().into_iter().flatten();
        results.filter(move |it| it["measurement"] == measurement)
    }

    /// A figure of the only transfer.
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

    /// A figure of the round trips without a load.
    pub fn idle(&self, pointer: &str) -> Option<f64> {
        let mut all = self.of("latency");
        let idle = all.find(|it| it.pointer("/params/load").is_none_or(Value::is_null));
        number(idle?, pointer)
    }

    /// A figure that only several results have, of the first thing whose name begins so.
    pub fn together(&self, of: &str, metric: &str) -> Option<f64> {
        let mut all = self.together["changes"].as_array()?.iter();
        let is_it = |it: &&Value| {
            let name = it["result"].as_str();
            it["metric"] == metric && name.is_some_and(|name| name.starts_with(of))
        };
        number(all.find(is_it)?, "/after")
    }

    /// What the relay did to frames one way.
    pub fn counted(&self, way: &str, count: &str) -> Option<f64> {
        number(&self.truth, &format!("/{way}/{count}"))
    }
}

/// The number there.
pub fn number(value: &Value, pointer: &str) -> Option<f64> {
    value.pointer(pointer)?.as_f64()
}
