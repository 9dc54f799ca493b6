"""Double entry, append-only: postings of holds, captures and releases, and the balances derived from them. No I/O."""
