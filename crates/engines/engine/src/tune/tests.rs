//! The tuner against machines on which each choice has a known cost.

use super::*;

/// Work in each spell.
const SPELL: f64 = 1_000.0;

/// A run of a machine on which each choice has a cost, in nanoseconds per unit of work.
struct Run {
    tuner: Tuner,
    other: bool,
    work: f64,
    /// Nanoseconds spent in each choice.
    spent: [f64; 2],
    trials: usize,
}

impl Run {
    fn of(tuner: Tuner) -> Run {
        Run { tuner, other: false, work: 0.0, spent: [0.0; 2], trials: 0 }
    }

    /// Executes one spell, in which a unit of work costs `ns[0]` under the first choice and `ns[1]`
    /// under the other.
    fn spell(&mut self, ns: [f64; 2]) {
        let time = SPELL * ns[usize::from(self.other)];
        self.work += SPELL;
        self.spent[usize::from(self.other)] += time;
        let spell = Spell { work: SPELL, time: Duration::from_secs_f64(time * 1e-9) };
        let changes = match self.tuner.record(spell, self.work) {
            Step::Change | Step::Revert => true,
            Step::Continue if self.tuner.is_due(self.work) => {
                self.tuner.begin(self.work);
                self.trials += 1;
                true
            }
            Step::Continue | Step::Adopt => false,
        };
        if changes {
            self.other ^= true;
            self.tuner.note_change(Duration::from_nanos(1_000));
        }
    }

    /// Executes spells until a trial has ended. Returns the number of spells.
    fn trial(&mut self, ns: impl Fn(usize) -> [f64; 2]) -> usize {
        let trials = self.trials;
        for number in 0.. {
            self.spell(ns(number));
            if self.trials > trials && !self.tuner.is_trying() {
                return number + 1;
            }
        }
        unreachable!("the loop is endless")
    }
}

fn both() -> [Run; 2] {
    [Run::of(Tuner::consecutive()), Run::of(Tuner::alternating())]
}

#[test]
fn the_faster_choice_is_adopted_and_kept() {
    for mut run in both() {
        (0..10_000).for_each(|_| run.spell([200.0, 150.0]));
        assert!(run.other && run.spent[0] < 0.02 * run.spent[1], "{:?}", run.spent);
    }
}

#[test]
fn the_current_choice_stays_if_the_other_is_slower_or_hardly_faster() {
    for mut run in both() {
        for other in [300.0, 110.0, 97.0] {
            (0..1_000).for_each(|_| run.spell([100.0, other]));
            assert!(!run.other && run.trials > 0);
        }
    }
}

/// Whichever spell is disturbed, in the trial or before it, and whichever choice it measures.
#[test]
fn one_disturbed_spell_does_not_decide() {
    for (other, is_faster) in [(90.0, true), (110.0, false)] {
        let undisturbed = both().map(|mut run| run.trial(|_| [100.0, other]));
        for disturbed in 0..*undisturbed.iter().max().expect("there are two") {
            for mut run in both() {
                run.trial(|number| [100.0, other].map(|ns| if number == disturbed { 2.0 * ns } else { ns }));
                assert_eq!(run.other, is_faster, "spell {disturbed}, cost {other}");
            }
        }
    }
}

#[test]
fn a_long_spell_needs_no_repetition() {
    let long = |work: f64, ns: f64| Spell { work, time: Duration::from_secs_f64(work * ns * 1e-9) };
    let mut tuner = Tuner::consecutive();
    assert_eq!(tuner.record(long(1e5, 100.0), 1e5), Step::Continue);
    assert!(!tuner.needs_spells());
    tuner.begin(1e5);
    assert_eq!(tuner.record(long(1e5, 90.0), 2e5), Step::Adopt);
}

#[test]
fn a_choice_that_is_far_slower_is_left_after_one_spell() {
    for mut run in both() {
        (0..50).for_each(|_| run.spell([100.0, 1_000.0]));
        assert_eq!((run.trials, run.spent[1]), (1, 1_000.0 * SPELL));
    }
    let mut run = Run::of(Tuner::alternating());
    run.trial(|_| [100.0, 100.0]);
    let part = |ns: u64| Spell { work: 1.0, time: Duration::from_nanos(ns) };
    assert!(!run.tuner.is_hopeless(part(1_000)), "the current choice is in force");
    while !run.tuner.is_on_other() {
        run.spell([100.0, 100.0]);
    }
    assert!(run.tuner.is_hopeless(part(1_000)) && !run.tuner.is_hopeless(part(300)));
}

#[test]
fn trials_without_success_become_rare_and_lose_little_time() {
    for other in [110.0, 200.0, 10_000.0] {
        for mut run in both() {
            let mut halves = [0, 0];
            for half in &mut halves {
                let before = run.trials;
                (0..50_000).for_each(|_| run.spell([100.0, other]));
                *half = run.trials - before;
            }
            assert!(halves[1] < halves[0] && run.trials > 2, "{halves:?}");
            let lost = run.spent[0] + run.spent[1] - 100.0 * run.work;
            assert!(lost < 0.02 * 100.0 * run.work, "{lost} of {}", run.work);
        }
    }
}

#[test]
fn the_pause_grows_only_after_all_alternatives_were_tried() {
    let pauses = |alternatives| {
        let mut run = Run::of(Tuner::consecutive().with_alternatives(alternatives));
        (0..4).map(|_| (run.trial(|_| [100.0, 200.0]), run.work).1).collect::<Vec<f64>>()
    };
    let (one, three) = (pauses(1), pauses(3));
    assert!(three[3] - three[2] < 1.1 * (three[2] - three[1]));
    assert!(one[3] - one[2] > 3.0 * (one[2] - one[1]));
}

/// The other choice has been rejected, and its next trial is far away. Then the current choice becomes
/// slower.
#[test]
fn a_current_choice_that_becomes_slower_is_compared_at_once() {
    let mut run = Run::of(Tuner::consecutive());
    (0..20_000).for_each(|_| run.spell([100.0, 120.0]));
    let trials = run.trials;
    (0..100).for_each(|_| run.spell([100.0, 120.0]));
    assert_eq!(run.trials, trials, "the pause is long");
    (0..3 * SPELLS).for_each(|_| run.spell([150.0, 120.0]));
    assert!(run.other);
}

#[test]
fn choices_that_are_about_as_fast_are_not_compared_all_the_time() {
    let mut run = Run::of(Tuner::consecutive());
    // Noise of ten percent, which makes the current choice seem overtaken again and again.
    for spell in 0..100_000_u64 {
        let noise = 1.0 + 0.1 * (spell * 7_919 % 101) as f64 / 101.0;
        run.spell([100.0 * noise, 100.0 * noise]);
    }
    let share = run.trials as f64 * f64::from(SPELLS) * SPELL / run.work;
    assert!(share < 0.1, "{share}");
}

#[test]
fn a_choice_that_is_out_of_the_question_is_not_tried_soon() {
    let mut tuner = Tuner::alternating();
    tuner.delay_until(0.0);
    let spell = Spell { work: SPELL, time: Duration::from_micros(100) };
    tuner.give_up(spell, SPELL);
    assert!(!tuner.is_trying() && !tuner.is_new());
    assert!(!tuner.is_pause_over(30.0 * SPELL) && tuner.is_pause_over(31.0 * SPELL));
}
