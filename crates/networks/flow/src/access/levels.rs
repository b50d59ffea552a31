//! The levels of links. The [module above](super) has the equations.

/// Two levels are equal if they differ by no more than this share. It lies well above the rounding of sums,
/// so that of two equal levels neither depends on the other, and well below any difference that matters.
const PRECISION: f64 = 1e-12;

/// A transfer, as one of its links sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct User {
    transfer: u32,
    /// The link at the other end.
    other: u32,
}

/// A link.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Link {
    /// In bits per second.
    capacity: f64,
    /// In bits per second.
    level: f64,
    /// The level may be wrong.
    is_wrong: bool,
    /// The level has changed since the last [`Levels::take_changed`], or there are new transfers.
    is_changed: bool,
    users: Vec<User>,
}

impl Link {
    pub(super) fn new(capacity: f64) -> Link {
        check(capacity);
        Link { capacity, level: f64::INFINITY, is_wrong: false, is_changed: false, users: Vec::new() }
    }

    /// Returns a link that has been read; `None` if there is no such link.
    pub(super) fn of_saved(capacity: f64, level: f64) -> Option<Link> {
        let is_possible = capacity > 0.0 && capacity.is_finite() && level > 0.0;
        is_possible.then(|| Link { level, ..Link::new(capacity) })
    }
}

fn check(capacity: f64) {
    assert!(capacity > 0.0 && capacity.is_finite(), "a link of {capacity} bits per second");
}

/// All links.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Levels {
    links: Vec<Link>,
    /// The links with a level that may be wrong.
    wrong: Vec<u32>,
    /// The links with a level that has changed.
    changed: Vec<u32>,
    /// A buffer for the levels at the other ends of a link's transfers, empty between calls.
    others: Vec<f64>,
}

impl Levels {
    pub(super) fn new(links: Vec<Link>) -> Levels {
        Levels { links, wrong: Vec::new(), changed: Vec::new(), others: Vec::new() }
    }

    /// Returns the capacity and the level of each link.
    pub(super) fn links(&self) -> impl Iterator<Item = (f64, f64)> {
        self.links.iter().map(|link| (link.capacity, link.level))
    }

    /// Returns true if there is such a link.
    pub(super) fn has(&self, link: u32) -> bool {
        (link as usize) < self.links.len()
    }

    /// Adds a transfer to a link. Returns its place in the link's list.
    pub(super) fn add(&mut self, link: u32, transfer: u32, other: u32) -> u32 {
        let users = &mut self.links[link as usize].users;
        let place = u32::try_from(users.len()).expect("memory holds fewer transfers");
        users.push(User { transfer, other });
        self.note_wrong(link);
        self.note_changed(link);
        place
    }

    /// Removes the transfer at a place of a link's list. Returns the transfer that has this place from now
    /// on, if there is one.
    pub(super) fn remove(&mut self, link: u32, place: u32) -> Option<u32> {
        let users = &mut self.links[link as usize].users;
        users.swap_remove(place as usize);
        let moved = users.get(place as usize).map(|user| user.transfer);
        self.note_wrong(link);
        moved
    }

    /// Puts a transfer back to the place of a link's list from which [`Levels::remove`] removed it. Returns
    /// the transfer that had taken this place, with its place from now on.
    pub(super) fn insert(&mut self, link: u32, place: u32, (transfer, other): (u32, u32)) -> Option<(u32, u32)> {
        let users = &mut self.links[link as usize].users;
        let last = u32::try_from(users.len()).expect("memory holds fewer transfers");
        users.push(User { transfer, other });
        users.swap(place as usize, last as usize);
        (place < last).then(|| (users[last as usize].transfer, last))
    }

    /// Removes the last transfer of a link's list.
    pub(super) fn remove_last(&mut self, link: u32) {
        self.links[link as usize].users.pop();
    }

    /// Sets a level that was right before changes which are undone.
    pub(super) fn restore_level(&mut self, link: u32, level: f64) {
        self.links[link as usize].level = level;
    }

