"""Machines, disks, images and the providers they are at."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "Adopted": (
        "A machine or disk that no record had was taken into the record named, by the person named. What a machine "
        "cost before stands on the "
        "receipt of the Attempt it was made by.",
        "Nothing needs to be done. See what it is now:\n  nodusctl describe KIND/NAME",
    ),
    "CapacityUnavailable": (
        "No machine fits, or none is to be had. When nothing fits, the message is a funnel: how many offers each "
        "constraint left, and the smallest change that would leave one.",
        "Loosen the constraint at which the funnel reaches 0, and look at what is on offer:\n  nodusctl offers --gpu TYPE",
    ),
    "ColdStart": (
        "No warm machine waits, so the first use comes after a boot of about the time named. This is information, not a fault.",
        "Nothing needs to be done. A schedule has the machine ready beforehand (spec.schedule).",
    ),
    "DeclaredDead": (
        "The owner said that a machine is dead where nothing could prove it (recover --machine-is-dead). It is "
        "released as far as its provider "
        "answers, and its session recovered.",
        "If it turns out to live, drift shows it as Duplicate and orphans with its price:\n  nodusctl drift\n  nodusctl orphans",
    ),
    "DefaultWorld": (
        "The simulated provider has no world file and uses its built-in world.",
        "Write the world down to change it:\n  nodusctl sim init",
    ),
    "DeviceBusy": (
        "Every accelerator that fits is taken, by another object of the state, of this plan, or by a program outside. "
        "The message names the holder.",
        "Stop the holder, or ask for fewer or other cards:\n  nodusctl stop NAME",
    ),
    "DeviceGroupNotViable": (
        "The accelerator shares its IOMMU group with a device that the host still uses, so it can't be handed to a machine by itself.",
        "Free every device of the group on the host; doctor names them:\n  nodusctl doctor PROVIDER",
    ),
    "FaultsScripted": (
        "The simulated world still has scripted faults, so what you see may be one of them.",
        "List them, and clear them when you are done:\n  nodusctl sim fault list\n  nodusctl sim fault clear",
    ),
    "ForeignState": (
        "The machine or disk carries the mark of another state, or a pulled state is another one than that which is "
        "here. Two states must never steer one machine, so a plan that would make an object of this project and name "
        "stops, and orphans deletes or adopts such a thing only where its state is named.",
        "Work in the project it belongs to; its lineage stands in the message. If that state is lost, see what it left:\n"
        "  nodusctl orphans",
    ),
    "Forgotten": (
        "The record was removed and its provider was not asked for anything (forget). What it left there is listed; "
        "the last charge is estimated.",
        "End it, or take it up again:\n  nodusctl orphans\n  nodusctl adopt ID",
    ),
    "HomeFreed": (
        "The machine that held this home is gone, so the home is free. Its disk may hold more than its last revision.",
        "Nothing needs to be done; the next start uses the disk as it is:\n  nodusctl home list WORKSPACE",
    ),
    "ImageNotBuilt": (
        "A step of image build failed: the program and the last lines it said are named. Nothing is left of it.",
        "Where a package could not be fetched, repeat it or take another mirror; where its name is wrong, correct it:\n"
        "  nodusctl image build NAME --output PATH --mirror URL",
    ),
    "ImageNotFound": (
        "The image's name or tag does not exist where it was looked for. On hosts of your own: there is no file, or its SHA-256 isn't the "
        "one in the settings (both are named).",
        "Check spec.image or spec.imageRef; on hosts of your own, images: in the provider's settings:\n  nodusctl image list",
    ),
    "ImageNotReady": (
        "The image is still being built or fetched.",
        "Wait, then repeat; describe shows how far it is:\n  nodusctl describe KIND/NAME",
    ),
    "ImagePullFailed": (
        "The registry has the image but would not give it out.",
        "Check the Secret of type Registry that imagePullSecrets names:\n  nodusctl get secrets",
    ),
    "IntentUnsettled": (
        "A step was begun and no answer came, so it is not known whether it happened: the reply was lost, or the program "
        "was killed. The object is left alone until the provider can say; other objects are not held up.",
        "The next apply asks the provider and settles it:\n  nodusctl apply\nIf the provider does not answer:\n  nodusctl doctor PROVIDER",
    ),
    "InterruptibleSelected": (
        "The offer can be taken away by its provider at any time. It is cheaper for that; holds and limits are counted at its ceiling.",
        "Save what matters under the home Volume, or ask for placement: {interruptible: Never}.",
    ),
    "NoHardEdge": (
        "Nothing on the machine itself would end it at its deadline, so a cap or a lease would depend on a program elsewhere being awake.",
        "Choose a provider that arms deadlines on the machine, or remove the limit that needs one.",
    ),
    "NodeUnreachable": (
        "The machine runs according to its provider but does not answer. It is neither trusted nor given up: its home "
        "stays held until its end is proved.",
        "See what was tried and when:\n  nodusctl describe workspace/NAME",
    ),
    "ProviderIdentityChanged": (
        "The provider's settings now lead to another account or another host than the one its machines were made on. "
        "Steps there would meet strangers' machines, so none is taken.",
        "Restore the settings, or remove what lives there first:\n  nodusctl providers list",
    ),
    "ProviderInUse": (
        "The provider was taken out of nodusctl.yaml, or its settings lead to another account now, while objects of "
        "the state still live there.",
        "Put its settings back, remove what lives there, then change them:\n  nodusctl get ws,vol -o wide\n"
        "Or leave it behind, billed and without a record:\n  nodusctl forget KIND/NAME",
    ),
    "ProviderNotReady": (
        "The provider can't be used now: a program or a Python package is missing, its settings are wrong, or its "
        "platform does not answer. Objects elsewhere go on.",
        "See each finding with the command that mends it:\n  nodusctl doctor PROVIDER",
    ),
    "QuotaExceeded": (
        "A quota of the account is used up.",
        "Stop something that counts against it, or ask for a higher quota.",
    ),
    "Unsupported": (
        "What the spec asks for can't be kept by any provider it could be placed at, such as an egress rule the kernel "
        "can't enforce. It is refused instead of being pretended.",
        "Remove the field, or choose a provider that can. What each can do:\n  nodusctl providers list\n  nodusctl doctor PROVIDER",
    ),
    "VolumeBusy": (
        "Another machine has the right to write to the Volume. It keeps it until its end is proved, because two writers "
        "would destroy the content.",
        "Stop its holder first; the message names it:\n  nodusctl stop NAME",
    ),
    "WorkspaceStarting": (
        "The Workspace is not ready yet.",
        "Watch it:\n  nodusctl get ws -w",
    ),
    "WorkspaceToolUnavailable": (
        "The tool was not asked for in spec.tools, or does not run in this session.",
        "See what runs, then add the tool; it takes effect at the next start:\n  nodusctl describe workspace/NAME",
    ),
}
