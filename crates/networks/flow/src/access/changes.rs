//! The changes of access links, so that they can be undone.

use super::{Access, Transfer, entry};

/// A change. Undoing it puts back the value that it replaced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Change {
    /// A transfer has started. Its entry replaced that of an earlier transfer, or is a new one.
    Started { id: u32, replaced: Option<Transfer> },
    /// A transfer has stopped. Its entry is still there.
    Stopped { id: u32 },
    /// A transfer has another rate.
    Rate { id: u32, replaced: Transfer },
    /// A link has another level.
    Level { link: u32, replaced: f64 },
    /// A link has another capacity.
    Capacity { link: u32, replaced: f64 },
}

/// The changes since [`Access::record`], in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes(Vec<Change>);

/// The changes that are being recorded; `None` if nobody wants them.
#[derive(Clone, Debug, Default)]
pub(super) struct Journal(Option<Changes>);

/// A recording is no part of the network.
impl PartialEq for Journal {
    fn eq(&self, _: &Journal) -> bool {
        true
    }
}

impl Journal {
    /// Notes a change, if changes are being recorded.
    #[inline]
    pub(super) fn note(&mut self, change: impl FnOnce() -> Change) {
        if let Some(Changes(changes)) = &mut self.0 {
            changes.push(change());
        }
    }
}

impl Access {
    /// Begins to record changes. All rates must have been computed ([`Access::settle`]).
    ///
    /// # Examples
    ///
    /// ```
    /// use parades_core::time::Time;
    /// use parades_flow::access::Access;
    ///
    /// let mut access = Access::new([[10e6, 20e6], [10e6, 20e6]]);
    /// let before = access.clone();
    /// access.record();
    /// access.start(Time::ZERO, 0, 1, 12e6);
    /// access.settle(Time::ZERO);
    /// let changes = access.recorded();
    /// access.undo(changes);
    /// assert_eq!(access, before);
    /// ```
    pub fn record(&mut self) {
        self.journal = Journal(Some(Changes::default()));
    }

    /// Ends the recording. Returns the changes since [`Access::record`].
    pub fn recorded(&mut self) -> Changes {
        std::mem::take(&mut self.journal).0.unwrap_or_default()
    }

    /// Undoes changes, which must be the latest. The time depends on their number, and not on the size of the
    /// network.
    pub fn undo(&mut self, Changes(changes): Changes) {
        self.levels.forget_wrong();
        for change in changes.into_iter().rev() {
            self.undo_one(change);
        }
    }

    fn undo_one(&mut self, change: Change) {
        match change {
            Change::Started { id, replaced } => {
                self.starts -= 1;
                let transfer = self.transfers[id as usize];
                transfer.links.iter().for_each(|&link| self.levels.remove_last(link));
                match replaced {
                    Some(replaced) => {
                        self.transfers[id as usize] = replaced;
                        self.free.push(id);
                    }
                    None => drop(self.transfers.pop()),
                }
            }
            Change::Stopped { id } => {
                self.free.pop();
                let transfer = self.transfers[id as usize];
                for end in [0, 1] {
                    let user = (id, transfer.links[1 - end]);
                    if let Some((moved, place)) = self.levels.insert(transfer.links[end], transfer.places[end], user) {
                        self.transfers[moved as usize].places[end] = place;
                    }
                }
                if transfer.rate > 0.0 {
                    self.ends.insert(entry(id, &transfer));
                }
            }
            Change::Rate { id, replaced } => {
                self.ends.remove(&entry(id, &self.transfers[id as usize]));
                self.transfers[id as usize] = replaced;
                if replaced.rate > 0.0 {
                    self.ends.insert(entry(id, &replaced));
                }
            }
            Change::Level { link, replaced } => self.levels.restore_level(link, replaced),
            Change::Capacity { link, replaced } => self.levels.restore_capacity(link, replaced),
        }
    }
}
