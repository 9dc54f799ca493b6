"""Where a command's words go: results on stdout, everything else on stderr, as text for people or as one JSON object a line."""
