"""The embedded provider: machines that are process trees on this computer, each with its own sshd, and homes kept as folders."""
