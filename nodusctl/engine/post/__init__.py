"""Posting a comment on a forge: the only package that opens httpx."""
