//! Channels: the declared paths between LPs, each with a least delay.
//!
//! The least delay is the *lookahead*: all that a conservative engine knows of the future. Every engine
//! checks every send against it, `sequential` included. A send names its channel, so the check is one
//! comparison.

use crate::event::LpId;
use crate::time::Delay;
use serde::{Deserialize, Serialize};

/// The channels that a model declares.
///
/// Three kinds of declaration can be combined: by pair ([`Channels::connect`]); by sender, to any LP
/// ([`Channels::to_anyone`]); for the whole model ([`Channels::whole`]). The second and third may have a
/// longer lookahead to LPs of other groups ([`Channels::to_other_groups`]). Self-sends and timers need no
/// declaration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channels {
    /// The channels by pair. [`Channels::seal`] sorts them by sender.
    pairs: Vec<Channel>,
    /// The index in `pairs` of each sender's first channel. Empty if there are no channels by pair.
    begin: Vec<u32>,
    anyone: Anyone,
    /// By LP: its group, and its least delay to other groups. LPs behind the end of the list have none.
    groups: Vec<Grouped>,
    /// A delay with which any LP may send to any LP, which [`Channels::seal`] finds; [`Delay::MAX`] if there
    /// is none. Most sends need only this check.
    min_to_all: Delay,
    /// True if `pairs` is sorted.
    sorted: bool,
}

/// A channel by pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    /// The sender.
    pub sender: LpId,
    /// The receiver.
    pub receiver: LpId,
    /// The least delay of an event on this channel.
    pub lookahead: Delay,
}

/// The declaration for sends that name a receiver and no channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Anyone {
    /// No LP may send to a receiver without naming a channel.
    Nobody,
    /// Any LP may send to any LP with at least this delay. Zero if nothing is declared.
    Whole(Delay),
    /// The least delay of each sender to any LP; `None` if the sender has only channels by pair.
    Each(Vec<Option<Delay>>),
}

/// The group of an LP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Grouped {
    group: u32,
    /// The least delay with which the LP may send to LPs of other groups, if that is more than its least
    /// delay to anyone.
    lookahead: Delay,
}

impl Grouped {
    /// An LP without a declaration: a group of its own.
    const ALONE: Grouped = Grouped { group: u32::MAX, lookahead: Delay::ZERO };
}

/// The number of a channel among the channels of its sender, in the order of declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u32);

impl Channels {
    /// Declares nothing: any LP may send to any LP with any delay. Such a model runs under `sequential`,
    /// `rounds` and `time-warp`. Conservative engines find no lookahead in it.
    pub const fn undeclared() -> Channels {
        Channels::whole(Delay::ZERO)
    }

    /// Declares that any LP may send to any LP, with at least `lookahead`.
    pub const fn whole(lookahead: Delay) -> Channels {
        Channels {
            pairs: Vec::new(),
            begin: Vec::new(),
            anyone: Anyone::Whole(lookahead),
            groups: Vec::new(),
            min_to_all: Delay::MAX,
            sorted: true,
        }
    }

    /// Declares no channels. Add some with [`Channels::connect`] and [`Channels::to_anyone`].
    pub const fn none() -> Channels {
        let (anyone, min_to_all) = (Anyone::Nobody, Delay::MAX);
        Channels { pairs: Vec::new(), begin: Vec::new(), anyone, groups: Vec::new(), min_to_all, sorted: true }
    }

    /// Declares a channel. The first channel of a sender is its [`Port`] 0, the next one its port 1. Two LPs
    /// may have several channels.
    pub fn connect(&mut self, sender: LpId, receiver: LpId, lookahead: Delay) {
        self.sorted &= self.pairs.last().is_none_or(|last| last.sender <= sender);
        self.pairs.push(Channel { sender, receiver, lookahead });
    }

    /// Declares that `sender` may send to any LP with at least `lookahead`.
    pub fn to_anyone(&mut self, sender: LpId, lookahead: Delay) {
        if !matches!(self.anyone, Anyone::Each(_)) {
            self.anyone = Anyone::Each(Vec::new());
        }
        if let Anyone::Each(each) = &mut self.anyone {
            if each.len() <= sender.index() {
                each.resize(sender.index() + 1, None);
            }
            each[sender.index()] = Some(lookahead);
        }
    }

