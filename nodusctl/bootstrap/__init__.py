"""First-boot documents, and the agent that goes with them onto every machine."""
