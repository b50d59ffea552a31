//! Recorded changes of a state have the effect of the standard library's, and are undone to equality.

use parades_core::prelude::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A part of a part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Undoable)]
struct Port {
    packets: u32,
    queue: VecDeque<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Undoable)]
#[undoable(whole)]
struct Pair {
    one: u32,
    other: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Undoable)]
enum Role {
    Idle,
    Counter(u32),
    Named { label: Option<u32>, ports: Vec<Port> },
}

/// A state with everything that can be in one.
#[derive(Clone, Debug, PartialEq, Eq, Undoable)]
struct Everything {
    number: u32,
    pair: Pair,
    text: String,
    maybe: Option<u32>,
    slot: Option<Box<Port>>,
    array: [u32; 3],
    slice: Box<[Port]>,
    list: Vec<u32>,
    ports: Vec<Port>,
    deque: VecDeque<u32>,
    map: BTreeMap<u8, u32>,
    table: BTreeMap<u8, Port>,
    set: BTreeSet<u8>,
    roles: [Role; 3],
    #[undoable(boxed)]
    large: Pair,
    #[undoable(constant)]
    rate: (u8, i8),
}

impl Everything {
    fn new() -> Everything {
        Everything {
            number: 0,
            pair: Pair { one: 0, other: 0 },
            text: String::new(),
            maybe: None,
            slot: None,
            array: [0; 3],
            slice: vec![Port::default(); 3].into(),
            list: Vec::new(),
            ports: Vec::new(),
            deque: VecDeque::new(),
            map: BTreeMap::new(),
            table: BTreeMap::new(),
            set: BTreeSet::new(),
            roles: [Role::Idle, Role::Counter(0), Role::Named { label: None, ports: Vec::new() }],
            large: Pair { one: 0, other: 0 },
            rate: (1, 2),
        }
    }
}

/// An operation: its number, its place and its argument.
type Operation = (u8, u8, u32);

const OPERATIONS: u8 = 50;

fn port(value: u32) -> Port {
    Port { packets: value, queue: [value, value / 2].into() }
}

/// Does an operation by means of the standard library. Returns the value that was taken out, if any.
fn plainly(state: &mut Everything, operation: Operation) -> Option<u32> {
    match operation.0 {
        0..15 => plainly_values(state, operation),
        15..34 => plainly_lists(state, operation),
        _ => plainly_others(state, operation),
    }
}

fn plainly_values(state: &mut Everything, (which, place, value): Operation) -> Option<u32> {
    let at = |len: usize| usize::from(place) % len.max(1);
    match which {
        0 => state.number = state.number.wrapping_add(value),
        1 => state.number = value,
        2 => state.pair = Pair { one: value, other: 1 },
        3 => state.pair.other = value,
        4 => state.text = value.to_string(),
        5 => state.maybe = Some(value),
        6 => return state.maybe.take(),
        7 => *state.maybe.get_or_insert(0) ^= value,
        8 => state.slot = Some(Box::new(port(value))),
        9 => return state.slot.take().map(|port| port.packets),
        10 => state.slot.get_or_insert_with(Default::default).queue.push_back(value),
        11 => state.array[at(3)] = value,
        12 => state.slice[at(3)].packets = value,
        13 => state.slice[at(3)].queue.push_front(value),
        14 => return state.slice[at(3)].queue.pop_back(),
        _ => unreachable!("operations are divided by number"),
    }
    None
}

fn plainly_lists(state: &mut Everything, (which, place, value): Operation) -> Option<u32> {
    let at = |len: usize| usize::from(place) % len.max(1);
    match which {
        15 => state.list.push(value),
        16 => return state.list.pop(),
        17 => state.list.truncate(usize::from(place)),
        18 => state.list.clear(),
        19 => {
            let len = state.list.len();
            if len > 0 {
                state.list.swap(at(len), value as usize % len);
            }
        }
        20 => state.list.insert(at(state.list.len()), value),
        21 => return (!state.list.is_empty()).then(|| state.list.remove(at(state.list.len()))),
        22 => return (!state.list.is_empty()).then(|| state.list.swap_remove(at(state.list.len()))),
        23 => state.list.extend([value, 1, 2]),
        24 => state.list.get_mut(usize::from(place)).into_iter().for_each(|element| *element = value),
        25 => state.ports.push(port(value)),
        26 => return state.ports.pop().map(|port| port.packets),
        27 => state.ports.get_mut(usize::from(place)).into_iter().for_each(|port| port.queue.push_back(value)),
        28 => state.deque.push_back(value),
        29 => state.deque.push_front(value),
        30 => return state.deque.pop_back(),
        31 => return state.deque.pop_front(),
        32 => state.deque.clear(),
        33 => state.deque.get_mut(usize::from(place)).into_iter().for_each(|element| *element = value),
        _ => unreachable!("operations are divided by number"),
    }
    None
}

