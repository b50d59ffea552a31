//! Places on Earth, and how long light takes between them in fibre.
//!
//! Earth is a sphere of radius 6,371.0088 km (the mean radius of the WGS 84 ellipsoid); fibre follows the
//! great circle, and light in it runs at two thirds of its speed in vacuum. Real fibre makes detours: these
//! delays are lower bounds. All functions go through `libm`, so that a delay is the same picosecond on every
//! machine.

use parades_core::time::Delay;

/// Mean radius of Earth, in kilometres.
pub const EARTH_RADIUS_KM: f64 = 6_371.008_8;

/// Speed of light in fibre, in kilometres per second: two thirds of that in vacuum.
pub const FIBRE_KM_PER_S: f64 = 299_792.458 * 2.0 / 3.0;

/// A place on Earth, kept as the unit vector from its centre, so that means need no care at the poles and at
/// the date line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position([f64; 3]);

impl Position {
    /// The place at these degrees north and east; `None` unless they lie in `-90..=90` and `-180..=180`.
    ///
    /// ```
    /// # use parades_topology::geo::Position;
    /// assert!(Position::from_degrees(47.4, 8.5).is_some());
    /// assert!(Position::from_degrees(200.0, 8.5).is_none());
    /// assert!(Position::from_degrees(47.4, f64::NAN).is_none());
    /// ```
    pub fn from_degrees(latitude: f64, longitude: f64) -> Option<Position> {
        if !(-90.0..=90.0).contains(&latitude) || !(-180.0..=180.0).contains(&longitude) {
            return None;
        }
        let (north, east) = (latitude.to_radians(), longitude.to_radians());
        let ring = libm::cos(north);
        Some(Position([ring * libm::cos(east), ring * libm::sin(east), libm::sin(north)]))
    }

    /// Degrees north of the equator.
    pub fn latitude(self) -> f64 {
        let [x, y, z] = self.0;
        libm::atan2(z, (x * x + y * y).sqrt()).to_degrees()
    }

    /// Degrees east of Greenwich.
    pub fn longitude(self) -> f64 {
        let [x, y, _] = self.0;
        libm::atan2(y, x).to_degrees()
    }

    /// The place in the middle of `places`: the direction of the sum of their vectors. `None` where there are
    /// none, or where they balance, as two antipodes do. The order of `places` is part of the result, for
    /// floating-point addition does not associate.
    ///
    /// ```
    /// # use parades_topology::geo::Position;
    /// let fiji_east = Position::from_degrees(-17.0, 179.0).unwrap();
    /// let fiji_west = Position::from_degrees(-17.0, -179.0).unwrap();
    /// let middle = Position::mean(&[fiji_east, fiji_west]).unwrap();
    /// assert!((middle.longitude().abs() - 180.0).abs() < 1e-9);
    /// ```
    pub fn mean(places: &[Position]) -> Option<Position> {
        let mut sum = [0.0; 3];
        for place in places {
            for (total, part) in sum.iter_mut().zip(place.0) {
                *total += part;
            }
        }
        let length = norm(sum);
        // Below this the direction would be that of rounding errors.
        (length > 1e-9).then(|| Position(sum.map(|part| part / length)))
    }

    /// The great-circle distance to `other`, in kilometres.
    ///
    /// ```
    /// # use parades_topology::geo::Position;
    /// let pole = Position::from_degrees(90.0, 0.0).unwrap();
    /// let quito = Position::from_degrees(0.0, -78.5).unwrap();
    /// assert!((pole.distance_km(quito) - 10_007.557).abs() < 1e-3);
    /// assert_eq!(quito.distance_km(quito), 0.0);
    /// ```
    pub fn distance_km(self, other: Position) -> f64 {
        let ([ax, ay, az], [bx, by, bz]) = (self.0, other.0);
        let sine = norm([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx]);
        // The arc tangent is exact to the last digits for near, far and antipodal places alike; the arc
        // cosine is not.
        EARTH_RADIUS_KM * libm::atan2(sine, ax * bx + ay * by + az * bz)
    }

    /// How long light takes to `other` in fibre along the great circle: at most 100.2 ms.
    pub fn fibre_delay(self, other: Position) -> Delay {
        Delay::try_from_secs_f64(self.distance_km(other) / FIBRE_KM_PER_S).expect("no two places are 213 days apart")
    }
}

/// Length of a vector. The square root is exact by IEEE 754, hence alike on every machine.
fn norm([x, y, z]: [f64; 3]) -> f64 {
    (x * x + y * y + z * z).sqrt()
}

/// Gives each place that is missing the mean of its neighbours' places; `neighbours[i]` lists those of `i`.
/// It goes in rounds: a round uses what was known before it, so that the result does not depend on the order
/// in which places are visited. A place that stays `None` has no path to a known place, or its neighbours
/// have no middle.
pub fn place_by_neighbours(places: &mut [Option<Position>], neighbours: &[Vec<u32>]) {
    let mut fresh: Vec<usize> = (0..places.len()).filter(|&i| places[i].is_some()).collect();
    while !fresh.is_empty() {
        // Only neighbours of what the last round found can be new: the whole costs one look at each link end,
        // not one a round.
        let mut candidates: Vec<usize> =
            fresh.iter().flat_map(|&i| &neighbours[i]).map(|&j| j as usize).filter(|&j| places[j].is_none()).collect();
        candidates.sort_unstable();
        candidates.dedup();
        let found: Vec<(usize, Position)> = candidates
            .into_iter()
            .filter_map(|j| {
                let known: Vec<Position> = neighbours[j].iter().filter_map(|&k| places[k as usize]).collect();
                Some((j, Position::mean(&known)?))
            })
            .collect();
        fresh = found.iter().map(|&(j, _)| j).collect();
        for (j, place) in found {
            places[j] = Some(place);
        }
    }
}
