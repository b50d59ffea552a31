//! Every key of a network file has a row here: a change that has an effect on the answer, and the lines
//! beside it that it needs. A key that needs others of its table declares it (`parades_config::needs`), and
//! is refused without them. A key that needs another table is noted without it.
//!
//! A new key needs a row, or this test fails.

use crate::common::{file, options};
use parades_engine::sequential;
use parades_netfile::reference;
use std::collections::BTreeSet;

/// The settings of a run, which the session reads.
const SETTINGS: [&str; 6] = ["seed", "tie_seed", "until", "engine", "threads", "processes"];

/// A change of one key, and its effect.
struct Row {
    /// The table, its kind if it has kinds, and the key: `app/tcp/mss`.
    key: &'static str,
    /// The lines of both files, as [`render`] reads them.
    beside: &'static str,
    /// The line that one of the files has more. It replaces a line of the same key.
    change: &'static str,
    /// Lines by which the key loses its effect.
    off: &'static str,
    effect: Effect,
}

#[derive(Clone, Copy, PartialEq)]
enum Effect {
    /// The answer is another one.
    Acts,
    /// As `Acts`, and with `off` the file is refused.
    Needs,
    /// As `Acts`, and with `off` a note says that the key has no effect.
    NotedWithout,
    /// The answer is the same one: a name or a title.
    Same,
}

type Text = &'static str;

const fn acts(key: Text, beside: Text, change: Text) -> Row {
    Row { key, beside, change, off: "", effect: Effect::Acts }
}

const fn needs(key: Text, beside: Text, change: Text, off: Text) -> Row {
    Row { key, beside, change, off, effect: Effect::Needs }
}

const fn noted_without(key: Text, beside: Text, change: Text, off: Text) -> Row {
    Row { key, beside, change, off, effect: Effect::NotedWithout }
}

const fn same(key: Text, beside: Text, change: Text) -> Row {
    Row { key, beside, change, off: "", effect: Effect::Same }
}

/// A queue of the first link, which is in a table of its own.
macro_rules! queue {
    ($kind:literal) => {
        concat!("link: queue = 'q' | queue: kind = '", $kind, "' | app: ecn = true | app: packet = '500B'")
    };
}
/// An impairment of the first link.
const IMPAIRED: &str = "link: impairment = 'i' | impairment: jitter = '3ms'";
const TCP: &str = "app: kind = 'tcp' | app: size = '60kB' | app: rate = ''";
const LOSSY_TCP: &str = "app: kind = 'tcp' | app: size = '60kB' | app: rate = '' | link: loss = 0.05";
const ON_OFF: &str = "app: kind = 'on-off' | app: on = '30ms' | app: off = '30ms'";
const CLIENT: &str = "app: kind = 'request-response' | app: rate = ''";
const TRANSFER: &str = "app: kind = 'transfer' | app: size = '60kB' | app: rate = ''";
const FAILS: &str = "event: at = '500ms' | event: link = 'a-b' | event: state = 'down'";
/// Hosts at a node, one of which receives.
const GROUP: &str = "group: size = 2 | group: attach = 'c' | app: to = 'g.0'";
/// A part between the ends of the app.
macro_rules! part {
    ($kind:literal, $from:literal, $to:literal) => {
        concat!("part: kind = '", $kind, "' | app: from = 'p.", $from, "' | app: to = 'p.", $to, "'")
    };
}

