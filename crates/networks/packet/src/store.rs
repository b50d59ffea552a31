//! The packets that a node holds for its ports, until their disciplines select them.

use crate::save::check;
use parades_core::restore::{Recorder, Undoable, Whole};
use parades_core::wire::{self, Malformed, Wire};

/// Packets by their places. A place is used again when its packet has left, so that in steady state no memory
/// is allocated.
#[derive(Clone, Debug, PartialEq, Eq, Undoable)]
pub(crate) struct Store<P: Undoable> {
    packets: Vec<Option<P>>,
    free: Vec<u32>,
}

impl<P: Undoable> Store<P> {
    pub(crate) fn new() -> Store<P> {
        Store { packets: Vec::new(), free: Vec::new() }
    }

    /// Returns the packet at a place.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub(crate) fn at(&self, place: u32) -> &P {
        self.packets[place as usize].as_ref().expect("a held packet is in the store")
    }

    /// Appends the bytes of the state. The free places are in it, as they decide where the next packets lie.
    pub(crate) fn write(&self, to: &mut Vec<u8>)
    where
        P: Wire,
    {
        wire::write(&(&self.packets, &self.free), to);
    }

    /// Reads a state whose packets are at these places, without repetitions.
    pub(crate) fn read(places: impl IntoIterator<Item = u32>, from: &mut &[u8]) -> Result<Store<P>, Malformed>
    where
        P: Wire,
    {
        let (packets, free): (Vec<Option<P>>, Vec<u32>) = wire::read(from)?;
        let mut is_named = vec![false; packets.len()];
        let places = places.into_iter().map(|place| (place, true)).chain(free.iter().map(|&place| (place, false)));
        for (place, is_taken) in places {
            let is_right = packets.get(place as usize).is_some_and(|packet| packet.is_some() == is_taken)
                && !std::mem::replace(&mut is_named[place as usize], true);
            check(is_right, "a store of packets")?;
        }
        check(is_named.into_iter().all(|is_named| is_named), "a store of packets")?;
        Ok(Store { packets, free })
    }

    /// Returns all packets.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &P> {
        self.packets.iter().flatten()
    }
}

impl<P: Whole + Clone, R: Recorder<StoreUndo<P>>> StoreMut<'_, P, R> {
    /// Keeps a packet, and returns its place.
    pub(crate) fn keep(&mut self, packet: P) -> u32 {
        if let Some(place) = self.free().pop() {
            self.packets().at(place as usize).set(Some(packet));
            return place;
        }
        self.packets().push(Some(packet));
        u32::try_from(self.packets.len() - 1).expect("packets are counted in 32 bits")
    }

    /// Takes out the packet at a place.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub(crate) fn take(&mut self, place: u32) -> P {
        let packet = self.packets().at(place as usize).take().expect("a held packet is in the store");
        self.free().push(place);
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parades_core::restore::UndoLog;

    #[test]
    fn places_are_used_again_and_every_change_can_be_undone() {
        let mut store = Store::new();
        let places = [10_u64, 20, 30].map(|packet| store.unrecorded().keep(packet));
        assert_eq!((places, store.unrecorded().take(1)), ([0, 1, 2], 20));
        let (before, mut log) = (store.clone(), UndoLog::default());
        log.recording(|recorder| {
            let mut view = store.view(recorder);
            assert_eq!((view.keep(40), view.take(0), view.keep(50), view.keep(60)), (1, 10, 0, 3));
        });
        assert_eq!(store.packets().copied().collect::<Vec<_>>(), [50, 40, 30, 60]);
        store.undo_all(&mut log);
        assert_eq!(store, before);
    }
}
