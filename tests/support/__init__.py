"""What several rooms of tests share: whole projects on simulated clouds, and hand-made situations."""
