//! Channels: who may send to whom, with what least delay.
//!
//! That least delay is the *lookahead*, all that a conservative engine knows of the future. Every engine checks every send against
//! it, `sequential` included. A send names its channel, so the check is one comparison.

use crate::event::LpId;
use crate::time::Delay;

/// The declared channels of a model.
///
/// Three declarations can be mixed: channels by pair ([`Channels::connect`]); by sender, to anyone ([`Channels::to_anyone`]); for the
/// whole model ([`Channels::whole`]). Self-sends and timers need none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channels {
    /// Channels by pair, sorted by sender once [`Channels::seal`] has run.
    pairs: Vec<Channel>,
    /// Where each sender's channels begin in `pairs`; empty where there are none at all.
    begin: Vec<u32>,
    anyone: Anyone,
    /// With at least this delay every LP may send to every LP; [`Delay::MAX`] where that is not so. What most sends are measured by.
    min_to_all: Delay,
    /// Whether `pairs` is already in order.
    sorted: bool,
}

/// One channel by pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Who sends.
    pub sender: LpId,
    /// Who receives.
    pub receiver: LpId,
    /// No event on it has a shorter delay.
    pub lookahead: Delay,
}

/// What is declared about sends that name a receiver and no channel.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Anyone {
    /// Only channels by pair may be used.
    Nobody,
    /// Every LP may send to every LP with at least this delay; zero where nothing is declared.
    Whole(Delay),
    /// Each sender's own least delay to anyone; `None` where it has only channels by pair.
    Each(Vec<Option<Delay>>),
}

/// The number of a channel among its sender's, in the order of their declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u32);

impl Channels {
    /// Nothing is declared: anyone may send to anyone with any delay. Such a model runs under `sequential`, `rounds` and
    /// `time-warp`; conservative engines find no lookahead to work with.
    pub const fn undeclared() -> Channels {
        Channels::whole(Delay::ZERO)
    }

    /// Anyone may send to anyone, with at least `lookahead`.
    pub const fn whole(lookahead: Delay) -> Channels {
        Channels {
            pairs: Vec::new(),
            begin: Vec::new(),
            anyone: Anyone::Whole(lookahead),
            min_to_all: lookahead,
            sorted: true,
        }
    }

    /// No channels yet: add them by [`Channels::connect`] and [`Channels::to_anyone`].
    pub const fn none() -> Channels {
        Channels { pairs: Vec::new(), begin: Vec::new(), anyone: Anyone::Nobody, min_to_all: Delay::MAX, sorted: true }
    }

    /// Declares a channel. The sender's first declared channel is its [`Port`] 0, and so on; two LPs may have several.
    pub fn connect(&mut self, sender: LpId, receiver: LpId, lookahead: Delay) {
        self.sorted &= self.pairs.last().is_none_or(|last| last.sender <= sender);
        self.pairs.push(Channel { sender, receiver, lookahead });
    }

    /// Declares that `sender` may send to anyone with at least `lookahead`.
    pub fn to_anyone(&mut self, sender: LpId, lookahead: Delay) {
        if !matches!(self.anyone, Anyone::Each(_)) {
            self.anyone = Anyone::Each(Vec::new());
            self.min_to_all = Delay::MAX;
        }
        if let Anyone::Each(each) = &mut self.anyone {
            if each.len() <= sender.index() {
                each.resize(sender.index() + 1, None);
            }
            each[sender.index()] = Some(lookahead);
        }
    }

    /// Puts the channels in order for a model of `lps` LPs; what names an LP that does not exist is an error.
    pub(crate) fn seal(&mut self, lps: u32) -> Result<(), String> {
        if let Anyone::Each(each) = &mut self.anyone {
            if each.len() > lps as usize {
                return Err(format!("a channel is declared for LP {}, but there are only {lps} LPs", each.len() - 1));
            }
            each.resize(lps as usize, None);
        }
        if let Some(wrong) = self.pairs.iter().find(|c| c.sender.0.max(c.receiver.0) >= lps) {
            return Err(format!(
                "a channel is declared from {} to {}, but there are only {lps} LPs",
                wrong.sender, wrong.receiver
            ));
        }
        if self.pairs.is_empty() {
            return Ok(());
        }
        if !self.sorted {
            self.pairs.sort_by_key(|channel| channel.sender); // Stable: a sender's ports keep their order.
            self.sorted = true;
        }
        self.begin = vec![0; lps as usize + 1];
        for channel in &self.pairs {
            self.begin[channel.sender.index() + 1] += 1;
        }
        for lp in 0..lps as usize {
            self.begin[lp + 1] += self.begin[lp];
        }
        Ok(())
    }

    /// The channels by pair of `sender`, by port.
    pub fn from_sender(&self, sender: LpId) -> &[Channel] {
        match self.begin.get(sender.index()..sender.index() + 2) {
            Some(&[begin, end]) => &self.pairs[begin as usize..end as usize],
            _ => &[],
        }
    }

    /// The channel at a port of `sender`, if it has so many.
    #[inline]
    pub(crate) fn at(&self, sender: LpId, port: Port) -> Option<&Channel> {
        self.from_sender(sender).get(port.0 as usize)
    }

    /// Whether anyone may send to anyone with this delay. One comparison, which most sends pass; the others must be looked at closer.
    #[inline(always)]
    pub(crate) fn allows_all(&self, delay: Delay) -> bool {
        delay >= self.min_to_all
    }

    /// The least delay with which `sender` may send to anyone; `None` where it may not.
    #[inline]
    pub fn lookahead_to_anyone(&self, sender: LpId) -> Option<Delay> {
        match &self.anyone {
            Anyone::Whole(lookahead) => Some(*lookahead),
            Anyone::Nobody => None,
            Anyone::Each(each) => each.get(sender.index()).copied().flatten(),
        }
    }

    /// The least lookahead of the whole model; `None` where nobody may send.
    pub fn min_lookahead(&self) -> Option<Delay> {
        let pairs = self.pairs.iter().map(|channel| channel.lookahead);
        pairs.chain(self.min_lookahead_to_anyone()).min()
    }

    /// The least delay with which any LP may send to anyone; `None` where none may.
    pub fn min_lookahead_to_anyone(&self) -> Option<Delay> {
        match &self.anyone {
            Anyone::Nobody => None,
            Anyone::Whole(lookahead) => Some(*lookahead),
            Anyone::Each(each) => each.iter().flatten().min().copied(),
        }
    }

    /// Whether any channel is declared by pair.
    pub fn has_pairs(&self) -> bool {
        !self.pairs.is_empty()
    }

    /// Changes the lookahead of a channel; only global events do.
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
