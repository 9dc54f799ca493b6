"""Which offers fit a spec, in what order, and who gets which exclusive unit. Prices come in as plain rates; no I/O."""
