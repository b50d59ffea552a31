//! Numbers with units, as platform files write them: `1Gf`, `125MBps`, `50us`.

/// A physical quantity and its units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantity {
    /// The noun in messages.
    pub(crate) noun: &'static str,
    /// Units without prefixes, with their values in the base unit.
    units: &'static [(&'static str, f64)],
    /// Units that take prefixes, with their values in the base unit.
    prefixed: &'static [(&'static str, f64)],
    /// True if the prefixes of the second unit of `prefixed` are words (`giga`) rather than letters.
    words: bool,
    /// True if binary prefixes (`Ki`) are allowed.
    binary: bool,
    /// An example in messages.
    pub(crate) example: &'static str,
}

/// Speeds, in flops per second.
pub(crate) const SPEED: Quantity = Quantity {
    noun: "speed",
    units: &[],
    prefixed: &[("f", 1.0), ("flops", 1.0)],
    words: true,
    binary: false,
    example: "`1Gf`",
};

/// Bandwidths, in bytes per second.
pub(crate) const BANDWIDTH: Quantity = Quantity {
    noun: "bandwidth",
    units: &[],
    prefixed: &[("Bps", 1.0), ("bps", 0.125)],
    words: false,
    binary: true,
    example: "`125MBps` or `1Gbps`",
};

/// Durations, in seconds.
pub(crate) const DURATION: Quantity = Quantity {
    noun: "duration",
    units: &[
        ("w", 604_800.0),
        ("d", 86_400.0),
        ("h", 3600.0),
        ("m", 60.0),
        ("s", 1.0),
        ("ms", 1e-3),
        ("us", 1e-6),
        ("ns", 1e-9),
        ("ps", 1e-12),
    ],
    prefixed: &[],
    words: false,
    binary: false,
    example: "`50us`",
};

const LETTERS: [&str; 8] = ["k", "M", "G", "T", "P", "E", "Z", "Y"];
const BINARY: [&str; 8] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"];
const WORDS: [&str; 8] = ["kilo", "mega", "giga", "tera", "peta", "exa", "zeta", "yotta"];

impl Quantity {
    /// Returns the value of a unit in the base unit.
    fn unit(&self, name: &str) -> Option<f64> {
        if let Some(&(_, worth)) = self.units.iter().find(|(unit, _)| *unit == name) {
            return Some(worth);
        }
        for (index, &(unit, worth)) in self.prefixed.iter().enumerate() {
            let Some(prefix) = name.strip_suffix(unit) else { continue };
            if prefix.is_empty() {
                return Some(worth);
            }
            let decimal: &[&str; 8] = if self.words && index == 1 { &WORDS } else { &LETTERS };
            let scaled = |prefixes: &[&str; 8], base: f64| {
                let power = prefixes.iter().position(|known| *known == prefix)?;
                // Repeated multiplication is exact as long as the result has at most 53 bits.
                Some((0..=power).fold(worth, |scaled, _| scaled * base))
            };
            let found = scaled(decimal, 1000.0).or_else(|| if self.binary { scaled(&BINARY, 1024.0) } else { None });
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Reads a quantity that is not negative. A number without unit is in the base unit.
    ///
    /// # Errors
    ///
    /// The second half of a sentence that says what is wrong. The caller puts the text before it.
    pub(crate) fn read(&self, text: &str) -> Result<f64, String> {
        let text = text.trim();
        let number = |text: &str| {
            // Rust would parse `inf` and `nan` as numbers, also after a sign.
            text.trim_start_matches(['+', '-'])
                .starts_with(|c: char| c.is_ascii_digit() || c == '.')
                .then(|| text.parse::<f64>().ok())
                .flatten()
        };
        // The longest number at the beginning of the text: an `E` may belong to the number or be a unit's
        // prefix.
        let end = (0..=text.len().min(64)).rev().find(|&end| text.get(..end).and_then(number).is_some());
        let Some((value, unit)) = end.and_then(|end| Some((number(&text[..end])?, text[end..].trim_start()))) else {
            return Err(format!("is not a {} such as {}", self.noun, self.example));
        };
        let worth = match unit {
            "" => Some(1.0),
            unit => self.unit(unit),
        };
        let Some(worth) = worth else {
            return Err(format!(
                "has the unit {}, and a {} is written as {}",
                parades_config::quoted(unit),
                self.noun,
                self.example
            ));
        };
        match value * worth {
            negative if negative < 0.0 => Err(format!("is below zero, which no {} is", self.noun)),
            endless if !endless.is_finite() => Err("is too great".to_owned()),
            value => Ok(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_simgrid() {
        let close = |read: Result<f64, String>, value: f64| assert!((read.unwrap() / value - 1.0).abs() < 1e-12);
        close(SPEED.read("1Gf"), 1e9);
        close(SPEED.read("76.296Mf"), 76.296e6);
        close(SPEED.read("2megaflops"), 2e6);
        close(SPEED.read("12"), 12.0);
        close(BANDWIDTH.read("2.25GBps"), 2.25e9);
        close(BANDWIDTH.read("1Gbps"), 125e6);
        close(BANDWIDTH.read("1MiBps"), 1_048_576.0);
        close(BANDWIDTH.read("8Kibps"), 1024.0);
        close(BANDWIDTH.read("1E3"), 1000.0);
        close(BANDWIDTH.read("1EBps"), 1e18);
        close(DURATION.read("50us"), 50e-6);
        close(DURATION.read("1.461517ms"), 1.461517e-3);
        close(DURATION.read("2m"), 120.0);
        assert_eq!(DURATION.read("0"), Ok(0.0));
    }

    #[test]
    fn text_that_is_no_quantity_is_refused() {
        for text in ["", "fast", "nan", "inf", "1e999", "-1s", "1 parsec", "1Gs", "--1", "1e308w"] {
            assert!(DURATION.read(text).is_err(), "{text}");
        }
        // Beyond what doubles can hold, the sentences are about the number, not about its last digits.
        assert_eq!(BANDWIDTH.read("1e400MBps"), Err("is too great".to_owned()));
        assert_eq!(BANDWIDTH.read("-1e400MBps"), Err("is below zero, which no bandwidth is".to_owned()));
    }
}
