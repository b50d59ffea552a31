//! Full memory is reported once, however many threads meet it at the same time.

use parades_raw::allocator::Allocator;
use std::process::{Command, Output};
use std::sync::Barrier;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator { message: "memory is full", exit_status: 7 };

/// The variable that makes a process of this test fill its memory.
const FILLS: &str = "PARADES_TEST_FILLS_MEMORY";

/// Requests more memory than there is, in eight threads at once.
fn fill() {
    let barrier = Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                std::hint::black_box(Vec::<u8>::with_capacity(isize::MAX as usize));
            });
        }
    });
}

#[test]
fn several_threads_that_find_memory_full_write_one_sentence() {
    if std::env::var_os(FILLS).is_some() {
        return fill();
    }
    let program = std::env::current_exe().expect("this test is a program");
    let name = "several_threads_that_find_memory_full_write_one_sentence";
    for _ in 0..40 {
        let mut child = Command::new(&program);
        let Output { status, stderr, .. } =
            child.args(["--exact", name, "--nocapture"]).env(FILLS, "1").output().expect("it can be started");
        assert_eq!(status.code(), Some(7));
        let said = String::from_utf8_lossy(&stderr);
        assert_eq!(
            said.lines().collect::<Vec<_>>(),
            [format!("memory is full: {} bytes more could not be had", isize::MAX)]
        );
    }
}
