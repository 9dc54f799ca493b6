"""What was written: files, fields and names, and the command line."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "AlreadyExists": (
        "An object of this name is there, with another spec or under another uid; or a file that image build was to write. Nothing was "
        "changed.",
        "Look at the one that is there, then change it or choose another name:\n  nodusctl get KIND/NAME -o yaml",
    ),
    "Duplicate": (
        "Something that may stand once is there twice. In files: a key of a mapping, an object of the same kind and "
        "name, an entry of a list. "
        "Outside: a second living machine of one Attempt; the ready one is kept, else the older, and the other is released with a receipt.",
        "In files, keep one of the two (the message gives both places) and check again:\n  nodusctl validate\n"
        "Outside, the next pass releases it:\n  nodusctl tick",
    ),
    "FieldImmutable": (
        "A field that never changes for the life of an object was changed. The message gives the old value.",
        "Write the old value again, or make a new object under another name. Which fields change when:\n  nodusctl explain KIND.spec.FIELD",
    ),
    "FieldValueRequired": (
        "A required field is missing. The place is the mapping that lacks it.",
        "Add the field; explain says what it takes:\n  nodusctl explain KIND.spec.FIELD",
    ),
    "FilesBehind": (
        "An object was renamed in the state while its file still has the old name. A plan would now remove the one and make the other.",
        "Write the new name into the file, then check that nothing is left to do:\n  nodusctl plan",
    ),
    "Forbidden": (
        "This may not be written or done here: a field that only the program writes, an annotation outside the closed "
        "list, a reserved name.",
        "Remove it. What may be written:\n  nodusctl explain KIND.spec",
    ),
    "Invalid": (
        "A value breaks a rule of its field, or fields contradict each other. The place, the field and the rule stand in "
        "the message; all faults of all files are told at once.",
        "Correct the field, then check again:\n  nodusctl explain KIND.spec.FIELD\n  nodusctl validate",
    ),
    "NoSSHKey": (
        "spec.sshKeys names an SSHKey that is in no file and not in the state. Your own key, cli, always exists.",
        "Add the SSHKey, or take its name out:\n  nodusctl get sshkeys",
    ),
    "NotFormatted": (
        "fmt left the file as it was, because after formatting a comment or a value would not have been the same.",
        "Move comments out of flow mappings onto lines of their own, then format again:\n  nodusctl fmt FILE",
    ),
    "NotFound": (
        "A named object, provider, file or command does not exist. The nearest name is given where there is one.",
        "List what there is:\n  nodusctl get ws,vol,sec",
    ),
    "NotSupported": (
        "A value is not one of those allowed, or a name is not known where it stands. Those allowed are listed in the message.",
        "Choose one of those listed:\n  nodusctl explain KIND.spec.FIELD",
    ),
    "SecretValueInEnv": (
        "An environment variable holds a literal whose name or value looks like a secret. It would stand in plans, logs "
        "and version control.",
        "Put the value into a Secret and refer to it with valueFrom.secretKeyRef. If it is no secret, say so with the "
        "annotation nodus.dev/allow-env: NAME.",
    ),
    "ServerWritten": (
        "The file holds status or metadata that only the program writes, as in the output of get -o yaml. It is ignored.",
        "Nothing needs to be done; remove it to be rid of the note.",
    ),
    "Skipped": (
        "Documents that are not of nodus.dev, or objects that are blocked, were left out. The message counts them.",
        "Name a file by hand to have it read whatever it holds:\n  nodusctl validate FILE",
    ),
    "Usage": (
        "The command line can't be read: an unknown command or option, a missing value, or a question with nobody to "
        "answer it (exit code 64).",
        "See the options:\n  nodusctl COMMAND --help",
    ),
}
