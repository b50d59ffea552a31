//! Profiles: the changes over time of a resource's speed, bandwidth, latency or state.

use parades_config::Fault;
use parades_config::quoted;

/// The greatest number of points of a profile.
const POINTS_MAX: usize = 1 << 20;
/// The shortest period of a profile that repeats, in seconds.
const PERIOD_MIN_S: f64 = 1e-6;

/// A sequence of values, each with the time since the previous value.
///
/// # Examples
///
/// ```
/// use parades_flow::profile::Profile;
/// let profile = Profile::parse("0 1.0\n11 0.5\nPERIODICITY 20").unwrap();
/// assert_eq!(profile.point(0), Some((0.0, 1.0)));
/// assert_eq!(profile.point(1), Some((11.0, 0.5)));
/// assert_eq!(profile.point(2), Some((9.0, 1.0))); // 20 seconds after the first
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The seconds since the previous point, and the value from this point on.
    points: Vec<(f64, f64)>,
    /// The seconds from the last point to the start of the next repetition. `None` if the profile does not
    /// repeat.
    repeat_after: Option<f64>,
}

impl Profile {
    /// Reads SimGrid's text form. Each line has a date in seconds and a value, in ascending order of the
    /// dates.
    ///
    /// `PERIODICITY t` repeats the profile every `t` seconds. `LOOPAFTER t` repeats it `t` seconds after the
    /// last line. Lines that begin with `#` or `%` are comments.
    ///
    /// # Errors
    ///
    /// A sentence about the first line that is wrong.
    pub fn parse(text: &str) -> Result<Profile, String> {
        Profile::read(text, 0.0).map_err(|fault| fault.1)
    }

    /// Reads the text form like [`Profile::parse`], with the period from elsewhere; 0 or less for none.
    ///
    /// # Errors
    ///
    /// The offset of the wrong line, and the sentence.
    pub(crate) fn read(text: &str, mut period: f64) -> Result<Profile, (usize, String)> {
        let mut repeat_after = None;
        let mut last = 0.0;
        let mut points = Vec::new();
        let mut offset = 0;
        for line in text.split(['\n', '\r']) {
            let start = offset + (line.len() - line.trim_start().len());
            offset += line.len() + 1;
            let line = line.trim();
            if line.is_empty() || line.starts_with(['#', '%']) {
                continue;
            }
            let wrong = |what: &str| Err((start, format!("the profile's line {} {what}", quoted(line))));
            let mut words = line.split_whitespace();
            let (first, second, third) = (words.next().unwrap_or_default(), words.next(), words.next());
            let number = |text: &str| text.parse::<f64>().ok().filter(|x| x.is_finite());
            let (Some(value), None) = (second.and_then(number), third) else {
                return wrong(match first {
                    "STOCHASTIC" => "makes it random, which is not supported",
                    _ => "is not a date and a value",
                });
            };
            match first {
                "PERIODICITY" => period = value,
                "LOOPAFTER" => repeat_after = Some(value),
                first => match number(first) {
                    None => return wrong("is not a date and a value"),
                    Some(date) if date < last => return wrong("is earlier than the one before it"),
                    Some(date) if points.len() < POINTS_MAX => {
                        points.push((date - last, value));
                        last = date;
                    }
                    Some(_) => return wrong("is one too many"),
                },
            }
        }
        if period > 0.0 {
            repeat_after = Some(period - last);
        }
        Profile { points, repeat_after }.checked(last).map_err(|message| (0, message))
    }

    /// Returns the profile if it has points and its period is long enough. `last` is the date of the last
    /// point.
    fn checked(self, last: f64) -> Result<Profile, String> {
        match self.repeat_after {
            Some(gap) if gap < 0.0 => Err("the profile repeats before it ends".to_owned()),
            Some(gap) if last + gap < PERIOD_MIN_S => {
                Err(format!("the profile repeats after less than {PERIOD_MIN_S} seconds"))
            }
            _ if self.points.is_empty() => Err("the profile has no line with a date and a value".to_owned()),
            _ => Ok(self),
        }
    }

    /// Returns a point: the seconds since the previous point (or the start), and the value.
    ///
    /// Numbers continue through all repetitions. `None` after the last point of a profile that does not
    /// repeat.
    pub fn point(&self, number: usize) -> Option<(f64, f64)> {
        if let Some(&point) = self.points.get(number) {
            return Some(point);
        }
        let (gap, (after, value)) = (self.repeat_after?, self.points[number % self.points.len()]);
        Some((if number.is_multiple_of(self.points.len()) { after + gap } else { after }, value))
    }
}

/// Returns the fault of a profile whose element begins at `offset`.
pub(crate) fn fault(offset: usize, message: String) -> Fault {
    Fault::new(offset, message, "write lines of a date in seconds and a value, in order of dates")
}
