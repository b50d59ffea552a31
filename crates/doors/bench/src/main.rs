//! The program `parades-bench`, which `parades bench` starts: tables of measurements.

#![forbid(unsafe_code)]

mod command;

use parades_raw::allocator::Allocator;
use parades_session::failure;
use std::process::ExitCode;

/// The allocator of the `parades` command. Runs are measured with it.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator {
    message: "error: memory is full; make the run smaller, or give it a `--memory-limit` below what the system lets it have",
    exit_status: failure::FAILED as i32,
};

fn main() -> ExitCode {
    command::command()
}
