//! Fixed cost per send and cost per octet.

/// The line fits if no point deviates from it by more than this share of its time.
const MAX_DEVIATION: f64 = 0.15;
/// Any line fits two points.
const MIN_POINTS: usize = 3;

/// The time of a send as a linear function of its octets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SendCost {
    pub(crate) send_ns: f64,
    pub(crate) octet_ns: f64,
}

impl SendCost {
    /// Fits `points` (octets of a send, its time in nanoseconds), minimizing relative errors; `None`
    /// if no line fits.
    pub(crate) fn fit(points: &[(f64, f64)]) -> Option<Self> {
        if points.len() < MIN_POINTS {
            return None;
        }
        let (mut w, mut wx, mut wy, mut wxx, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (x, y) in points {
            let weight = 1.0 / (y * y);
            w += weight;
            wx += weight * x;
            wy += weight * y;
            wxx += weight * x * x;
            wxy += weight * x * y;
        }
        let bottom = w * wxx - wx * wx;
        if bottom <= 0.0 {
            return None;
        }
        let octet_ns = (w * wxy - wx * wy) / bottom;
        let send_ns = (wy - octet_ns * wx) / w;
        let deviation = |(x, y): &(f64, f64)| (send_ns + octet_ns * x - y).abs() / y;
        let fits = points.iter().all(|point| deviation(point) <= MAX_DEVIATION);
        (fits && send_ns > 0.0 && octet_ns >= 0.0).then_some(Self { send_ns, octet_ns })
    }

    /// Time of a send of `octets`.
    pub(crate) fn ns(&self, octets: f64) -> f64 {
        self.send_ns + self.octet_ns * octets
    }
}
