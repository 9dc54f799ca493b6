"""Reaching machines over plain OpenSSH, always with a pinned host key."""
