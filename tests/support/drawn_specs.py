"""Valid specs of every kind a person may write, drawn at random and written as YAML."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from nodusctl.documents.reading import load_documents
from nodusctl.documents.writing import dump_yaml
from nodusctl.resources.decode import decode
from nodusctl.resources.resource import Resource

NAMES = st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
AMOUNTS = st.from_regex(r"[0-9]{1,5}(\.[0-9]{1,6})?", fullmatch=True)
QUANTITIES = st.integers(1, 10**6) | st.from_regex(r"[1-9][0-9]{0,4}(m|Mi|Gi|Ti|k|M)?", fullmatch=True)
SIZES = st.integers(2**20, 10**12) | st.from_regex(r"[1-9][0-9]{0,4}(Mi|Gi|Ti|G)", fullmatch=True)
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
ENV = st.lists(
    st.fixed_dictionaries({"name": st.from_regex(r"[A-M]{1,6}", fullmatch=True), "value": TEXTS}),
    max_size=3,
    unique_by=lambda entry: str(entry["name"]),
)
GPUS = st.sampled_from(["H100:8", "L4", "A100-SXM!", {"type": ["h100", "L40S"], "count": 2, "minMemory": "40Gi"}])
RESOURCES = st.fixed_dictionaries({}, optional={"cpu": QUANTITIES, "memory": SIZES, "disk": SIZES, "gpu": GPUS})
PLACEMENT = st.fixed_dictionaries(
    {},
    optional={
        "profile": st.sampled_from(["Balanced", "Cost", "Speed"]),
        "interruptible": st.sampled_from(["Never", "Allow", "Prefer"]),
        "maxRateUSDPerHour": AMOUNTS,
        "regions": st.lists(st.sampled_from(["us", "eu"]), max_size=2),
        "queueTimeout": st.sampled_from(["0s", "90m", "24h"]),
    },
)
SHARED = {
    "resources": RESOURCES,
    "placement": PLACEMENT,
    "env": ENV,
    "maxCostUSD": AMOUNTS,
    "secrets": st.lists(NAMES, max_size=3, unique=True),
}
WORKSPACES = st.fixed_dictionaries(
    {"volume": NAMES},
    optional={
        **SHARED,
        "idleTimeout": st.sampled_from(["0s", "10m", "90m", "5400s", "24h"]),
        "tools": st.lists(st.sampled_from(["VSCode", "Jupyter", "SSH"]), unique=True),
        "state": st.sampled_from(["Running", "Stopped"]),
        "schedule": st.fixed_dictionaries({"stopAt": st.sampled_from(["2026-10-26T09:00:00+02:00", "2026-10-26T07:00:00.5Z"])}),
        "sshKeys": st.lists(NAMES, max_size=3, unique=True),
    },
)
FUNCTIONS = st.fixed_dictionaries(
    {"code": st.just({"module": "app", "qualname": "Emb.rank"}), "python": st.sampled_from(["3.10", "3.13"])},
    optional={
        **SHARED,
        "scaling": st.fixed_dictionaries({"minWorkers": st.integers(0, 3)}, optional={"maxWorkers": st.integers(3, 1000)}),
        "retries": st.fixed_dictionaries({"backoffCoefficient": st.sampled_from([1, 10, "1.5", "2.50"])}),
        "recovery": st.fixed_dictionaries({"checkpoint": st.fixed_dictionaries({"interval": st.sampled_from(["auto", "90m"])})}),
    },
)
VOLUMES = st.fixed_dictionaries(
    {},
    optional={
        "size": st.integers(2**30, 10**13) | st.from_regex(r"[1-9][0-9]{0,3}(Gi|Ti)|[2-9][0-9]{0,4}G", fullmatch=True),
        "accessMode": st.sampled_from(["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"]),
        "revisionHistoryLimit": st.integers(1, 100),
        "deletionPolicy": st.sampled_from(["Retain", "Delete"]),
        "location": st.sampled_from(["sim/us-1a", "here"]),
    },
)
BUDGETS = st.fixed_dictionaries(
    {"limitUSD": st.from_regex(r"[1-9][0-9]{0,4}(\.[0-9]{1,6})?", fullmatch=True)},
    optional={
        "period": st.sampled_from(["Monthly", "Total"]),
        "action": st.sampled_from(["Block", "Notify"]),
        "thresholds": st.lists(st.integers(1, 100), max_size=5, unique=True),
        "scope": st.fixed_dictionaries(
            {}, optional={"project": NAMES, "selector": st.fixed_dictionaries({"matchLabels": st.dictionaries(NAMES, NAMES, max_size=2)})}
        ),
    },
)
POOLS = st.fixed_dictionaries(
    {},
    optional={
        "providers": st.lists(NAMES, max_size=3, unique=True),
        "hosts": st.lists(NAMES, max_size=3, unique=True),
        "rateUSDPerHour": AMOUNTS,
    },
)
RUN_ON_MACHINES = st.tuples(st.just("Workspace"), WORKSPACES) | st.tuples(st.just("Function"), FUNCTIONS)
RUN_NOWHERE = st.one_of(st.tuples(st.just("Volume"), VOLUMES), st.tuples(st.just("Budget"), BUDGETS), st.tuples(st.just("Pool"), POOLS))


def written(kind: str, spec: Any) -> str:
    """The document of an object ``x``."""
    return dump_yaml({"apiVersion": "nodus.dev/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec})


def resource_of(kind: str, spec: Any) -> Resource:
    """What that document means; it is valid, or the test fails."""
    loaded = load_documents([("x.yaml", written(kind, spec).encode())])
    decoded = decode(loaded.documents, clock_now=None, project="default")
    assert (loaded.diagnostics, decoded.diagnostics) == ((), ())
    return decoded.resources[0]
