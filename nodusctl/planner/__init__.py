"""From Resources and a Snapshot to a Plan. Pure: the world comes in as one frozen value, the plan goes out, nothing is read or written."""
