//! A network of queues: its parameters, and its figures in theory.

use super::traffic;
use parades_core::random::Rng;
use std::collections::VecDeque;

/// The reason why a network is impossible: the key of the wrong parameter, and a sentence.
pub type Invalid = (&'static str, String);

/// Largest rate in customers per second. It means 100 ps between customers. At higher rates, rounding to
/// whole picoseconds would affect results.
const RATE_MAX: f64 = 1e10;
/// Smallest probability of leaving in generated networks. With it, customers make a thousand visits on
/// average.
const LEAVE_MIN: f64 = 0.001;
/// Largest deviation of a sum of probabilities from 1. It allows thirds to be written as 0.333333333.
const SUM_TOLERANCE: f64 = 1e-8;

/// A station: a server with a queue, and its figures in theory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Station {
    /// The rate of arrivals from outside, in customers per second.
    pub arrival_rate: f64,
    /// The rate at which customers can be served, in customers per second.
    pub service_rate: f64,
    /// The rate of all arrivals, in customers per second, from the traffic equations.
    pub throughput: f64,
}

impl Station {
    /// Returns `rho`, the share of time in which the server is busy.
    pub fn utilisation(&self) -> f64 {
        self.throughput / self.service_rate
    }

    /// Returns the mean number of customers at the station, `rho / (1 - rho)`.
    pub fn mean_number(&self) -> f64 {
        self.throughput / (self.service_rate - self.throughput)
    }

    /// Returns the mean time of a visit in seconds, including the wait, `1 / (service rate - throughput)`.
    pub fn mean_time(&self) -> f64 {
        1.0 / (self.service_rate - self.throughput)
    }
}

/// An open network of stations that has a steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    stations: Vec<Station>,
    /// The routes of each station: the next station and the probability of moving there. The probability of
    /// leaving is 1 minus their sum.
    routes: Vec<Vec<(u32, f64)>>,
}

/// The arrangement of the stations of a generated network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A ring, in which customers move to either neighbour.
    Ring,
    /// Four other stations drawn at random for each station, to which its customers move.
    Random,
}

/// The parameters of a generated network. All its stations have the same utilisation.
#[derive(Clone, Debug, PartialEq, parades_config::Parameters)]
pub struct Generated {
    /// The number of stations.
    #[parameter(integer, default = 10_000, range = 2..=100_000_000, meaning = "stations of a ring or random network")]
    pub stations: u32,
    /// The arrangement of the stations.
    #[parameter(skip, default = Layout::Random)]
    pub layout: Layout,
    /// The share of time in which each station is busy.
    #[parameter(
        fraction,
        changeable,
        default = 0.8,
        meaning = "share of time that the busiest station is busy; above 0 and below 1"
    )]
    pub utilisation: f64,
    /// The mean rate at which a station can serve, in customers per second.
    #[parameter(
        float, changeable, default = 1000.0, range = 1e-6..=1e10,
        meaning = "customers that a station can serve in a second"
    )]
    pub service_rate: f64,
    /// The probability that a customer leaves after a service.
    #[parameter(
        fraction,
        default = 0.1,
        meaning = "probability that a customer of a ring or random network leaves after a service"
    )]
    pub leave: f64,
    /// The seed of the random layout.
    #[parameter(skip, default = 1)]
    pub seed: u64,
}

impl Network {
    /// Creates one M/M/1 station with the given utilisation, which serves `service_rate` customers per
    /// second.
    ///
    /// ```
    /// # use parades_models::queueing::Network;
    /// let queue = Network::mm1(0.8, 1000.0).unwrap();
    /// assert!((queue.mean_sojourn() - 0.005).abs() < 1e-12);
    /// let (key, sentence) = Network::mm1(1.0, 1000.0).unwrap_err();
    /// assert_eq!((key, &*sentence), ("utilisation", "the utilisation must be above 0 and below 1, not 1"));
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the utilisation is not between 0 and 1 (both excluded), or if the rate is not above 0 and at
    /// most 1e10.
    pub fn mm1(utilisation: f64, service_rate: f64) -> Result<Network, Invalid> {
        check_utilisation(utilisation)?;
        check_rate("service_rate", "the service rate", service_rate)?;
        Network::new(vec![utilisation * service_rate], vec![service_rate], vec![Vec::new()]).map_err(of_one_rate)
    }

