//! Events between one kind of pending set and another.

use super::slab::{Chain, Slab};

/// All that waited in a pending set, in no order, where it lay: another set takes it over without copying it to new memory.
#[derive(Debug)]
pub struct Loose<P> {
    pub(super) slab: Slab<P>,
    pub(super) chain: Chain,
    /// The width of windows that had proved good, as [`super::WindowedPending`] has it.
    pub(super) shift: Option<u8>,
}

impl<P> Default for Loose<P> {
    fn default() -> Loose<P> {
        Loose { slab: Slab::new(), chain: Chain::default(), shift: None }
    }
}