const ROWS: &[Row] = &[
    same("network", "", "top: network = 'other'"),
    acts("routing", "top: paths = 'single' | link: delay = '90ms'", "top: routing = 'hops'"),
    acts(
        "paths",
        "top: routing = 'hops' | app: flows = [['a', 'c'], ['a', 'c'], ['a', 'c'], ['a', 'c']]",
        "top: paths = 'single'",
    ),
    noted_without("convergence", FAILS, "top: convergence = '100ms'", "event: state = '' | event: rate = '500kbps'"),
    noted_without("ip", "", "top: ip = 6", "top: headers = '50B'"),
    noted_without("headers", "", "top: headers = '50B'", "app: kind = 'tcp' | app: size = '60kB' | app: rate = ''"),
    acts("nodes", "", "top: nodes = ['a', 'b', 'c', 'd', 'e']"),
    acts("defaults/rate", "", "defaults: rate = '2Mbps'"),
    acts("defaults/delay", "", "defaults: delay = '6ms'"),
    acts("defaults/queue", "", "defaults: queue = 3"),
    acts("defaults/loss", "", "defaults: loss = 0.1"),
    acts("defaults/framing", "", "defaults: framing = 'ethernet'"),
    acts("defaults/mtu", TCP, "defaults: mtu = '500B'"),
    acts("defaults/impairment", "impairment: jitter = '3ms'", "defaults: impairment = 'i'"),
    noted_without("defaults/packet", "", "defaults: packet = '500B'", "app: packet = '900B'"),
    same("group/name", GROUP, "group: name = 'g'"),
    acts("group/size", GROUP, "group: size = 3"),
    acts("group/attach", GROUP, "group: attach = 'd'"),
    acts("group/rate", GROUP, "group: rate = '500kbps'"),
    acts("group/delay", GROUP, "group: delay = '6ms'"),
    acts(
        "group/queue",
        "group: size = 2 | group: attach = 'c' | app: to = 'g.0' | group: rate = '500kbps'",
        "group: queue = 3",
    ),
    acts("group/rate_back", GROUP, "group: rate_back = '500kbps'"),
    acts(
        "group/queue_back",
        "group: size = 2 | group: attach = 'c' | app: to = 'g.0' | group: rate = '500kbps'",
        "group: queue_back = 3",
    ),
    acts(
        "group/mtu",
        "group: size = 2 | group: attach = 'c' | app: to = 'g.0' | app: kind = 'tcp' | app: size = '60kB' | app: rate = ''",
        "group: mtu = '500B'",
    ),
    acts("group/loss", GROUP, "group: loss = 0.1"),
    acts("group/framing", GROUP, "group: framing = 'ethernet'"),
    acts(
        "group/impairment",
        "group: size = 2 | group: attach = 'c' | app: to = 'g.0' | impairment: jitter = '3ms'",
        "group: impairment = 'i'",
    ),
    same("part/name", concat!(part!("line", "0", "2"), " | part: size = 3"), "part: name = 'p'"),
    acts("part/rate", concat!(part!("line", "0", "2"), " | part: size = 3"), "part: rate = '500kbps'"),
    acts("part/delay", concat!(part!("line", "0", "2"), " | part: size = 3"), "part: delay = '6ms'"),
    acts("part/queue", concat!(part!("line", "0", "2"), " | part: size = 3"), "part: queue = 3"),
    acts("part/loss", concat!(part!("line", "0", "2"), " | part: size = 3"), "part: loss = 0.1"),
    acts(
        "part/mtu",
        concat!(part!("line", "0", "2"), " | part: size = 3 | app: kind = 'tcp' | app: size = '60kB' | app: rate = ''"),
        "part: mtu = '500B'",
    ),
    acts("part/framing", concat!(part!("line", "0", "2"), " | part: size = 3"), "part: framing = 'ethernet'"),
    acts(
        "part/impairment",
        concat!(part!("line", "0", "2"), " | part: size = 3 | impairment: jitter = '3ms'"),
        "part: impairment = 'i'",
    ),
    acts("part/line/size", concat!(part!("line", "0", "2"), " | part: size = 3"), "part: size = 4"),
    acts("part/ring/size", concat!(part!("ring", "0", "2"), " | part: size = 5"), "part: size = 6"),
    acts("part/star/size", concat!(part!("star", "0", "2"), " | part: size = 3"), "part: size = 4"),
    acts("part/dumbbell/size", concat!(part!("dumbbell", "left.0", "right.0"), " | part: size = 3"), "part: size = 4"),
    acts(
        "part/dumbbell/trunk_rate",
        concat!(part!("dumbbell", "left.0", "right.0"), " | part: size = 3"),
        "part: trunk_rate = '500kbps'",
    ),
    acts(
        "part/dumbbell/trunk_delay",
        concat!(part!("dumbbell", "left.0", "right.0"), " | part: size = 3"),
        "part: trunk_delay = '6ms'",
    ),
    acts("part/torus/sides", concat!(part!("torus", "0.0", "1.1"), " | part: sides = [3, 3]"), "part: sides = [3, 4]"),
    acts(
        "part/fat-tree/arity",
        concat!(part!("fat-tree", "host.0.0.0", "host.1.0.0"), " | part: arity = 2"),
        "part: arity = 4",
    ),
    acts(
        "part/fat-tree/trunk_rate",
        concat!(part!("fat-tree", "host.0.0.0", "host.1.0.0"), " | part: arity = 2"),
        "part: trunk_rate = '500kbps'",
    ),
    acts(
        "part/fat-tree/trunk_delay",
        concat!(part!("fat-tree", "host.0.0.0", "host.1.0.0"), " | part: arity = 2"),
        "part: trunk_delay = '6ms'",
    ),
    acts(
        "part/campus/size",
        concat!(part!("campus", "0.net1.2", "0.lan0.0"), " | part: lan_clients = 1"),
        "part: size = 2",
    ),
    acts(
        "part/campus/lan_clients",
        concat!(part!("campus", "0.net1.2", "0.lan0.0"), " | part: lan_clients = 1"),
        "part: lan_clients = 2",
    ),
    acts(
        "part/random-geometric/size",
        concat!(part!("random-geometric", "0", "5"), " | part: size = 9 | part: radius = 0.5"),
        "part: size = 10",
    ),
    acts(
        "part/random-geometric/radius",
        concat!(part!("random-geometric", "0", "5"), " | part: size = 9 | part: radius = 0.5"),
        "part: radius = 0.9",
    ),
    acts(
        "part/random-geometric/across",
        concat!(part!("random-geometric", "0", "5"), " | part: size = 9 | part: radius = 0.5"),
        "part: across = '20ms'",
    ),
    acts(
        "part/random-geometric/seed",
        concat!(part!("random-geometric", "0", "5"), " | part: size = 9 | part: radius = 0.5"),
        "part: seed = 2",
    ),
    acts(
        "part/graph/file",
        concat!(part!("graph", "1", "3"), " | part: file = 'acts-graph'"),
        "part: file = 'acts-other'",
    ),
    acts(
        "part/graphml/file",
        concat!(part!("graphml", "1", "3"), " | part: file = 'acts-graph'"),
        "part: file = 'acts-other'",
    ),
    acts(
        "part/edges/file",
        concat!(part!("edges", "1", "3"), " | part: file = 'acts-graph'"),
        "part: file = 'acts-other'",
    ),
    acts("link/from", "", "link: from = 'd'"),
    acts("link/to", "", "link: to = 'c'"),
    acts("link/name", "", "link: name = 'first'"),
    acts("link/rate", "", "link: rate = '500kbps'"),
    acts("link/delay", "", "link: delay = '6ms'"),
    acts("link/queue", "", "link: queue = 3"),
    needs("link/rate_back", TCP, "link: rate_back = '100kbps'", "link: duplex = false"),
    needs(
        "link/queue_back",
        "link: from = 'b' | link: to = 'a' | app: packet = '500B'",
        "link: queue_back = 3",
        "link: duplex = false",
    ),
    acts("link/mtu", TCP, "link: mtu = '500B'"),
    acts("link/loss", "", "link: loss = 0.1"),
    acts("link/framing", "", "link: framing = 'ethernet'"),
    acts("link/impairment", "impairment: jitter = '3ms'", "link: impairment = 'i'"),
    acts("link/duplex", "", "link: duplex = false"),
    acts(
        "link/pairs",
        "top: nodes = ['a', 'b', 'c', 'd', 'e', 'f', 'g'] | link: from = ['a', 'e'] | link: to = ['b', 'f']",
        "link: pairs = 'matching'",
    ),
    same("queue/name", queue!("droptail"), "queue: name = 'q'"),
    acts("queue/limit", queue!("droptail"), "queue: limit = 3"),
    acts("queue/device", queue!("droptail"), "queue: device = 3"),
    acts("queue/red/min", queue!("red"), "queue: min = 2.0"),
    acts("queue/red/max", concat!(queue!("red"), " | queue: weight = 0.5"), "queue: max = 20.0"),
    acts("queue/red/probability", concat!(queue!("red"), " | queue: weight = 0.5"), "queue: probability = 0.5"),
    acts("queue/red/weight", queue!("red"), "queue: weight = 0.5"),
    acts(
        "queue/red/gentle",
        concat!(queue!("red"), " | queue: weight = 0.5 | queue: limit = 20"),
        "queue: gentle = false",
    ),
    acts(
        "queue/red/wait",
        concat!(queue!("red"), " | queue: weight = 0.5 | queue: probability = 0.5"),
        "queue: wait = false",
    ),
    acts(
        "queue/red/mean_packet",
        concat!(
            queue!("red"),
            " | queue: weight = 0.05 | queue: min = 1.0 | queue: max = 5.0 | app: kind = 'on-off' | app: on = '100ms' | app: off = '200ms'"
        ),
        "queue: mean_packet = '100B'",
    ),
    acts("queue/red/ecn", concat!(queue!("red"), " | queue: weight = 0.5"), "queue: ecn = false"),
    acts("queue/pie/target", queue!("pie"), "queue: target = '50ms'"),
    acts("queue/pie/update", queue!("pie"), "queue: update = '5ms'"),
    acts("queue/pie/burst", queue!("pie"), "queue: burst = '0s'"),
    acts("queue/pie/mean_packet", queue!("pie"), "queue: mean_packet = '90kB'"),
    acts("queue/pie/ecn", queue!("pie"), "queue: ecn = false"),
    acts("queue/dctcp/mark_at", queue!("dctcp"), "queue: mark_at = 3"),
    acts(
        "queue/token-bucket/rate",
        concat!(queue!("token-bucket"), " | queue: rate = '500kbps' | queue: burst = '9kB'"),
        "queue: rate = '400kbps'",
    ),
    acts(
        "queue/token-bucket/burst",
        concat!(queue!("token-bucket"), " | queue: rate = '500kbps' | queue: burst = '9kB'"),
        "queue: burst = '8kB'",
    ),
    acts("queue/codel/target", queue!("codel"), "queue: target = '50ms'"),
    acts("queue/codel/interval", queue!("codel"), "queue: interval = '50ms'"),
    acts("queue/codel/mtu", concat!(queue!("codel"), " | app: rate = '1010kbps'"), "queue: mtu = '9kB'"),
    acts("queue/codel/ecn", queue!("codel"), "queue: ecn = false"),
    acts("queue/fqcodel/target", queue!("fqcodel"), "queue: target = '50ms'"),
    acts("queue/fqcodel/interval", queue!("fqcodel"), "queue: interval = '50ms'"),
    acts("queue/fqcodel/mtu", concat!(queue!("fqcodel"), " | app: rate = '1010kbps'"), "queue: mtu = '9kB'"),
    acts("queue/fqcodel/ecn", queue!("fqcodel"), "queue: ecn = false"),
    acts(
        "queue/fqcodel/queues",
        concat!(queue!("fqcodel"), " | app: flows = [['a', 'b'], ['a', 'b'], ['a', 'b'], ['d', 'b']]"),
        "queue: queues = 1",
    ),
    acts(
        "queue/fqcodel/quantum",
        concat!(queue!("fqcodel"), " | app: flows = [['a', 'b'], ['a', 'b']]"),
        "queue: quantum = '5000B'",
    ),
    acts("queue/fqcodel/memory", queue!("fqcodel"), "queue: memory = '5000B'"),
    acts("queue/cake/bandwidth", queue!("cake"), "queue: bandwidth = '500kbps'"),
    acts(
        "queue/cake/isolation",
        concat!(queue!("cake"), " | app: flows = [['a', 'b'], ['a', 'b'], ['a', 'b'], ['d', 'b']]"),
        "queue: isolation = 'none'",
    ),
    acts("queue/cake/rtt", queue!("cake"), "queue: rtt = '20ms'"),
    needs(
        "queue/cake/overhead",
        concat!(queue!("cake"), " | queue: bandwidth = '500kbps'"),
        "queue: overhead = 40",
        "queue: bandwidth = ''",
    ),
    needs(
        "queue/cake/mpu",
        concat!(queue!("cake"), " | queue: bandwidth = '500kbps' | app: packet = '10B'"),
        "queue: mpu = 200",
        "queue: bandwidth = ''",
    ),
    needs(
        "queue/cake/cells",
        concat!(queue!("cake"), " | queue: bandwidth = '500kbps'"),
        "queue: cells = 'atm'",
        "queue: bandwidth = ''",
    ),
    acts(
        "queue/cake/ingress",
        concat!(queue!("cake"), " | queue: bandwidth = '500kbps' | queue: memory = '20kB'"),
        "queue: ingress = true",
    ),
    acts("queue/cake/ecn", queue!("cake"), "queue: ecn = false"),
    needs(
        "queue/cake/mtu",
        concat!(queue!("cake"), " | queue: bandwidth = '500kbps'"),
        "queue: mtu = '9kB'",
        "queue: bandwidth = ''",
    ),
    acts(
        "queue/cake/queues",
        concat!(
            queue!("cake"),
            " | app: flows = [['a', 'b'], ['a', 'b'], ['a', 'b'], ['a', 'b'], ['a', 'b'], ['a', 'b'], ['a', 'b'], ['a', 'b'], \
             ['a', 'b'], ['a', 'b'], ['a', 'b'], ['d', 'b']]"
        ),
        "queue: queues = 8",
    ),
    acts("queue/cake/memory", queue!("cake"), "queue: memory = '5000B'"),
    same("impairment/name", IMPAIRED, "impairment: name = 'i'"),
    acts("impairment/jitter", IMPAIRED, "impairment: jitter = '2ms'"),
    needs(
        "impairment/distribution",
        IMPAIRED,
        "impairment: distribution = 'pareto'",
        "impairment: jitter = '' | impairment: duplicate = 0.1",
    ),
    needs(
        "impairment/deviation",
        "link: impairment = 'i' | impairment: jitter = '3ms' | impairment: distribution = 'normal'",
        "impairment: deviation = '1ms'",
        "impairment: distribution = 'uniform'",
    ),
    needs(
        "impairment/shape",
        "link: impairment = 'i' | impairment: jitter = '3ms' | impairment: distribution = 'pareto'",
        "impairment: shape = 2.0",
        "impairment: distribution = 'uniform'",
    ),
    needs(
        "impairment/keep_order",
        "link: impairment = 'i' | impairment: jitter = '30ms'",
        "impairment: keep_order = true",
        "impairment: jitter = '' | impairment: duplicate = 0.1",
    ),
    needs(
        "impairment/reorder",
        "link: impairment = 'i' | impairment: jitter = '30ms'",
        "impairment: reorder = 0.5",
        "impairment: jitter = '' | impairment: duplicate = 0.1",
    ),
    acts("impairment/duplicate", IMPAIRED, "impairment: duplicate = 0.2"),
    acts("impairment/to_bad", IMPAIRED, "impairment: to_bad = 0.2"),
    needs(
        "impairment/to_good",
        "link: impairment = 'i' | impairment: to_bad = 0.2",
        "impairment: to_good = 0.2",
        "impairment: to_bad = ''",
    ),
    needs(
        "impairment/loss_good",
        "link: impairment = 'i' | impairment: to_bad = 0.2",
        "impairment: loss_good = 0.2",
        "impairment: to_bad = ''",
    ),
    needs(
        "impairment/loss_bad",
        "link: impairment = 'i' | impairment: to_bad = 0.2",
        "impairment: loss_bad = 0.2",
        "impairment: to_bad = ''",
    ),
    acts(
        "route/at",
        "route: at = 'b' | route: to = 'c' | route: link = 'b-c'",
        "route: at = 'a' | route: link = 'a-d'",
    ),
    acts("route/to", "route: at = 'a' | route: to = 'b' | route: via = 'd'", "route: to = 'c'"),
    acts("route/via", "route: at = 'a' | route: to = 'c' | route: via = 'b'", "route: via = 'd'"),
    acts("route/link", "route: at = 'a' | route: to = 'c' | route: link = 'a-b'", "route: link = 'a-d'"),
    acts("app/name", "", "app: name = 'y'"),
    acts("app/from", "", "app: from = 'b'"),
    acts("app/to", "", "app: to = 'd'"),
    acts("app/pairs", "app: from = ['a', 'b'] | app: to = ['c', 'd']", "app: pairs = 'all'"),
    noted_without(
        "app/except",
        "app: from = ['a', 'b'] | app: to = ['c', 'd']",
        "app: except = ['d']",
        "app: from = 'a' | app: to = 'c'",
    ),
    acts("app/flows", "app: flows = [['a', 'c']]", "app: flows = [['b', 'c']]"),
    acts("app/start", "", "app: start = '100ms'"),
    noted_without(
        "app/class",
        "link: queue = 'priority' | app2: kind = 'constant' | app2: rate = '2Mbps'",
        "app: class = 3",
        "link: queue = 'droptail'",
    ),
    noted_without("app/ecn", "link: queue = 'codel'", "app: ecn = true", "link: queue = 'droptail'"),
    acts("app/spread", "", "app: spread = '100ms'"),
    acts("app/constant/rate", "", "app: rate = '1500kbps'"),
    acts("app/constant/packet", "", "app: packet = '500B'"),
    acts("app/constant/size", "", "app: size = '20kB'"),
    acts("app/constant/stop", "", "app: stop = '1s'"),
    acts("app/constant/multicast", "", "app: multicast = true"),
    acts("app/poisson/rate", "app: kind = 'poisson'", "app: rate = '1500kbps'"),
    acts("app/poisson/gap", "app: kind = 'poisson' | app: rate = '' | app: gap = '5ms'", "app: gap = '6ms'"),
    acts("app/poisson/packet", "app: kind = 'poisson'", "app: packet = '500B'"),
    acts("app/poisson/size", "app: kind = 'poisson'", "app: size = '20kB'"),
    acts("app/poisson/stop", "app: kind = 'poisson'", "app: stop = '1s'"),
    acts("app/poisson/multicast", "app: kind = 'poisson'", "app: multicast = true"),
    acts("app/on-off/rate", ON_OFF, "app: rate = '1500kbps'"),
    acts("app/on-off/on", ON_OFF, "app: on = '40ms'"),
    acts("app/on-off/off", ON_OFF, "app: off = '40ms'"),
    acts("app/on-off/periods", ON_OFF, "app: periods = 'pareto'"),
    needs(
        "app/on-off/shape",
        "app: kind = 'on-off' | app: on = '30ms' | app: off = '30ms' | app: periods = 'pareto'",
        "app: shape = 2.0",
        "app: periods = 'constant'",
    ),
    acts("app/on-off/packet", ON_OFF, "app: packet = '500B'"),
    acts("app/on-off/size", ON_OFF, "app: size = '20kB'"),
    acts("app/on-off/stop", ON_OFF, "app: stop = '1s'"),
    acts("app/on-off/multicast", ON_OFF, "app: multicast = true"),
    acts("app/request-response/request", CLIENT, "app: request = '200B'"),
    acts("app/request-response/response", CLIENT, "app: response = '20kB'"),
    acts("app/request-response/segment", CLIENT, "app: segment = '1000B'"),
    acts("app/request-response/think", CLIENT, "app: think = '50ms'"),
    noted_without(
        "app/request-response/thinking",
        "app: kind = 'request-response' | app: rate = '' | app: think = '50ms'",
        "app: thinking = 'constant'",
        "app: think = '0s'",
    ),
    acts("app/request-response/service", CLIENT, "app: service = '50ms'"),
    noted_without(
        "app/request-response/serving",
        "app: kind = 'request-response' | app: rate = '' | app: service = '50ms'",
        "app: serving = 'constant'",
        "app: service = '0s'",
    ),
    acts(
        "app/request-response/timeout",
        "app: kind = 'request-response' | app: rate = '' | link: loss = 0.1",
        "app: timeout = '300ms'",
    ),
    acts("app/request-response/requests", CLIENT, "app: requests = 3"),
    acts("app/request-response/stop", CLIENT, "app: stop = '1s'"),
    acts("app/transfer/size", TRANSFER, "app: size = '50kB'"),
    acts("app/transfer/segment", TRANSFER, "app: segment = '1000B'"),
    acts("app/transfer/window", TRANSFER, "app: window = 2"),
    acts(
        "app/transfer/control",
        "app: kind = 'transfer' | app: size = '60kB' | app: rate = '' | link: loss = 0.05",
        "app: control = 'fixed'",
    ),
    acts("app/tcp/size", TCP, "app: size = '50kB'"),
    acts(
        "app/tcp/writes",
        "app: kind = 'tcp' | app: size = '60kB' | app: rate = '500kbps' | app: writes = '1kB'",
        "app: writes = '2kB'",
    ),
    acts(
        "app/tcp/rate",
        "app: kind = 'tcp' | app: size = '60kB' | app: rate = '500kbps' | app: writes = '1kB'",
        "app: rate = '400kbps'",
    ),
    acts("app/tcp/read_rate", TCP, "app: read_rate = '300kbps'"),
    acts("app/tcp/profile", TCP, "app: profile = 'ns3'"),
    acts("app/tcp/congestion", LOSSY_TCP, "app: congestion = 'bbr'"),
    acts("app/tcp/mss", TCP, "app: mss = '1000B'"),
    acts("app/tcp/initial_window", TCP, "app: initial_window = 2"),
    acts("app/tcp/buffer", TCP, "app: buffer = '5kB'"),
    acts("app/tcp/sack", LOSSY_TCP, "app: sack = false"),
    acts("app/tcp/timestamps", TCP, "app: timestamps = false"),
    acts("app/tcp/delayed_ack", TCP, "app: delayed_ack = 1"),
    acts(
        "app/tcp/min_rto",
        "app: kind = 'tcp' | app: size = '60kB' | app: rate = '' | link: loss = 0.3",
        "app: min_rto = '400ms'",
    ),
    acts(
        "app/tcp/keep_alive",
        "app: kind = 'tcp' | app: size = '3kB' | app: rate = '5kbps' | app: writes = '1kB'",
        "app: keep_alive = '200ms'",
    ),
    acts(
        "app/tcp/user_timeout",
        "app: kind = 'tcp' | app: size = '60kB' | app: rate = '' | event: at = '100ms' | event: node = 'c' | event: state = 'down'",
        "app: user_timeout = '500ms'",
    ),
    needs(
        "app/tcp/pacing",
        "app: kind = 'tcp' | app: size = '60kB' | app: rate = '' | app: congestion = 'newreno'",
        "app: pacing = true",
        "app: congestion = 'bbr'",
    ),
    needs(
        "app/tcp/hystart",
        "app: kind = 'tcp' | app: size = '900kB' | app: rate = '' | app: congestion = 'cubic' | defaults: rate = '20Mbps'",
        "app: hystart = false",
        "app: congestion = 'bbr'",
    ),
    acts("event/at", FAILS, "event: at = '600ms'"),
    acts("event/link", FAILS, "event: link = 'b-c'"),
    acts("event/node", "event: at = '500ms' | event: node = 'b' | event: state = 'down'", "event: node = 'c'"),
    acts("event/state", "event: at = '500ms' | event: link = 'a-b' | event: rate = '500kbps'", "event: state = 'down'"),
    acts(
        "event/rate",
        "event: at = '500ms' | event: link = 'a-b' | event: rate = '500kbps'",
        "event: rate = '400kbps'",
    ),
    acts(
        "event/rate_back",
        "event: at = '100ms' | event: link = 'a-b' | event: rate_back = '100kbps' | link: rate_back = '500kbps' | app: kind = 'tcp' | app: size = '60kB' | app: rate = ''",
        "event: rate_back = '50kbps'",
    ),
    acts("event/delay", "event: at = '500ms' | event: link = 'a-b' | event: delay = '7ms'", "event: delay = '8ms'"),
    acts("event/loss", "event: at = '500ms' | event: link = 'a-b' | event: loss = 0.1", "event: loss = 0.2"),
    acts("event/for", FAILS, "event: for = '200ms'"),
    acts("measure/every", "", "measure: every = '100ms'"),
    needs("measure/links", "measure: every = '100ms'", "measure: links = 'a-b'", "measure: every = ''"),
    needs("measure/apps", "measure: every = '100ms'", "measure: apps = 'x'", "measure: every = ''"),
    needs("measure/flows", "measure: every = '100ms'", "measure: flows = 'x'", "measure: every = ''"),
    acts("measure/percentiles", "", "measure: percentiles = false"),
    acts(
        "measure/unfinished",
        "app: kind = 'transfer' | app: size = '60MB' | app: rate = ''",
        "measure: unfinished = 'so-far'",
    ),
];