    /// Creates a network of any shape. For each station it takes the rate of arrivals from outside, the rate
    /// of service, and the probabilities of moving to each station. The probability of leaving is 1 minus the
    /// sum of a row.
    ///
    /// ```
    /// # use parades_models::queueing::Network;
    /// // Half of the customers are served again.
    /// let network = Network::jackson(&[1.0], &[4.0], &[vec![0.5]]).unwrap();
    /// assert_eq!(network.stations()[0].throughput, 2.0);
    /// assert_eq!(network.mean_sojourn(), 1.0);
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the first wrong key. The tables differ in size; a rate or a probability is impossible; the
    /// probabilities of a row exceed 1 in sum; customers at a station have no way out; or a station cannot
    /// serve all its customers.
    pub fn jackson(arrival_rates: &[f64], service_rates: &[f64], routing: &[Vec<f64>]) -> Result<Network, Invalid> {
        let n = service_rates.len();
        let size = |key, what: &str, len| (key, format!("there are {n} service rates, but {len} {what}"));
        if arrival_rates.len() != n {
            return Err(size("arrival_rates", "arrival rates", arrival_rates.len()));
        }
        if routing.len() != n {
            return Err(size("routing", "rows of probabilities", routing.len()));
        }
        if let Some((i, row)) = routing.iter().enumerate().find(|(_, row)| row.len() != n) {
            return Err(("routing", format!("station {i} has {} probabilities for {n} stations", row.len())));
        }
        let sparse =
            |row: &Vec<f64>| (0..).zip(row.iter().copied()).filter(|(_, p)| p.abs() > 0.0 || p.is_nan()).collect();
        Network::new(arrival_rates.to_vec(), service_rates.to_vec(), routing.iter().map(sparse).collect())
    }

    /// Creates five stations with feedback.
    ///
    /// Customers alternate between a processor (station 0) and one of four devices. They leave after a visit
    /// to the processor, after five of these visits on average. The processor has the given utilisation and
    /// serves `service_rate` customers per second. The utilisation of the devices is 0.9, 0.8, 0.7 and 0.6 of
    /// that.
    ///
    /// This is the central server of Buzen, "Computational algorithms for closed queueing networks with
    /// exponential servers", 1973, made an open network.
    ///
    /// # Errors
    ///
    /// Fails where [`Network::mm1`] does.
    pub fn central_server(utilisation: f64, service_rate: f64) -> Result<Network, Invalid> {
        const DEVICES: [(f64, f64); 4] = [(0.30, 0.9), (0.25, 0.8), (0.15, 0.7), (0.10, 0.6)];
        check_utilisation(utilisation)?;
        check_rate("service_rate", "the service rate", service_rate)?;
        let processor = utilisation * service_rate;
        let arrivals = vec![0.2 * processor, 0.0, 0.0, 0.0, 0.0];
        // Each visit to the processor leads to `share` visits to the device.
        let rates = DEVICES.map(|(share, load)| share * processor / (load * utilisation));
        let services = [service_rate].into_iter().chain(rates).collect();
        let out = (1..).zip(DEVICES).map(|(device, (share, _))| (device, share)).collect();
        let routes = [out].into_iter().chain(DEVICES.map(|_| vec![(0, 1.0)])).collect();
        Network::new(arrivals, services, routes).map_err(of_one_rate)
    }

    /// Creates a network of many stations, for measuring engines.
    ///
    /// ```
    /// # use parades_models::queueing::{Generated, Network};
    /// let network = Network::generated(&Generated { stations: 1000, ..Generated::default() }).unwrap();
    /// assert!(network.stations().iter().all(|station| (station.utilisation() - 0.8).abs() < 1e-9));
    /// assert!((network.mean_visits() - 10.0).abs() < 1e-9);
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the first wrong key.
    pub fn generated(parameters: &Generated) -> Result<Network, Invalid> {
        let &Generated { stations, layout, utilisation, service_rate, leave, seed } = parameters;
        let least = match layout {
            Layout::Ring => 3,
            Layout::Random => 2,
        };
        if stations < least {
            return Err(("stations", format!("this layout needs {least} stations or more, not {stations}")));
        }
        check_utilisation(utilisation)?;
        check_rate("service_rate", "the service rate", service_rate)?;
        if !(LEAVE_MIN..=1.0).contains(&leave) {
            let sentence =
                format!("the probability of leaving must be at least {LEAVE_MIN} and at most 1, not {leave}");
            return Err(("leave", sentence));
        }
        let rng = Rng::shared(seed, 0);
        let stay = 1.0 - leave;
        let routes: Vec<Vec<(u32, f64)>> = (0..stations)
            .map(|id| match layout {
                Layout::Ring => [1, stations - 1].map(|step| (ring(id, step, stations), stay / 2.0)).into(),
                Layout::Random => (0..4).map(|_| (other(id, stations, &rng), stay / 4.0)).collect(),
            })
            .collect();
        // A customer makes 1 / leave visits, so these arrivals give the average station the desired
        // utilisation.
        let arrivals = vec![utilisation * service_rate * leave; stations as usize];
        let throughput = traffic::solve(&arrivals, &routes)?;
        let services = throughput.iter().map(|rate| rate / utilisation).collect();
        Network::new(arrivals, services, routes).map_err(of_one_rate)
    }

