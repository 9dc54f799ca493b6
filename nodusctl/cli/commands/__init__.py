"""One small module for each command or family of commands, imported only when that command is called."""
