"""The registered reasons: for each its HTTP code, what it means, and what usually helps.

Errors, blocking reasons and API errors all draw on this table; notes and warnings have names of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason. ``http`` is 0 where it never leaves as an HTTP error of its own."""

    code: str
    http: int
    meaning: str
    fix: str = ""


_ROWS = (
    ("BadRequest", 400, "The request can't be read.", "Check its form."),
    ("Unauthorized", 401, "Nobody is logged in.", "Log in, or give a token."),
    ("InsufficientCredits", 402, "The balance does not cover the first hold.", "Post a grant, or ask for less."),
    ("BudgetExceeded", 402, "A Budget does not cover the first hold.", "Raise the Budget's limitUSD, or ask for less."),
    ("Forbidden", 403, "This may not be written or done here.", ""),
    ("NoSSHKey", 403, "A named SSHKey does not exist.", "Add the SSHKey, or remove its name from sshKeys."),
    ("NotFound", 404, "A named object does not exist.", "Check its name."),
    ("FunctionNotFound", 404, "The called Function does not exist.", "Check its name."),
    ("MethodNotAllowed", 405, "This object does not know that method.", ""),
    ("AlreadyExists", 409, "An object of this name exists with another spec.", "Change it instead, or choose another name."),
    ("Conflict", 409, "The object changed in the meantime.", "Read it again and repeat."),
    ("FieldImmutable", 409, "A field that never changes was changed.", "Write the old value, or make a new object."),
    ("VolumeBusy", 409, "Another machine has the right to write to the Volume.", "Stop its holder first."),
    ("PoolInUse", 409, "An object names the Pool.", "Remove the name first."),
    ("ImageNotReady", 409, "The image is still being built.", "Wait, then repeat."),
    ("WorkspaceToolUnavailable", 409, "The tool does not run in this session.", ""),
    ("IdempotencyKeyReused", 409, "The key was used for another request.", "Choose a new key."),
    ("RequestInProgress", 409, "The same request is still running.", "Wait, then repeat."),
    ("Expired", 410, "What was asked for is no longer kept.", "Start the listing again."),
    ("PreconditionFailed", 412, "The object is not in the expected version.", "Read it again and repeat."),
    ("RequestEntityTooLarge", 413, "The input is too large.", "Split it."),
    ("FunctionCallBatchTooLarge", 413, "Too many calls in one batch.", "Split it."),
    ("UnsupportedMediaType", 415, "The content type is not accepted.", "Send JSON."),
    ("Invalid", 422, "A value breaks a rule of its field.", "Correct the field."),
    ("SecretValueInEnv", 422, "A secret is written into an environment variable.", "Use a Secret and valueFrom."),
    ("ImageNotFound", 422, "The image does not exist.", "Check its name and tag."),
    ("ImagePullFailed", 422, "The image can't be pulled.", "Check imagePullSecrets."),
    ("Unsupported", 422, "No provider of this project can do that.", "Remove the field, or choose another provider."),
    ("QuotaExceeded", 429, "A quota is used up.", "Free something, or ask for a higher quota."),
    ("TooManyRequests", 429, "Too many requests in a short time.", "Wait, then repeat."),
    ("InternalError", 500, "This is a bug.", "Report it with the request id."),
    ("CapacityUnavailable", 503, "No machine fits, or none is free.", "Loosen the constraints named in the funnel."),
    ("WorkspaceStarting", 503, "The Workspace is still starting.", "Wait, then repeat."),
    ("Unavailable", 503, "The service can't answer now.", "Wait, then repeat."),
    ("FieldValueRequired", 422, "A required field is missing.", "Add the field."),
    ("NotSupported", 422, "A value is not one of those allowed.", "Choose one of those listed."),
    ("Duplicate", 422, "Something that stands once is written twice.", "Keep one of the two."),
    ("PriceUnknown", 0, "No price is known for the offer.", "Refresh prices, set a rate, or choose a priced offer."),
    ("PriceStale", 0, "The price is older than the policy allows.", "nodusctl prices show"),
    ("PriceMoved", 0, "The price rose above the reviewed bound.", "Plan again and review."),
    ("ProviderInUse", 0, "Objects still live at the provider that would be removed.", "Remove or move them first."),
    ("CapTooSmall", 0, "maxCostUSD is too small for one start.", "Raise maxCostUSD."),
    ("NoHardEdge", 0, "Nothing on the machine would end it in time.", "Choose a provider that can, or allow it."),
    ("ForeignState", 0, "The machine belongs to another state.", "Use that state, or adopt it there."),
    ("StateNotShared", 0, "The state lies where nobody else would find it.", "Set a shared state, or allow it with --local-state."),
    (
        "ProviderIdentityChanged",
        0,
        "The provider's settings now name another account or host.",
        "Restore them, or remove what lives there first.",
    ),
    ("DeviceGroupNotViable", 0, "The accelerator shares its group with a device the host uses.", "Free every device of the group."),
    ("DeviceBusy", 0, "Every fitting accelerator is taken.", "Stop its holder, or wait."),
    ("ProviderNotReady", 0, "The provider can't be reached or used.", "nodusctl doctor"),
    ("BaseMoved", 0, "The base branch moved and this would undo merged work.", "Rebase, then plan again."),
    ("IntentUnsettled", 0, "It is not known yet whether an earlier step happened.", "nodusctl apply"),
    ("TooManyDeletes", 0, "More would be removed than the policy allows.", "Check the files, or use --allow-deletes."),
    ("PolicyFailed", 0, "A limit of the project's policy is passed.", "Plan less, or raise the limit in nodusctl.yaml."),
    ("Protected", 0, "The object is protected against removal.", "Remove the annotation nodus.dev/protected first."),
)

REASONS: Mapping[str, Reason] = MappingProxyType({row[0]: Reason(*row) for row in _ROWS})
