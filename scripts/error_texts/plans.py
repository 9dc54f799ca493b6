"""What is planned and reviewed, and why it may not be applied."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "BaseMoved": (
        "The branch lacks work that was merged to its base meanwhile and is in the state already, so the plan would undo it: object and "
        "commit are named, and the Action is left out. Or, at apply (exit code 11), base has changed an object of a reviewed plan.",
        "Rebase the branch, then plan again:\n  git rebase origin/main\n  nodusctl plan --base origin/main -o FILE\n"
        "Where that work is meant to be undone:\n  nodusctl plan --base origin/main --accept-base-moved",
    ),
    "BaseUnknown": (
        "Nobody can say what the base branch has: git is not there, the project lies in no repository, the branch is not known here, or "
        "the clone is too shallow to know where this branch left it. A plan with --base is not made then; a reviewed one is applied, with "
        "a note.",
        "Fetch the branch with its history, or plan without --base:\n  git fetch --unshallow origin\n  nodusctl plan --base origin/main",
    ),
    "Conflict": (
        "The object or the state changed between the moment it was read and the moment it was to be changed. Nothing was changed.",
        "Look at what changed, then repeat:\n  nodusctl state history\n  nodusctl plan",
    ),
    "NothingLeft": (
        "apply --resume found that all of the plan is done.",
        "Nothing needs to be done.",
    ),
    "PlanStale": (
        "The saved plan can still be looked at, but not applied: the state moved on, it was applied already, or it "
        "belongs to another state.",
        "Make a new one:\n  nodusctl plan -o FILE",
    ),
    "PlanUncompared": (
        "A saved plan is shown, and the state it was made for can't be read here, so nobody can say whether it could still be applied.",
        "Look at it all the same; to know more, find out why the state can't be read:\n  nodusctl doctor",
    ),
    "PlanUnreadable": (
        "The plan file is damaged, was changed after it was written, or comes from a newer nodusctl (exit code 11).",
        "Make it again:\n  nodusctl plan -o FILE",
    ),
    "PlannedOffline": (
        "The plan was made from a snapshot of the state, where neither the state nor a provider could be reached. It is a whole plan, "
        "with the hash that the state itself would have given at that moment.",
        "Have it reviewed, then apply it by its hash where the state is:\n  nodusctl apply --plan-hash H",
    ),
    "PolicyFailed": (
        "The plan breaks a rule of the project's own policy: maxMonthlyUSD, maxIncreaseUSD, allowedRegions, allowedGPUTypes, "
        "interruptibleRequired, windowsRequired, or the program under policy.command. The rule stands beside the code. Alone it ends with "
        "exit code 15.",
        "Plan something else, or have the rule under policy in nodusctl.yaml changed:\n  nodusctl schema project",
    ),
    "PoolInUse": (
        "An object still names the Pool in placement.pool.",
        "Take the name out of those objects first; the message lists them.",
    ),
    "Protected": (
        "The object carries the annotation nodus.dev/protected, so no plan removes it.",
        "If it may really go, remove the annotation first and apply that.",
    ),
    "SnapshotUnreadable": (
        "The file is no snapshot of a state, was changed after it was written, or comes from a newer nodusctl.",
        "Write it again where the state and the providers can be reached:\n  nodusctl state snapshot -o FILE",
    ),
    "TooManyDeletes": (
        "More objects are gone from the files than policy.maxDeletes lets a plan remove with their data or in "
        "mid-session. Usually a folder was moved or a glob changed. In CI (--ci) any removal by absence needs a word, unless the plan is "
        "compared with the base branch.",
        "If they should really go, allow the number:\n  nodusctl plan --allow-deletes N",
    ),
}