    /// Declares that `sender` belongs to a group of LPs that are near each other. To LPs of other groups it
    /// may send only with at least `lookahead`, and within its group with what [`Channels::to_anyone`] or
    /// [`Channels::whole`] says. So a conservative engine that keeps each group together has the longer
    /// lookahead. An LP of which this is not declared is a group of its own. Channels by pair are not
    /// affected.
    ///
    /// ```
    /// use parades_core::channel::Channels;
    /// use parades_core::event::LpId;
    /// use parades_core::time::Delay;
    /// let mut channels = Channels::whole(Delay::from_ms(2));
    /// for lp in 0..4 {
    ///     channels.to_other_groups(LpId(lp), lp / 2, Delay::from_ms(200));
    /// }
    /// assert_eq!(channels.lookahead_to(LpId(0), LpId(1)), Some(Delay::from_ms(2)));
    /// assert_eq!(channels.lookahead_to(LpId(0), LpId(2)), Some(Delay::from_ms(200)));
    /// ```
    ///
    /// # Panics
    ///
    /// If `group` is [`u32::MAX`].
    pub fn to_other_groups(&mut self, sender: LpId, group: u32, lookahead: Delay) {
        assert!(group != u32::MAX, "no group has this number");
        if self.groups.len() <= sender.index() {
            self.groups.resize(sender.index() + 1, Grouped::ALONE);
        }
        self.groups[sender.index()] = Grouped { group, lookahead };
    }

    /// Sorts the channels for a model of `lps` LPs. Returns an error if a channel names an LP that does not
    /// exist.
    pub(crate) fn seal(&mut self, lps: u32) -> Result<(), String> {
        if let Anyone::Each(each) = &mut self.anyone {
            if each.len() > lps as usize {
                return Err(format!("a channel is declared for LP {}, but there are only {lps} LPs", each.len() - 1));
            }
            each.resize(lps as usize, None);
        }
        if self.groups.len() > lps as usize {
            let last = self.groups.len() - 1;
            return Err(format!("a group is declared for LP {last}, but there are only {lps} LPs"));
        }
        if let Some(wrong) = self.pairs.iter().find(|c| c.sender.0.max(c.receiver.0) >= lps) {
            return Err(format!(
                "a channel is declared from {} to {}, but there are only {lps} LPs",
                wrong.sender, wrong.receiver
            ));
        }
        let to_all = (0..lps).map(|lp| self.lookahead_to_other_groups(LpId(lp)).unwrap_or(Delay::MAX)).max();
        self.min_to_all = to_all.unwrap_or(Delay::MAX);
        if self.pairs.is_empty() {
            return Ok(());
        }
        if !self.sorted {
            self.pairs.sort_by_key(|channel| channel.sender); // Stable, so the ports of a sender keep their order.
            self.sorted = true;
        }
        self.pairs.shrink_to_fit();
        self.begin = vec![0; lps as usize + 1];
        for channel in &self.pairs {
            self.begin[channel.sender.index() + 1] += 1;
        }
        for lp in 0..lps as usize {
            self.begin[lp + 1] += self.begin[lp];
        }
        Ok(())
    }

    /// Returns the channels by pair of `sender`, by port.
    pub fn from_sender(&self, sender: LpId) -> &[Channel] {
        match self.begin.get(sender.index()..sender.index() + 2) {
            Some(&[begin, end]) => &self.pairs[begin as usize..end as usize],
            _ => &[],
        }
    }

    /// Returns the channel at a port of `sender`, or `None` if the sender has no such port.
    #[inline]
    pub(crate) fn at(&self, sender: LpId, port: Port) -> Option<&Channel> {
        self.from_sender(sender).get(port.0 as usize)
    }

