//! The `parades` command with the built-in scenarios.

#![forbid(unsafe_code)]

use parades_raw::allocator::Allocator;
use parades_session::failure;
use std::process::ExitCode;

/// Reports full memory as a failure of the run, in one sentence.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator {
    message: "error: memory is full; make the run smaller, or give it a `--memory-limit` below what the system lets it have",
    exit_status: failure::FAILED as i32,
};

fn main() -> ExitCode {
    parades_cli::command([])
}