    /// Checks the parameters and solves the traffic equations.
    fn new(arrivals: Vec<f64>, services: Vec<f64>, mut routes: Vec<Vec<(u32, f64)>>) -> Result<Network, Invalid> {
        check_rates(&arrivals, &services)?;
        for (i, routes) in routes.iter_mut().enumerate() {
            check_routes(i, routes)?;
        }
        if let Some(i) = without_exit(&routes) {
            return Err((
                "routing",
                format!("customers at station {i} can never leave: give a way out a positive probability"),
            ));
        }
        let throughput = traffic::solve(&arrivals, &routes)?;
        let station = |((&arrival_rate, service_rate), throughput)| Station { arrival_rate, service_rate, throughput };
        let stations: Vec<Station> = arrivals.iter().zip(services).zip(throughput).map(station).collect();
        match stations.iter().position(|station| station.utilisation() >= 1.0) {
            None => Ok(Network { stations, routes }),
            Some(i) => {
                let Station { throughput, service_rate, .. } = stations[i];
                Err((
                    "service_rates",
                    format!(
                        "{throughput} customers a second come to station {i}, which can serve {service_rate}: serve more"
                    ),
                ))
            }
        }
    }

    /// Returns the stations.
    pub fn stations(&self) -> &[Station] {
        &self.stations
    }

    /// Returns the routes of each station: the next station and the probability of moving there.
    pub fn routes(&self) -> &[Vec<(u32, f64)>] {
        &self.routes
    }

    /// Returns the rate of all arrivals from outside, in customers per second.
    pub fn arrival_rate(&self) -> f64 {
        self.stations.iter().map(|station| station.arrival_rate).sum()
    }

    /// Returns the mean number of stations that a customer visits.
    pub fn mean_visits(&self) -> f64 {
        self.stations.iter().map(|station| station.throughput).sum::<f64>() / self.arrival_rate()
    }

    /// Returns the mean number of customers in the network. Each station is as if it were alone (Jackson).
    pub fn mean_number(&self) -> f64 {
        self.stations.iter().map(Station::mean_number).sum()
    }

    /// Returns the mean time from a customer's arrival to its leaving, in seconds, by Little's law. Moves
    /// between stations are not included.
    pub fn mean_sojourn(&self) -> f64 {
        self.mean_number() / self.arrival_rate()
    }

    /// Returns the number of customers that makes a run's 95 % interval narrow enough in about 19 of 20 runs.
    /// The half-width is then at most this share of the mean sojourn time.
    ///
    /// The number of customers at an M/M/1 station, averaged over a long time `t`, has the variance
    /// `2 rho (1 + rho) / ((1 - rho)^4 mu t)` (Whitt, "Planning queueing simulations", Management Science
    /// 35(11), 1989). Customers who return increase the variance as if `mu` were divided by their number of
    /// visits.
    ///
    /// Stations that feed each other are busy together. On [`Network::central_server`], this made the
    /// measured half-width 1.5 times as large. So networks of several stations get 2.25 times the customers.
    ///
    /// The factor 3.8 is Student's t for the smallest number of batches, 2.1, with a margin. The half-width
    /// needs the margin because it is an estimate too, and scatters.
    ///
    /// ```
    /// # use parades_models::queueing::Network;
    /// let millions = |utilisation, half_width| Network::mm1(utilisation, 1.0).unwrap().customers_for(half_width) / 1_000_000;
    /// assert_eq!((millions(0.5, 0.01), millions(0.8, 0.01), millions(0.95, 0.03)), (1, 12, 25));
    /// ```
    pub fn customers_for(&self, relative_half_width: f64) -> u64 {
        let arrival_rate = self.arrival_rate();
        let spread = |station: &Station| {
            let (rho, idle) = (station.utilisation(), 1.0 - station.utilisation());
            let visits = (station.throughput / arrival_rate).max(1.0);
            2.0 * rho * (1.0 + rho) * visits / (idle * idle * idle * idle * station.service_rate)
        };
        let spread: f64 = self.stations.iter().map(spread).sum();
        let dependence = if self.stations.len() > 1 { 1.5 } else { 1.0 };
        let scale = 3.8 * dependence / relative_half_width / self.mean_number();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and `as` saturates")]
        ((scale * scale * spread * arrival_rate).ceil() as u64).max(1)
    }
}

