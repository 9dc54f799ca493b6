"""Attempts and intents: what was tried on the outside world, as values. An Attempt is a fold of its events."""