    /// True if any LP may send to any LP with this delay. Most sends pass this one comparison. The others
    /// need a closer check.
    #[inline(always)]
    pub(crate) fn allows_all(&self, delay: Delay) -> bool {
        delay >= self.min_to_all
    }

    /// Returns the least delay with which `sender` may send to any LP, or `None` if it may not.
    #[inline]
    pub fn lookahead_to_anyone(&self, sender: LpId) -> Option<Delay> {
        match &self.anyone {
            Anyone::Whole(lookahead) => Some(*lookahead),
            Anyone::Nobody => None,
            Anyone::Each(each) => each.get(sender.index()).copied().flatten(),
        }
    }

    /// Returns the group of an LP, as [`Channels::to_other_groups`] has declared it.
    #[inline]
    pub fn group(&self, lp: LpId) -> Option<u32> {
        self.groups.get(lp.index()).map(|of| of.group).filter(|&group| group != Grouped::ALONE.group)
    }

    /// True if groups are declared.
    pub fn has_groups(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Returns the least delay with which `sender` may send to another LP without naming a channel, or `None`
    /// if it may not.
    #[inline]
    pub fn lookahead_to(&self, sender: LpId, receiver: LpId) -> Option<Delay> {
        let is_near = self.group(sender).is_some_and(|group| self.group(receiver) == Some(group));
        if is_near { self.lookahead_to_anyone(sender) } else { self.lookahead_to_other_groups(sender) }
    }

    /// Returns the least delay with which `sender` may send to LPs of other groups, or `None` if it may not.
    #[inline]
    pub fn lookahead_to_other_groups(&self, sender: LpId) -> Option<Delay> {
        let further = self.groups.get(sender.index()).map_or(Delay::ZERO, |of| of.lookahead);
        self.lookahead_to_anyone(sender).map(|lookahead| lookahead.max(further))
    }

    /// Returns the least delay with which some LP may send to LPs of other groups, or `None` if none may.
    /// `lps` is the number of LPs.
    pub fn min_lookahead_to_other_groups(&self, lps: u32) -> Option<Delay> {
        if !self.has_groups() {
            return self.min_lookahead_to_anyone();
        }
        (0..lps).filter_map(|lp| self.lookahead_to_other_groups(LpId(lp))).min()
    }

    /// Returns the smallest lookahead of the whole model, or `None` if no LP may send.
    pub fn min_lookahead(&self) -> Option<Delay> {
        let pairs = self.pairs.iter().map(|channel| channel.lookahead);
        pairs.chain(self.min_lookahead_to_anyone()).min()
    }

    /// Returns the least delay with which some LP may send to any LP, or `None` if none may.
    pub fn min_lookahead_to_anyone(&self) -> Option<Delay> {
        match &self.anyone {
            Anyone::Nobody => None,
            Anyone::Whole(lookahead) => Some(*lookahead),
            Anyone::Each(each) => each.iter().flatten().min().copied(),
        }
    }

    /// True if any channel is declared by pair.
    pub fn has_pairs(&self) -> bool {
        !self.pairs.is_empty()
    }

    /// Changes the lookahead of a channel. Only global events do this.
    pub(crate) fn set_lookahead(&mut self, sender: LpId, port: Port, lookahead: Delay) -> Result<(), String> {
        let begin = self.begin.get(sender.index()).copied().unwrap_or(0) as usize;
        let ports = self.from_sender(sender).len();
        if port.0 as usize >= ports {
            return Err(format!("{sender} has no port {}: it declares {ports} channels", port.0));
        }
        self.pairs[begin + port.0 as usize].lookahead = lookahead;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_of_an_lp_that_does_not_exist_is_refused() {
        let mut channels = Channels::whole(Delay::from_ms(1));
        channels.to_other_groups(LpId(5), 0, Delay::from_ms(2));
        let why = channels.seal(3).expect_err("there are three LPs");
        assert_eq!(why, "a group is declared for LP 5, but there are only 3 LPs");
        assert_eq!(channels.seal(6), Ok(()));
        assert!(channels.allows_all(Delay::from_ms(2)) && !channels.allows_all(Delay::from_ms(1)));
    }
}
