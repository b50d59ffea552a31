//! Timers: set, reset and cancelled at every segment, and seldom due.
//!
//! Each LP keeps a slot for each of its timers. A setting that is later than the event already on its way (the *wake*) changes the
//! slot alone; when the wake comes too early it goes back into the pending set at the deadline. So a retransmission timer that is
//! reset at each acknowledgement costs two stores, and the pending set holds one wake for it, not one for each setting.
//!
//! *Invariants*: a set timer has a wake at or before its deadline; a timer fires at exactly the key that its last setting took; a wake
//! that its slot no longer names is stale, and neither counted nor digested.

use crate::event::TimerId;
use crate::time::Instant;

/// What tells one setting of a timer from another: when it is due, and the sequence number it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Setting {
    pub(crate) instant: Instant,
    pub(crate) sequence: u64,
}

/// One timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slot {
    /// When it is due; `None` while it is not set.
    deadline: Option<Setting>,
    /// The wake in the pending set that will look at this slot.
    wake: Option<Setting>,
}

/// A timer of an LP's as it was before a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerChange(pub(crate) TimerId, pub(crate) Slot);

/// The timers of an LP. Eight bytes where it has none.
#[derive(Clone, Debug, Default)]
#[expect(clippy::box_collection, reason = "one word in the record of an LP without timers, and most have none")]
pub(crate) struct Timers(Option<Box<Vec<Slot>>>);

/// Two sets of timers are equal when the same ones are set to the same settings: wakes are the engine's affair.
impl PartialEq for Timers {
    fn eq(&self, other: &Timers) -> bool {
        let slots = self.slots().len().max(other.slots().len());
        (0..slots).all(|i| self.deadline(i) == other.deadline(i))
    }
}

/// What to do about a wake that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// The timer is due: execute it.
    Fire,
    /// The timer is set to later: wake it again then.
    Later(Setting),
    /// Nobody waits for this wake.
    Stale,
}

impl Timers {
    fn slots(&self) -> &[Slot] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }

    fn deadline(&self, index: usize) -> Option<Setting> {
        self.slots().get(index).and_then(|slot| slot.deadline)
    }

    /// The slot of a timer, made if it is not there yet.
    fn slot(&mut self, id: TimerId) -> &mut Slot {
        let slots = self.0.get_or_insert_default();
        let index = id.0 as usize;
        if slots.len() <= index {
            slots.resize(index + 1, Slot::default());
        }
        &mut slots[index]
    }

    /// The slot as it is, for undoing a change.
    pub(crate) fn peek(&self, id: TimerId) -> Slot {
        self.slots().get(id.0 as usize).copied().unwrap_or_default()
    }

    /// Puts a slot back as [`Timers::peek`] saw it.
    pub(crate) fn put_back(&mut self, id: TimerId, slot: Slot) {
        *self.slot(id) = slot;
    }

    /// Sets or resets a timer; the wake that must be sent, if the one on its way is not early enough.
    pub(crate) fn set(&mut self, id: TimerId, setting: Setting) -> Option<Setting> {
        let slot = self.slot(id);
        slot.deadline = Some(setting);
        if slot.wake.is_some_and(|wake| wake <= setting) {
            return None;
        }
        slot.wake = Some(setting);
        Some(setting)
    }

    /// Cancels a timer; nothing if it is not set.
    pub(crate) fn cancel(&mut self, id: TimerId) {
        if self.deadline(id.0 as usize).is_some() {
            self.slot(id).deadline = None;
        }
    }

    /// Whether a timer is set.
    pub(crate) fn is_set(&self, id: TimerId) -> bool {
        self.deadline(id.0 as usize).is_some()
    }

    /// Takes a wake that has come.
    pub(crate) fn due(&mut self, id: TimerId, wake: Setting) -> Due {
        let slot = self.slot(id);
        if slot.wake != Some(wake) {
            return Due::Stale;
        }
        slot.wake = slot.deadline;
        match slot.deadline {
            None => Due::Stale,
            Some(deadline) if deadline == wake => {
                *slot = Slot::default();
                Due::Fire
            }
            Some(deadline) => {
                assert!(deadline > wake, "a timer is woken at or before its deadline");
                Due::Later(deadline)
            }
        }
    }

    /// Forgets the wakes that are on their way and lists those that the set timers need, after a rollback.
    pub(crate) fn rewake(&mut self) -> impl Iterator<Item = (TimerId, Setting)> {
        let slots = self.0.as_deref_mut().map_or(&mut [][..], Vec::as_mut_slice);
        slots.iter_mut().zip(0..).filter_map(|(slot, id)| {
            slot.wake = slot.deadline;
            slot.deadline.map(|setting| (TimerId(id), setting))
        })
    }
}
