"""Protocols only: what the doers need of each other and of the world. The choices stand in ``nodusctl.cli.wiring``."""
