"""Networks, described in Python.

A `Network` writes a network file, and the reader of such files judges it. So keys, values, defaults and
errors are those of docs/network-file.md, and nothing is described twice.
"""

from __future__ import annotations

import html
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _parades
from ._errors import InputError
from ._words import table

if TYPE_CHECKING:
    import networkx

#: The name of a network that is built in Python, in messages and records.
FILE = "network.toml"

#: The tables of a network file of which there may be several, in the order in which they are written.
_TABLES = ("group", "part", "link", "queue", "impairment", "route", "app", "event")
#: The tables of a network file of which there is one.
_SINGLE = ("parameters", "defaults", "measure")

Names = str | Iterable[str]


class Queue(dict[str, Any]):
    """A queue of a link: `Queue("red", limit=50)`. The keys are those of docs/network-file.md.

    >>> Queue("red", limit=50)
    Queue('red', limit=50)
    """

    def __init__(self, kind: str, **keys: Any) -> None:
        super().__init__(kind=kind, **keys)

    def __repr__(self) -> str:
        keys = "".join(f", {key}={value!r}" for key, value in self.items() if key != "kind")
        return f"Queue({self['kind']!r}{keys})"


def DropTail(limit: int | str = 100, **keys: Any) -> Queue:
    """First in, first out; packets beyond the limit (packets, or bytes with a unit) are dropped."""
    return Queue("droptail", limit=limit, **keys)


def Red(**keys: Any) -> Queue:
    """Random early detection: the longer the average queue, the more packets are dropped or marked."""
    return Queue("red", **keys)


def CoDel(**keys: Any) -> Queue:
    """Drops or marks packets that wait too long (RFC 8289).

    >>> CoDel(target="5ms")
    Queue('codel', target='5ms')
    """
    return Queue("codel", **keys)


def FqCoDel(**keys: Any) -> Queue:
    """A queue for each flow, with CoDel in each (RFC 8290)."""
    return Queue("fqcodel", **keys)


def Cake(**keys: Any) -> Queue:
    """A shaper, and queues that share the link among hosts and flows, as `sch_cake` of Linux."""
    return Queue("cake", **keys)


def Pie(**keys: Any) -> Queue:
    """Drops or marks packets with a probability that follows the queueing delay (RFC 8033)."""
    return Queue("pie", **keys)


def Dctcp(mark_at: int = 20, **keys: Any) -> Queue:
    """Marks each packet that finds `mark_at` packets or more waiting, as DCTCP needs it (RFC 8257)."""
    return Queue("dctcp", mark_at=mark_at, **keys)


def TokenBucket(rate: str, burst: str, **keys: Any) -> Queue:
    """Shapes the traffic to a rate in bits a second, such as `"10Mbps"`, with bursts, such as `"16KiB"`."""
    return Queue("token-bucket", rate=rate, burst=burst, **keys)


def Priority(**keys: Any) -> Queue:
    """A queue for each class of packets; the highest class is sent first."""
    return Queue("priority", **keys)