fn plainly_others(state: &mut Everything, (which, place, value): Operation) -> Option<u32> {
    let at = |len: usize| usize::from(place) % len.max(1);
    match which {
        34 => drop(state.map.insert(place, value)),
        35 => return state.map.remove(&place),
        36 => *state.map.entry(place).or_insert(7) ^= value,
        37 => return state.map.pop_first().map(|(key, value)| value ^ u32::from(key)),
        38 => return state.map.pop_last().map(|(key, value)| value ^ u32::from(key)),
        39 => state.map.clear(),
        40 => drop(state.table.insert(place, port(value))),
        41 => return state.table.remove(&place).map(|port| port.packets),
        42 => state.table.get_mut(&place).into_iter().for_each(|port| port.queue.clear()),
        43 => return Some(u32::from(state.set.insert(place))),
        44 => return Some(u32::from(state.set.remove(&place))),
        45 => return state.set.pop_first().map(u32::from),
        46 => state.set.clear(),
        47 => match &mut state.roles[at(3)] {
            Role::Idle => {}
            Role::Counter(count) => *count = value,
            Role::Named { label, ports } => {
                *label = Some(value);
                ports.push(port(value));
            }
        },
        48 => state.large.one = value,
        _ => state.list = std::mem::take(&mut state.deque).into(),
    }
    None
}

/// Does the same operation on a view.
fn recorded<R: Recorder<EverythingUndo>>(state: &mut EverythingMut<'_, R>, operation: Operation) -> Option<u32> {
    match operation.0 {
        0..15 => recorded_values(state, operation),
        15..34 => recorded_lists(state, operation),
        _ => recorded_others(state, operation),
    }
}

fn recorded_values<R: Recorder<EverythingUndo>>(
    state: &mut EverythingMut<'_, R>,
    (which, place, value): Operation,
) -> Option<u32> {
    let at = |len: usize| usize::from(place) % len.max(1);
    match which {
        0 => *state.number() = state.number.wrapping_add(value),
        1 => state.number().set(value),
        2 => *state.pair() = Pair { one: value, other: 1 },
        3 => state.pair().other = value,
        4 => state.text().set(value.to_string()),
        5 => *state.maybe() = Some(value),
        6 => return state.maybe().take(),
        7 => *state.maybe().get_or_insert_with(|| 0) ^= value,
        8 => state.slot().set(Some(Box::new(port(value)))),
        9 => return state.slot().take().map(|port| port.packets),
        10 => state.slot().get_or_insert_with(Default::default).queue().push_back(value),
        11 => *state.array().at(at(3)) = value,
        12 => *state.slice().at(at(3)).packets() = value,
        13 => state.slice().at(at(3)).queue().push_front(value),
        14 => return state.slice().at(at(3)).queue().pop_back(),
        _ => unreachable!("operations are divided by number"),
    }
    None
}

fn recorded_lists<R: Recorder<EverythingUndo>>(
    state: &mut EverythingMut<'_, R>,
    (which, place, value): Operation,
) -> Option<u32> {
    let at = |len: usize| usize::from(place) % len.max(1);
    match which {
        15 => state.list().push(value),
        16 => return state.list().pop(),
        17 => state.list().truncate(usize::from(place)),
        18 => state.list().clear(),
        19 => {
            let len = state.list.len();
            if len > 0 {
                state.list().swap(at(len), value as usize % len);
            }
        }
        20 => {
            let place = at(state.list.len());
            state.list().insert(place, value);
        }
        21 => {
            let place = at(state.list.len());
            return (!state.list.is_empty()).then(|| state.list().remove(place));
        }
        22 => {
            let place = at(state.list.len());
            return (!state.list.is_empty()).then(|| state.list().swap_remove(place));
        }
        23 => state.list().extend([value, 1, 2]),
        24 => state.list().try_at(usize::from(place)).into_iter().for_each(|mut element| *element = value),
        25 => state.ports().push(port(value)),
        26 => return state.ports().pop().map(|port| port.packets),
        27 => {
            if usize::from(place) < state.ports.len() {
                let PortParts { mut queue, .. } = state.ports().into_at(usize::from(place)).into_parts();
                queue.push_back(value);
            }
        }
        28 => state.deque().push_back(value),
        29 => state.deque().push_front(value),
        30 => return state.deque().pop_back(),
        31 => return state.deque().pop_front(),
        32 => state.deque().clear(),
        33 => {
            if usize::from(place) < state.deque.len() {
                let mut element = state.deque().into_at(usize::from(place));
                *element = value;
            }
        }
        _ => unreachable!("operations are divided by number"),
    }
    None
}