/// The lines of every file, in the form of rows. The app is faster than its links.
const BASE: &str = "top: network = 'test' | top: until = '2s' | top: nodes = ['a', 'b', 'c', 'd'] \
    | defaults: rate = '1Mbps' | defaults: delay = '5ms' \
    | link: from = 'a' | link: to = 'b' | app: name = 'x' | app: from = 'a' | app: to = 'c' | app: kind = 'constant' | app: rate = '2Mbps'";

/// The tables in the order of the file, each with the first of its lines.
const TABLES: [(&str, &str); 11] = [
    ("top", ""),
    ("defaults", "[defaults]"),
    ("link", "[[link]]"),
    ("group", "[[group]]"),
    ("part", "[[part]]"),
    ("queue", "[[queue]]"),
    ("impairment", "[[impairment]]"),
    ("route", "[[route]]"),
    ("app", "[[app]]"),
    ("app2", "[[app]]\nname = 'z'\nfrom = 'a'\nto = 'c'"),
    ("event", "[[event]]"),
];

/// Makes a file of lines `table: key = value`, with `|` between them. A later line replaces an earlier one of
/// the same key. An empty value removes the key.
fn render(lines: &[&str]) -> String {
    let mut keys: Vec<(&str, &str, &str)> = Vec::new();
    for line in lines.iter().flat_map(|lines| lines.split('|')).map(str::trim).filter(|line| !line.is_empty()) {
        let (table, line) = line.split_once(": ").expect("a line has a table");
        let (key, value) = line.split_once(" = ").expect("a line has a key");
        keys.retain(|(other_table, other, _)| (*other_table, *other) != (table, key));
        // The ends of an app stand in one of two forms.
        if (table, key) == ("app", "flows") {
            keys.retain(|(table, key, _)| *table != "app" || !["from", "to"].contains(key));
        }
        keys.push((table, key, value));
    }
    // Tables that others name.
    for (table, name) in [("group", "'g'"), ("part", "'p'"), ("queue", "'q'"), ("impairment", "'i'")] {
        let is_there =
            |key: &str| keys.iter().any(|(other, own, _)| *other == table && (key.is_empty() || *own == key));
        if is_there("") && !is_there("name") {
            keys.push((table, "name", name));
        }
    }
    let of = |table: &str| -> String {
        let own = keys.iter().filter(|(other, _, value)| *other == table && *value != "''");
        own.map(|(_, key, value)| format!("{key} = {value}\n")).collect()
    };
    let mut text = String::new();
    for (table, head) in TABLES.into_iter().chain([("measure", "[measure]")]) {
        let lines = of(table);
        if !lines.is_empty() {
            text += &format!("{head}\n{lines}");
        }
        if table == "link" {
            text += "[[link]]\nfrom = 'b'\nto = 'c'\n[[link]]\nfrom = 'a'\nto = 'd'\ndelay = '20ms'\n[[link]]\nfrom = 'd'\nto = 'c'\n";
        }
    }
    text
}

