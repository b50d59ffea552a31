//! The settings of the engines, for `--tune`.

use crate::words::{Table, words};
use parades_config::Parameter;
use parades_core::time::Delay;
use parades_engine::partition::Placing;
use parades_engine::window::Order;

/// The settings of `rounds`.
pub(super) const ROUNDS: &[Parameter] = &[PINNED];
/// The settings of `window`.
pub(super) const WINDOW: &[Parameter] = &[PARTITIONS, LEAST_LOOKAHEAD, PLACEMENT, ORDER, DEDICATED, RETREAT, PINNED];
/// The settings of `null-message`.
pub(super) const NULL_MESSAGE: &[Parameter] = &[PARTITIONS, LEAST_LOOKAHEAD, PLACEMENT, ORDER, RETREAT, PINNED];
/// The settings of `time-warp`.
pub(super) const TIME_WARP: &[Parameter] = &[AHEAD, PLACEMENT, RETREAT, PINNED];

const PARTITIONS: Parameter = Parameter::integer(
    "partitions",
    0,
    0..=65_536,
    "greatest number of partitions; 0: the channels and the threads decide",
);
const LEAST_LOOKAHEAD: Parameter = Parameter::duration(
    "least-lookahead",
    Delay::ZERO,
    "least lookahead between partitions: both ends of a channel with less stay in one partition",
);

pub(crate) const PLACEMENTS: Table<Placing, 2> = [("channels", Placing::Channels), ("ranges", Placing::Ranges)];
const PLACEMENT: Parameter = Parameter::choice(
    "placement",
    "channels",
    &words(&PLACEMENTS),
    "LPs that are placed together, on workers and on processes: neighbours by channels, or ranges of ids",
);

pub(crate) const ORDERS: Table<Order, 3> = [("measured", Order::Measured), ("time", Order::Time), ("lp", Order::Lp)];
const ORDER: Parameter = Parameter::choice(
    "order",
    "measured",
    &words(&ORDERS),
    "order of the events of a window in a partition: by time, LP by LP, or the faster one as measured",
);

const DEDICATED: Parameter = Parameter::fraction(
    "dedicated",
    1.0,
    "share of the work in partitions that belong to one worker; any idle worker takes the other partitions",
);
const RETREAT: Parameter =
    Parameter::boolean("retreat", true, "continue with one worker while that is faster than with several");

const AHEAD: Parameter = Parameter::integer(
    "ahead",
    0,
    0..=1 << 24,
    "number of events that each worker executes ahead of GVT; 0: chosen by measurement",
);
const PINNED: Parameter = Parameter::boolean("pinned", false, "bind each worker to a core, if there are enough cores");
