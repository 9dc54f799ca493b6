"""nodusctl: a declarative reconciler for AI compute."""

__version__ = "0.1.0"