/// The answer of a file: digest, events and metrics; and the notes on it.
fn answer(text: &str) -> Result<(String, Vec<String>), String> {
    let file = file(text);
    let folder = env!("CARGO_TARGET_TMPDIR");
    let file = match parades_netfile::NetworkFile::parse(format!("{folder}/net.toml").as_ref(), file.text().to_owned())
    {
        Ok(Some(file)) => file,
        _ => unreachable!("it was just read"),
    };
    let built = file.build(&file.parameters(), 1).map_err(|error| error.to_string())?;
    let outcome = sequential::run(&built.model, options(1, built.until)).map_err(|error| error.to_string())?;
    Ok((format!("{:?} {} {:?}", outcome.digest, outcome.events, outcome.metrics), built.notes))
}

/// Returns what is wrong with a row.
fn wrong(Row { key, beside, change, off, effect }: &Row) -> Option<String> {
    let [base, changed] = [answer(&render(&[BASE, beside])), answer(&render(&[BASE, beside, change]))];
    let ((base, _), (changed, notes)) = match (base, changed) {
        (Ok(base), Ok(changed)) => (base, changed),
        (Err(error), _) | (_, Err(error)) => return Some(format!("has an impossible row: {error}")),
    };
    let name = key.rsplit('/').next().unwrap_or(key);
    let said = format!("`{name}` ");
    // The key `ecn` is one of queues and one of apps, and notes are about the latter.
    let is_noted =
        |note: &&String| !key.starts_with("queue/") && note.contains(&said) && note.contains("has no effect");
    if let Some(note) = notes.iter().find(is_noted) {
        return Some(format!("is noted beside what it needs: {note}"));
    }
    if (base == changed) != (*effect == Effect::Same) {
        return Some(if base == changed { "has no effect" } else { "has an effect, and the row says none" }.to_owned());
    }
    let idle = || answer(&render(&[BASE, beside, change, off]));
    match effect {
        Effect::Needs => idle().is_ok().then(|| "is not refused without what it needs".to_owned()),
        Effect::NotedWithout => match idle() {
            Ok((_, notes)) => {
                let is_noted = notes.iter().any(|note| note.contains(&said) && note.contains("has no effect"));
                (!is_noted).then(|| "is not noted without what it needs".to_owned())
            }
            Err(error) => Some(format!("is refused without what it needs: {error}")),
        },
        Effect::Acts | Effect::Same => None,
    }
}

