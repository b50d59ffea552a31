//! The keys of apps of the kind `tcp`.

use crate::given::Fields;
use crate::queues::size32;
use parades_config::units::{format_duration, format_rate, format_size};
use parades_config::{ConfigError, toml_string};
use parades_packet::description::IpVersion;
use parades_packet::protocols::tcp::{BUFFER_MAX, ENDLESS, SEGMENT_MAX, Tcp, Writes};
use parades_tcp::control::{Algorithm, HyStart};
use parades_tcp::settings::{EcnUse, KeepAlive, RtoFloor, Settings};

/// Reads an app.
pub(crate) fn read(fields: &Fields<'_>, ip: IpVersion) -> Result<Tcp, ConfigError> {
    let settings = settings(fields, ip)?;
    let rate_bps = if fields.has("rate") { Some(fields.rate("rate")?) } else { None };
    let writes = match (fields.has("writes"), rate_bps) {
        (true, None) if !settings.takes_whole_writes => {
            return Err(fields.wrong("writes", "`writes` needs a `rate`", "give both, or none of them"));
        }
        (true, rate_bps) => Some(Writes { bytes: size32(fields, "writes")?, rate_bps }),
        (false, None) => None,
        (false, Some(_)) => return Err(fields.wrong("rate", "`rate` needs `writes`", "give both, or none of them")),
    };
    if let Some(Writes { bytes, .. }) = writes
        && settings.takes_whole_writes
        && bytes > settings.send_buffer
    {
        let message =
            format!("`writes` is {bytes}B, and the send buffer {}B, which takes it whole", settings.send_buffer);
        return Err(fields.wrong("writes", message, "write less at a time, or raise `buffer`"));
    }
    let bytes = match (fields.has("size"), rate_bps) {
        (true, _) => fields.size("size")?,
        (false, Some(_)) => ENDLESS,
        (false, None) => {
            let message = "an app of the kind `tcp` needs a `size`, or `writes` and `rate`";
            return Err(fields.wrong("kind", message, "add for example `size = \"1MB\"`"));
        }
    };
    let read_rate_bps = fields.has("read_rate").then(|| fields.rate("read_rate")).transpose()?;
    Ok(Tcp { settings, bytes, writes, read_rate_bps })
}

/// Returns the settings: those of the profile, changed by the keys that are given.
fn settings(fields: &Fields<'_>, ip: IpVersion) -> Result<Settings, ConfigError> {
    let is_ns3 = fields.choice("profile")? == "ns3";
    // ns-3's segments have 536 bytes over both versions of IP.
    let mut settings = if is_ns3 { Settings::ns3() } else { Settings::linux().over(ip) };
    let name = fields.choice("congestion")?;
    let algorithm: Algorithm = name.parse().expect("the keys list the algorithms that there are");
    settings.algorithm = if is_ns3 { algorithm.as_in_ns3() } else { algorithm };
    match &mut settings.algorithm {
        Algorithm::Cubic(cubic) if !fields.boolean("hystart")? => cubic.hystart = HyStart::Off,
        _ => {}
    }
    if name == "dctcp" && fields.has("ecn") && !fields.boolean("ecn")? {
        let message = "segments of `dctcp` may always be marked";
        return Err(fields.wrong("ecn", message, "leave `ecn` out, or choose another `congestion`"));
    }
    if fields.has("mss") {
        settings.mss = segment(fields)?;
    }
    if fields.has("initial_window") {
        settings.initial_window = fields.count("initial_window")?;
    }
    if fields.has("buffer") {
        let bytes = size32(fields, "buffer")?;
        if bytes < settings.mss {
            let message = format!("`buffer` is {bytes}B, and a segment {}B", settings.mss);
            return Err(fields.wrong("buffer", message, "give it room for a segment, or lower `mss`"));
        }
        if bytes > BUFFER_MAX {
            let message = format!("`buffer` is {bytes}B, more than a window that can be announced (RFC 7323)");
            return Err(fields.wrong("buffer", message, format!("{BUFFER_MAX}B is the most")));
        }
        (settings.send_buffer, settings.receive_buffer) = (bytes, bytes);
    }
    if fields.has("sack") {
        settings.sack = fields.boolean("sack")?;
    }
    if fields.has("timestamps") {
        settings.timestamps = fields.boolean("timestamps")?;
    }
    if fields.has("delayed_ack") {
        settings.delayed_ack_segments = fields.count("delayed_ack")?;
    }
    if fields.has("min_rto") {
        let least = fields.duration("min_rto")?;
        settings.rto_floor = if is_ns3 { RtoFloor::Whole(least) } else { RtoFloor::Variation(least) };
    }
    if fields.has("keep_alive") {
        settings.keep_alive = Some(KeepAlive { idle: fields.duration("keep_alive")?, ..KeepAlive::DEFAULT });
    }
    if fields.has("user_timeout") {
        settings.user_timeout = Some(fields.duration("user_timeout")?);
    }
    if fields.has("pacing") {
        settings.paces = fields.boolean("pacing")?;
    }
    if name == "dctcp" || fields.boolean("ecn")? {
        settings.ecn = EcnUse::Ask;
        settings.marks_all_segments = is_ns3 && name == "dctcp";
    }
    Ok(settings)
}