fn recorded_others<R: Recorder<EverythingUndo>>(
    state: &mut EverythingMut<'_, R>,
    (which, place, value): Operation,
) -> Option<u32> {
    let at = |len: usize| usize::from(place) % len.max(1);
    match which {
        34 => state.map().insert(place, value),
        35 => return state.map().remove(place),
        36 => *state.map().at_or_insert_with(place, || 7) ^= value,
        37 => return state.map().pop_first().map(|(key, value)| value ^ u32::from(key)),
        38 => return state.map().pop_last().map(|(key, value)| value ^ u32::from(key)),
        39 => state.map().clear(),
        40 => state.table().insert(place, port(value)),
        41 => return state.table().remove(place).map(|port| port.packets),
        42 => state.table().try_at(place).into_iter().for_each(|mut port| port.queue().clear()),
        43 => return Some(u32::from(state.set().insert(place))),
        44 => return Some(u32::from(state.set().remove(place))),
        45 => return state.set().pop_first().map(u32::from),
        46 => state.set().clear(),
        47 => match state.roles().at(at(3)) {
            RoleMut::Idle => {}
            RoleMut::Counter(mut count) => *count = value,
            RoleMut::Named { mut label, mut ports } => {
                *label = Some(value);
                ports.push(port(value));
            }
        },
        48 => state.large().one = value,
        _ => {
            let EverythingParts { mut list, mut deque, .. } = state.split();
            list.clear();
            while let Some(element) = deque.pop_front() {
                list.push(element);
            }
        }
    }
    None
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    prop::collection::vec((0..OPERATIONS, 0..6_u8, 0..1_000_u32), 0..80)
}

proptest! {
    #[test]
    fn views_do_what_the_standard_library_does_and_each_step_is_undone(operations in operations()) {
        let (mut state, mut log) = (Everything::new(), UndoLog::default());
        let mut steps = Vec::new();
        for &operation in &operations {
            steps.push((state.clone(), log.records().len()));
            let mut expected = state.clone();
            let taken = plainly(&mut expected, operation);
            let mut unrecorded = state.clone();
            prop_assert_eq!(recorded(&mut unrecorded.unrecorded(), operation), taken);
            prop_assert_eq!(&unrecorded, &expected);
            let found = log.recording(|recorder| recorded(&mut state.view(recorder), operation));
            prop_assert_eq!((found, &state), (taken, &expected), "{:?}", operation);
        }
        for (before, records) in steps.into_iter().rev() {
            while log.records().len() > records {
                state.undo(log.pop().expect("there are records"));
            }
            prop_assert_eq!(&state, &before);
        }
        prop_assert!(log.is_empty());
    }

    #[test]
    fn many_steps_are_undone_at_once(prefix in operations(), operations in operations()) {
        let mut state = Everything::new();
        for operation in prefix {
            plainly(&mut state, operation);
        }
        let (before, mut log) = (state.clone(), UndoLog::default());
        log.recording(|recorder| {
            let mut view = state.view(recorder);
            for operation in operations {
                recorded(&mut view, operation);
            }
        });
        state.undo_all(&mut log);
        prop_assert_eq!(state, before);
    }
}

#[test]
fn each_operation_of_the_random_sequences_changes_something_somewhere() {
    for which in 0..OPERATIONS {
        let is_felt = (0..6).any(|place| {
            let mut state = Everything::new();
            for earlier in [2, 5, 8, 13, 15, 15, 25, 28, 34, 40, 43] {
                for place in 0..5 {
                    plainly(&mut state, (earlier, place, 500 + u32::from(place)));
                }
            }
            let before = state.clone();
            plainly(&mut state, (which, place, 901));
            state != before
        });
        assert!(is_felt, "operation {which}");
    }
}