/// Returns all keys of a file, as rows name them, from the page that lists them.
fn all_keys() -> BTreeSet<String> {
    let (mut table, mut kind, mut keys) = (String::new(), String::new(), BTreeSet::new());
    for line in reference().lines() {
        if let Some(header) = line.strip_prefix("## ") {
            let name = header.trim_matches(|c| "`[]".contains(c));
            table = if header.starts_with('`') { format!("{name}/") } else { String::new() };
            kind.clear();
        } else if let Some(header) = line.strip_prefix("### `kind = \"") {
            kind = format!("{}/", header.trim_end_matches("\"`"));
        } else if let Some(cell) = line.strip_prefix("| ").and_then(|line| line.split('`').nth(1)) {
            keys.insert(format!("{table}{kind}{cell}"));
        }
    }
    keys.retain(|key| !SETTINGS.contains(&key.as_str()));
    keys
}

#[test]
fn every_key_has_a_row_and_does_what_the_row_says() {
    let write = |name: &str, text: &str| {
        std::fs::write(format!("{}/{name}", env!("CARGO_TARGET_TMPDIR")), text)
            .expect("the test's own folder can be used");
    };
    write("acts-graph", "1 2\n2 3\n");
    write("acts-other", "1 2\n2 4\n4 3\n");
    let keys = all_keys();
    assert!(keys.len() > 150, "{keys:?}");
    let mut faults: Vec<String> = Vec::new();
    for key in &keys {
        if !ROWS.iter().any(|row| row.key == key) {
            faults.push(format!("{key} has no row"));
        }
    }
    for row in ROWS {
        if !keys.contains(row.key) {
            faults.push(format!("{} is no key", row.key));
        }
        faults.extend(wrong(row).map(|fault| format!("{} {fault}", row.key)));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
