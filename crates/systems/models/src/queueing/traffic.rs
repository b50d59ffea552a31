//! The traffic equations, for the rate of all arrivals at each station, from outside and from other stations.
//!
//! `throughput[i] = arrivals[i] + sum over j of throughput[j] * probability(j -> i)` (Jackson 1957, equation
//! 2).

use super::network::Invalid;

/// Largest number of stations for which the equations are solved by elimination. Its work grows with the cube
/// of this number.
const DENSE_MAX: usize = 300;
/// The relative change of the sum of throughputs below which the iteration has converged.
const CONVERGED: f64 = 1e-13;
/// Largest number of steps of the iteration. Customers who need more would make more than a thousand moves
/// each.
const STEPS_MAX: usize = 40_000;

/// Returns the throughput of each station. `arrivals` are the rates from outside, and `routes` are the pairs
/// (station, probability) of each station.
///
/// Customers must be able to leave from every station, or else the equations have no solution.
pub(super) fn solve(arrivals: &[f64], routes: &[Vec<(u32, f64)>]) -> Result<Vec<f64>, Invalid> {
    if arrivals.len() <= DENSE_MAX { Ok(eliminate(arrivals, routes)) } else { iterate(arrivals, routes) }
}

/// Solves `(I - transposed routing) throughput = arrivals` by Gaussian elimination.
///
/// The matrix is diagonally dominant by columns, since no station's probabilities exceed 1 in sum. So no
/// pivoting is needed, and similar numbers are subtracted only in the diagonal.
fn eliminate(arrivals: &[f64], routes: &[Vec<(u32, f64)>]) -> Vec<f64> {
    let n = arrivals.len();
    let mut rows: Vec<Vec<f64>> = (0..n).map(|_| vec![0.0; n]).collect();
    for (from, routes) in routes.iter().enumerate() {
        rows[from][from] += 1.0;
        routes.iter().for_each(|&(to, probability)| rows[to as usize][from] -= probability);
    }
    let mut right = arrivals.to_vec();
    for pivot in 0..n {
        let (above, below) = rows.split_at_mut(pivot + 1);
        let pivot_row = &above[pivot];
        for (row, i) in below.iter_mut().zip(pivot + 1..) {
            let factor = row[pivot] / pivot_row[pivot];
            if factor.abs() > 0.0 {
                row[pivot..].iter_mut().zip(&pivot_row[pivot..]).for_each(|(x, y)| *x -= factor * y);
                right[i] -= factor * right[pivot];
            }
        }
    }
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| rows[i][j] * right[j]).sum();
        right[i] = (right[i] - known) / rows[i][i];
    }
    right
}

/// Follows the arrivals from move to move, until the customers still in the network do not count any more.
fn iterate(arrivals: &[f64], routes: &[Vec<(u32, f64)>]) -> Result<Vec<f64>, Invalid> {
    let mut throughput = arrivals.to_vec();
    let mut moving = arrivals.to_vec();
    let mut next = vec![0.0; arrivals.len()];
    for _ in 0..STEPS_MAX {
        next.fill(0.0);
        for (routes, flow) in routes.iter().zip(&moving) {
            routes.iter().for_each(|&(to, probability)| next[to as usize] += flow * probability);
        }
        throughput.iter_mut().zip(&next).for_each(|(sum, more)| *sum += more);
        std::mem::swap(&mut moving, &mut next);
        if moving.iter().sum::<f64>() <= CONVERGED * throughput.iter().sum::<f64>() {
            return Ok(throughput);
        }
    }
    Err(("routing", format!("after {STEPS_MAX} moves customers are still in the network: let more of them leave")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elimination_and_iteration_agree_with_a_solution_by_hand() {
        // Two stations in a loop: a = 1 + b / 2, b = a / 2, so a = 4/3 and b = 2/3.
        let (arrivals, routes) = (vec![1.0, 0.0], vec![vec![(1, 0.5)], vec![(0, 0.5)]]);
        for solution in [eliminate(&arrivals, &routes), iterate(&arrivals, &routes).unwrap()] {
            assert!((solution[0] - 4.0 / 3.0).abs() < 1e-12 && (solution[1] - 2.0 / 3.0).abs() < 1e-12, "{solution:?}");
        }
    }

    #[test]
    fn elimination_and_iteration_agree_on_a_random_network() {
        let rng = parades_core::random::Rng::shared(3, 0);
        let arrivals: Vec<f64> = (0..40).map(|_| rng.unit()).collect();
        let routes: Vec<Vec<(u32, f64)>> =
            (0..40_u32).map(|i| (0..5).map(|k| ((i * 7 + k * k + k) % 40, 0.19 * rng.unit())).collect()).collect();
        let iterated = iterate(&arrivals, &routes).unwrap();
        for (x, y) in eliminate(&arrivals, &routes).iter().zip(&iterated) {
            assert!((x / y - 1.0).abs() < 1e-10, "{x} and {y}");
        }
    }
}
