"""What the user means: kinds, their fields and rules, and Resources that refer to each other.

The boundary: no files, no clock, no network. A Document comes in, a Resource or diagnostics come out. The kinds are
pydantic models because here bytes become values; everything that leaves the package is frozen.
"""