#[test]
fn a_handler_that_panics_midway_is_undone() {
    let mut state = Everything::new();
    state.list = vec![1, 2, 3];
    state.table.insert(4, port(9));
    let (before, mut log) = (state.clone(), UndoLog::default());
    let panics: [fn(&mut EverythingMut<'_, parades_core::restore::Recording<'_, EverythingUndo>>); 6] = [
        |state| *state.list().at(3) = 1,
        |state| state.list().swap(0, 3),
        |state| state.list().insert(4, 1),
        |state| {
            state.list().remove(3);
        },
        |state| *state.table().at(5).packets() = 1,
        |state| drop(state.table().at_or_insert_with(5, || panic!("there is no value"))),
    ];
    for panics in panics {
        let execution = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            log.recording(|recorder| {
                let mut view = state.view(recorder);
                view.list().push(4);
                view.list().pop();
                *view.table().at(4).packets() += 1;
                panics(&mut view);
            });
        }));
        assert!(execution.is_err() && log.records().len() == 3, "{} records", log.records().len());
        state.undo_all(&mut log);
        assert_eq!(state, before);
    }
}

/// A value that cannot be copied while it is armed.
#[derive(Debug, PartialEq, Eq, Undoable)]
#[undoable(whole)]
struct Fragile(bool);

impl Clone for Fragile {
    fn clone(&self) -> Fragile {
        assert!(!self.0, "it breaks");
        Fragile(self.0)
    }
}

#[test]
fn a_value_whose_copying_panics_stays_where_it_is() {
    let (mut list, mut log) = (vec![Fragile(false), Fragile(true)], UndoLog::default());
    let execution = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        log.recording(|recorder| list.view(recorder).pop());
    }));
    assert!(execution.is_err());
    list.undo_all(&mut log);
    assert_eq!(list, [Fragile(false), Fragile(true)]);
}

/// A state whose parts may have any type.
#[derive(Clone, Debug, PartialEq, Eq, Undoable)]
struct Generic<T, K, const N: usize>
where
    T: Undoable,
    K: Ord + Copy,
{
    parts: [T; N],
    seen: BTreeSet<K>,
}

#[test]
fn generic_state_is_undone() {
    let mut state = Generic::<Port, u8, 2> { parts: Default::default(), seen: BTreeSet::new() };
    let (before, mut log) = (state.clone(), UndoLog::default());
    log.recording(|recorder| {
        let mut view = state.view(recorder);
        *view.parts().at(1).packets() = 3;
        let GenericParts { mut parts, mut seen } = view.split();
        seen.insert(4);
        parts.at(0).queue().push_back(5);
    });
    assert_eq!((state.parts[1].packets, log.records().len()), (3, 3));
    state.undo_all(&mut log);
    assert_eq!(state, before);
}

#[test]
fn a_record_is_as_small_as_one_written_by_hand() {
    #[derive(Undoable)]
    struct Counters {
        events: u64,
        sum: u64,
        words: [u64; 512],
    }
    // A tag and an index in eight bytes, the old value in the others.
    assert_eq!(size_of::<Option<CountersUndo>>(), 16);
    let mut counters = Counters { events: 0, sum: 0, words: [0; 512] };
    let mut log = UndoLog::default();
    log.recording(|recorder| {
        let mut view = counters.view(recorder);
        *view.events() += 1;
        *view.sum() += 1;
        *view.words().at(511) += 1;
    });
    counters.undo_all(&mut log);
    assert_eq!((counters.events, counters.sum, counters.words[511]), (0, 0, 0));
}

#[test]
fn a_value_borrowed_for_several_changes_is_recorded_once() {
    let (mut pair, mut log) = (Pair { one: 1, other: 2 }, UndoLog::default());
    log.recording(|recorder| {
        let pair = pair.view(recorder).into_mut();
        pair.one = 3;
        pair.other = 4;
    });
    assert_eq!(log.records().len(), 1);
    pair.undo_all(&mut log);
    assert_eq!(pair, Pair { one: 1, other: 2 });
}
