//! The setting that selects a congestion control.

use super::{Bbr, CongestionControl, Control, Cubic, Dctcp, NewReno, Vegas};
use std::str::FromStr;

/// A congestion control and its parameters.
///
/// ```
/// use parades_tcp::control::{Algorithm, NewReno};
/// let algorithm: Algorithm = "newreno".parse().unwrap();
/// assert_eq!(algorithm, Algorithm::NewReno(NewReno::rfc5681()));
/// assert_eq!(algorithm.as_in_linux(), Algorithm::NewReno(NewReno::linux()));
/// assert_eq!(algorithm.as_in_ns3(), Algorithm::NewReno(NewReno::ns3()));
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Algorithm {
    /// `NewReno` (RFC 5681, RFC 6582).
    NewReno(NewReno),
    /// `CUBIC` (RFC 9438).
    Cubic(Cubic),
    /// DCTCP (RFC 8257).
    Dctcp(Dctcp),
    /// Vegas (Brakmo and Peterson, 1995).
    Vegas(Vegas),
    /// BBR (draft-cardwell-iccrg-bbr-congestion-control-00).
    Bbr(Bbr),
    /// A control of another crate.
    Other {
        /// Its name. Two controls of other crates are equal if their names are equal.
        name: &'static str,
        /// Returns its state at the start of a connection.
        make: fn() -> Box<dyn CongestionControl>,
    },
}

/// The names that files use.
const NAMES: [&str; 5] = ["newreno", "cubic", "dctcp", "vegas", "bbr"];

impl Algorithm {
    /// Returns the state at the start of a connection.
    #[must_use]
    pub fn start(&self) -> Control {
        match *self {
            Algorithm::NewReno(parameters) => Control::NewReno(parameters.start()),
            Algorithm::Cubic(parameters) => Control::Cubic(Box::new(parameters.start())),
            Algorithm::Dctcp(parameters) => Control::Dctcp(parameters.start()),
            Algorithm::Vegas(parameters) => Control::Vegas(parameters.start()),
            Algorithm::Bbr(parameters) => Control::Bbr(Box::new(parameters.start())),
            Algorithm::Other { make, .. } => Control::Other(make()),
        }
    }

    /// Returns the name that files use.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match *self {
            Algorithm::NewReno(_) => NAMES[0],
            Algorithm::Cubic(_) => NAMES[1],
            Algorithm::Dctcp(_) => NAMES[2],
            Algorithm::Vegas(_) => NAMES[3],
            Algorithm::Bbr(_) => NAMES[4],
            Algorithm::Other { name, .. } => name,
        }
    }

    /// Returns the same algorithm with the parameters of Linux. CUBIC and BBR have those of RFC 9438 and of
    /// the draft.
    #[must_use]
    pub const fn as_in_linux(self) -> Algorithm {
        match self {
            Algorithm::NewReno(_) => Algorithm::NewReno(NewReno::linux()),
            Algorithm::Cubic(_) => Algorithm::Cubic(Cubic::rfc9438()),
            Algorithm::Dctcp(_) => Algorithm::Dctcp(Dctcp::linux()),
            Algorithm::Vegas(_) => Algorithm::Vegas(Vegas::linux()),
            other @ (Algorithm::Bbr(_) | Algorithm::Other { .. }) => other,
        }
    }

    /// Returns the same algorithm with the parameters of ns-3.37. BBR has the parameters of its draft.
    #[must_use]
    pub const fn as_in_ns3(self) -> Algorithm {
        match self {
            Algorithm::NewReno(_) => Algorithm::NewReno(NewReno::ns3()),
            Algorithm::Cubic(_) => Algorithm::Cubic(Cubic::ns3()),
            Algorithm::Dctcp(_) => Algorithm::Dctcp(Dctcp::ns3()),
            Algorithm::Vegas(_) => Algorithm::Vegas(Vegas::ns3()),
            other @ (Algorithm::Bbr(_) | Algorithm::Other { .. }) => other,
        }
    }
}

impl PartialEq for Algorithm {
    fn eq(&self, other: &Algorithm) -> bool {
        match (self, other) {
            (Algorithm::NewReno(a), Algorithm::NewReno(b)) => a == b,
            (Algorithm::Cubic(a), Algorithm::Cubic(b)) => a == b,
            (Algorithm::Dctcp(a), Algorithm::Dctcp(b)) => a == b,
            (Algorithm::Vegas(a), Algorithm::Vegas(b)) => a == b,
            (Algorithm::Bbr(a), Algorithm::Bbr(b)) => a == b,
            // Functions are not compared: two copies of one function may have two addresses.
            (Algorithm::Other { name: a, .. }, Algorithm::Other { name: b, .. }) => a == b,
            _ => false,
        }
    }
}

/// A name that belongs to no congestion control.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no congestion control `{name}`: the known ones are {}", NAMES.join(", "))]
pub struct UnknownAlgorithm {
    name: String,
}

/// Returns the algorithm of a name, with the parameters that its RFC recommends.
impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Algorithm, UnknownAlgorithm> {
        match name {
            "newreno" => Ok(Algorithm::NewReno(NewReno::rfc5681())),
            "cubic" => Ok(Algorithm::Cubic(Cubic::rfc9438())),
            "dctcp" => Ok(Algorithm::Dctcp(Dctcp::rfc8257())),
            "vegas" => Ok(Algorithm::Vegas(Vegas::linux())),
            "bbr" => Ok(Algorithm::Bbr(Bbr::draft00())),
            _ => Err(UnknownAlgorithm { name: name.to_owned() }),
        }
    }
}
