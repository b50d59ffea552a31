//! The size of records: each call makes few, and none is large.

use parades_tcp::{ConnectionUndo, Sent};

#[test]
fn a_record_is_not_larger_than_a_segment_of_the_scoreboard_and_its_place() {
    assert!(size_of::<ConnectionUndo>() <= size_of::<Sent>() + 16, "{}", size_of::<ConnectionUndo>());
    assert!(size_of::<Sent>() <= 64, "{}", size_of::<Sent>());
}
