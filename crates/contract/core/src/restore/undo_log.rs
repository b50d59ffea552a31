//! The records that executions leave.

use crate::ring::Ring;

/// The records that executions leave so that they can be undone.
#[derive(Debug)]
pub struct UndoLog<U>(Ring<U>);

impl<U> Default for UndoLog<U> {
    fn default() -> UndoLog<U> {
        UndoLog(Ring::default())
    }
}

impl<U> UndoLog<U> {
    /// Adds a record.
    #[inline]
    pub fn push(&mut self, record: U) {
        self.0.push(record);
    }

    /// Removes and returns the latest record.
    #[inline]
    pub fn pop(&mut self) -> Option<U> {
        self.0.pop()
    }

    /// Returns true if there are no records.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the records by position. An engine keeps the records of many executions in one log.
    #[inline]
    pub fn records(&self) -> &Ring<U> {
        &self.0
    }

    /// Returns the records by position, to be changed.
    #[inline]
    pub fn records_mut(&mut self) -> &mut Ring<U> {
        &mut self.0
    }
}
