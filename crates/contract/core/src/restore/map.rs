//! Maps and sets, which are in the order of their keys.

use super::{Recorder, Step, Tracked, Undoable};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A change of a [`BTreeMap`].
pub enum MapUndo<K, V: Undoable> {
    /// The value of this key changed.
    At(K, V::Undo),
    /// This key was inserted.
    Inserted(K),
    /// This key had this value, before it was removed or inserted again.
    Was(K, V),
}

impl<K, V: Undoable> fmt::Debug for MapUndo<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MapUndo")
    }
}

/// The step to the value of a key.
#[derive(Clone, Copy, Debug)]
pub struct Key<K>(K);

impl<K: Copy, V: Undoable> Step<MapUndo<K, V>, V::Undo> for Key<K> {
    #[inline(always)]
    fn wrap(self, undo: V::Undo) -> MapUndo<K, V> {
        MapUndo::At(self.0, undo)
    }
}

/// The view of the value of a key.
pub type EntryMut<'a, K, V, R> =
    <V as Undoable>::View<'a, <R as Recorder<MapUndo<K, V>>>::Within<<V as Undoable>::Undo, Key<K>>>;

impl<K: Ord + Copy, V: Undoable> Undoable for BTreeMap<K, V> {
    type Undo = MapUndo<K, V>;
    type View<'a, R: Recorder<MapUndo<K, V>>>
        = Tracked<'a, Self, R>
    where
        Self: 'a;

    #[inline(always)]
    fn view<R: Recorder<MapUndo<K, V>>>(&mut self, recorder: R) -> Tracked<'_, Self, R> {
        Tracked::new(self, recorder)
    }

    #[inline]
    fn undo(&mut self, undo: MapUndo<K, V>) {
        match undo {
            MapUndo::At(key, undo) => self.get_mut(&key).expect("the key of a changed value is there").undo(undo),
            MapUndo::Inserted(key) => drop(self.remove(&key)),
            MapUndo::Was(key, value) => drop(self.insert(key, value)),
        }
    }
}

impl<'a, K: Ord + Copy, V: Undoable, R: Recorder<MapUndo<K, V>>> Tracked<'a, BTreeMap<K, V>, R> {
    /// Returns the view of the value of a key.
    ///
    /// # Panics
    ///
    /// If the key is not there.
    #[inline(always)]
    pub fn at(&mut self, key: K) -> EntryMut<'_, K, V, R> {
        self.reborrow().into_at(key)
    }

    /// As `at`, for a view that is not used afterwards. The result can outlive the view.
    #[inline(always)]
    pub fn into_at(self, key: K) -> EntryMut<'a, K, V, R> {
        let value = self.value.get_mut(&key).expect("the map has the key");
        value.view(self.recorder.within(Key(key)))
    }

    /// Returns the view of the value of a key, if the key is there.
    #[inline(always)]
    pub fn try_at(&mut self, key: K) -> Option<EntryMut<'_, K, V, R>> {
        let recorder = self.recorder.within(Key(key));
        self.value.get_mut(&key).map(|value| value.view(recorder))
    }

    /// Returns the view of the value of a key. A key that is not there is inserted first, with `value()`.
    #[inline(always)]
    pub fn at_or_insert_with(&mut self, key: K, value: impl FnOnce() -> V) -> EntryMut<'_, K, V, R> {
        let recorder = self.recorder;
        let value = self.value.entry(key).or_insert_with(|| {
            let value = value();
            recorder.record(|| MapUndo::Inserted(key));
            value
        });
        value.view(recorder.within(Key(key)))
    }

    /// Inserts a key with a value, which replaces the value that the key had.
    #[inline]
    pub fn insert(&mut self, key: K, value: V) {
        match self.value.insert(key, value) {
            None => self.recorder.record(|| MapUndo::Inserted(key)),
            Some(old) => self.recorder.record(|| MapUndo::Was(key, old)),
        }
    }

    /// Removes a key, and returns its value.
    #[inline]
    pub fn remove(&mut self, key: K) -> Option<V>
    where
        V: Clone,
    {
        let value = self.value.get(&key)?;
        self.recorder.record(|| MapUndo::Was(key, value.clone()));
        self.value.remove(&key)
    }

    /// Removes the first key, and returns it with its value.
    #[inline]
    pub fn pop_first(&mut self) -> Option<(K, V)>
    where
        V: Clone,
    {
        let (&key, _) = self.value.first_key_value()?;
        self.remove(key).map(|value| (key, value))
    }

    /// Removes the last key, and returns it with its value.
    #[inline]
    pub fn pop_last(&mut self) -> Option<(K, V)>
    where
        V: Clone,
    {
        let (&key, _) = self.value.last_key_value()?;
        self.remove(key).map(|value| (key, value))
    }

    /// Drops all keys and values.
    pub fn clear(&mut self) {
        while let Some((key, value)) = self.value.pop_last() {
            self.recorder.record(|| MapUndo::Was(key, value));
        }
    }
}

/// A change of a [`BTreeSet`].
#[derive(Clone, Copy, Debug)]
pub enum SetUndo<K> {
    /// This key was inserted.
    Inserted(K),
    /// This key was removed.
    Removed(K),
}

impl<K: Ord + Copy> Undoable for BTreeSet<K> {
    type Undo = SetUndo<K>;
    type View<'a, R: Recorder<SetUndo<K>>>
        = Tracked<'a, Self, R>
    where
        Self: 'a;

    #[inline(always)]
    fn view<R: Recorder<SetUndo<K>>>(&mut self, recorder: R) -> Tracked<'_, Self, R> {
        Tracked::new(self, recorder)
    }

    #[inline]
    fn undo(&mut self, undo: SetUndo<K>) {
        match undo {
            SetUndo::Inserted(key) => self.remove(&key),
            SetUndo::Removed(key) => self.insert(key),
        };
    }
}

impl<K: Ord + Copy, R: Recorder<SetUndo<K>>> Tracked<'_, BTreeSet<K>, R> {
    /// Inserts a key. Returns whether the key is new.
    #[inline]
    pub fn insert(&mut self, key: K) -> bool {
        let is_new = self.value.insert(key);
        if is_new {
            self.recorder.record(|| SetUndo::Inserted(key));
        }
        is_new
    }

    /// Removes a key. Returns whether the key was there.
    #[inline]
    pub fn remove(&mut self, key: K) -> bool {
        let was_there = self.value.remove(&key);
        if was_there {
            self.recorder.record(|| SetUndo::Removed(key));
        }
        was_there
    }

    /// Removes the first key, and returns it.
    #[inline]
    pub fn pop_first(&mut self) -> Option<K> {
        let key = self.value.pop_first()?;
        self.recorder.record(|| SetUndo::Removed(key));
        Some(key)
    }

    /// Drops all keys.
    pub fn clear(&mut self) {
        while self.pop_first().is_some() {}
    }
}