/// Reads the key `mss`.
fn segment(fields: &Fields<'_>) -> Result<u32, ConfigError> {
    let bytes = size32(fields, "mss")?;
    if bytes > SEGMENT_MAX {
        let message = format!("`mss` is {bytes}B, more than a packet can carry beside the headers");
        return Err(fields.wrong("mss", message, format!("{SEGMENT_MAX}B is the most")));
    }
    Ok(bytes)
}

/// Writes the keys of an app, all that the profile does not set alike.
pub(crate) fn write(tcp: &Tcp, key: &mut dyn FnMut(&str, &str)) {
    let Tcp { settings, bytes, writes, read_rate_bps } = tcp;
    key("kind", "\"tcp\"");
    if *bytes < ENDLESS {
        key("size", &toml_string(&format_size(*bytes)));
    }
    if let Some(Writes { bytes, rate_bps }) = writes {
        key("writes", &toml_string(&format_size(u64::from(*bytes))));
        if let Some(rate_bps) = rate_bps {
            key("rate", &toml_string(&format_rate(*rate_bps)));
        }
    }
    read_rate_bps.iter().for_each(|rate| key("read_rate", &toml_string(&format_rate(*rate))));
    // Linux announces its largest segment, and ns-3 does not.
    let is_ns3 = !settings.announces_mss;
    key("profile", if is_ns3 { "\"ns3\"" } else { "\"linux\"" });
    key("congestion", &toml_string(settings.algorithm.name()));
    if let Algorithm::Cubic(cubic) = settings.algorithm {
        key("hystart", if cubic.hystart == HyStart::Off { "false" } else { "true" });
    }
    key("mss", &toml_string(&format_size(settings.mss.into())));
    key("initial_window", &settings.initial_window.to_string());
    // The buffers of the profile linux differ from each other.
    if settings.send_buffer == settings.receive_buffer {
        key("buffer", &toml_string(&format_size(settings.send_buffer.into())));
    }
    key("sack", &settings.sack.to_string());
    key("timestamps", &settings.timestamps.to_string());
    key("delayed_ack", &settings.delayed_ack_segments.to_string());
    let (RtoFloor::Whole(least) | RtoFloor::Variation(least)) = settings.rto_floor;
    key("min_rto", &toml_string(&format_duration(least)));
    if let Some(KeepAlive { idle, .. }) = settings.keep_alive {
        key("keep_alive", &toml_string(&format_duration(idle)));
    }
    if let Some(timeout) = settings.user_timeout {
        key("user_timeout", &toml_string(&format_duration(timeout)));
    }
    if !matches!(settings.algorithm, Algorithm::Bbr(_)) {
        key("pacing", &settings.paces.to_string());
    }
}
