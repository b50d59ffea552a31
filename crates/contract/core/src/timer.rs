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
pub(crate) struct TimerSlot {
    /// When it is due; `None` while it is not set.
    deadline: Option<Setting>,
    /// The wake in the pending set that will look at this slot.
    wake: Option<Setting>,
}

/// A timer of an LP's as it was before a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerChange(pub(crate) TimerId, pub(crate) TimerSlot);

/// The timers of an LP. Eight bytes where it has none, and most have none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timers(Option<Box<TimerSlots>>);

/// TimerSlots of which the first lie side by side, one pointer away: most LPs that have timers have one or two.
#[derive(Clone, Debug, Default)]
struct TimerSlots {
    first: [TimerSlot; 2],
    others: Vec<TimerSlot>,
}

impl TimerSlots {
    #[inline]
    fn get(&self, index: usize) -> Option<&TimerSlot> {
        self.first.get(index).or_else(|| self.others.get(index - self.first.len()))
    }

    #[inline]
    fn get_mut(&mut self, index: usize) -> &mut TimerSlot {
        if index < self.first.len() {
            return &mut self.first[index];
        }
        self.spilled(index - self.first.len())
    }

    fn spilled(&mut self, index: usize) -> &mut TimerSlot {
        if self.others.len() <= index {
            self.others.resize(index + 1, TimerSlot::default());
        }
        &mut self.others[index]
    }
}

/// What to do about a wake that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakeResult {
    /// The timer is due: execute it.
    Fire,
    /// The timer is set to later: wake it again then.
    Later(Setting),
    /// Nobody waits for this wake.
    Stale,
}

impl Timers {
    /// True if the same timers are set, to the same settings. Wakes do not count: they depend on the engine.
    pub(crate) fn has_same_settings(&self, other: &Timers) -> bool {
        let slots = |timers: &Timers| timers.0.as_ref().map_or(0, |slots| slots.first.len() + slots.others.len());
        (0..slots(self).max(slots(other))).all(|i| self.deadline(i) == other.deadline(i))
    }

    #[inline]
    fn deadline(&self, index: usize) -> Option<Setting> {
        self.0.as_ref()?.get(index)?.deadline
    }

    /// The slot of a timer, made if it is not there yet.
    #[inline]
    fn slot(&mut self, id: TimerId) -> &mut TimerSlot {
        self.0.get_or_insert_default().get_mut(id.0 as usize)
    }

    /// The slot as it is, for undoing a change.
    pub(crate) fn get(&self, id: TimerId) -> TimerSlot {
        self.0.as_ref().and_then(|slots| slots.get(id.0 as usize)).copied().unwrap_or_default()
    }

    /// Puts a slot back as [`Timers::get`] saw it.
    pub(crate) fn restore(&mut self, id: TimerId, slot: TimerSlot) {
        *self.slot(id) = slot;
    }

    /// Sets or resets a timer; the wake that must be sent, if the one on its way is not early enough.
    #[inline]
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
    #[inline]
    pub(crate) fn cancel(&mut self, id: TimerId) {
        if self.deadline(id.0 as usize).is_some() {
            self.slot(id).deadline = None;
        }
    }

    /// Whether a timer is set.
    #[inline]
    pub(crate) fn is_set(&self, id: TimerId) -> bool {
        self.deadline(id.0 as usize).is_some()
    }

    /// Takes a wake that has come.
    #[inline]
    pub(crate) fn accept_wake(&mut self, id: TimerId, wake: Setting) -> WakeResult {
        let slot = self.slot(id);
        if slot.wake != Some(wake) {
            return WakeResult::Stale;
        }
        slot.wake = slot.deadline;
        match slot.deadline {
            None => WakeResult::Stale,
            Some(deadline) if deadline == wake => {
                *slot = TimerSlot::default();
                WakeResult::Fire
            }
            Some(deadline) => {
                assert!(deadline > wake, "a timer is woken at or before its deadline");
                WakeResult::Later(deadline)
            }
        }
    }

    /// Forgets the wakes that are on their way and lists those that the set timers need, after a rollback.
    pub(crate) fn renew_wakes(&mut self) -> impl Iterator<Item = (TimerId, Setting)> {
        let slots = self.0.iter_mut().flat_map(|slots| slots.first.iter_mut().chain(&mut slots.others));
        slots.zip(0..).filter_map(|(slot, id)| {
            slot.wake = slot.deadline;
            slot.deadline.map(|setting| (TimerId(id), setting))
        })
    }
}
