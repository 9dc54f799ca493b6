"""The shipped test kit: the suite every provider passes, for our plugins and for yours. Needs pytest."""
