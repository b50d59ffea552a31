//! Each way restores the state, and a way that forgets a part is noticed.

use super::*;
use parades_core::error::ErrorKind;
use parades_engine::rollback_check;

fn options() -> RunOptions<'static> {
    RunOptions::until(until(100))
}

/// Returns settings under which a few workers go far ahead of each other.
fn settings() -> impl Iterator<Item = Settings> {
    [(2, Ahead::Unbounded), (3, Ahead::Events(50))].into_iter().zip(7..).map(|((threads, ahead), seed)| Settings {
        ahead,
        stalls: Some(seed),
        retreats: Retreats::Never,
        ..Settings::of_threads(threads)
    })
}

/// Runs a way of a size, which must give the digest of `sequential`. Returns that digest, the number of
/// executions that were rolled back, and the number of executions repeated from a copy.
fn checked<R, const W: usize>() -> (u64, [f64; 2])
where
    Store<R, W>: Restorable<State = State<W>>,
{
    let model = Store::<R, W>::of(FEW);
    let expected = sequential::run(&model, options()).expect("nothing can fail");
    assert!(expected.events > 5_000, "a run of {} events checks little", expected.events);
    let same = |found: Outcome| {
        assert_eq!((expected.events, expected.digest), (found.events, found.digest), "{W} words");
        found
    };
    same(rollback_check::run(&model, options()).expect("all is restored"));
    let counts = settings().map(|settings| {
        let found = same(time_warp::run(&model, options(), &settings).expect("nothing can fail"));
        ["undone", "coasted"].map(|name| stat(&found, name))
    });
    let counts = counts.fold([0.0, 0.0], |[undone, coasted], [more, anew]| [undone + more, coasted + anew]);
    (expected.digest.expect("it is on"), counts)
}

#[test]
fn each_way_restores_each_size() {
    let mut undone = [0.0; 4];
    let mut coasts = |ways: [(u64, [f64; 2]); 4]| {
        assert!(ways.iter().all(|(digest, _)| *digest == ways[0].0));
        undone.iter_mut().zip(ways).for_each(|(all, (_, [more, _]))| *all += more);
        ways.map(|(_, [_, coasted])| coasted > 0.0)
    };
    let small =
        coasts([checked::<Copied, 0>(), checked::<Logged, 0>(), checked::<Generated, 0>(), checked::<Reversed, 0>()]);
    let large = coasts([
        checked::<Copied, 512>(),
        checked::<Logged, 512>(),
        checked::<Generated, 512>(),
        checked::<Reversed, 512>(),
    ]);
    assert_eq!((small, large), ([false; 4], [true, false, false, false]), "only copies of large states are left out");
    assert!(undone.iter().all(|&undone| undone > 0.0), "a way that rolled nothing back was not checked: {undone:?}");
}

/// Restores the counters, and forgets the word.
enum Forgetful {}

impl<const W: usize> Restorable for Store<Forgetful, W> {
    type Undo = [u64; 2];

    fn handle_undoable(
        &self,
        state: &mut State<W>,
        event: Body<&()>,
        ctx: &mut Context<'_, Self>,
        log: &mut UndoLog<[u64; 2]>,
    ) {
        log.push([state.events, state.sum]);
        self.handle(state, event, ctx);
    }

    fn undo(&self, state: &mut State<W>, _: Body<&()>, log: &mut UndoLog<[u64; 2]>) {
        [state.events, state.sum] = log.pop().expect("the handler left it");
    }
}

#[test]
fn a_word_that_is_not_restored_is_noticed() {
    let model = Store::<Forgetful, 512>::of(FEW);
    let error = rollback_check::run(&model, options()).expect_err("a word is left");
    assert!(matches!(error.kind(), ErrorKind::NotRestored(_)), "{error}");
    let expected = sequential::run(&model, options()).expect("nothing can fail").digest;
    for settings in settings() {
        let found = time_warp::run(&model, options(), &settings).expect("nothing can fail");
        assert_eq!(found.digest == expected, stat(&found, "undone") < 1.0, "{settings:?}");
    }
}

#[test]
fn records_are_as_small_as_each_way_allows() {
    let bytes = SIZES.map(|size| (size.state_bytes, size.ways.map(|way| way.record_bytes)));
    let (small, large) = ((16, [24, 24, 32, 32, 16]), (4_112, [4_120, 4_120, 48, 48, 16]));
    assert_eq!(bytes, [small, large, large]);
}