    /// Sets a capacity that was right before changes which are undone.
    pub(super) fn restore_capacity(&mut self, link: u32, capacity: f64) {
        self.links[link as usize].capacity = capacity;
    }

    /// Forgets which levels may be wrong or have changed, where all changes are undone.
    pub(super) fn forget_wrong(&mut self) {
        let Levels { links, wrong, changed, .. } = self;
        wrong.drain(..).for_each(|link| links[link as usize].is_wrong = false);
        changed.drain(..).for_each(|link| links[link as usize].is_changed = false);
    }

    /// Sets the capacity of a link. Returns the capacity that it had.
    pub(super) fn set_capacity(&mut self, link: u32, capacity: f64) -> f64 {
        check(capacity);
        let replaced = std::mem::replace(&mut self.links[link as usize].capacity, capacity);
        self.note_wrong(link);
        replaced
    }

    /// Returns the rate of a transfer over these links.
    pub(super) fn rate(&self, links: [u32; 2]) -> f64 {
        let [up, down] = links.map(|link| self.links[link as usize].level);
        up.min(down)
    }

    fn note_wrong(&mut self, link: u32) {
        if !std::mem::replace(&mut self.links[link as usize].is_wrong, true) {
            self.wrong.push(link);
        }
    }

    fn note_changed(&mut self, link: u32) {
        if !std::mem::replace(&mut self.links[link as usize].is_changed, true) {
            self.changed.push(link);
        }
    }

    /// Makes all levels right. This takes as many rounds as there are links, at most, and mostly a few.
    /// `note` is called with each link whose level changes, and the level that it had.
    pub(super) fn settle(&mut self, mut note: impl FnMut(u32, f64)) {
        for _ in 0..=self.links.len() {
            let mut round = std::mem::take(&mut self.wrong);
            if round.is_empty() {
                break;
            }
            // Lower levels decide about higher ones, so they come first.
            let level = |link: &u32| self.links[*link as usize].level;
            round.sort_unstable_by(|a, b| level(a).total_cmp(&level(b)).then(a.cmp(b)));
            for link in round {
                self.links[link as usize].is_wrong = false;
                self.correct(link, &mut note);
            }
        }
    }

    /// Computes the level of a link again. Notes the links on whose levels the change has an effect.
    fn correct(&mut self, link: u32, note: &mut impl FnMut(u32, f64)) {
        let new = self.solve(link);
        let old = std::mem::replace(&mut self.links[link as usize].level, new);
        if new.total_cmp(&old).is_eq() {
            return;
        }
        note(link, old);
        self.note_changed(link);
        let lower = old.min(new);
        for place in 0..self.links[link as usize].users.len() {
            let other = self.links[link as usize].users[place].other;
            // A neighbour takes no more from this link than its own level.
            if lower < self.links[other as usize].level {
                self.note_wrong(other);
            }
        }
    }

    /// Returns the level of a link, given the levels at the other ends of its transfers.
    fn solve(&mut self, link: u32) -> f64 {
        let Levels { links, others, .. } = self;
        let Link { capacity, users, .. } = &links[link as usize];
        others.extend(users.iter().map(|user| links[user.other as usize].level));
        others.sort_unstable_by(f64::total_cmp);
        let (mut left, mut count) = (*capacity, others.len() as f64);
        for other in others.drain(..) {
            let share = left / count;
            if share <= other * (1.0 + PRECISION) {
                return share;
            }
            left -= other;
            count -= 1.0;
        }
        f64::INFINITY
    }

    /// Returns the transfers whose rates may have changed since the last call, some of them twice.
    pub(super) fn take_changed(&mut self) -> Vec<u32> {
        let mut transfers = Vec::new();
        for link in std::mem::take(&mut self.changed) {
            let link = &mut self.links[link as usize];
            link.is_changed = false;
            transfers.extend(link.users.iter().map(|user| user.transfer));
        }
        transfers
    }
}
