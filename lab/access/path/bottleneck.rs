//! The bottleneck, and what comes behind it.

use super::*;

impl Path {
    pub fn enqueue(&mut self, w: usize, f: Frame, at: Ns) {
        let d = &mut self.ways[w];
        if d.get("rate") == 0.0 {
            return self.send_on(w, f, at);
        }
        if d.held + f.octets.len() > d.get("queue") as usize {
            d.add("queue_full");
            return;
        }
        let name = if d.get("fq") > 0.0 {
            f.octets[26..38].iter().fold(7u32, |h, &b| h.wrapping_mul(31) ^ b as u32)
        } else {
            0
        };
        let pure = |f: &[u8]| tcp(f).is_some_and(|it| it.payload == 0 && it.flags == 16 && it.head <= 32);
        if d.get("suppress") > 0.0 && pure(&f.octets) {
            if let Some(flow) = d.flows.get_mut(&name) {
                // An older acknowledgment that still waits is superseded.
                if let Some(i) =
                    flow.frames.iter().position(|it| pure(&it.octets) && it.octets[26..38] == f.octets[26..38])
                {
                    d.held -= flow.frames.remove(i).unwrap().octets.len();
                    d.add("suppressed");
                }
            }
        }
        d.held += f.octets.len();
        let flow = d.flows.entry(name).or_default();
        if flow.frames.is_empty() && !d.order.contains(&name) {
            d.order.push_back(name);
            flow.deficit = 1514;
        }
        flow.frames.push_back(f);
        self.serve(w, at);
    }
    /// The next frame by deficit round robin; CoDel (5 ms, 100 ms) marks or drops.
    fn pop(&mut self, w: usize, at: Ns) -> Option<Frame> {
        let d = &mut self.ways[w];
        let is_managed = d.get("fq") > 0.0;
        loop {
            let name = *d.order.front()?;
            let flow = d.flows.get_mut(&name)?;
            let Some(front) = flow.frames.front() else {
                d.order.pop_front();
                continue;
            };
            if d.order.len() > 1 && flow.deficit < front.octets.len() as i64 {
                flow.deficit += 1514;
                d.order.rotate_left(1);
                continue;
            }
            let mut f = flow.frames.pop_front()?;
            d.held -= f.octets.len();
            flow.deficit -= f.octets.len() as i64;
            let waited = at.saturating_sub(f.queued);
            if is_managed {
                if waited < 5_000_000 || flow.frames.is_empty() {
                    flow.above = 0;
                    flow.drops = 0;
                } else if flow.above == 0 {
                    flow.above = at + 100_000_000;
                } else if at >= flow.above && (flow.drops == 0 || at >= flow.drop_next) {
                    flow.drops += 1;
                    flow.drop_next = at + (1e8 / (flow.drops as f64).sqrt()) as u64;
                    if d.get("ecn") > 0.0 && f.octets[15] & 3 != 0 {
                        f.octets[15] |= 3;
                        checksum_ip(&mut f.octets);
                        d.add("marked");
                    } else {
                        d.add("managed");
                        continue;
                    }
                }
            }
            d.queue_ns += waited as f64;
            d.queue_max = d.queue_max.max(waited);
            d.served += 1;
            f.begun = at;
            return Some(f);
        }
    }
    pub fn serve(&mut self, w: usize, at: Ns) {
        if self.ways[w].busy {
            return;
        }
        let (map, agg) = (self.ways[w].get("map"), self.ways[w].get("agg"));
        if map > 0.0 {
            if self.ways[w].held > 0 {
                self.ways[w].busy = true;
                self.plan(at + (map * MS) as u64 - (at - self.began) % (map * MS) as u64, Event::Grant(w));
            }
            return;
        }
        if agg > 0.0 && self.radio_busy {
            return;
        }
        // A half-duplex port waits while it receives.
        if w == 1 && self.ways[1].get("mismatch") > 0.0 {
            if self.ways[0].busy || self.ways[1].held == 0 {
                return;
            }
            if at < self.ways[1].backoff {
                let later = self.ways[1].backoff;
                return self.plan(later, Event::Retry(1));
            }
            self.ways[1].attempts = 0;
        }
        let rate = self.ways[w].get("rate");
        let (mut burst, mut takes) = (Vec::new(), 0.0);
        while burst.len() < agg.max(1.0) as usize {
            let Some(f) = self.pop(w, at) else { break };
            takes += (f.octets.len() as f64 + self.ways[w].get("overhead")) * 8e9 / rate;
            burst.push(f);
        }
        if burst.is_empty() {
            return;
        }
        if agg > 0.0 {
            self.radio_busy = true;
            takes += self.ways[w].get("airtime") * MS * (0.7 + 0.6 * self.uniform());
        }
        if w == 0 && self.ways[0].get("mismatch") > 0.0 && self.ways[1].busy {
            self.ways[0].collided = true;
            // A late collision is not repeated by the half-duplex port.
            if (at - self.ways[1].began_last) as f64 > 512e9 / rate {
                self.ways[1].collided = true;
            }
        }
        self.ways[w].began_last = at;
        self.ways[w].busy = true;
        self.ways[w].service += takes;
        self.plan(at + takes as u64, Event::Served(w, burst));
    }
    pub fn served(&mut self, w: usize, burst: Vec<Frame>, at: Ns) {
        self.ways[w].busy = false;
        let collided = std::mem::take(&mut self.ways[w].collided);
        for f in burst {
            let (impulse, noise) = (self.ways[w].get("impulse") * MS, self.uniform());
            let begun = (f.begun - self.began) as f64 % 1e7;
            let hit = impulse > 0.0
                && (begun < impulse || begun + (at - f.begun) as f64 > 1e7)
                && noise < self.ways[w].get("impulse_p");
            if collided {
                self.ways[w].add("collided");
            } else if hit {
                self.ways[w].add("disturbed");
            } else {
                self.send_on(w, f, at);
            }
        }
        if self.ways[w].get("agg") > 0.0 {
            self.radio_busy = false;
            self.serve(1 - w, at);
        }
        self.serve(w, at);
        if self.ways[w].get("mismatch") > 0.0 {
            if w == 0 && self.ways[0].busy && self.ways[1].held > 0 && at >= self.ways[1].backoff {
                // The half-duplex port begins in the gap, too; only it backs off.
                self.ways[0].collided = true;
                self.ways[1].attempts += 1;
                let slots = f64::from(1u32 << self.ways[1].attempts.min(10)) * self.uniform();
                self.ways[1].backoff = at + (slots * 512e9 / self.ways[1].get("rate")) as u64;
            }
            self.serve(1 - w, at);
        }
    }
    /// What was requested a period ago is granted, and sent in a row.
    pub fn grant(&mut self, w: usize, at: Ns) {
        self.ways[w].busy = false;
        let period = self.ways[w].get("map") * MS;
        self.ways[w].tokens = (self.ways[w].tokens + self.ways[w].get("rate") * period / 8e9)
            .min(3100.0 + self.ways[w].get("rate") * period / 8e9);
        self.ways[w].service += period;
        let (mut time, is_ready) = (at, |d: &Way| {
            d.order
                .front()
                .and_then(|it| d.flows[it].frames.front())
                .is_some_and(|f| f.queued + (period as u64) <= at && d.tokens >= f.octets.len() as f64)
        });
        while is_ready(&self.ways[w]) {
            let Some(f) = self.pop(w, at) else { break };
            self.ways[w].tokens -= f.octets.len() as f64;
            time += (f.octets.len() as f64 * 8e9 / 50e6) as u64;
            self.send_on(w, f, time);
        }
        self.serve(w, at);
    }
    pub fn send_on(&mut self, w: usize, f: Frame, from: Ns) {
        let (u, v) = (self.uniform(), self.uniform());
        let began = self.began;
        let d = &mut self.ways[w];
        let (mut at, ceil) =
            (from as f64, |at: f64, step: f64| began as f64 + ((at - began as f64) / step).ceil() * step);
        if d.get("gap") > 0.0 {
            let (period, length) = (d.get("gap") * MS, d.get("gap_for") * MS);
            let left = period - (at - began as f64) % period;
            if left < length {
                at += left;
                d.add("held");
            }
        }
        at += d.get("delay") * MS - (1.0 - u).ln() * d.get("jitter") * MS;
        if tcp(&f.octets).is_some_and(|it| it.flags & 2 != 0) {
            at += d.get("synwait") * MS;
        }
        if d.get("sleep") > 0.0 {
            if at > d.awake as f64 {
                at = ceil(at, d.get("beacon") * MS);
                d.add("held");
            }
            d.awake = d.awake.max((at + d.get("sleep") * MS) as u64);
        }
        if d.get("poll") > 0.0 {
            at = ceil(at, d.get("poll") * MS);
        }
        if payload(&f.octets) > 0 && v < d.get("late") {
            at += d.get("late_by") * MS;
            d.add("overtaken");
        } else {
            at = at.max(d.delivered as f64);
            d.delivered = at as u64;
        }
        self.plan(at as u64, Event::Deliver(w, f));
    }
}
