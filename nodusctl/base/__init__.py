"""The ground everything stands on: exact values, clocks, ids, diagnostics, redaction. Imports nothing of ours."""
