//! Timers: cheap to set, reset and cancel, and seldom due.
//!
//! Each LP has a slot for each of its timers. The event that looks at a slot is its *wake*. If a timer is
//! reset to a later instant than its wake, only the slot changes. When the wake comes too early, it is sent
//! again for the deadline. So a retransmission timer that is reset at every acknowledgement costs two stores
//! each time. The pending set holds one wake for the timer, not one for each setting.
//!
//! *Invariants*:
//!
//! - A timer that is set has a wake at or before its deadline.
//! - A timer fires at exactly the key that its last setting took.
//! - A wake that its slot no longer names is stale. It is neither counted nor digested.

use crate::event::TimerId;
use crate::time::Instant;
use serde::{Deserialize, Serialize};

/// One setting of a timer: its deadline, and the sequence number that it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Setting {
    pub(crate) instant: Instant,
    pub(crate) sequence: u64,
}

/// The slot of one timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimerSlot {
    /// The deadline; `None` while the timer is not set.
    deadline: Option<Setting>,
    /// The pending wake that will look at this slot.
    wake: Option<Setting>,
}

/// A timer as it was before a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerChange(pub(crate) TimerId, pub(crate) TimerSlot);

/// The timers of an LP. An LP without timers, as most are, takes eight bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timers(Option<Box<TimerSlots>>);

/// Slots. The first two are one pointer away, because most LPs with timers have one or two.
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

/// The result of a wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakeResult {
    /// The timer is due: execute it.
    Fire,
    /// The timer is set to this later deadline: send the next wake.
    Later(Setting),
    /// The timer is not set, or has another wake.
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

    /// Returns the slot of a timer, and makes it if necessary.
    #[inline]
    fn slot(&mut self, id: TimerId) -> &mut TimerSlot {
        self.0.get_or_insert_default().get_mut(id.0 as usize)
    }

    /// Returns a copy of the slot, for undoing a change.
    pub(crate) fn get(&self, id: TimerId) -> TimerSlot {
        self.0.as_ref().and_then(|slots| slots.get(id.0 as usize)).copied().unwrap_or_default()
    }

    /// Restores a slot from the copy that [`Timers::get`] returned.
    pub(crate) fn restore(&mut self, id: TimerId, slot: TimerSlot) {
        *self.slot(id) = slot;
    }

    /// Sets or resets a timer. Returns the wake that must be sent, if the pending wake is not early enough.
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

    /// Cancels a timer, if it is set.
    #[inline]
    pub(crate) fn cancel(&mut self, id: TimerId) {
        if self.deadline(id.0 as usize).is_some() {
            self.slot(id).deadline = None;
        }
    }

    /// True if a timer is set.
    #[inline]
    pub(crate) fn is_set(&self, id: TimerId) -> bool {
        self.deadline(id.0 as usize).is_some()
    }

    /// Decides the result of a wake, and updates the slot of its timer.
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

    /// Returns the settings of the timers by number, up to the last one that is set.
    pub(crate) fn settings(&self) -> Vec<Option<Setting>> {
        let Some(slots) = &self.0 else { return Vec::new() };
        let mut settings: Vec<_> = slots.first.iter().chain(&slots.others).map(|slot| slot.deadline).collect();
        let last = settings.iter().rposition(Option::is_some);
        settings.truncate(last.map_or(0, |last| last + 1));
        settings
    }

    /// Makes timers with these settings, without wakes.
    pub(crate) fn of_settings(settings: &[Option<Setting>]) -> Timers {
        let mut timers = Timers::default();
        for (id, setting) in (0..).map(TimerId).zip(settings) {
            if setting.is_some() {
                timers.slot(id).deadline = *setting;
            }
        }
        timers
    }

    /// Forgets the pending wakes, and returns the wakes that the set timers need after a rollback.
    pub(crate) fn renew_wakes(&mut self) -> impl Iterator<Item = (TimerId, Setting)> {
        let slots = self.0.iter_mut().flat_map(|slots| slots.first.iter_mut().chain(&mut slots.others));
        slots.zip(0..).filter_map(|(slot, id)| {
            slot.wake = slot.deadline;
            slot.deadline.map(|setting| (TimerId(id), setting))
        })
    }
}
