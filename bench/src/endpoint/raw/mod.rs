//! `raw://IFACE/MAC`: a station on the line at interface IFACE whose agent sends frames back, addresses
//! swapped. Below IP, on Linux, with the privilege to use raw sockets.

#[cfg(target_os = "linux")]
mod exchange;
#[cfg(target_os = "linux")]
mod matcher;
#[cfg(target_os = "linux")]
mod pace;
#[cfg(target_os = "linux")]
mod station;
#[cfg(test)]
mod tests;

use linerate_agent::frame::Mac;

use super::{Options, Target, TargetError, Url};
use linerate_host::load::counters::parse_mac;

/// Opens the station that `url` names. The interface and the user's privileges are checked by the
/// first trial.
pub(super) fn open(url: &Url, options: &Options) -> Result<Box<dyn Target>, TargetError> {
    url.check_query(&[])?;
    let to = station_of(url).map_err(|what| TargetError::Url {
        url: url.text.clone(),
        what,
    })?;
    #[cfg(target_os = "linux")]
    {
        let timeout = options.timeout;
        Ok(Box::new(station::Station::new(&url.host, to, timeout)))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (to, options);
        Err(linerate_host::load::LoadError::from(linerate_ring::RingError::Unsupported).into())
    }
}

/// The station's address, or an error message.
fn station_of(url: &Url) -> Result<Mac, String> {
    let text = url.path.trim_start_matches('/');
    let example = format!("raw://{}/02:00:00:00:00:01", url.host);
    if url.port.is_some() {
        return Err(format!("an interface has no port, as in {example}"));
    }
    if text.is_empty() {
        return Err(format!(
            "the station's MAC address is missing, as in {example}"
        ));
    }
    let Some(mac) = parse_mac(text) else {
        return Err(format!("`{text}` is no MAC address, as in {example}"));
    };
    if mac[0] & 1 != 0 {
        return Err(format!(
            "{text} is a group address, and frames to a group are not sent back; name one station"
        ));
    }
    if mac == [0; 6] {
        return Err(format!("{text} is no valid address of a station"));
    }
    Ok(mac)
}
