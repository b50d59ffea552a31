//! The output of each example is that in the file beside it.

#[path = "../../examples/map_reduce.rs"]
mod map_reduce;
#[path = "../../examples/master_workers.rs"]
mod master_workers;
#[path = "../../examples/ping_pong.rs"]
mod ping_pong;
#[path = "../../examples/token_ring.rs"]
mod token_ring;

#[test]
fn ping_pong_says_what_is_expected() {
    assert_eq!(ping_pong::run().expect("it runs"), include_str!("../../examples/ping_pong.out"));
}

#[test]
fn token_ring_says_what_is_expected() {
    assert_eq!(token_ring::run().expect("it runs"), include_str!("../../examples/token_ring.out"));
}

#[test]
fn master_workers_says_what_is_expected() {
    assert_eq!(master_workers::run().expect("it runs"), include_str!("../../examples/master_workers.out"));
}

#[test]
fn map_reduce_says_what_is_expected() {
    assert_eq!(map_reduce::run().expect("it runs"), include_str!("../../examples/map_reduce.out"));
}
