//! What a scenario asks for. A procedure is an arm here and a folder or file beside this one.

use linerate_sim::peer::conformance;

use super::{Procedure, http, hub_share, negotiation, phy, ping, storm};
use crate::target::Order;

/// One firmware's worth of measuring.
#[derive(Clone, Debug)]
pub enum Plan {
    /// Ping the peer.
    Ping(ping::Plan),
    /// Download, upload or both.
    Http(http::Kind, http::Plan),
    /// A conformance case, or a point of the loss surface.
    Phy(phy::Plan),
    /// A storm.
    Storm(storm::Plan),
    /// A hub.
    HubShare(hub_share::Plan),
    /// A negotiation.
    Negotiation(negotiation::Plan),
}

/// What stands for one or several plans in a scenario.
pub trait Plans {
    /// The plans.
    ///
    /// # Errors
    /// What is wrong, in one sentence.
    fn plans(self) -> Result<Vec<Plan>, String>;
}

impl Plan {
    /// The measurements by their names in scenarios and results.
    pub const KINDS: [&'static str; 9] = [
        "ping",
        "http_get",
        "http_put",
        "http_both",
        "phy_conformance",
        "loss_surface",
        "storm",
        "hub_share",
        "negotiation",
    ];

    /// The board's program that it needs.
    pub const fn program(&self) -> &'static str {
        match self {
            Self::Ping(_) => "ping",
            Self::Http(kind, _) => kind.program(),
            Self::Storm(_) => "http_server",
            Self::Phy(_) | Self::HubShare(_) | Self::Negotiation(_) => "station",
        }
    }

    /// What it is called in a run, for messages and file names.
    pub fn label(&self) -> String {
        match self {
            Self::Phy(plan) => plan.label(),
            Self::Storm(_) => "storm".to_owned(),
            Self::HubShare(_) => "hub_share".to_owned(),
            Self::Negotiation(_) => "negotiation".to_owned(),
            Self::Ping(_) | Self::Http(..) => self.program().to_owned(),
        }
    }

    /// Virtual seconds after which it has failed.
    pub fn limit_s(&self) -> u64 {
        match self {
            Self::Ping(plan) => plan.limit_s,
            Self::Http(_, plan) => plan.limit_s,
            Self::Phy(plan) => plan.limit_s(),
            Self::Storm(plan) => plan.limit_s(),
            Self::HubShare(plan) => plan.limit_s(),
            Self::Negotiation(plan) => plan.limit_s(),
        }
    }

    /// Changes what surrounds the board to what it needs.
    pub fn arrange(&self, order: &mut Order) {
        match self {
            Self::Ping(_) | Self::Http(..) => {}
            Self::Phy(plan) => plan.arrange(order),
            Self::Storm(plan) => plan.arrange(order),
            Self::HubShare(plan) => plan.arrange(order),
            Self::Negotiation(plan) => plan.arrange(order),
        }
    }

    /// The procedure on a firmware of `variant` in the surroundings of `order`.
    pub fn procedure(&self, variant: &str, order: &Order) -> Box<dyn Procedure> {
        match self {
            Self::Ping(plan) => Box::new(ping::procedure(variant, plan)),
            Self::Http(kind, plan) => Box::new(http::procedure(variant, *kind, plan)),
            Self::Phy(plan) => Box::new(phy::procedure(variant, plan)),
            Self::Storm(plan) => Box::new(storm::procedure(variant, plan)),
            Self::HubShare(plan) => Box::new(hub_share::procedure(variant, plan, order)),
            Self::Negotiation(plan) => Box::new(negotiation::procedure(variant, plan)),
        }
    }

    /// Makes what is counted in frames or seconds shorter or longer.
    pub fn scale(&mut self, factor: f64) {
        let scaled =
            |count: u64, least: u64| ((count as f64 * factor) as u64).max(least.min(count));
        match self {
            Self::Ping(_) | Self::Http(..) | Self::Negotiation(_) => {}
            Self::Phy(plan) => {
                let least = match &plan.what {
                    // Some rounds of the case's frames, behind those that settle it.
                    phy::What::Case { case, .. } => {
                        case.settling_frames + 4 * case.steps.len() as u64
                    }
                    phy::What::Point { .. } => 20,
                };
                plan.frames = scaled(plan.frames, least.max(20));
            }
            Self::Storm(plan) => plan.storm_ms = scaled(plan.storm_ms, 500),
            Self::HubShare(plan) => plan.measured_ms = scaled(plan.measured_ms, 1_000),
        }
    }
}

impl Plans for ping::Plan {
    fn plans(self) -> Result<Vec<Plan>, String> {
        self.check()?;
        Ok(vec![Plan::Ping(self)])
    }
}

impl Plans for phy::ConformancePlan {
    fn plans(self) -> Result<Vec<Plan>, String> {
        if self.frames == 0 {
            return Err("`frames` must be at least 1".into());
        }
        let known = |name: &str| {
            conformance::case(name).ok_or_else(|| {
                let names = conformance::CASES.iter().map(|case| case.name);
                let hint = crate::board::hint(crate::nearest(name, names));
                format!("there is no conformance case `{name}`{hint}")
            })
        };
        if let Some(name) = self.excused.keys().find(|name| known(name).is_err()) {
            return Err(known(name).err().unwrap_or_default());
        }
        let cases = if self.cases.is_empty() {
            conformance::CASES.iter().collect()
        } else {
            let listed = self.cases.iter().map(|name| known(name));
            listed.collect::<Result<Vec<_>, String>>()?
        };
        let plan = |case: &'static conformance::Case| {
            Plan::Phy(phy::Plan {
                what: phy::What::Case {
                    case,
                    excuse: self.excused.get(case.name).cloned(),
                },
                frames: self.frames,
                warm_up_ms: self.warm_up_ms,
            })
        };
        Ok(cases.into_iter().map(plan).collect())
    }
}

impl Plans for phy::SurfacePlan {
    fn plans(self) -> Result<Vec<Plan>, String> {
        if self.frames == 0 || self.jitter_ns.is_empty() || self.clock_ppm.is_empty() {
            return Err(
                "`jitter_ns` and `clock_ppm` list the grid's points, `frames` is at least 1".into(),
            );
        }
        let mut plans = Vec::new();
        for &clock_ppm in &self.clock_ppm {
            for &jitter_ns in &self.jitter_ns {
                plans.push(Plan::Phy(phy::Plan {
                    what: phy::What::Point {
                        clock_ppm,
                        jitter_ns,
                        octets: self.octets,
                    },
                    frames: self.frames,
                    warm_up_ms: self.warm_up_ms,
                }));
            }
        }
        Ok(plans)
    }
}

impl Plans for storm::Plan {
    fn plans(self) -> Result<Vec<Plan>, String> {
        if self.storm_ms < 100 {
            return Err("`storm_ms` must be at least 100".into());
        }
        Ok(vec![Plan::Storm(self)])
    }
}

impl Plans for hub_share::Plan {
    fn plans(self) -> Result<Vec<Plan>, String> {
        if self.measured_ms == 0 {
            return Err("`measured_ms` must be at least 1".into());
        }
        Ok(vec![Plan::HubShare(self)])
    }
}

impl Plans for negotiation::Plan {
    fn plans(self) -> Result<Vec<Plan>, String> {
        if self.for_ms < 1_000 {
            return Err("`for_ms` must be at least 1000".into());
        }
        Ok(vec![Plan::Negotiation(self)])
    }
}
