//! The setting that selects a congestion control.

use super::{Bbr, CongestionControl, Control, Cubic, Dctcp, NewReno, Vegas};
use std::str::FromStr;
use std::sync::Arc;

/// A congestion control and its parameters.
///
/// ```
/// use parades_tcp::control::{Algorithm, NewReno};
/// let algorithm: Algorithm = "newreno".parse().unwrap();
/// assert_eq!(algorithm, Algorithm::NewReno(NewReno::rfc5681()));
/// assert_eq!(algorithm.as_in_linux(), Algorithm::NewReno(NewReno::linux()));
/// assert_eq!(algorithm.as_in_ns3(), Algorithm::NewReno(NewReno::ns3()));
/// ```
#[derive(Clone, Debug, PartialEq)]
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
    Other(OtherControl),
}

/// A control of another crate: its name, and its state at the start of a connection, of which each connection
/// has a copy. Two controls are equal if their names are equal, and the texts of their states for debugging.
#[derive(Clone, Debug)]
pub struct OtherControl {
    name: &'static str,
    pub(super) start: Arc<dyn CongestionControl>,
}

impl OtherControl {
    pub(crate) fn can_save(&self) -> Result<(), String> {
        match self.start.save() {
            Some(_) => Ok(()),
            None => Err(format!("the congestion control {:?} cannot be written", self.name)),
        }
    }

    /// Returns the control of this name, whose connections begin with a copy of `start`.
    pub fn new(name: &'static str, start: impl CongestionControl + 'static) -> OtherControl {
        OtherControl { name, start: Arc::new(start) }
    }
}

impl PartialEq for OtherControl {
    fn eq(&self, other: &OtherControl) -> bool {
        self.name == other.name && *self.start == *other.start
    }
}

/// The names that files use.
const NAMES: [&str; 5] = ["newreno", "cubic", "dctcp", "vegas", "bbr"];

impl Algorithm {
    /// Returns the state at the start of a connection.
    #[must_use]
    pub fn start(&self) -> Control {
        match self {
            Algorithm::NewReno(parameters) => Control::NewReno(parameters.start()),
            Algorithm::Cubic(parameters) => Control::Cubic(Box::new(parameters.start())),
            Algorithm::Dctcp(parameters) => Control::Dctcp(parameters.start()),
            Algorithm::Vegas(parameters) => Control::Vegas(parameters.start()),
            Algorithm::Bbr(parameters) => Control::Bbr(Box::new(parameters.start())),
            Algorithm::Other(other) => Control::Other(other.start.copy()),
        }
    }

    /// Returns the name that files use.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Algorithm::NewReno(_) => NAMES[0],
            Algorithm::Cubic(_) => NAMES[1],
            Algorithm::Dctcp(_) => NAMES[2],
            Algorithm::Vegas(_) => NAMES[3],
            Algorithm::Bbr(_) => NAMES[4],
            Algorithm::Other(other) => other.name,
        }
    }

    /// Returns the same algorithm with the parameters of Linux. CUBIC and BBR have those of RFC 9438 and of
    /// the draft.
    #[must_use]
    pub fn as_in_linux(&self) -> Algorithm {
        match self {
            Algorithm::NewReno(_) => Algorithm::NewReno(NewReno::linux()),
            Algorithm::Cubic(_) => Algorithm::Cubic(Cubic::rfc9438()),
            Algorithm::Dctcp(_) => Algorithm::Dctcp(Dctcp::linux()),
            Algorithm::Vegas(_) => Algorithm::Vegas(Vegas::linux()),
            Algorithm::Bbr(_) | Algorithm::Other(_) => self.clone(),
        }
    }

    /// Returns the same algorithm with the parameters of ns-3.37. BBR has the parameters of its draft.
    #[must_use]
    pub fn as_in_ns3(&self) -> Algorithm {
        match self {
            Algorithm::NewReno(_) => Algorithm::NewReno(NewReno::ns3()),
            Algorithm::Cubic(_) => Algorithm::Cubic(Cubic::ns3()),
            Algorithm::Dctcp(_) => Algorithm::Dctcp(Dctcp::ns3()),
            Algorithm::Vegas(_) => Algorithm::Vegas(Vegas::ns3()),
            Algorithm::Bbr(_) | Algorithm::Other(_) => self.clone(),
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
