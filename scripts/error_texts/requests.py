"""What an HTTP API answers in the same words, for clients that read reasons."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "BadRequest": (
        "A request to the API could not be read at all: broken JSON, a missing body, a malformed query.",
        "Compare the request with the schema of the kind:\n  nodusctl schema KIND",
    ),
    "Expired": (
        "What was asked for is no longer kept, such as the next page of an old listing.",
        "Start the listing again from its beginning.",
    ),
    "FunctionCallBatchTooLarge": (
        "One batch holds more calls than are accepted at once.",
        "Split the batch.",
    ),
    "FunctionNotFound": (
        "The Function that is called does not exist in this project.",
        "See which there are:\n  nodusctl get functions",
    ),
    "IdempotencyKeyReused": (
        "The same idempotency key came with another request. It is kept so that a repeated request can't act twice.",
        "Use a new key for a new request.",
    ),
    "InternalError": (
        "The server failed in a way it does not expect of itself.",
        "Report it with the request id from the answer.",
    ),
    "MethodNotAllowed": (
        "The object does not know that method.",
        "See which operations the kind has in the API description.",
    ),
    "PreconditionFailed": (
        "The object is not in the version the request expects.",
        "Read it again and repeat.",
    ),
    "RequestEntityTooLarge": (
        "The input is larger than is accepted.",
        "Split it.",
    ),
    "RequestInProgress": (
        "The same request, by its idempotency key, is still being worked on.",
        "Wait for its answer, then repeat.",
    ),
    "TooManyRequests": (
        "Too many requests came in a short time.",
        "Wait as long as retryAfterSeconds says, then repeat.",
    ),
    "Unauthorized": (
        "Nobody is logged in, or the token is not valid.",
        "Log in, or give a valid token.",
    ),
    "Unavailable": (
        "The service or the machine can't answer right now.",
        "Wait a little, then repeat.",
    ),
    "UnsupportedMediaType": (
        "The content type of the request is not accepted.",
        "Send application/json.",
    ),
}
