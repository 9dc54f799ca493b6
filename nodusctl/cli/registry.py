"""Every command, its one line of help and the module it lives in. Names and help stand here so that ``--help`` imports none of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """``module`` is under ``nodusctl.cli.commands`` and offers ``app``, a Typer application with this command."""

    name: str
    module: str
    help: str


SECTIONS: tuple[tuple[str, tuple[CommandEntry, ...]], ...] = (
    (
        "Plan and apply",
        (
            CommandEntry("init", "init", "Scaffold a project: nodusctl.yaml, a Workspace, its home, a CI workflow"),
            CommandEntry("validate", "validate", "Read and check specs, offline"),
            CommandEntry("fmt", "fmt", "Rewrite specs in canonical form, comments kept"),
            CommandEntry("plan", "plan", "Show what apply would do and what it would cost"),
            CommandEntry("show", "show", "Render a saved plan"),
            CommandEntry("comment", "comment", "The plan as a pull-request comment, printed or posted"),
            CommandEntry("apply", "apply", "Carry out a saved plan, or plan, ask and apply"),
            CommandEntry("destroy", "destroy", "Plan the removal of objects, then carry it out"),
            CommandEntry("delete", "destroy", "Remove one object by name"),
        ),
    ),
    (
        "Look",
        (
            CommandEntry("get", "get", "List objects, or print them as JSON or YAML"),
            CommandEntry("describe", "describe", "Everything about one object: conditions, attempts, events"),
            CommandEntry("receipts", "receipts", "What each session has cost"),
            CommandEntry("cost", "cost", "What was spent: by object, day, offering or label"),
            CommandEntry("budgets", "budgets", "What each Budget allows, has spent, holds and has left"),
            CommandEntry("credits", "credits", "Money put in beforehand: show, grant"),
            CommandEntry("offers", "offers", "What can be launched, with the price and its age"),
            CommandEntry("prices", "prices", "The price book: every price with its age, source and licence"),
        ),
    ),
    (
        "Use",
        (
            CommandEntry("start", "power", "Start a Workspace"),
            CommandEntry("stop", "power", "Stop a Workspace: save its home, end its cost"),
            CommandEntry("extend", "extend", "Let today's session run longer, inside its cap"),
            CommandEntry("tick", "tick", "Do what is due now: windows, edges, renewals, retries; for cron"),
            CommandEntry("home", "home", "Revisions of a home: list, restore, prune, verify"),
            CommandEntry("secret", "secret", "Store a value of a Secret, read from stdin"),
            CommandEntry("refresh-secrets", "refresh_secrets", "Give a running Workspace the latest versions of its Secrets"),
            CommandEntry("ssh", "ssh", "Log in to a Workspace, or run one command there"),
            CommandEntry("open", "open_tool", "Open a Workspace in VS Code or JupyterLab"),
            CommandEntry("port-forward", "port_forward", "Carry a port or tool of a Workspace to this computer"),
            CommandEntry("cp", "cp", "Copy files to or from a Workspace"),
            CommandEntry("logs", "logs", "What a Workspace's machine and its tools have written"),
            CommandEntry("ssh-config", "ssh_config", "ssh entries, so that plain ssh, scp and rsync work"),
            CommandEntry("ssh-proxy", "ssh_proxy", "Carry ssh's bytes to a Workspace (what those entries call)"),
        ),
    ),
    (
        "Outside changes",
        (
            CommandEntry("drift", "drift", "Compare what providers report with the record; writes nothing"),
            CommandEntry("orphans", "orphans", "What providers hold that the record doesn't explain, with its price"),
            CommandEntry("adopt", "adopt", "Take a machine or disk into the record it belongs to"),
            CommandEntry("forget", "forget", "Remove a record and leave what it has at its provider"),
            CommandEntry("recover", "recover", "Say that a machine is dead where nothing can prove it"),
        ),
    ),
    (
        "Learn",
        (
            CommandEntry("explain", "explain", "A field's documentation, or why an attempt got its machine"),
            CommandEntry("schema", "schema", "The JSON Schema of a kind"),
            CommandEntry("sim", "sim.app", "The simulated provider: a cloud to learn, test and break things on"),
        ),
    ),
    (
        "State and set-up",
        (
            CommandEntry("doctor", "doctor", "Is this host, project, state and provider healthy; each finding with its fix"),
            CommandEntry("state", "state", "The state: its history, names, members, copies"),
            CommandEntry("unlock", "unlock", "Remove a lock whose holder is gone"),
            CommandEntry("cron", "cron", "Have cron or systemd tick this project: install, show, remove"),
            CommandEntry("providers", "providers", "Plugins, and the provider instances of the project"),
            CommandEntry("image", "image", "Base images for virtual machines: build, list"),
            CommandEntry("config", "config", "Settings, and where each came from"),
            CommandEntry("completion", "completion", "A completion script for bash, zsh or fish"),
            CommandEntry("tools", "tools", "Install a tool that machines on this computer can serve"),
            CommandEntry("version", "version", "The version of nodusctl"),
        ),
    ),
)

ENTRIES = {entry.name: entry for _, entries in SECTIONS for entry in entries}
