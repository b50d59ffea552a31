//! The number of neighbours that have each piece, and the rarest of them.

use parades_core::random::Rng;

/// The pieces that a peer lacks, in the order of the number of neighbours that have them.
///
/// A change by one is an exchange of two places, and the rarest pieces stand together. Pieces that no
/// neighbour has are in the class 0, and so are pieces that the peer itself has got.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rarity {
    /// The pieces, class by class.
    order: Box<[u32]>,
    /// The place of each piece in `order`.
    places: Box<[u32]>,
    /// The class of each piece.
    classes: Box<[u16]>,
    /// The place at which each class begins, from class 1 on.
    begins: Vec<u32>,
}

impl Rarity {
    pub(super) fn new(pieces: u32) -> Rarity {
        let order: Box<[u32]> = (0..pieces).collect();
        Rarity { places: order.clone(), order, classes: vec![0; pieces as usize].into(), begins: Vec::new() }
    }

    /// Returns the pieces, class by class.
    pub(super) fn order(&self) -> &[u32] {
        &self.order
    }

    /// Returns the pieces in an order that has been read, each with its number of neighbours, or `None` if it
    /// is no order of all pieces by these numbers.
    pub(super) fn of_order(order: Box<[u32]>, classes: Box<[u16]>) -> Option<Rarity> {
        let mut places = vec![u32::MAX; classes.len()];
        let mut begins = Vec::new();
        let mut last = 0;
        for (place, &piece) in (0..).zip(&order) {
            if std::mem::replace(places.get_mut(piece as usize)?, place) != u32::MAX || classes[piece as usize] < last {
                return None;
            }
            last = classes[piece as usize];
            begins.resize(usize::from(last), place);
        }
        (order.len() == classes.len()).then(|| Rarity { order, places: places.into(), classes, begins })
    }

    /// One more neighbour has a piece.
    pub(super) fn add(&mut self, piece: u32) {
        let class = usize::from(self.classes[piece as usize]);
        if class == self.begins.len() {
            self.begins.push(u32::try_from(self.order.len()).expect("pieces are counted in 32 bits"));
        }
        self.begins[class] -= 1;
        self.exchange(piece, self.begins[class]);
        self.classes[piece as usize] += 1;
    }

    /// One neighbour fewer has a piece.
    pub(super) fn subtract(&mut self, piece: u32) {
        let class = usize::from(self.classes[piece as usize]);
        debug_assert!(class > 0, "a neighbour had the piece");
        self.exchange(piece, self.begins[class - 1]);
        self.begins[class - 1] += 1;
        self.classes[piece as usize] -= 1;
        // Only classes with pieces are kept, so that equal orders have equal states.
        self.begins.pop_if(|begin| *begin as usize == self.order.len());
    }

    /// The peer has got a piece, so its rarity no longer matters.
    pub(super) fn remove(&mut self, piece: u32) {
        while self.classes[piece as usize] > 0 {
            self.subtract(piece);
        }
    }

    /// Returns the number of neighbours that have a piece, which the peer lacks.
    pub(super) fn of(&self, piece: u32) -> u16 {
        self.classes[piece as usize]
    }

    /// Returns a rarest piece of those that are allowed, each of them equally likely. Only pieces that fewer
    /// than `below` neighbours have come into question.
    pub(super) fn rarest(&self, below: u16, is_allowed: impl Fn(u32) -> bool, rng: &Rng) -> Option<u32> {
        let classes = usize::from(below).saturating_sub(1);
        for (class, &begin) in self.begins.iter().enumerate().take(classes) {
            let end = self.begins.get(class + 1).map_or(self.order.len(), |&end| end as usize);
            let allowed = self.order[begin as usize..end].iter().copied().filter(|&piece| is_allowed(piece));
            if let Some(piece) = any_of(allowed, rng) {
                return Some(piece);
            }
        }
        None
    }

    fn exchange(&mut self, piece: u32, place: u32) {
        let (from, other) = (self.places[piece as usize], self.order[place as usize]);
        self.order.swap(from as usize, place as usize);
        self.places[piece as usize] = place;
        self.places[other as usize] = from;
    }
}

/// Returns one of the indices below `n`, each equally likely.
pub(super) fn any_below(n: usize, rng: &Rng) -> usize {
    usize::try_from(rng.below(n as u64)).expect("it is below an index")
}

/// Returns one of some elements, each equally likely.
pub(super) fn any_of<T>(elements: impl Iterator<Item = T>, rng: &Rng) -> Option<T> {
    let mut chosen = None;
    for (seen, element) in (1..).zip(elements) {
        if seen == 1 || rng.below(seen) == 0 {
            chosen = Some(element);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rarest_is_that_of_a_plain_count() {
        let rng = Rng::shared(1, 1);
        let (mut rarity, mut counts) = (Rarity::new(50), [0_u32; 50]);
        for _ in 0..10_000 {
            assert_eq!(Rarity::of_order(rarity.order.clone(), rarity.classes.clone()), Some(rarity.clone()));
            let piece = u32::try_from(rng.below(50)).expect("it is small");
            let count = &mut counts[piece as usize];
            if *count > 0 && rng.chance(0.5) {
                rarity.subtract(piece);
                *count -= 1;
            } else {
                rarity.add(piece);
                *count += 1;
            }
            let odd = u32::from(rng.chance(0.5));
            let is_allowed = |piece: u32| piece % 2 == odd;
            let rarest = (0..50).filter(|&p| is_allowed(p) && counts[p as usize] > 0).map(|p| counts[p as usize]).min();
            let found = rarity.rarest(u16::MAX, is_allowed, &rng);
            assert_eq!(found.map(|piece| counts[piece as usize]), rarest);
            assert!(found.is_none_or(is_allowed));
            let rarer = rarity.rarest(3, is_allowed, &rng);
            assert_eq!(rarer.map(|piece| counts[piece as usize]), rarest.filter(|&count| count < 3));
            assert!(found.is_none_or(|piece| u32::from(rarity.of(piece)) == counts[piece as usize]));
        }
    }

    #[test]
    fn ties_are_drawn_evenly() {
        let rng = Rng::shared(2, 1);
        let mut rarity = Rarity::new(4);
        (0..4).for_each(|piece| rarity.add(piece));
        rarity.add(3);
        let mut drawn = [0_u32; 4];
        (0..30_000).for_each(|_| drawn[rarity.rarest(u16::MAX, |_| true, &rng).expect("four are there") as usize] += 1);
        assert_eq!(drawn[3], 0);
        assert!(drawn[..3].iter().all(|&times| (9_500..10_500).contains(&times)), "{drawn:?}");
    }
}
