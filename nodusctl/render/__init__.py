"""Values in, text or JSON out. No I/O and no decisions: what is shown was decided before it came here."""
