"""What we last knew: records of desired objects, their status, and the snapshot of all of them. Values only."""
