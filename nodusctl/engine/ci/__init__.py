"""The CI workflows that ``init`` writes, as files of their forge with the names in capitals still to be filled in."""
