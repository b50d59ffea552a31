//! Measures how fast the campus network runs: `campus_speed [networks] [until_s]`.

#![expect(clippy::print_stdout, reason = "a measurement is printed")]

use parades_core::prelude::*;
use parades_net::campus::Parameters;

#[expect(clippy::disallowed_methods, reason = "the wall clock is what this measures")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let networks = arguments.next().map_or(Ok(2), |text| text.parse())?;
    let seconds = arguments.next().map_or(Ok(100.0), |text| text.parse())?;
    let begin = std::time::Instant::now();
    let network = Parameters { networks, ..Parameters::default() }.network(1)?;
    let setup = begin.elapsed().as_secs_f64();
    let until = Time::from_secs_f64(seconds).ok_or("the time must be from 0 to 213 days")?;
    let begin = std::time::Instant::now();
    let outcome = parades_engine::sequential::run(&network, RunOptions::until(until))?;
    let run = begin.elapsed().as_secs_f64();
    let million_events = outcome.events as f64 / 1e6;
    println!(
        "{networks} networks: set up in {setup:.2} s; {million_events:.2} M events in {run:.2} s, {:.2} M/s",
        million_events / run
    );
    println!("digest {:016x}", outcome.digest.unwrap_or(0));
    for (name, _, metric) in outcome.metrics.iter() {
        if let Some(number) = metric.headline() {
            println!("{name} {number}");
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().filter(|line| line.starts_with("VmHWM")).for_each(|line| println!("{line}"));
    Ok(())
}
