"""What is put on a machine after its first verified login: environment, secret files, login keys; and its read-back.

A push counts only when the machine reports the digest of what now lies there. Values come from the vault at the last moment and are in no
intent, event or status.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nodusctl.base.canonical import digest
from nodusctl.ports.journal import Journal
from nodusctl.ports.reach import Access, Reach
from nodusctl.provider.agent import AgentAnswer, AgentCommand, AgentRequest
from nodusctl.provider.replies import Done, Refused, Reply, Unknown
from nodusctl.state.vault_names import secret_value

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def vault_name(uid: str, version: int, key: str) -> str:
    """Where one key of one version of a Secret lies in the vault."""
    return secret_value(uid, version, key)


def token_name(attempt_uid: str) -> str:
    """Where the token of an Attempt's browser tools lies in the vault."""
    return f"jupyter-token/{attempt_uid}"


def files_of(journal: Journal, request: Mapping[str, Any], login_keys: Iterable[str], attempt_uid: str) -> dict[str, str] | Refused:
    """The files of one push by the agent's names; Refused where a value is missing or isn't text."""
    files: dict[str, str] = {"authorized_keys": "".join(f"{line}\n" for line in login_keys)}
    variables: dict[str, str] = {}
    for mount in request["secrets"]:
        for key in mount["keys"]:
            value = _value(journal, mount, key)
            if isinstance(value, Refused):
                return value
            files[f"run/secrets/{mount['name']}/{key}"] = value
            if _VARIABLE.match(key):
                variables[key] = value
    for variable in request["env"]:
        value = variable["value"] if "value" in variable else _value(journal, variable["secret"], variable["key"])
        if isinstance(value, Refused):
            return value
        variables[variable["name"]] = value
    files["environment"] = json.dumps(variables, sort_keys=True)
    if request.get("tools"):
        token = journal.secret(token_name(attempt_uid))
        files["tools.json"] = json.dumps({tool: {"token": token} for tool in request["tools"]}, sort_keys=True)
    return files


def pushing(reach: Reach, access: Access, files: dict[str, str] | Refused) -> Callable[[], Reply[AgentAnswer]]:
    """The call: push, and compare the digest the machine reads back."""

    def push() -> Reply[AgentAnswer]:
        if isinstance(files, Refused):
            return files
        reply = reach.ask(access, AgentRequest(command=AgentCommand.SECRETS, files=files))
        if isinstance(reply, Done) and reply.value.pushed_digest != digest(files):
            return Unknown(detail="the machine read back something else than was pushed")
        return reply

    return push


def _value(journal: Journal, mount: Mapping[str, Any], key: str) -> str | Refused:
    sealed = journal.secret(vault_name(str(mount["uid"]), int(mount["version"]), key))
    if sealed is None:
        return Refused(code="NotFound", message=f"secret {mount['name']}@{mount['version']} has no stored value for key {key}")
    try:
        return base64.b64decode(sealed, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return Refused(code="Invalid", message=f"key {key} of secret {mount['name']} is not text, which files on a machine must be")