/// Returns the station `step` places after `id` in the ring.
fn ring(id: u32, step: u32, stations: u32) -> u32 {
    let place = (u64::from(id) + u64::from(step)) % u64::from(stations);
    u32::try_from(place).expect("it is below the number of stations")
}

/// Draws a station other than `id`.
fn other(id: u32, stations: u32, rng: &Rng) -> u32 {
    let step = u32::try_from(rng.range(1, u64::from(stations))).expect("it is below the number of stations");
    ring(id, step, stations)
}

/// Makes the error about one of several computed rates an error about the one rate that they were computed
/// from.
fn of_one_rate((_, sentence): Invalid) -> Invalid {
    ("service_rate", sentence)
}

fn check_utilisation(utilisation: f64) -> Result<(), Invalid> {
    if utilisation > 0.0 && utilisation < 1.0 {
        return Ok(());
    }
    Err(("utilisation", format!("the utilisation must be above 0 and below 1, not {utilisation}")))
}

fn check_rate(key: &'static str, what: &str, rate: f64) -> Result<(), Invalid> {
    if rate > 0.0 && rate <= RATE_MAX {
        return Ok(());
    }
    Err((key, format!("{what} must be above 0 and at most {RATE_MAX:e} customers a second, not {rate}")))
}

fn check_rates(arrivals: &[f64], services: &[f64]) -> Result<(), Invalid> {
    for (i, &rate) in services.iter().enumerate() {
        check_rate("service_rates", &format!("the service rate of station {i}"), rate)?;
    }
    for (i, &rate) in arrivals.iter().enumerate() {
        // Zero is allowed: it means no arrivals from outside.
        if rate.abs().to_bits() > 0 {
            check_rate("arrival_rates", &format!("the arrival rate of station {i}, if not 0,"), rate)?;
        }
    }
    if arrivals.iter().all(|&rate| rate <= 0.0) {
        return Err(("arrival_rates", "no customers come from outside: give a station an arrival rate above 0".into()));
    }
    Ok(())
}

/// Checks the probabilities of a station. If their sum deviates from 1 by rounding only, scales them to 1.
fn check_routes(station: usize, routes: &mut [(u32, f64)]) -> Result<(), Invalid> {
    if let Some((to, p)) = routes.iter().find(|(_, p)| !(0.0..=1.0).contains(p)) {
        return Err((
            "routing",
            format!("the probability from station {station} to {to} must be between 0 and 1, not {p}"),
        ));
    }
    let sum: f64 = routes.iter().map(|(_, p)| p).sum();
    if sum > 1.0 + SUM_TOLERANCE {
        return Err((
            "routing",
            format!("the probabilities of station {station} are {sum} in sum: make them at most 1"),
        ));
    }
    if sum > 1.0 - SUM_TOLERANCE {
        routes.iter_mut().for_each(|(_, p)| *p /= sum);
    }
    Ok(())
}

/// Returns true if customers can leave after a service at a station with these routes.
pub(super) fn is_exit(routes: &[(u32, f64)]) -> bool {
    routes.iter().map(|(_, p)| p).sum::<f64>() < 1.0 - SUM_TOLERANCE / 2.0
}

/// Returns a station from which customers can never leave, if there is one.
fn without_exit(routes: &[Vec<(u32, f64)>]) -> Option<usize> {
    let mut sources = vec![Vec::new(); routes.len()];
    for (from, routes) in routes.iter().enumerate() {
        routes.iter().filter(|(_, p)| *p > 0.0).for_each(|&(to, _)| sources[to as usize].push(from));
    }
    let mut leads_out: Vec<bool> = routes.iter().map(|routes| is_exit(routes)).collect();
    let mut found: VecDeque<usize> = (0..routes.len()).filter(|&i| leads_out[i]).collect();
    while let Some(station) = found.pop_front() {
        for &source in &sources[station] {
            if !leads_out[source] {
                leads_out[source] = true;
                found.push_back(source);
            }
        }
    }
    leads_out.iter().position(|leads| !leads)
}
