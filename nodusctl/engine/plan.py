"""``plan``: gather one World and hand it to the planner. Reads everything, writes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import nodusctl
from nodusctl.attempts.attempt import Attempt
from nodusctl.base.clock import Clock
from nodusctl.base.diagnostics import Diagnostic, error
from nodusctl.base.exits import UserError
from nodusctl.base.ids import Address, IdSource
from nodusctl.engine.market import LIMIT_SECONDS, ask_markets, configured_rates
from nodusctl.engine.secret_values import planned_fingerprints
from nodusctl.engine.specs import Specs, no_documents, read_specs
from nodusctl.plan.plan import AllowFlags, Basis, Plan
from nodusctl.planner.build import build_plan
from nodusctl.planner.ignoring import Ignored, parse_ignored
from nodusctl.planner.world import Market, Policy, Reach, Removal, World
from nodusctl.ports.journal import Journal
from nodusctl.ports.prices import PriceSource
from nodusctl.ports.providers import ProviderSet
from nodusctl.ports.secrets import SecretSource
from nodusctl.resources.project import ProjectFile
