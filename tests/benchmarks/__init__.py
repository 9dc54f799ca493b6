"""What must stay fast, measured by ``make bench``."""
