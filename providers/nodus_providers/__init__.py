"""Provider plugins shipped with nodusctl."""