class Network:
    """A network of nodes, links and apps, which a run simulates packet by packet.

    Each method adds to the network and returns it. Keyword arguments are the keys of docs/network-file.md; a
    name that Python has taken ends with `_`, such as `for_`. Nothing is checked before the network is run,
    shown or checked. Errors then name the line of the text, which is `to_toml()`.

    >>> import parades as p
    >>> net = p.Network("two hosts", until="1s", defaults=dict(rate="10Mbps", delay="1ms"))
    >>> _ = net.nodes("a", "b").link("a", "b", queue=p.CoDel()).tcp("bulk", "a", "b", size="100kB")
    >>> print(net.to_toml())
    network = "two hosts"
    until = "1s"
    nodes = ["a", "b"]
    <BLANKLINE>
    [defaults]
    rate = "10Mbps"
    delay = "1ms"
    <BLANKLINE>
    [[link]]
    from = "a"
    to = "b"
    queue = { kind = "codel" }
    <BLANKLINE>
    [[app]]
    name = "bulk"
    kind = "tcp"
    from = "a"
    to = "b"
    size = "100kB"
    <BLANKLINE>
    >>> p.run(net).metrics["flows_complete"]
    1
    """

    def __init__(
        self,
        title: str = "a network",
        *,
        until: str | None = None,
        defaults: Mapping[str, Any] | None = None,
        **keys: Any,
    ) -> None:
        #: The network as a dictionary, in the form of a network file.
        self.document: dict[str, Any] = {"network": title}
        #: The folder from which the paths of files are read; the current folder by default.
        self.folder: Path | None = None
        if until is not None:
            self.document["until"] = until
        self.document.update(_plain(keys))
        if defaults is not None:
            self.document["defaults"] = dict(defaults)

    def nodes(self, *names: str | Iterable[str]) -> Network:
        """Adds nodes: names, or lists of names."""
        have = self.document.setdefault("nodes", [])
        for name in names:
            have.extend(name if isinstance(name, Iterable) and not isinstance(name, str) else [name])
        return self

    def group(self, name: str, size: int, *, attach: Names | None = None, **keys: Any) -> Network:
        """Adds the nodes NAME.0, NAME.1, …, each perhaps with a link to the node `attach`."""
        return self._add("group", {"name": name, "size": size, "attach": attach}, keys)

    def part(self, name: str, kind: str, **keys: Any) -> Network:
        """Adds a generated part, such as a `fat-tree`, whose nodes' names begin with its own."""
        return self._add("part", {"name": name, "kind": kind}, keys)

    def link(self, a: Names, b: Names, *, name: str | None = None, **keys: Any) -> Network:
        """Adds links between the nodes of `a` and those of `b`. The default name is A-B.

        Among the keys are `rate="10Mbps"`, in bits a second, `delay="10ms"`, `loss`, a probability, and
        `queue`: a number of packets, a size such as `"64KiB"`, or a `Queue`.
        """
        return self._add("link", {"from": a, "to": b, "name": name}, keys)

    def queue(self, name: str, queue: Queue | Mapping[str, Any]) -> Network:
        """Adds a queue that several links name with their key `queue`."""
        return self._add("queue", {"name": name}, dict(queue))

    def impairment(self, name: str, **keys: Any) -> Network:
        """Adds jitter, reordering, duplicates or bursts of losses, which links name."""
        return self._add("impairment", {"name": name}, keys)

    def route(self, at: Names, to: Names, **keys: Any) -> Network:
        """Adds a static route at the nodes `at` to the nodes `to`: `via` a node, or by a `link`."""
        return self._add("route", {"at": at, "to": to}, keys)

    def app(
        self, name: str, kind: str, source: Names | None = None, destination: Names | None = None, **keys: Any
    ) -> Network:
        """Adds traffic: a flow for each pair of nodes of `source` and `destination`. `kind` is one of
        `constant`, `poisson`, `on-off`, `request-response`, `transfer` and `tcp`."""
        return self._add("app", {"name": name, "kind": kind, "from": source, "to": destination}, keys)

    def tcp(self, name: str, source: Names, destination: Names, **keys: Any) -> Network:
        """Adds streams over TCP: of a `size` each, such as `"20MB"`, or without an end; from the virtual time
        `start`, such as `"1s"`; under the congestion control `congestion`.
        """
        return self.app(name, "tcp", source, destination, **keys)

    def constant(self, name: str, source: Names, destination: Names, **keys: Any) -> Network:
        """Adds datagrams at a constant `rate` of payload in bits a second, such as `"2Mbps"`."""
        return self.app(name, "constant", source, destination, **keys)

    def event(self, at: str, **keys: Any) -> Network:
        """Adds a failure, a repair or a change of a `link` or a `node` at a virtual time, such as `"1s"`."""
        return self._add("event", {"at": at}, keys)

    def measure(self, **keys: Any) -> Network:
        """Says what is measured beside what always is: `every="100ms", links="*"`."""
        self.document.setdefault("measure", {}).update(_plain(keys))
        return self

    def parameters(self, **values: Any) -> Network:
        """Adds values that a run or a sweep can set, and to which keys refer as `"$name"`."""
        self.document.setdefault("parameters", {}).update(values)
        return self

    def _add(self, kind: str, first: Mapping[str, Any], keys: Mapping[str, Any]) -> Network:
        given = {key: value for key, value in {**first, **_plain(keys)}.items() if value is not None}
        self.document.setdefault(kind, []).append(given)
        return self

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Network:
        """Returns the network of a dictionary in the form of a network file."""
        net = cls()
        net.document = {key: _copy(value) for key, value in document.items()}
        return net

    @classmethod
    def from_toml(cls, source: str | os.PathLike[str]) -> Network:
        """Returns the network of a file (a path), or of the text of one.

        Python 3.10 needs the package `tomli` for it.
        """
        if sys.version_info >= (3, 11):
            import tomllib
        else:
            try:
                import tomli as tomllib
            except ModuleNotFoundError:
                raise InputError("Python before 3.11 reads TOML by the package `tomli`; install it") from None
        is_text = isinstance(source, str) and "\n" in source
        path = None if is_text else Path(source)
        try:
            text = str(source) if path is None else path.read_text(encoding="utf-8")
            net = cls.from_dict(tomllib.loads(text))
        except OSError as error:
            raise InputError(
                f"{path}: the file cannot be read: {error.strerror}; check its name", file=str(path)
            ) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{path or FILE}: {error}; correct it", file=str(path or FILE)) from None
        net.folder = None if path is None else path.parent
        return net

    def to_toml(self) -> str:
        """Returns the text of the network file: `Path("net.toml").write_text(net.to_toml())`.

        Raises:
            InputError: If a value is of a type that TOML does not have.
        """
        tables = {name: self.document[name] for name in (*_SINGLE, *_TABLES) if name in self.document}
        top = {key: value for key, value in self.document.items() if key not in tables}
        # A table in another form than usual stays as it is: the reader judges it.
        for name, value in tables.items():
            if not (isinstance(value, Mapping) if name in _SINGLE else _is_list_of_tables(value)):
                top[name] = value
        parts = [table(top)]
        for name in _SINGLE:
            if name in tables and name not in top:
                parts.append(f"[{name}]\n{table(tables[name])}")
        for name in _TABLES:
            if name in tables and name not in top:
                parts.extend(f"[[{name}]]\n{table(one)}" for one in tables[name])
        return "\n".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Returns a copy of the network as a dictionary in the form of a network file."""
        return {key: _copy(value) for key, value in self.document.items()}

    def show(self) -> str:
        """Returns the network in full, as the text of a file whose run is the same: each node and each link.

        Raises:
            InputError: On the first thing that is wrong.
        """
        return _parades.Request(self._path(FILE), text=self.to_toml()).show()

    def check(self) -> None:
        """Checks the network, and makes the model of it.

        >>> import parades as p
        >>> try:
        ...     p.Network().nodes("a").link("a", "b").check()
        ... except p.InputError as error:
        ...     print(error.file, error.line)
        network.toml 6

        Raises:
            InputError: On the first thing that is wrong, with the line of `to_toml()`.
        """
        _parades.Request(self._path(FILE), text=self.to_toml()).check()

    def _path(self, name: str) -> str:
        return name if self.folder is None else str(self.folder / name)

    @classmethod
    def from_networkx(
        cls,
        graph: networkx.Graph[Any],
        title: str | None = None,
        *,
        keys: Mapping[str, str] | None = None,
        until: str | None = None,
        defaults: Mapping[str, Any] | None = None,
        **top: Any,
    ) -> Network:
        """Returns the network of a graph of networkx. Names of nodes are their texts.

        `keys` maps keys of links to attributes of edges; by default, the attributes `rate`, `delay`, `queue`,
        `loss` and `name` are keys of the link. An edge of a directed graph is a link that carries packets one
        way.

        >>> import networkx, parades as p
        >>> graph = networkx.path_graph(3)
        >>> networkx.set_edge_attributes(graph, 3.0, "ms")
        >>> net = p.Network.from_networkx(graph, until="1s", defaults=dict(rate="10Mbps", delay="1ms"))
        >>> [(link["from"], link["to"]) for link in net.document["link"]]
        [('0', '1'), ('1', '2')]
        """
        net = cls(title or str(graph.name or "a graph of networkx"), until=until, defaults=defaults, **top)
        net.nodes(str(node) for node in graph.nodes)
        keys = {key: key for key in ("rate", "delay", "queue", "loss", "name")} if keys is None else keys
        several = graph.is_multigraph()
        for edge in graph.edges(keys=True, data=True) if several else graph.edges(data=True):
            a, b, facts = str(edge[0]), str(edge[1]), edge[-1]
            given = {key: facts[name] for key, name in keys.items() if name in facts}
            if several:
                given.setdefault("name", f"{a}-{b}#{edge[2]}")
            if graph.is_directed():
                given["duplex"] = False
            net.link(a, b, **given)
        return net

    def to_networkx(self) -> networkx.MultiDiGraph[Any]:
        """Returns the network in full as a graph of networkx: a node for each node, an edge for each link and
        direction, with the keys of the link as attributes."""
        import networkx

        graph = networkx.MultiDiGraph(name=self.document.get("network", ""))
        full = Network.from_toml(self.show())
        graph.add_nodes_from(full.document.get("nodes", []))
        for link in full.document.get("link", []):
            facts = {
                key: value
                for key, value in link.items()
                if key not in ("from", "to", "rate_back", "queue_back")
            }
            graph.add_edge(link["from"], link["to"], **facts)
            if link.get("duplex", True):
                back = {key: link[f"{key}_back"] for key in ("rate", "queue") if f"{key}_back" in link}
                graph.add_edge(link["to"], link["from"], **{**facts, **back})
        return graph

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {what}" for what, count in self._counts())
        return f"<Network {self.document.get('network', '')!r}: {counts or 'empty'}>"

    def _counts(self) -> list[tuple[str, int]]:
        of = {"nodes": self.document.get("nodes", [])} | {
            f"{name}s": self.document.get(name, []) for name in _TABLES
        }
        return [(what, len(all_)) for what, all_ in of.items() if all_]

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{what}</th><td>{count}</td></tr>" for what, count in self._counts())
        title, text = html.escape(str(self.document.get("network", ""))), html.escape(self.to_toml())
        return (
            f"<table><caption>{title}</caption>{rows}</table>"
            f"<details><summary>network file</summary><pre>{text}</pre></details>"
        )


def _plain(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Returns keys without the `_` at the end of a name that Python has taken."""
    return {key.removesuffix("_"): value for key, value in keys.items()}


def _is_list_of_tables(value: object) -> bool:
    return (
        isinstance(value, (list, tuple)) and len(value) > 0 and all(isinstance(one, Mapping) for one in value)
    )


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copy(one) for key, one in value.items()}
    return [_copy(one) for one in value] if isinstance(value, (list, tuple)) else value
