//! The news for the processes of a node from its carrier.

use crate::call;
use crate::carrier::{Mailbox, Receipt, Undelivered};
use crate::inbox::Inbox;
use crate::program::Received;
use crate::table::Table;
use parades_core::event::LpId;

/// The news for the processes of a node, in one event.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// The number of messages that were added to the inbox.
    pub(crate) delivered: u32,
    pub(crate) reports: Vec<(Receipt, Result<(), Undelivered>)>,
    /// True if the host works; `None` without a report.
    pub(crate) host: Option<bool>,
    pub(crate) told: Vec<call::ToProcesses>,
}

/// The mailbox of a node's processes.
pub(crate) struct ToProcesses<'a, M> {
    pub(crate) table: &'a Table,
    pub(crate) inbox: &'a mut Inbox<Received<M>>,
    pub(crate) lost: &'a mut u64,
    pub(crate) news: News,
}

impl<M> Mailbox<M> for ToProcesses<'_, M> {
    #[inline]
    fn deliver(&mut self, from: LpId, message: M) {
        if self.table.online && self.table.alive > 0 {
            self.inbox.push(Received { from, message });
            self.news.delivered += 1;
        } else {
            *self.lost += 1;
        }
    }

    fn report(&mut self, receipt: Receipt, outcome: Result<(), Undelivered>) {
        self.news.reports.push((receipt, outcome));
    }

    fn report_host(&mut self, works: bool) {
        self.news.host = Some(works);
    }

    fn tell(&mut self, news: call::ToProcesses) {
        self.news.told.push(news);
    }
}
